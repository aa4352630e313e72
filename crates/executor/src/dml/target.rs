//! The rows that an UPDATE or DELETE changes: found, locked, sorted and limited.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::record_batch::RecordBatch;
use functions::{Expr, eval_row_predicate, eval_value};
use planner::plan::{Access, Locking, LockingWait, Target};
use schema::layout::TableLayout;
use types::{Error, Result, Value};

use super::image::Row;
use super::writer::Writer;
use crate::batch::ALL_ROWS;
use crate::context::ExecContext;
use crate::env::{Env, check_interrupted};
use crate::operator::limit::count_of;
use crate::operator::{BoxOperator, scan, sort};
use crate::spill::{HeldRows, HeldRowsReader};

const LOCKING: Locking = Locking {
    exclusive: true,
    wait: LockingWait::Wait,
    of_write: true,
};

/// Returns the target's rows in batches: all columns of the table, and after them the rows' keys.
pub(super) struct Rows<'p> {
    input: BoxOperator<'p>,
    /// All rows, if they had to be collected before the first was changed.
    collected: Option<HeldRowsReader>,
}

impl<'p> Rows<'p> {
    /// `moves_rows`: the scan may meet a row again after it has been changed (the Halloween problem), so all
    /// rows are found before the first is changed.
    pub fn open(target: &'p Target, moves_rows: bool, env: &mut Env<'_, '_>) -> Result<Self> {
        let columns = target.scan.table.columns.len();
        if !target.scan.columns.iter().copied().eq(0..columns) {
            return Err(Error::internal("the target of a change lacks columns"));
        }
        let limit = count_of(target.limit.as_ref(), env)?;
        let locking = (!env.source.transaction()?.is_optimistic()).then_some(LOCKING);
        let input = scan::open(&target.scan, locking, true, env)?;
        let mut input = sort::sorted(input, &target.order_by, limit)?;
        // Before the first row is returned, a locking scan has locked all rows, and a sort has read all of
        // them.
        if !moves_rows || locking.is_some() || !target.order_by.is_empty() {
            return Ok(Self {
                input,
                collected: None,
            });
        }
        let mut rows = HeldRows::builder();
        while let Some(batch) = input.next(env, ALL_ROWS)? {
            rows.add(batch, env.memory, env.ctx)?;
        }
        Ok(Self {
            input,
            collected: Some(Rc::new(rows.finish()?).read()?),
        })
    }

    pub fn next(&mut self, env: &mut Env<'_, '_>) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        match &mut self.collected {
            Some(rows) => rows.next(),
            None => self.input.next(env, ALL_ROWS),
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

/// `WHERE key = ?` with the complete primary key: one row, without operators or batches.
#[derive(Debug)]
pub(super) struct Point {
    /// The columns of the row that are read.
    layout: TableLayout,
}

/// A row that was found by its key and locked.
pub(super) struct LockedRow {
    pub key: Vec<u8>,
    pub stored: Arc<[u8]>,
    /// NULL in columns that the statement does not read.
    pub row: Row,
}

impl Point {
    /// `columns`: the columns that will be read, besides the target's own. `None` if the target is of another
    /// kind.
    pub fn of(target: &Target, columns: impl Iterator<Item = usize>) -> Result<Option<Self>> {
        let scan = &target.scan;
        if point_key(target).is_none()
            || target.limit.is_some()
            || !scan.columns.iter().copied().eq(0..scan.table.columns.len())
        {
            return Ok(None);
        }
        let mut columns: BTreeSet<usize> = columns.collect();
        if let Some(filter) = &scan.filter {
            add_columns(filter, &mut columns);
        }
        let columns: Vec<usize> = columns.into_iter().collect();
        let layout = TableLayout::in_place(&scan.table, &columns)?;
        Ok(Some(Self { layout }))
    }

    /// The row, if there is one.
    pub fn lock(
        &self,
        target: &Target,
        writer: &mut Writer<'_, '_>,
        ctx: &ExecContext<'_>,
    ) -> Result<Option<LockedRow>> {
        check_interrupted(ctx)?;
        let key = point_key(target).unwrap_or_default();
        let values = key.iter().map(|e| eval_value(e, ctx.eval));
        let values = values.collect::<Result<Vec<Value>>>()?;
        let Some(key) = writer.maker.row_key(&values)? else {
            return Ok(None);
        };
        ctx.eval.reads.read_keys(1);
        let Some(stored) = writer.get_once(&key)? else {
            return Ok(None);
        };
        let row = writer.maker.decode_some(&self.layout, &key, &stored)?;
        let is_meant = match &target.scan.filter {
            Some(filter) => eval_row_predicate(filter, &row, ctx.eval)?,
            None => true,
        };
        Ok(is_meant.then_some(LockedRow { key, stored, row }))
    }
}

/// The expressions of the target's key, if it has only one.
fn point_key(target: &Target) -> Option<&[Expr]> {
    match &target.scan.access {
        Access::PrimaryPoints { keys } => match keys.as_slice() {
            [key] => Some(key),
            _ => None,
        },
        _ => None,
    }
}

/// Adds the columns that an expression reads.
pub(super) fn add_columns(expr: &Expr, columns: &mut BTreeSet<usize>) {
    expr.walk(&mut |expr| {
        if let Expr::Column { index, .. } = expr {
            columns.insert(*index);
        }
    });
}
