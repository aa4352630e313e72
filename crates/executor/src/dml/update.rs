//! UPDATE.
//!
//! Rows are found and locked a batch at a time, then changed one by one, in order: the result of `SET id = id
//! + 1` depends on it. Rows that do not change are not written.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kv::Transaction;
use planner::RowCondition;
use planner::plan::{Access, Assignment, Target, UpdatePlan};
use schema::layout::RowHandle;
use schema::model::Table;
use types::{Result, Value};

use super::assign::{NullRule, assign_row, is_same_row};
use super::auto_increment::AutoIncrement;
use super::computed::Computed;
use super::defaults::now;
use super::duplicate;
use super::foreign_key::ForeignKeys;
use super::image::{Image, ImageMaker, Row, is_misplaced, rows_of};
use super::row_check::{self, ViewChecker};
use super::table_codec::TableCodec;
use super::target::{LockedRow, Point, Rows, add_columns, keys_of};
use super::touched::Touched;
use super::writer::{Writer, unique_keys};
use crate::context::{DmlResult, ExecContext};
use crate::dml::{last_insert_id_set, warn};
use crate::env::Env;
use crate::memory::Memory;
use crate::source::ReadSource;

/// Runs an UPDATE in a transaction. On failure the caller undoes what was written.
///
/// # Errors
/// 1062, 1048, what conversions and expressions fail with, and failures of locks and of the store.
pub fn update(plan: &UpdatePlan, txn: &mut Transaction, ctx: &ExecContext<'_>) -> Result<DmlResult> {
    let table: &Table = &plan.target.scan.table;
    let layout = plan.execution_cache.get_or_make(|| UpdateLayout::of(plan))?;
    let ids = match layout.assigns_ids {
        true => AutoIncrement::of(table, true, txn.start_ts(), ctx),
        false => None,
    };
    let memory = plan
        .foreign_keys
        .is_some()
        .then(|| Memory::in_transaction(ctx, txn));
    let mut update = Update {
        table,
        assignments: &plan.assignments,
        check: ViewChecker::of(plan.check.as_ref(), memory.as_ref())?,
        ignore: plan.ignore,
        ctx,
        touched: &layout.touched,
        computed: Computed::of_touched(table, &layout.touched)?,
        keys: ForeignKeys::of(plan.foreign_keys.as_deref(), memory.as_ref(), ctx)?,
        ids,
        assigned_rows: None,
        result: DmlResult::default(),
    };
    let maker = ImageMaker::new(
        table,
        &layout.codec,
        plan.target.scan.named_partitions(),
        ctx.eval,
    )?;
    match &layout.point {
        Some(point) => update.run_point(&plan.target, point, txn, &maker)?,
        None => match &memory {
            Some(memory) => update.run(plan, memory, txn, &maker)?,
            None => update.run(plan, &Memory::in_transaction(ctx, txn), txn, &maker)?,
        },
    }
    if let Some(ids) = &mut update.ids {
        ids.report_explicit(ctx)?;
    }
    Ok(DmlResult {
        ok_insert_id: last_insert_id_set(ctx.eval).unwrap_or(0),
        ..update.result
    })
}

/// The parts of an UPDATE that are the same in every execution.
struct UpdateLayout {
    codec: Arc<TableCodec>,
    touched: Touched,
    /// Whether the AUTO_INCREMENT column is assigned.
    assigns_ids: bool,
    point: Option<Point>,
}

impl UpdateLayout {
    fn of(plan: &UpdatePlan) -> Result<Self> {
        let table = &plan.target.scan.table;
        let codec = TableCodec::of(table)?;
        let touched = Touched::by(&plan.assignments, table, &codec)?;
        let mut read: BTreeSet<usize> = touched.imaged_columns(table).into_iter().collect();
        if touched.partitions {
            read.extend(
                table
                    .partition_function()?
                    .iter()
                    .flat_map(|function| function.columns()),
            );
        }
        // If no key changes, the stored bytes show whether the row changes.
        read.extend(touched.columns.iter().filter(|_| touched.any_keys()));
        let values = plan.assignments.iter().filter_map(|a| a.value.as_ref());
        values.for_each(|value| add_columns(value, &mut read));
        match plan.check.as_ref().map(|check| &check.condition) {
            Some(RowCondition::Row(condition)) => add_columns(condition, &mut read),
            Some(RowCondition::Query(query)) => read.extend(query.outer.iter().map(|outer| outer.position)),
            None => {}
        }
        // Expressions of DEFAULT may read any column.
        if plan.assignments.iter().any(|a| a.value.is_none()) && table.has_expressions() {
            read.extend(0..table.columns.len());
        }
        if let Some(computed) = Computed::of_touched(table, &touched)? {
            read.extend(computed.columns());
        }
        read.extend(plan.foreign_keys.iter().flat_map(|keys| keys.columns_of_target()));
        let assigned = |column| plan.assignments.iter().any(|a| a.column == column);
        Ok(Self {
            codec,
            assigns_ids: table.id_column().is_some_and(assigned),
            point: Point::of(&plan.target, read.into_iter())?,
            touched,
        })
    }
}

impl Change {
    /// The keys that are written: the row's, and the one that it moves to.
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let moved = (self.old.key != self.new.key).then_some(self.new.key.as_slice());
        std::iter::once(self.old.key.as_slice()).chain(moved)
    }
}

/// Whether the assignments may move rows within the range that is scanned for them.
fn moves_rows(plan: &UpdatePlan, touched: &Touched) -> bool {
    let scan = &plan.target.scan;
    touched.keys || touched.partitions || reads_touched(&scan.access, &scan.table, touched)
}

/// Whether a path goes through an index of columns that are assigned to.
fn reads_touched(access: &Access, table: &Table, touched: &Touched) -> bool {
    match access {
        Access::UniquePoints { index, .. }
        | Access::IndexRanges { index, .. }
        | Access::GroupEnds {
            index: Some(index), ..
        } => {
            let parts = table.indexes.get(*index).map_or(&[][..], |i| &i.parts);
            parts.iter().any(|p| touched.contains(p.column))
        }
        Access::Full { .. }
        | Access::PrimaryPoints { .. }
        | Access::PrimaryRanges { .. }
        | Access::GroupEnds { index: None, .. } => false,
        Access::Union { parts } => parts.iter().any(|part| reads_touched(part, table, touched)),
    }
}

pub(super) type RowsByKey = HashMap<Vec<u8>, Row>;

pub(super) struct Update<'p> {
    pub table: &'p Table,
    pub assignments: &'p [Assignment],
    pub check: Option<ViewChecker<'p>>,
    pub ignore: bool,
    pub ctx: &'p ExecContext<'p>,
    pub touched: &'p Touched,
    pub computed: Option<Computed<'p>>,
    /// Foreign keys, if one concerns the assigned columns.
    pub keys: Option<ForeignKeys<'p>>,
    /// Set if the AUTO_INCREMENT column is assigned.
    pub ids: Option<AutoIncrement<'p>>,
    /// Set if the rest of the statement sees the rows as they are assigned: these, by their keys.
    pub assigned_rows: Option<RowsByKey>,
    pub result: DmlResult,
}

/// A row that changes.
struct Change {
    old: Image,
    new: Image,
    row: Row,
    /// The row before, if foreign keys compare it.
    old_row: Option<Row>,
    /// Its new stored value.
    value: Vec<u8>,
    /// How many warnings there were when it was made.
    warned: u64,
}

impl Update<'_> {
    fn run_point(
        &mut self,
        target: &Target,
        point: &Point,
        txn: &mut Transaction,
        maker: &ImageMaker<'_>,
    ) -> Result<()> {
        let mut writer = Writer::new(txn, maker, self.ctx);
        let Some(found) = point.lock(target, &mut writer, self.ctx)? else {
            return Ok(());
        };
        if !self.touched.any_keys() && self.keys.is_none() {
            return self.change_in_place(found, &mut writer);
        }
        let warned = self.ctx.eval.warnings.count();
        let Some(row) = self.assigned(&found.row, writer.txn)? else {
            return Ok(());
        };
        let value = maker.changed_value(&found.stored, &row, &self.touched.columns)?;
        let value = value.unwrap_or_else(|| found.stored.to_vec());
        let change = self.change_or_warn(&found.key, &found.row, row, value, maker)?;
        self.write(change.into_iter().collect(), warned, &mut writer)
    }

    /// Changes a row whose keys do not change.
    fn change_in_place(&mut self, found: LockedRow, writer: &mut Writer<'_, '_>) -> Result<()> {
        let (mut row, touched, maker) = (found.row, self.touched, writer.maker);
        self.assign(&mut row)?;
        let Some(mut value) = maker.changed_value(&found.stored, &row, touched.assigned())? else {
            return Ok(());
        };
        if !self.complete(&mut row, writer.txn)? {
            return Ok(());
        }
        let more_changes = touched.columns.len() > touched.assigned().len();
        if more_changes || self.computed.is_some() {
            let stamped = maker.changed_value(&found.stored, &row, &touched.columns)?;
            value = stamped.unwrap_or(value);
        }
        writer.replace(found.key, value)?;
        self.count(&row);
        Ok(())
    }

    fn run(
        &mut self,
        plan: &UpdatePlan,
        memory: &Memory<'_>,
        txn: &mut Transaction,
        maker: &ImageMaker<'_>,
    ) -> Result<()> {
        let ctx = self.ctx;
        let mut source = ReadSource::Transaction(txn);
        let mut env = Env {
            holds_least_after_sort: true,
            ..Env::new(ctx, &mut source, memory)
        };
        let mut rows = Rows::open(&plan.target, moves_rows(plan, self.touched), &mut env)?;
        while let Some(batch) = rows.next(&mut env)? {
            let warned = ctx.eval.warnings.count();
            let found = keys_of(&batch)?.into_iter().zip(rows_of(&batch, self.table));
            let mut writer = Writer::new(env.source.transaction()?, maker, ctx);
            self.change_all(found, warned, &mut writer)?;
        }
        Ok(())
    }

    /// Changes locked rows, given with their keys. Behind the table's columns, a row may have values that only
    /// the assignments read. There were `warned` warnings before them.
    pub fn change_all<K: AsRef<[u8]>>(
        &mut self,
        found: impl Iterator<Item = (K, Row)>,
        warned: u64,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        let maker = writer.maker;
        let changes = found.map(|(key, mut old)| {
            let Some(row) = self.assigned(&old, writer.txn)? else {
                return Ok(None);
            };
            if let Some(assigned) = &mut self.assigned_rows {
                assigned.insert(key.as_ref().to_vec(), row.clone());
            }
            old.truncate(row.len());
            let value = maker.value(&row)?;
            self.change_or_warn(key.as_ref(), &old, row, value, maker)
        });
        let changes = changes
            .filter_map(Result::transpose)
            .collect::<Result<Vec<_>>>()?;
        self.write(changes, warned, writer)
    }

    /// The row after the assignments. `old` needs only the columns that they depend on. `None` if nothing
    /// changes.
    fn assigned(&mut self, old: &Row, txn: &mut Transaction) -> Result<Option<Row>> {
        let mut row = old.clone();
        self.assign(&mut row)?;
        if is_same_row(&row, old) || !self.complete(&mut row, txn)? {
            return Ok(None);
        }
        row.truncate(self.table.columns.len());
        Ok(Some(row))
    }

    /// Sets what the statement does not assign. `false` if the row is refused and ignored.
    fn complete(&self, row: &mut Row, txn: &mut Transaction) -> Result<bool> {
        self.stamp(row);
        let eval = self.ctx.eval;
        if let Some(computed) = &self.computed {
            computed.generate(row, self.result.matched, NullRule::of(eval), eval)?;
        }
        let (check, computed) = (self.check.as_ref(), self.computed.as_ref());
        row_check::admits(check, computed, row, self.ignore, txn, self.ctx)
    }

    fn assign(&mut self, row: &mut Row) -> Result<()> {
        self.result.matched += 1;
        let (assignments, number) = (self.assignments, self.result.matched);
        let eval = self.ctx.eval;
        let nulls = NullRule::of(eval);
        assign_row(self.table, assignments, row, number, (nulls, false), eval)
    }

    /// Sets the columns with ON UPDATE CURRENT_TIMESTAMP.
    fn stamp(&self, row: &mut Row) {
        for &column in &self.touched.on_update {
            if let (Some(cell), Some(column)) = (row.get_mut(column), self.table.columns.get(column)) {
                *cell = now(&column.ty, self.ctx.eval);
            }
        }
    }

    /// A hidden id is that of one row in its partition only, since EXCHANGE PARTITION brings rows of other tables:
    /// a row that moves gets a new one.
    fn moved_image(&self, after: Image, before: &Image, row: &Row, maker: &ImageMaker<'_>) -> Result<Image> {
        if !maker.hides_handles() || after.key == before.key {
            return Ok(after);
        }
        let sequence = self.ctx.cluster.ids().allocate_row_ids(self.table, 1)?;
        let id = self.table.row_id_layout().id(sequence, sequence) as i64;
        maker.image(row, Some(&RowHandle::Int(id)), &self.touched.indexes)
    }

    /// `None` after the warning of UPDATE IGNORE that no partition takes the row.
    fn change_or_warn(
        &self,
        key: &[u8],
        old: &Row,
        row: Row,
        value: Vec<u8>,
        maker: &ImageMaker<'_>,
    ) -> Result<Option<Change>> {
        match self.change(key, old, row, value, maker) {
            Err(error) if self.ignore && is_misplaced(&error) => {
                warn(self.ctx.eval, error.code, error.message);
                Ok(None)
            }
            change => change.map(Some),
        }
    }

    fn change(
        &self,
        key: &[u8],
        old: &Row,
        row: Row,
        value: Vec<u8>,
        maker: &ImageMaker<'_>,
    ) -> Result<Change> {
        let handle = maker.handle(key)?;
        let new_handle = (!self.touched.keys).then_some(&handle);
        let indexes = &self.touched.indexes;
        let before = maker.image_beside(key, old, Some(&handle), indexes)?;
        let after = match self.touched.partitions {
            true => self.moved_image(maker.image(&row, new_handle, indexes)?, &before, &row, maker)?,
            false => maker.image_beside(key, &row, new_handle, indexes)?,
        };
        Ok(Change {
            old: before,
            new: after,
            old_row: self.keys.is_some().then(|| old.clone()),
            value,
            row,
            warned: self.ctx.eval.warnings.count(),
        })
    }

    /// Writes some rows, in order. There were `warned` warnings before the first of them was made. Warnings
    /// about a row come before the errors of later rows.
    fn write(&mut self, changes: Vec<Change>, warned: u64, writer: &mut Writer<'_, '_>) -> Result<()> {
        let mut warnings = self.ctx.eval.warnings.take_back(warned);
        let mut keys = Vec::new();
        for Change { old, new, .. } in &changes {
            if old.key != new.key {
                keys.push(new.key.clone());
            }
            let entries = |image| unique_keys(image).skip(1).map(<[u8]>::to_vec);
            let different = old.entries != new.entries;
            keys.extend(entries(old).chain(entries(new)).filter(|_| different));
        }
        writer.lock(keys.into_iter())?;
        writer.find_outdated(changes.iter().flat_map(Change::keys))?;
        if let Some(keys) = &mut self.keys {
            let rows = changes
                .iter()
                .map(|change| (change.old_row.as_ref(), &change.row));
            keys.lock_parents(rows, writer.txn)?;
        }
        for change in changes {
            warnings.report_until(change.warned);
            let Change {
                old,
                new,
                row,
                old_row,
                value,
                ..
            } = change;
            if let Some(conflict) = writer.conflict(&new, Some(&old))? {
                let error = duplicate::error(self.table, conflict.key, &row, &self.ctx.eval.sql_mode);
                if !self.ignore || conflict.is_building {
                    // InnoDB looks first for rows that refer to a row whose key changes.
                    if let Some((keys, old_row)) =
                        self.keys.as_mut().zip(old_row).filter(|_| old.key != new.key)
                    {
                        keys.changed(&old_row, &row, writer.txn)?;
                    }
                    return Err(error);
                }
                warn(self.ctx.eval, error.code, error.message);
                continue;
            }
            match self.keys.as_mut().zip(old_row) {
                None => writer.update(old, new, value)?,
                Some((keys, old_row)) => {
                    keys.lock_removed(std::iter::once((old.key.as_slice(), &old_row)), writer)?;
                    let savepoint = self.ignore.then(|| writer.txn.savepoint());
                    let done = keys
                        .check_parents(Some(&old_row), &row, writer.txn)
                        .and_then(|()| writer.update(old, new, value))
                        .and_then(|()| keys.changed(&old_row, &row, writer.txn));
                    if !keys.settle(done, savepoint, writer.txn)? {
                        continue;
                    }
                }
            }
            self.count(&row);
        }
        warnings.report_all();
        Ok(())
    }

    /// Counts a changed row.
    fn count(&mut self, row: &Row) {
        self.result.affected += 1;
        if let Some(ids) = &mut self.ids {
            ids.note(row.get(ids.column).unwrap_or(&Value::Null));
        }
    }
}
