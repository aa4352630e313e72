//! UPDATE.
//!
//! Rows are found and locked a batch at a time, then changed one by one, in order: what becomes of `SET id = id + 1`
//! depends on it. Rows that come out as they were are not written.

use catalog::model::{Handle, Table};
use kv::Transaction;
use planner::plan::{Access, UpdatePlan};
use types::{Result, Value};

use super::assign::{assign_row, is_same_row};
use super::auto_increment::AutoIncrement;
use super::defaults::{now, on_update_columns};
use super::duplicate;
use super::image::{Image, ImageMaker, Row, rows_of};
use super::target::{Rows, keys_of, lock_point};
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
    let maker = ImageMaker::new(&plan.target.scan.table, ctx.eval.time_zone)?;
    let assigned: Vec<usize> = plan.assignments.iter().map(|a| a.column).collect();
    let on_update = on_update_columns(table, &assigned);
    let touched: Vec<usize> = assigned.iter().chain(&on_update).copied().collect();
    let mut update = Update {
        table,
        plan,
        ctx,
        indexes: maker.touched_by(&touched),
        ids: AutoIncrement::of(table, txn.start_ts(), ctx).filter(|ids| assigned.contains(&ids.column)),
        on_update,
        result: DmlResult::default(),
    };
    update.run(txn, &maker, &touched)?;
    if let Some(ids) = &mut update.ids {
        ids.tell_catalog(ctx)?;
    }
    Ok(DmlResult {
        ok_insert_id: last_insert_id_set(ctx.eval).unwrap_or(0),
        ..update.result
    })
}

/// Whether assignments to `touched` may move rows along the path on which they are looked for.
fn moves_rows(plan: &UpdatePlan, touched: &[usize]) -> bool {
    let scan = &plan.target.scan;
    let primary = scan.table.primary_parts();
    let index = match &scan.access {
        Access::UniquePoints { index, .. } | Access::IndexRanges { index, .. } => {
            scan.table.indexes.get(*index).map_or(&[][..], |i| &i.parts)
        }
        Access::Full { .. } | Access::PrimaryPoints { .. } | Access::PrimaryRanges { .. } => &[],
    };
    primary.iter().chain(index).any(|p| touched.contains(&p.column))
}

struct Update<'p> {
    table: &'p Table,
    plan: &'p UpdatePlan,
    ctx: &'p ExecContext<'p>,
    /// Indexes whose entries may change.
    indexes: Vec<usize>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    on_update: Vec<usize>,
    /// Where the AUTO_INCREMENT column is assigned.
    ids: Option<AutoIncrement<'p>>,
    result: DmlResult,
}

/// A row that will be different.
struct Change {
    old: Image,
    new: Image,
    row: Row,
}

impl Update<'_> {
    fn run(&mut self, txn: &mut Transaction, maker: &ImageMaker<'_>, touched: &[usize]) -> Result<()> {
        let (plan, ctx) = (self.plan, self.ctx);
        let mut writer = Writer::new(txn, maker, ctx);
        if let Some(point) = lock_point(&plan.target, &mut writer, ctx)? {
            let changes = point.into_iter().map(|(key, row)| self.change(&key, row, maker));
            let changes = changes
                .filter_map(Result::transpose)
                .collect::<Result<Vec<_>>>()?;
            return self.write(changes, &mut writer);
        }
        let memory = Memory::new(ctx.memory_limit_bytes);
        let mut source = ReadSource::Transaction(txn);
        let mut env = Env {
            ctx,
            source: &mut source,
            memory: &memory,
        };
        let mut rows = Rows::open(&plan.target, moves_rows(plan, touched), &mut env)?;
        while let Some(batch) = rows.next(&mut env)? {
            let found = keys_of(&batch)?.into_iter().zip(rows_of(&batch, self.table));
            let changes = found.map(|(key, row)| self.change(key, row, maker));
            let changes = changes
                .filter_map(Result::transpose)
                .collect::<Result<Vec<_>>>()?;
            let mut writer = Writer::new(env.source.transaction()?, maker, ctx);
            self.write(changes, &mut writer)?;
        }
        Ok(())
    }

    /// What the assignments make of a row. `None`: nothing.
    fn change(&mut self, key: &[u8], old: Row, maker: &ImageMaker<'_>) -> Result<Option<Change>> {
        let eval = self.ctx.eval;
        self.result.matched += 1;
        let mut row = old.clone();
        assign_row(
            self.table,
            &self.plan.assignments,
            &mut row,
            self.result.matched,
            eval,
        )?;
        if is_same_row(&row, &old) {
            return Ok(None);
        }
        for &column in &self.on_update {
            if let (Some(slot), Some(column)) = (row.get_mut(column), self.table.columns.get(column)) {
                *slot = now(&column.ty, eval);
            }
        }
        let hidden = match self.table.handle {
            Handle::Hidden => Some(maker.handle(key)?),
            Handle::Integer { .. } | Handle::Clustered { .. } => None,
        };
        Ok(Some(Change {
            old: maker.image(&old, hidden.as_ref(), &self.indexes)?,
            new: maker.image(&row, hidden.as_ref(), &self.indexes)?,
            row,
        }))
    }

    fn write(&mut self, changes: Vec<Change>, writer: &mut Writer<'_, '_>) -> Result<()> {
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
        for Change { old, new, row } in changes {
            if let Some(conflict) = writer.conflict(&new, Some(&old))? {
                let error = duplicate::error(self.table, conflict.key, &row);
                if !self.plan.ignore || conflict.is_building {
                    return Err(error);
                }
                warn(self.ctx.eval, error.code, error.message);
                continue;
            }
            writer.update(&old, new)?;
            self.result.affected += 1;
            if let Some(ids) = &mut self.ids {
                ids.note(row.get(ids.column).unwrap_or(&Value::Null));
            }
        }
        Ok(())
    }
}
