//! The options of databases: READ ONLY, which no database has.

use schema::model::Database;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct SchemataExtensions;

impl SystemTable for SchemataExtensions {
    fn name(&self) -> &'static str {
        "information_schema.SCHEMATA_EXTENSIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
CATALOG_NAME varchar(64) bin NOT
SCHEMA_NAME varchar(64) bin NOT
OPTIONS varchar(256) ci NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |database: &Database| vec![text(CATALOG), text(&database.name), text("")];
        Ok(ctx.databases(1)?.into_iter().map(row).collect())
    }
}
