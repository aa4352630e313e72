//! `events_statements_summary_by_digest`.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, moment, optional, text};
use crate::events::digests::{DigestCounts, Identity};
use crate::events::histogram::quantile;
use crate::events::picoseconds;
use crate::events::sums::columns;
use crate::view::SessionView;

pub const SUMMARY: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_summary_by_digest",
    rows: digests,
    emptied: Emptied::By(|view| view.shared.events.digests.reset()),
};

fn digests(view: SessionView<'_>) -> Vec<Row> {
    let seen = view.shared.events.digests.seen();
    seen.map(|(digest, counts)| digest_row(view, &digest, &counts))
        .collect()
}

fn digest_row(view: SessionView<'_>, digest: &Identity, counts: &DigestCounts) -> Row {
    let zone = &view.settings.time_zone;
    let mut row = vec![
        optional(digest.schema.as_deref()),
        optional(digest.digest.as_deref()),
        optional(digest.text.as_deref()),
    ];
    row.extend(columns(
        counts.count,
        counts.least_ns,
        counts.most_ns,
        &counts.sums,
    ));
    row.push(moment(counts.first_seen_us, zone));
    row.push(moment(counts.last_seen_us, zone));
    row.extend([0.95, 0.99, 0.999].map(|share| Value::UInt(quantile(&counts.buckets, share))));
    row.push(text(&digest.sample));
    row.push(moment(counts.first_seen_us, zone));
    row.push(Value::UInt(picoseconds(counts.least_ns)));
    row
}
