//! What the plan says of a window, and the peers of its rows.

use std::iter;
use std::ops::Range;

use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use functions::Expr;
use functions::order::RowKeys;
use functions::window::{self, Frame, WindowCall};
use planner::plan::SortKey;
use types::Result;

use crate::batch::{BATCH_BYTES, BATCH_ROWS};
use crate::env::Env;
use crate::operator::project::evaluate;

/// What the plan says of a window.
#[derive(Clone, Copy)]
pub(in crate::operator) struct WindowParts<'p> {
    pub partition_by: &'p [Expr],
    pub order_by: &'p [SortKey],
    pub frame: &'p Frame,
    pub calls: &'p [WindowCall],
}

impl WindowParts<'_> {
    /// The keys of the window's order; `None` without ORDER BY: all rows are peers.
    pub fn order_keys(&self, rows: &RecordBatch, keys: &RowKeys, env: &Env<'_, '_>) -> Result<Option<Rows>> {
        if self.order_by.is_empty() {
            return Ok(None);
        }
        let columns = evaluate(self.order_by.iter().map(|key| &key.expr), rows, env)?;
        keys.encode(&columns).map(Some)
    }

    /// The ranges of rows that are equal under the window's order.
    pub fn peers(&self, rows: &RecordBatch, keys: &RowKeys, env: &Env<'_, '_>) -> Result<Vec<Range<usize>>> {
        Ok(match self.order_keys(rows, keys, env)? {
            Some(keys) => runs_of_equal(&keys),
            None => iter::once(0..rows.num_rows()).collect(),
        })
    }

    /// The frame of each of the rows. `peers`: those of [`Self::peers`]. `end`: where the partition ends, counted from
    /// the first of the rows ([`window::frames`]).
    pub fn frames(
        &self,
        rows: &RecordBatch,
        peers: &[Range<usize>],
        end: usize,
        env: &Env<'_, '_>,
    ) -> Result<Vec<Range<usize>>> {
        let key = self.order_by.first().map(|key| (&key.expr, key.descending));
        window::frames(self.frame, rows, peers, key, end, env.eval())
    }
}

/// The ranges of rows with equal keys that follow each other.
pub(super) fn runs_of_equal(keys: &Rows) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in 0..keys.num_rows() {
        match runs.last_mut() {
            Some(run) if keys.row(run.start) == keys.row(row) => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

/// How many rows of a size are computed at a time.
pub(super) fn most_rows(row_bytes: usize, env: &Env<'_, '_>) -> usize {
    let bytes = BATCH_BYTES.min(env.ctx.memory_limit_bytes / 32);
    (bytes / row_bytes.max(1)).clamp(1, BATCH_ROWS)
}
