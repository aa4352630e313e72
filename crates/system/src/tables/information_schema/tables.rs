//! The tables, with estimates of their sizes.

use schema::model::Table;
use types::{Result, Value};

use super::sizes;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, number, signed, text};

pub(crate) struct Tables;

impl SystemTable for Tables {
    fn name(&self) -> &'static str {
        "information_schema.TABLES"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
TABLE_TYPE enum('BASE TABLE','VIEW','SYSTEM VIEW') bin NOT
ENGINE varchar(64) ci NULL
VERSION int - NULL
ROW_FORMAT enum('Fixed','Dynamic','Compressed','Redundant','Compact','Paged') bin NULL
TABLE_ROWS bigint_unsigned - NULL
AVG_ROW_LENGTH bigint_unsigned - NULL
DATA_LENGTH bigint_unsigned - NULL
MAX_DATA_LENGTH bigint_unsigned - NULL
INDEX_LENGTH bigint_unsigned - NULL
DATA_FREE bigint_unsigned - NULL
AUTO_INCREMENT bigint_unsigned - NULL
CREATE_TIME timestamp - NOT
UPDATE_TIME datetime - NULL
CHECK_TIME datetime - NULL
TABLE_COLLATION varchar(64) ci NULL
CHECKSUM bigint - NULL
CREATE_OPTIONS varchar(256) ci NULL
TABLE_COMMENT text ci NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |table: &Table| match table.is_virtual() {
            true if crate::is_view_of_sys(table) => Ok(view(ctx, table)),
            true => Ok(system_table(ctx, table)),
            false if table.view.is_some() => Ok(view(ctx, table)),
            false => stored_table(ctx, table),
        };
        ctx.tables(1, 2)?.into_iter().map(row).collect()
    }
}

fn system_table(ctx: &Context, table: &Table) -> Row {
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
        created(ctx, table),
        Value::Null,
        Value::Null,
        collation,
        Value::Null,
        text(""),
        text(""),
    ]
}

fn view(ctx: &Context, table: &Table) -> Row {
    let mut row = vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text("VIEW"),
    ];
    row.resize(14, Value::Null);
    row.push(created(ctx, table));
    row.resize(20, Value::Null);
    row.push(text("VIEW"));
    row
}

/// The server's own tables have no time of their creation: they have the first one that a TIMESTAMP can be.
fn created(ctx: &Context, table: &Table) -> Value {
    ctx.timestamp(table.created_us.max(1_000_000))
}

fn stored_table(ctx: &Context, table: &Table) -> Result<Row> {
    let next = match table.auto_increment_column() {
        Some(_) if ctx.wants(13..14) => number(ctx.sources.cluster.ids().next(table)?),
        _ => Value::Null,
    };
    let mut row = vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text("BASE TABLE"),
        text("InnoDB"),
        signed(10),
        text(table.options.row_format()),
    ];
    row.extend(sizes::of(ctx, table, row.len()));
    row.extend([
        next,
        ctx.timestamp(table.created_us),
        Value::Null,
        Value::Null,
        text(table.collation.name()),
        Value::Null,
        text(table.listed_options()),
        text(&table.comment),
    ]);
    Ok(row)
}
