//! The connections of all servers, as TiDB has them: INSTANCE is the address of the server.

use cluster::message::ProcessRow;
use schema::model::SystemTraits;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::process::{process_columns, process_row};
use crate::values::text;

pub(crate) struct ClusterProcesslist;

impl SystemTable for ClusterProcesslist {
    fn name(&self) -> &'static str {
        "information_schema.CLUSTER_PROCESSLIST"
    }

    fn columns(&self) -> &'static str {
        concat!("INSTANCE varchar(64) ci NOT \"\"", process_columns!())
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let all = ctx.sources.server.cluster_processes()?;
        let row = |(node, process): (String, ProcessRow)| {
            std::iter::once(text(node)).chain(process_row(process)).collect()
        };
        Ok(all.into_iter().map(row).collect())
    }
}
