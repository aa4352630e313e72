//! The connections of this server.

use schema::model::SystemTraits;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::process::{process_columns, process_row};

pub(crate) struct Processlist;

impl SystemTable for Processlist {
    fn name(&self) -> &'static str {
        "information_schema.PROCESSLIST"
    }

    fn columns(&self) -> &'static str {
        process_columns!()
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
