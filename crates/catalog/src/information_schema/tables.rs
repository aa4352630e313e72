//! SCHEMATA, TABLES, PARTITIONS.

use schema::model::{Database, Table};
use types::{Result, Value};

use super::{CATALOG, Context, Row, number, signed, text};

pub(super) fn schemata(ctx: &Context) -> Vec<Row> {
    ctx.databases()
        .map(|d| {
            let (charset, collation) = names(d);
            vec![
                text(CATALOG),
                text(&d.name),
                text(charset),
                text(collation),
                Value::Null,
                text("NO"),
            ]
        })
        .collect()
}

/// What a database says of its character set.
fn names(database: &Database) -> (&'static str, &'static str) {
    (database.collation.charset().name(), database.collation.name())
}

pub(super) fn tables(ctx: &Context) -> Result<Vec<Row>> {
    ctx.tables()
        .map(|(_, table)| {
            if table.is_virtual() {
                Ok(virtual_table(ctx, table))
            } else {
                stored_table(ctx, table)
            }
        })
        .collect()
}

fn virtual_table(ctx: &Context, table: &Table) -> Row {
    let (kind, engine, format, collation) = match table.database.as_str() {
        "information_schema" => ("SYSTEM VIEW", Value::Null, Value::Null, Value::Null),
        "performance_schema" => (
            "BASE TABLE",
            text("PERFORMANCE_SCHEMA"),
            text("Dynamic"),
            text("utf8mb4_0900_ai_ci"),
        ),
        _ => ("BASE TABLE", text("InnoDB"), text("Dynamic"), text("utf8mb4_bin")),
    };
    vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text(kind),
        engine,
        signed(10),
        format,
        number(0),
        number(0),
        number(0),
        number(0),
        number(0),
        number(0),
        Value::Null,
        ctx.timestamp(table.created_us),
        Value::Null,
        Value::Null,
        collation,
        Value::Null,
        text(""),
        text(""),
    ]
}

fn stored_table(ctx: &Context, table: &Table) -> Result<Row> {
    let next = match table.auto_increment_column() {
        Some(_) if ctx.wants(13..14) => number(ctx.catalog.next_auto_increment(table)?),
        _ => Value::Null,
    };
    let mut row = vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text("BASE TABLE"),
        text("InnoDB"),
        signed(10),
        text("Dynamic"),
    ];
    row.extend(sizes(ctx, table, row.len()));
    row.extend([
        next,
        ctx.timestamp(table.created_us),
        Value::Null,
        Value::Null,
        text(table.collation.name()),
        Value::Null,
        text(""),
        text(&table.comment),
    ]);
    Ok(row)
}

/// About how large a table is: TABLE_ROWS, whose offset is `at`, to DATA_FREE.
fn sizes(ctx: &Context, table: &Table, at: usize) -> [Value; 6] {
    let interrupt = ctx.surroundings.interrupt();
    let has_bytes = ctx.wants(at + 1..at + 6);
    let rows = (has_bytes || ctx.wants(at..at + 1)).then(|| ctx.catalog.row_estimate(table.id, interrupt));
    let bytes = has_bytes.then(|| ctx.catalog.size_estimate(table.id, interrupt));
    let number = |value: Option<u64>| value.map_or(Value::Null, number);
    let (data, index) = bytes.unzip();
    let row_bytes = data
        .zip(rows)
        .map(|(data, rows)| data.checked_div(rows).unwrap_or(0));
    [rows, row_bytes, data, Some(0), index, Some(0)].map(number)
}

/// A table that is not partitioned has one row, without names.
pub(super) fn partitions(ctx: &Context) -> Vec<Row> {
    ctx.tables()
        .filter(|(_, table)| !table.is_virtual())
        .map(|(_, table)| {
            let mut row = vec![text(CATALOG), text(&table.database), text(&table.name)];
            row.extend(std::iter::repeat_n(Value::Null, 9));
            row.extend(sizes(ctx, table, row.len()));
            row.extend([
                ctx.timestamp(table.created_us),
                Value::Null,
                Value::Null,
                Value::Null,
                text(""),
                text(""),
                Value::Null,
            ]);
            row
        })
        .collect()
}
