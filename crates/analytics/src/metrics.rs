//! The figures that DataFusion has measured of an operator, for EXPLAIN ANALYZE.

use std::time::Duration;

use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::MetricValue;
use planner::plan::Measured;

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
