//! How wide the rows are that a query reads: what the size of its batches is made of.

use std::ops::ControlFlow;

use kv::{KeyRange, Reader};
use planner::plan::{Rel, TableScan};
use types::Result;

use crate::Source;

/// Rows looked at. They are the table's first: those behind them are most likely of their kind.
const SAMPLED_ROWS: usize = 16;

/// Bytes of an average row of the widest table.
pub fn row_bytes(rel: &Rel, source: &Source) -> Result<usize> {
    match rel {
        Rel::OneRow | Rel::Virtual(_) => Ok(0),
        Rel::Scan(scan) => sampled(scan, source),
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Aggregate { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Repeat { input, .. }
        | Rel::Distinct { input } => row_bytes(input, source),
    }
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
