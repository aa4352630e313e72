//! The rows that an UPDATE or DELETE is about: found, locked, ordered and cut to the LIMIT.

use arrow::array::AsArray;
use arrow::record_batch::RecordBatch;
use functions::{eval_row_predicate, eval_value};
use planner::plan::{Access, Locking, LockingWait, Target};
use types::{Error, Result, Value};

use super::image::Row;
use super::writer::Writer;

use crate::batch::{BATCH_ROWS, batch_bytes};
use crate::context::ExecContext;
use crate::env::{Env, check_interrupted};
use crate::operator::limit::count_of;
use crate::operator::{BoxOperator, scan, sort};

const LOCKING: Locking = Locking {
    exclusive: true,
    wait: LockingWait::Wait,
};

/// Hands out the target's rows in batches of all the table's columns and, behind them, the rows' keys.
pub(super) struct Rows<'p> {
    input: BoxOperator<'p>,
    /// All rows, where they had to be collected before the first was changed.
    collected: Option<std::vec::IntoIter<RecordBatch>>,
}

impl<'p> Rows<'p> {
    /// `moves_rows`: changing a row may bring it to the scan's eyes again (the Halloween problem), so all rows are found
    /// before the first is changed.
    pub fn open(target: &'p Target, moves_rows: bool, env: &mut Env<'_, '_>) -> Result<Self> {
        let columns = target.scan.table.columns.len();
        if !target.scan.columns.iter().copied().eq(0..columns) {
            return Err(Error::internal("the target of a change lacks columns"));
        }
        let limit = count_of(target.limit.as_ref(), env)?;
        let locking = (!env.source.transaction()?.is_optimistic()).then_some(LOCKING);
        let input = scan::open(&target.scan, locking, true, env)?;
        let mut input = sort::sorted(input, &target.order_by, limit)?;
        // A sort has read everything before it gives the first row.
        if !moves_rows || !target.order_by.is_empty() {
            return Ok(Self {
                input,
                collected: None,
            });
        }
        let mut batches = Vec::new();
        while let Some(batch) = input.next(env, BATCH_ROWS)? {
            env.memory.grow(batch_bytes(&batch))?;
            batches.push(batch);
        }
        Ok(Self {
            input,
            collected: Some(batches.into_iter()),
        })
    }

    pub fn next(&mut self, env: &mut Env<'_, '_>) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        match &mut self.collected {
            Some(batches) => Ok(batches.next()),
            None => self.input.next(env, BATCH_ROWS),
        }
    }
}

/// The key of each row of a batch.
pub(super) fn keys_of(batch: &RecordBatch) -> Result<Vec<&[u8]>> {
    let keys = batch.columns().last().and_then(|c| c.as_binary_opt::<i32>());
    match keys {
        Some(keys) => Ok(keys.iter().flatten().collect()),
        None => Err(Error::internal("rows to be changed have no keys")),
    }
}

/// The short way of `WHERE key = ?`: the one row by its complete primary key, with its key, locked; no operators, no
/// batches. The outer `None`: the target is another.
#[allow(
    clippy::type_complexity,
    reason = "not such a target, no such row, or the row"
)]
pub(super) fn lock_point(
    target: &Target,
    writer: &mut Writer<'_, '_>,
    ctx: &ExecContext<'_>,
) -> Result<Option<Option<(Vec<u8>, Row)>>> {
    let scan = &target.scan;
    let Access::PrimaryPoints { keys } = &scan.access else {
        return Ok(None);
    };
    let [key] = keys.as_slice() else {
        return Ok(None);
    };
    if target.limit.is_some() || !scan.columns.iter().copied().eq(0..scan.table.columns.len()) {
        return Ok(None);
    }
    check_interrupted(ctx)?;
    let values = key.iter().map(|e| eval_value(e, ctx.eval));
    let values = values.collect::<Result<Vec<Value>>>()?;
    let Some(key) = writer.maker.row_key(&values)? else {
        return Ok(Some(None));
    };
    let maker = writer.maker;
    let Some(value) = writer.get(&key)? else {
        return Ok(Some(None));
    };
    let row = maker.decode(&key, value)?;
    let is_meant = match &scan.filter {
        Some(filter) => eval_row_predicate(filter, &row, ctx.eval)?,
        None => true,
    };
    Ok(Some(is_meant.then_some((key, row))))
}
