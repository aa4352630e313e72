//! How wide the rows are that a query reads: what the size of its batches is made of.

use std::ops::ControlFlow;

use kv::{KeyRange, Reader};
use planner::plan::{Rel, TableScan};
use types::Result;

use crate::Source;

/// Rows looked at. They are the table's first: those behind them are most likely of their kind.
const SAMPLED_ROWS: usize = 16;

/// Bytes of an average row of the table; 0 for rows that no table stores.
pub fn row_bytes(rel: &Rel, source: &Source) -> Result<usize> {
    rel.scan().map_or(Ok(0), |scan| sampled(scan, source))
}

fn sampled(scan: &TableScan, source: &Source) -> Result<usize> {
    let (mut rows, mut bytes) = (0, 0);
    let range = KeyRange::from(schema::layout::table_range(&scan.table));
    source.snapshot.scan(&range, false, &mut |key, value| {
        rows += 1;
        bytes += key.len() + value.len();
        if rows < SAMPLED_ROWS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(bytes / rows.max(1))
}
