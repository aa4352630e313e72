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

    /// The frame of each of the rows, as far as it is among them.
    pub fn frames(&self, rows: &RecordBatch, keys: &RowKeys, env: &Env<'_, '_>) -> Result<Vec<Range<usize>>> {
        let peers = self.peers(rows, keys, env)?;
        self.frames_of(rows, &peers, env)
    }

    /// The same. `peers`: those of [`Self::peers`].
    pub fn frames_of(
        &self,
        rows: &RecordBatch,
        peers: &[Range<usize>],
        env: &Env<'_, '_>,
    ) -> Result<Vec<Range<usize>>> {
        let key = self.order_by.first().map(|key| (&key.expr, key.descending));
        window::frames(self.frame, rows, peers, key, env.eval())
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
