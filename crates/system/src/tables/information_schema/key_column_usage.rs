//! The columns of unique keys.

use types::{Result, Value};

use crate::keys::each_part;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, number, text};

pub(crate) struct KeyColumnUsage;

impl SystemTable for KeyColumnUsage {
    fn name(&self) -> &'static str {
        "information_schema.KEY_COLUMN_USAGE"
    }

    fn columns(&self) -> &'static str {
        r#"
CONSTRAINT_CATALOG varchar(64) bin NOT
CONSTRAINT_SCHEMA varchar(64) bin NOT
CONSTRAINT_NAME varchar(64) ci NULL
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
COLUMN_NAME varchar(64) ci NULL
ORDINAL_POSITION int_unsigned - NOT 0
POSITION_IN_UNIQUE_CONSTRAINT int_unsigned - NULL
REFERENCED_TABLE_SCHEMA varchar(64) bin NULL
REFERENCED_TABLE_NAME varchar(64) bin NULL
REFERENCED_COLUMN_NAME varchar(64) ci NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        each_part(ctx, (4, 5), |table, index, part, sequence| {
            let column = table.columns.get(part.column)?;
            (index.unique && !column.hidden).then(|| {
                vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&index.name),
                    text(CATALOG),
                    text(&table.database),
                    text(&table.name),
                    text(&column.name),
                    number(sequence),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]
            })
        })
    }
}
