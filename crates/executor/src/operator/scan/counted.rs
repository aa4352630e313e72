//! The counters of rows that scans read.

use functions::EvalContext;
use planner::plan::{Access, TableScan};

/// Counts rows that were read for a scan.
pub(crate) fn count(eval: &EvalContext, scan: &TableScan, read: usize) {
    if read == 0 {
        return;
    }
    match scan.access {
        Access::Full { .. } => eval.reads.scanned(read),
        Access::PrimaryPoints { .. } | Access::UniquePoints { .. } => eval.reads.read_keys(read),
        _ => eval.reads.read_next(read),
    }
    eval.reads.read_at(|| scan.place(), read);
}
