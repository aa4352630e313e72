//! The databases.

use schema::model::Database;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct Schemata;

impl SystemTable for Schemata {
    fn name(&self) -> &'static str {
        "information_schema.SCHEMATA"
    }

    fn columns(&self) -> &'static str {
        r#"
CATALOG_NAME varchar(64) bin NOT
SCHEMA_NAME varchar(64) bin NOT
DEFAULT_CHARACTER_SET_NAME varchar(64) ci NOT
DEFAULT_COLLATION_NAME varchar(64) ci NOT
SQL_PATH binary(0) - NULL
DEFAULT_ENCRYPTION enum('NO','YES') bin NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |database: &Database| {
            vec![
                text(CATALOG),
                text(&database.name),
                text(database.collation.charset().name()),
                text(database.collation.name()),
                Value::Null,
                text("NO"),
            ]
        };
        Ok(ctx.databases(1)?.into_iter().map(row).collect())
    }
}
