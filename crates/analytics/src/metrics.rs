//! What DataFusion has measured of an operator, for EXPLAIN ANALYZE.

use std::time::Duration;

use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::MetricValue;
use planner::plan::Measured;

/// Rows of all partitions, and the time from the start of the first to the end of the last.
pub fn of(plan: &dyn ExecutionPlan) -> Measured {
    let Some(metrics) = plan.metrics() else {
        return Measured::default();
    };
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
    let took = start
        .zip(end)
        .and_then(|(start, end)| u64::try_from(end - start).ok());
    Measured {
        loops: 1,
        rows: metrics.output_rows().unwrap_or(0) as u64,
        first: Duration::ZERO,
        all: Duration::from_nanos(took.unwrap_or(0)),
    }
}
