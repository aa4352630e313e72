//! Estimates of a table's size, in TABLES and PARTITIONS.

use schema::model::Table;
use types::Value;

use crate::table::Context;
use crate::values::number;

/// The columns from TABLE_ROWS, whose offset is `at`, to DATA_FREE.
pub(super) fn of(ctx: &Context<'_>, table: &Table, at: usize) -> [Value; 6] {
    let interrupt = ctx.sources.server.interrupt();
    let statistics = ctx.sources.statistics;
    let has_bytes = ctx.wants(at + 1..at + 6);
    let rows = (has_bytes || ctx.wants(at..at + 1)).then(|| statistics.rows(table.id, interrupt));
    let bytes = has_bytes.then(|| statistics.bytes(table.id, interrupt));
    let number = |value: Option<u64>| value.map_or(Value::Null, number);
    let (data, index) = bytes.unzip();
    let row_bytes = data
        .zip(rows)
        .map(|(data, rows)| data.checked_div(rows).unwrap_or(0));
    [rows, row_bytes, data, Some(0), index, Some(0)].map(number)
}
