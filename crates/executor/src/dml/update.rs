//! UPDATE.
//!
//! Assignments are evaluated a batch of rows at a time, each assignment over the columns as the ones before it left
//! them; rows that come out as they were are not written. Writes and duplicate checks go row by row, in order, as the
//! outcome of `SET id = id + 1` depends on it.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use catalog::model::{Handle, Table};
use functions::eval_array;
use kv::Transaction;
use planner::plan::{Access, Assignment, UpdatePlan};
use types::array::{ColumnView, array_of};
use types::{Result, Value};

use super::assign::{self, NullRule};
use super::auto_increment::AutoIncrement;
use super::defaults::{self, ColumnDefault, implicit, now, on_update_columns};
use super::duplicate;
use super::image::{Image, ImageMaker, Row, rows_of};
use super::target::{Rows, keys_of};
use super::writer::{Writer, unique_keys};
use crate::batch::batch_of;
use crate::context::{DmlResult, ExecContext};
use crate::dml::warn;
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
        ids: AutoIncrement::of(table, ctx).filter(|ids| assigned.contains(&ids.column)),
        assigned,
        on_update,
        result: DmlResult::default(),
    };
    let memory = Memory::new(ctx.memory_limit_bytes);
    let mut source = ReadSource::Transaction(txn);
    let mut env = Env {
        ctx,
        source: &mut source,
        memory: &memory,
    };
    let mut rows = Rows::open(&plan.target, moves_rows(plan, &touched), &mut env)?;
    while let Some(batch) = rows.next(&mut env)? {
        let changes = update.changes(&batch, &maker)?;
        let mut writer = Writer::new(env.source.transaction()?, &maker, ctx);
        update.write(changes, &mut writer)?;
    }
    if let Some(ids) = &mut update.ids {
        ids.tell_catalog(ctx)?;
    }
    Ok(update.result)
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
    assigned: Vec<usize>,
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
    /// What the assignments make of a batch of rows.
    fn changes(&mut self, batch: &RecordBatch, maker: &ImageMaker<'_>) -> Result<Vec<Change>> {
        let after = self.assign(batch)?;
        self.result.matched += batch.num_rows() as u64;
        let changed = self.changed_rows(batch, &after);
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let keys = keys_of(batch)?;
        let (old_rows, new_rows) = (rows_of(batch, self.table), rows_of(&after, self.table));
        let mut pairs: Vec<_> = old_rows.into_iter().zip(new_rows).map(Some).collect();
        let mut changes = Vec::with_capacity(changed.len());
        for at in changed {
            let (Some((old, mut row)), Some(key)) = (pairs.get_mut(at).and_then(Option::take), keys.get(at))
            else {
                continue;
            };
            for &column in &self.on_update {
                if let (Some(slot), Some(column)) = (row.get_mut(column), self.table.columns.get(column)) {
                    *slot = now(&column.ty, self.ctx.eval);
                }
            }
            let hidden = match self.table.handle {
                Handle::Hidden => Some(maker.handle(key)?),
                Handle::Integer { .. } | Handle::Clustered { .. } => None,
            };
            changes.push(Change {
                old: maker.image(&old, hidden.as_ref(), &self.indexes)?,
                new: maker.image(&row, hidden.as_ref(), &self.indexes)?,
                row,
            });
        }
        Ok(changes)
    }

    /// The batch with the assignments made.
    fn assign(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema: SchemaRef = batch.schema();
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        for assignment in &self.plan.assignments {
            let input = batch_of(&schema, columns.iter().map(Arc::clone).collect(), rows)?;
            let values = self.values(assignment, &input)?;
            if let Some(slot) = columns.get_mut(assignment.column) {
                *slot = values;
            }
        }
        batch_of(&schema, columns, rows)
    }

    fn values(&self, assignment: &Assignment, input: &RecordBatch) -> Result<ArrayRef> {
        let Some(column) = self.table.columns.get(assignment.column) else {
            return Err(types::Error::internal(
                "an assignment to a column that is not there",
            ));
        };
        let eval = self.ctx.eval;
        let Some(expr) = &assignment.value else {
            let value = match defaults::given(column, eval)? {
                ColumnDefault::Value(value) => value,
                ColumnDefault::Generated | ColumnDefault::Missing => implicit(&column.ty),
            };
            return array_of(&value, &column.ty, input.num_rows());
        };
        let first = self.result.matched + 1;
        let values = eval_array(expr, input, eval)?;
        let target = assign::Target {
            table: self.table,
            column,
            nulls: NullRule::of(eval),
            eval,
        };
        target.array(&values, &expr.ty(), first)
    }

    /// The rows in which an assigned column is different.
    fn changed_rows(&self, before: &RecordBatch, after: &RecordBatch) -> Vec<usize> {
        let mut changed = vec![false; before.num_rows()];
        for &at in &self.assigned {
            let (Some(column), Some(old), Some(new)) = (
                self.table.columns.get(at),
                before.columns().get(at),
                after.columns().get(at),
            ) else {
                continue;
            };
            if Arc::ptr_eq(old, new) {
                continue;
            }
            let (old, new) = (ColumnView::new(old, &column.ty), ColumnView::new(new, &column.ty));
            for (row, changed) in changed.iter_mut().enumerate() {
                *changed |= !same(&old, &new, row);
            }
        }
        let rows = changed.iter().enumerate().filter(|(_, changed)| **changed);
        rows.map(|(row, _)| row).collect()
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

/// Whether two values are the same to the byte: `'a'` and `'A'` are not, whatever the collation.
fn same(old: &ColumnView<'_>, new: &ColumnView<'_>, row: usize) -> bool {
    match (old.value(row), new.value(row)) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}
