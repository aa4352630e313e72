//! `events_statements_summary_by_digest`.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, moment, optional, text};
use crate::events::digests::{Counter, DigestCounts, Identity};
use crate::events::histogram::quantile;
use crate::events::picoseconds;
use crate::view::SessionView;

pub const SUMMARY: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_summary_by_digest",
    rows: digests,
    emptied: Emptied::By(|events| events.digests.reset()),
};

fn digests(view: SessionView<'_>) -> Vec<Row> {
    let seen = view.shared.events.digests.seen();
    seen.map(|(digest, counts)| digest_row(view, &digest, &counts))
        .collect()
}

fn digest_row(view: SessionView<'_>, digest: &Identity, counts: &DigestCounts) -> Row {
    let zone = &view.settings.time_zone;
    let time = counts.of(Counter::TimeNs);
    let mut row = vec![
        optional(digest.schema.as_deref()),
        optional(digest.digest.as_deref()),
        optional(digest.text.as_deref()),
    ];
    let numbers = [
        counts.count,
        picoseconds(time),
        picoseconds(counts.least_ns),
        picoseconds(time / counts.count.max(1)),
        picoseconds(counts.most_ns),
        // Lock times are not measured separately.
        0,
        counts.of(Counter::Errors),
        counts.of(Counter::Warnings),
        counts.of(Counter::RowsAffected),
        counts.of(Counter::RowsSent),
        counts.of(Counter::RowsExamined),
        // Temporary tables on disk.
        0,
        counts.of(Counter::TemporaryTables),
        counts.of(Counter::FullJoins),
        0,
        counts.of(Counter::Ranges),
        0,
        counts.of(Counter::Scans),
        0,
        0,
        counts.of(Counter::SortedRows),
        counts.of(Counter::Sorts),
        counts.of(Counter::NoIndex),
        0,
        // Processor time and memory are not measured per statement.
        0,
        0,
        0,
        0,
    ];
    row.extend(numbers.map(Value::UInt));
    row.push(moment(counts.first_seen_us, zone));
    row.push(moment(counts.last_seen_us, zone));
    row.extend([0.95, 0.99, 0.999].map(|share| Value::UInt(quantile(&counts.buckets, share))));
    row.push(text(&digest.sample));
    row.push(moment(counts.first_seen_us, zone));
    row.push(Value::UInt(picoseconds(counts.least_ns)));
    row
}
