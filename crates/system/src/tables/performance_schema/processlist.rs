//! The connections of this server.

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::process::process_row;
use crate::values::text;

pub(crate) struct Processlist;

impl SystemTable for Processlist {
    fn name(&self) -> &'static str {
        "performance_schema.processlist"
    }

    fn columns(&self) -> &'static str {
        r#"
ID bigint_unsigned - NOT
USER varchar(32) ai NULL
HOST varchar(261) ascii NULL
DB varchar(64) ai NULL
COMMAND varchar(16) ai NULL
TIME bigint - NULL
STATE varchar(64) ai NULL
INFO longtext ai NULL
EXECUTION_ENGINE enum('PRIMARY','SECONDARY') ai NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |process| {
            let mut row = process_row(process);
            row.push(text("PRIMARY"));
            row
        };
        Ok(ctx.sources.server.processes().into_iter().map(row).collect())
    }
}
