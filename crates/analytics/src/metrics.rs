//! The figures that DataFusion has measured of an operator, for EXPLAIN ANALYZE and the status counters.

use std::time::Duration;

use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::MetricValue;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use functions::ReadCounters;
use planner::plan::Measured;

use crate::operators::Plan;

/// Counts the rows that a plan has sorted, and its files, after it has run.
pub fn count(plan: &Plan, counters: &ReadCounters) {
    if let Some(metrics) = plan.metrics() {
        let files = metrics.spill_count().unwrap_or(0);
        let sort = plan.downcast_ref::<SortExec>();
        // The sorts of the partitions below a merge are one sort. Others of this kind are parts of joins.
        let is_whole = sort.is_some_and(|sort| !sort.preserve_partitioning());
        if is_whole || plan.downcast_ref::<SortPreservingMergeExec>().is_some() {
            counters.sorted(metrics.output_rows().unwrap_or(0));
        }
        if files > 0 {
            executor::count_spill_files(files);
            match sort {
                Some(_) => counters.merged(1),
                None => counters.moved_to_files(),
            }
        }
    }
    for child in plan.children() {
        count(child, counters);
    }
}

/// The rows of all partitions, and the time from the start of the first to the end of the last. `None`:
/// another operator ran in its place.
pub fn of(plan: &dyn ExecutionPlan) -> Option<Measured> {
    let metrics = plan.metrics()?;
    let (mut start, mut end) = (None, None);
    for metric in metrics.iter() {
        let nanos = |at: &datafusion_physical_plan::metrics::Timestamp| at.value()?.timestamp_nanos_opt();
        match metric.value() {
            MetricValue::StartTimestamp(at) => {
                start = [start, nanos(at)].into_iter().flatten().min();
            }
            MetricValue::EndTimestamp(at) => end = [end, nanos(at)].into_iter().flatten().max(),
            _ => {}
        }
    }
    let took = u64::try_from(end? - start?).ok()?;
    Some(Measured {
        loops: 1,
        rows: metrics.output_rows().unwrap_or(0) as u64,
        first: Duration::ZERO,
        all: Duration::from_nanos(took),
    })
}
