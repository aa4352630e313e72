//! The attributes that storage engines have given columns: none.

use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct ColumnsExtensions;

impl SystemTable for ColumnsExtensions {
    fn name(&self) -> &'static str {
        "information_schema.COLUMNS_EXTENSIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
COLUMN_NAME varchar(64) bin NULL
ENGINE_ATTRIBUTE json - NULL
SECONDARY_ENGINE_ATTRIBUTE json - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let privileges = ctx.sources.server.privileges();
        let mut rows = Vec::new();
        for table in ctx.tables(1, 2)? {
            for at in table.public_columns() {
                let name = &table.columns[at].name;
                if privileges.may_see_column(&table.database, &table.name, name) {
                    rows.push(vec![
                        text(CATALOG),
                        text(&table.database),
                        text(&table.name),
                        text(name),
                        Value::Null,
                        Value::Null,
                    ]);
                }
            }
        }
        Ok(rows)
    }
}
