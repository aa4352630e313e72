//! LOAD DATA as a bulk load ([`kv::load`]): in bounded memory, whatever the size of the file. For files that are worth
//! it, into an empty table, and for those that might be too long for a transaction, into any.
//!
//! 1. [`gather`]: rows and index entries are made as for any INSERT, and other threads sort them.
//! 2. [`files`]: they are merged and written to files, in the order of their keys. Rows with the same unique key
//!    lie side by side then. Where the table has rows, its own keys are looked up.
//! 3. [`duplicates`]: which of them an INSERT in the order of the file would have refused. That is an error, or
//!    with IGNORE the files are written again without them.
//! 4. For a moment no other transaction uses the table. The files become part of the store.
//!
//! That is the same as an INSERT of all rows only for a statement that is a transaction of its own, while nobody
//! else writes the table, and where a row depends on no other one: [`Insert::may_fill`]. The rows count as
//! committed when the last files are begun ([`cluster::fills`]). Snapshots from before never see them. One from between
//! that moment and the end sees none of them as long as the statement runs, and no transaction that has looked lives on
//! over the end.
//!
//! Threads that sort runs and write files leave the processors to others (`scheduling::background`). They use what this
//! statement's own thread and its client leave free.
//!
//! A file that a transaction could not hold ([`ahead`]) waits for all others that write the table. A shorter one waits a
//! little, and is then inserted row by row.

mod ahead;
mod duplicates;
mod files;
mod gather;

use std::collections::HashMap;

use cluster::fills::Fill;
use cluster::metadata_lock::Filling;
use cluster::wait::WaitLimit;
use kv::{KeyRange, Timestamp};
use planner::plan::InsertMode;
use schema::model::Table;
use types::{Error, Result};

pub(super) use self::ahead::Ahead;
use self::files::{Filled, Filler};
use self::gather::{Gatherer, Sorted};
use super::Insert;
use super::rows::{FileBatch, RowMaker};
use crate::context::ExecContext;
use crate::dml::image::ImageMaker;
use crate::dml::{duplicate, warn};
use crate::env::check_interrupted;
use crate::field_reader::FieldReader;
use crate::memory::Memory;

/// A table that nobody else writes.
pub(super) struct Place {
    is_empty: bool,
    range: KeyRange,
    /// `None`: LOCK TABLES keeps others from it.
    filling: Option<Filling>,
}

impl Place {
    /// `None` if the rows are to be inserted one by one: the file is short, and others use the table or it has rows;
    /// or the table's definition changes.
    pub(super) fn take(
        table: &Table,
        is_locked: bool,
        (ahead, reader): (&mut Ahead<'_, '_>, &mut FieldReader<'_>),
        ctx: &ExecContext<'_>,
    ) -> Result<Option<Self>> {
        let mut ranges = table.data_ranges();
        let (Some(range), true) = (ranges.pop(), ranges.is_empty()) else {
            return Ok(None);
        };
        let range = KeyRange::new(range.start, range.end);
        if !ahead.is_worth_it(reader)? {
            return Ok(None);
        }
        // Others need not wait for the answer.
        let is_empty = ctx.store.is_blank(&range)?;
        if !is_empty && !ahead.is_worth_it_behind_rows(reader, ctx)? {
            return Ok(None);
        }
        let mut filling = None;
        if !is_locked {
            let locks = ctx.cluster.metadata_locks();
            filling = locks.fill(table.id, true, &alone_limit(ctx))?;
            if filling.is_none() && ahead.is_long(reader, ctx)? {
                filling = locks.fill(table.id, false, &alone_limit(ctx))?;
            }
            if filling.is_none() {
                return Ok(None);
            }
        }
        let is_empty = ctx.store.is_blank(&range)?;
        let is_worth_it = is_empty || ahead.is_worth_it_behind_rows(reader, ctx)?;
        Ok(is_worth_it.then_some(Self {
            is_empty,
            range,
            filling,
        }))
    }
}

impl Place {
    /// Its range, and whether rows have keys in it.
    fn keys(&self) -> (&KeyRange, bool) {
        (&self.range, !self.is_empty)
    }
}

fn alone_limit<'a>(ctx: &ExecContext<'a>) -> WaitLimit<'a> {
    WaitLimit {
        timeout: ctx.alone_wait.unwrap_or_default(),
        interrupt: ctx.interrupt,
    }
}

impl Insert<'_> {
    /// Whether a bulk load of the rows would be the same as inserting them.
    pub(super) fn may_fill(&self, maker: &ImageMaker<'_>) -> bool {
        let table = self.table;
        self.ctx.alone_wait.is_some()
            && self.ctx.store.loads_by_file()
            && matches!(self.plan.mode, InsertMode::Insert)
            && self.keys.is_none()
            && self.plan.check.is_none()
            && !table.is_temporary()
            && table.partitioning.is_none()
            && maker.shadow().is_none()
            && maker.secondary().iter().all(|&index| maker.is_public(index))
            && !self.passes_on_ids(maker)
    }

    /// Whether a row that IGNORE leaves out may pass its id on to the next row.
    fn passes_on_ids(&self, maker: &ImageMaker<'_>) -> bool {
        let Some(ids) = self.table.id_column() else {
            return false;
        };
        let has_other_columns = |&index: &usize| {
            let parts = self.table.indexes.get(index).map(|index| index.parts.as_slice());
            maker.is_unique(index) && !matches!(parts, Some([part]) if part.column == ids)
        };
        let is_primary_other = match self.table.primary_parts().as_slice() {
            [] => false,
            [part] => part.column != ids,
            _ => true,
        };
        self.plan.ignore
            && !self.plan.columns.contains(&ids)
            && (is_primary_other || maker.secondary().iter().any(has_other_columns))
    }

    /// Fills the table with all rows that `batches` makes.
    ///
    /// # Errors
    /// Those of an INSERT, 1213 and 1205 if the end waits for other transactions, those of the store.
    pub(super) fn fill(
        &mut self,
        place: &Place,
        batches: &mut dyn FnMut(&mut RowMaker<'_>) -> FileBatch,
        memory: &Memory<'_>,
        maker: &ImageMaker<'_>,
        start_ts: Timestamp,
    ) -> Result<()> {
        let warned = self.ctx.eval.warnings.count();
        let mut gatherer = Gatherer::new(self.table, self.ctx.store, maker, self.plan.ignore);
        let failed = self.gather(&mut gatherer, batches, memory, maker, start_ts)?;
        if let Some(error) = failed {
            // A duplicate in an earlier row comes first.
            if !self.plan.ignore {
                let filler = Filler::new(self.ctx, place.keys(), None);
                let (marks, sorted) = gatherer.finish()?;
                let checked = filler.check(sorted)?;
                self.refuse_duplicate(checked, &marks, warned, memory, maker)?;
            }
            return Err(error);
        }
        // The counter of ids passes theirs before they are there, and the commit that follows syncs it.
        self.rows.finish_at_once()?;
        let rows = gatherer.rows();
        let (marks, sorted) = gatherer.finish()?;
        let mut fill = self.begin_fill()?;
        let mut filled = Filler::new(self.ctx, place.keys(), None).fill(sorted, fill.ts())?;
        if !self.plan.ignore {
            filled = self.refuse_duplicate(filled, &marks, warned, memory, maker)?;
        }
        let mut left_out = 0;
        if let Some(conflicts) = filled.conflicts.take() {
            let resolved = duplicates::resolve(conflicts, None, memory, self.ctx.interrupt)?;
            let found = self.errors_of(&resolved.first, &mut filled.sorted, maker)?;
            let filler = Filler::new(self.ctx, place.keys(), Some(&resolved.losers));
            drop(fill);
            fill = self.begin_fill()?;
            filled = filler.fill(filled.sorted, fill.ts())?;
            left_out = resolved.count;
            self.warn_of(found, left_out, &marks, warned);
        }
        self.publish(place, filled, &fill)?;
        drop(fill);
        self.result.records += rows;
        self.result.duplicates += left_out;
        self.result.affected += rows - left_out;
        self.result.matched += rows - left_out;
        Ok(())
    }

    /// Makes and sorts the rows. Returns the error of the first that cannot be made.
    fn gather(
        &mut self,
        gatherer: &mut Gatherer<'_>,
        batches: &mut dyn FnMut(&mut RowMaker<'_>) -> FileBatch,
        memory: &Memory<'_>,
        maker: &ImageMaker<'_>,
        start_ts: Timestamp,
    ) -> Result<Option<Error>> {
        loop {
            check_interrupted(self.ctx)?;
            let batch = batches(&mut self.rows);
            let images = self.images(&batch.rows.rows, maker, start_ts)?;
            for (row, image) in batch.rows.rows.iter().zip(images.of_rows()) {
                match image {
                    Ok(image) => gatherer.push(image, maker.value(&row.values)?, row.warned)?,
                    Err(error) if self.plan.ignore => {
                        self.result.records += 1;
                        self.leave_out(row, error)?;
                        continue;
                    }
                    Err(error) => return Ok(Some(error)),
                }
                self.note_id(row);
            }
            memory.shrink_to(batch.held);
            if batch.is_last || batch.rows.failed.is_some() {
                return Ok(batch.rows.failed);
            }
        }
    }

    /// Commits that the table is about to be filled: the rows count as committed then.
    fn begin_fill(&self) -> Result<Fill<'_>> {
        let ctx = self.ctx;
        ctx.cluster
            .fills()
            .begin(self.table.id, ctx.lock_wait, ctx.interrupt)
    }

    /// Makes the files part of the store.
    fn publish(&self, place: &Place, filled: Filled, fill: &Fill<'_>) -> Result<()> {
        let Some(load) = filled.load else {
            return Err(Error::internal("a bulk load without files"));
        };
        // Otherwise it would be written while other statements wait.
        self.ctx.store.flush()?;
        let alone = match &place.filling {
            Some(filling) => Some(filling.alone(&alone_limit(self.ctx))?),
            None => None,
        };
        load.finish()?;
        fill.note_end();
        drop(alone);
        Ok(())
    }

    /// Fails with 1062 if there are duplicates: for the first row of the file that is one.
    fn refuse_duplicate(
        &self,
        mut filled: Filled,
        marks: &gather::Marks,
        warned: u64,
        memory: &Memory<'_>,
        maker: &ImageMaker<'_>,
    ) -> Result<Filled> {
        let Some(conflicts) = filled.conflicts.take() else {
            return Ok(filled);
        };
        let resolved = duplicates::resolve(conflicts, Some(1), memory, self.ctx.interrupt)?;
        let found = self.errors_of(&resolved.first, &mut filled.sorted, maker)?;
        let Some((row, error)) = found.into_iter().next() else {
            return Err(Error::internal("a duplicate without its row"));
        };
        let mut warnings = self.ctx.eval.warnings.take_back(warned);
        warnings.report_until(marks.warned_at(row).unwrap_or(warned));
        Err(error)
    }

    /// The errors 1062 of some rows, in the order of the file. `refused`: their numbers, and which key others have.
    fn errors_of(
        &self,
        refused: &[(u64, u32)],
        sorted: &mut Vec<Sorted>,
        maker: &ImageMaker<'_>,
    ) -> Result<Vec<(u64, Error)>> {
        let Some(at) = sorted.iter().position(|sorted| sorted.place.holds_rows()) else {
            return Err(Error::internal("a bulk load without rows"));
        };
        let rows = sorted.swap_remove(at);
        // Each row's error is made as the row is met: rows may be long.
        let mut wanted: HashMap<u64, (u32, Option<Error>)> = refused
            .iter()
            .map(|(row, order)| (*row, (*order, None)))
            .collect();
        let interrupt = self.ctx.interrupt;
        let mut merge = rows.runs.merge(&|| interrupt.check())?;
        let (place, mut missing) = (rows.place, wanted.len());
        while missing > 0
            && let Some((key, stored)) = merge.next()?
        {
            let (value, row) = place.untagged(stored)?;
            if let Some((order, error)) = wanted.get_mut(&row) {
                let values = maker.decode(key, value)?;
                let key = gather::key_of_order(*order);
                *error = Some(duplicate::error(
                    self.table,
                    key,
                    &values,
                    &self.ctx.eval.sql_mode,
                ));
                missing -= 1;
            }
        }
        let runs = merge.into_runs();
        sorted.push(Sorted { place, runs });
        let error_of = |(row, _): &(u64, u32)| Some((*row, wanted.remove(row)?.1?));
        Ok(refused.iter().filter_map(error_of).collect())
    }

    /// Lists the warnings of rows that are left out, `count` in all, between those of other rows.
    fn warn_of(&self, errors: Vec<(u64, Error)>, count: u64, marks: &gather::Marks, warned: u64) {
        let eval = self.ctx.eval;
        let mut others = eval.warnings.take_back(warned);
        let more = count.saturating_sub(errors.len() as u64);
        for (row, error) in errors {
            others.report_until(marks.warned_at(row).unwrap_or(warned));
            warn(eval, error.code, error.message);
        }
        others.report_all();
        for _ in 0..more {
            // The list is full, so they are only counted.
            warn(eval, types::errno::ER_DUP_ENTRY, "Duplicate entry");
        }
    }
}
