//! The attributes that storage engines have given tables: none.

use schema::model::Table;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct TablesExtensions;

impl SystemTable for TablesExtensions {
    fn name(&self) -> &'static str {
        "information_schema.TABLES_EXTENSIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
ENGINE_ATTRIBUTE json - NULL
SECONDARY_ENGINE_ATTRIBUTE json - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |table: &Table| {
            vec![
                text(CATALOG),
                text(&table.database),
                text(&table.name),
                Value::Null,
                Value::Null,
            ]
        };
        Ok(ctx.tables(1, 2)?.into_iter().map(row).collect())
    }
}
