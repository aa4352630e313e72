//! The width of the rows that a query reads, from which the size of its batches is computed.

use std::ops::ControlFlow;

use kv::Reader;
use planner::plan::{Rel, TableScan};
use types::Result;

use crate::Source;

/// How many rows are sampled. They are the first of the table; the others are assumed to be similar.
const SAMPLED_ROWS: usize = 16;

/// The average size of the rows that a plan reads, added over its tables.
pub fn row_bytes(root: &Rel, source: &Source) -> Result<usize> {
    let scans = root.scans().into_iter();
    scans.map(|scan| sampled(scan, source)).sum()
}

fn sampled(scan: &TableScan, source: &Source) -> Result<usize> {
    let (mut rows, mut bytes) = (0, 0);
    for range in scan.table.row_ranges() {
        source.snapshot.scan(&range.into(), false, &mut |key, value| {
            rows += 1;
            bytes += key.len() + value.len();
            if rows < SAMPLED_ROWS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        if rows >= SAMPLED_ROWS {
            break;
        }
    }
    Ok(bytes / rows.max(1))
}
