//! The parts of all indexes.

use types::{Result, Value};

use crate::keys::{each_part, index_type, sort_order};
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, number, optional, signed, text};

pub(crate) struct Statistics;

impl SystemTable for Statistics {
    fn name(&self) -> &'static str {
        "information_schema.STATISTICS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
NON_UNIQUE int - NOT 0
INDEX_SCHEMA varchar(64) bin NOT
INDEX_NAME varchar(64) ci NULL
SEQ_IN_INDEX int_unsigned - NOT
COLUMN_NAME varchar(64) ci NULL
COLLATION varchar(1) ci NULL
CARDINALITY bigint - NULL
SUB_PART bigint - NULL
PACKED binary(0) - NULL
NULLABLE varchar(3) ci NOT ""
INDEX_TYPE varchar(11) bin NOT ""
COMMENT varchar(8) ci NOT ""
INDEX_COMMENT varchar(2048) bin NOT
IS_VISIBLE varchar(3) ci NOT ""
EXPRESSION longtext bin NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        each_part(ctx, (1, 2), |table, index, part, sequence| {
            let column = table.columns.get(part.column)?;
            let cardinality = if ctx.wants(9..10) && !table.is_virtual() {
                let statistics = ctx.sources.statistics;
                let known =
                    statistics.cardinality(table, index, sequence as usize, ctx.sources.server.interrupt());
                known.map_or(Value::Null, signed)
            } else {
                Value::Null
            };
            Some(vec![
                text(CATALOG),
                text(&table.database),
                text(&table.name),
                signed(i64::from(!index.unique)),
                text(&table.database),
                text(&index.name),
                number(sequence),
                optional((!column.hidden).then_some(column.name.as_str())),
                optional(sort_order(table, index, part)),
                cardinality,
                part.prefix.map_or(Value::Null, |p| signed(i64::from(p))),
                Value::Null,
                text(if column.nullable { "YES" } else { "" }),
                text(index_type(table, index)),
                text(""),
                text(&index.comment),
                text(if index.invisible { "NO" } else { "YES" }),
                optional(crate::columns::index_expression(column)),
            ])
        })
    }
}
