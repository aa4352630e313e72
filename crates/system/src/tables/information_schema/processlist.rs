//! The connections of this server.

use schema::model::SystemTraits;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::process::process_row;

pub(crate) struct Processlist;

impl SystemTable for Processlist {
    fn name(&self) -> &'static str {
        "information_schema.PROCESSLIST"
    }

    fn columns(&self) -> &'static str {
        r#"
ID bigint_unsigned - NOT ""
USER varchar(32) ci NOT ""
HOST varchar(261) ci NOT ""
DB varchar(64) ci NULL ""
COMMAND varchar(16) ci NOT ""
TIME int - NOT ""
STATE varchar(64) ci NULL ""
INFO varchar(65535) ci NULL ""
"#
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let processes = ctx.sources.server.processes().into_iter();
        Ok(processes.map(process_row).collect())
    }
}
