//! The columns of unique keys and foreign keys.

use schema::model::Table;
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
        let privileges = ctx.sources.server.privileges();
        let may_see =
            |table: &Table, column: &str| privileges.may_see_column(&table.database, &table.name, column);
        let mut rows = each_part(ctx, (4, 5), |table, index, part, sequence| {
            let column = table.columns.get(part.column)?;
            (index.unique && !column.hidden && may_see(table, &column.name)).then(|| {
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
        })?;
        for table in ctx.tables(4, 5)? {
            for key in table.public_foreign_keys() {
                let columns = key.columns.iter().filter_map(|&at| table.columns.get(at));
                for (sequence, (own, parent)) in (1..).zip(columns.zip(&key.parent_columns)) {
                    if !may_see(table, &own.name) {
                        continue;
                    }
                    rows.push(vec![
                        text(CATALOG),
                        text(&table.database),
                        text(&key.name),
                        text(CATALOG),
                        text(&table.database),
                        text(&table.name),
                        text(&own.name),
                        number(sequence),
                        number(sequence),
                        text(&key.parent.database),
                        text(&key.parent.name),
                        text(parent),
                    ]);
                }
            }
        }
        Ok(rows)
    }
}
