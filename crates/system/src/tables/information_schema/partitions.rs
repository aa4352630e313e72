//! The partitions of tables. A table that is not partitioned has one row, without names.

use schema::model::Table;
use types::{Result, Value};

use super::sizes;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct Partitions;

impl SystemTable for Partitions {
    fn name(&self) -> &'static str {
        "information_schema.PARTITIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
PARTITION_NAME varchar(64) ci NULL
SUBPARTITION_NAME varchar(64) ci NULL
PARTITION_ORDINAL_POSITION int_unsigned - NULL
SUBPARTITION_ORDINAL_POSITION int_unsigned - NULL
PARTITION_METHOD varchar(13) ci NULL
SUBPARTITION_METHOD varchar(13) ci NULL
PARTITION_EXPRESSION varchar(2048) bin NULL
SUBPARTITION_EXPRESSION varchar(2048) bin NULL
PARTITION_DESCRIPTION text bin NULL
TABLE_ROWS bigint_unsigned - NULL
AVG_ROW_LENGTH bigint_unsigned - NULL
DATA_LENGTH bigint_unsigned - NULL
MAX_DATA_LENGTH bigint_unsigned - NULL
INDEX_LENGTH bigint_unsigned - NULL
DATA_FREE bigint_unsigned - NULL
CREATE_TIME timestamp - NOT
UPDATE_TIME datetime - NULL
CHECK_TIME datetime - NULL
CHECKSUM bigint - NULL
PARTITION_COMMENT text bin NOT
NODEGROUP varchar(256) ci NULL
TABLESPACE_NAME varchar(268) bin NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |table: &Table| {
            let mut row = vec![text(CATALOG), text(&table.database), text(&table.name)];
            row.extend(std::iter::repeat_n(Value::Null, 9));
            row.extend(sizes::of(ctx, table, row.len()));
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
        };
        let tables = ctx.tables(1, 2)?.into_iter();
        Ok(tables
            .filter(|table| !table.is_virtual() && table.view.is_none())
            .map(row)
            .collect())
    }
}
