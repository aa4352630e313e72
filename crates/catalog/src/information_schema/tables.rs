//! SCHEMATA, TABLES, PARTITIONS.

use types::{Result, Value};

use super::{CATALOG, Context, Row, number, signed, text};
use crate::model::{Database, Table};

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

/// What a database says of its character set: MySQL's information_schema is utf8mb3.
fn names(database: &Database) -> (&'static str, &'static str) {
    if database.name == crate::model::INFORMATION_SCHEMA {
        return ("utf8mb3", "utf8mb3_general_ci");
    }
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
    let sizes = Sizes::of(ctx, table);
    let next = match table.auto_increment_column() {
        Some(_) => number(ctx.catalog.next_auto_increment(table)?),
        None => Value::Null,
    };
    Ok(vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text("BASE TABLE"),
        text("InnoDB"),
        signed(10),
        text("Dynamic"),
        number(sizes.rows),
        number(sizes.row_bytes()),
        number(sizes.data_bytes),
        number(0),
        number(sizes.index_bytes),
        number(0),
        next,
        ctx.timestamp(table.created_us),
        Value::Null,
        Value::Null,
        text(table.collation.name()),
        Value::Null,
        text(""),
        text(&table.comment),
    ])
}

/// About how large a table is.
struct Sizes {
    rows: u64,
    data_bytes: u64,
    index_bytes: u64,
}

impl Sizes {
    fn of(ctx: &Context, table: &Table) -> Self {
        let interrupt = ctx.surroundings.interrupt();
        let (data_bytes, index_bytes) = ctx.catalog.size_estimate(table.id, interrupt);
        Self {
            rows: ctx.catalog.row_estimate(table.id, interrupt),
            data_bytes,
            index_bytes,
        }
    }

    fn row_bytes(&self) -> u64 {
        self.data_bytes.checked_div(self.rows).unwrap_or(0)
    }
}

/// A table that is not partitioned has one row, without names.
pub(super) fn partitions(ctx: &Context) -> Vec<Row> {
    ctx.tables()
        .filter(|(_, table)| !table.is_virtual())
        .map(|(_, table)| {
            let sizes = Sizes::of(ctx, table);
            let mut row = vec![text(CATALOG), text(&table.database), text(&table.name)];
            row.extend(std::iter::repeat_n(Value::Null, 9));
            row.extend([
                number(sizes.rows),
                number(sizes.row_bytes()),
                number(sizes.data_bytes),
                number(0),
                number(sizes.index_bytes),
                number(0),
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
