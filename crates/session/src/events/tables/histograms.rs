//! The latencies of statements, by digest and in total.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, optional};
use crate::events::histogram::{BOUNDS_PS, BUCKETS};
use crate::view::SessionView;

pub const BY_DIGEST: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_histogram_by_digest",
    rows: histograms,
    emptied: Emptied::By(|view| view.shared.events.digests.reset_histograms()),
};

pub const GLOBAL: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_histogram_global",
    rows: global_histogram,
    emptied: Emptied::By(|view| view.shared.events.digests.reset_histograms()),
};

fn histograms(view: SessionView<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (digest, counts) in view.shared.events.digests.seen() {
        let names = [
            optional(digest.schema.as_deref()),
            optional(digest.digest.as_deref()),
        ];
        rows.extend(buckets(&counts.buckets, &names));
    }
    rows
}

fn global_histogram(view: SessionView<'_>) -> Vec<Row> {
    let mut all = [0; BUCKETS];
    for (_, counts) in view.shared.events.digests.seen() {
        for (sum, count) in all.iter_mut().zip(counts.buckets.iter()) {
            *sum += count;
        }
    }
    buckets(&all, &[]).collect()
}

fn buckets<'a>(counts: &'a [u64; BUCKETS], names: &'a [Value]) -> impl Iterator<Item = Row> + 'a {
    let total: u64 = counts.iter().sum();
    let mut lower = 0;
    counts.iter().enumerate().map(move |(bucket, count)| {
        lower += count;
        let low = bucket.checked_sub(1).map_or(0, |before| BOUNDS_PS[before]);
        let share = if total == 0 {
            0.0
        } else {
            lower as f64 / total as f64
        };
        let mut row = names.to_vec();
        row.extend([bucket as u64, low, BOUNDS_PS[bucket], *count, lower].map(Value::UInt));
        row.push(Value::Double(share));
        row
    })
}
