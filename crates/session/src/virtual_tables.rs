//! What the system tables (`system`) read from the server: connections, variables, status, and what the
//! account may see.

use std::sync::Arc;

use accounts::{Account, AccountName, Privileges};
use arrow::record_batch::RecordBatch;
use cluster::message::ProcessRow;
use executor::VirtualTables;
use functions::{EvalContext, Expr, TimeZone};
use kv::Interrupt;
use system::{Server, Sources};
use types::{Result, Value};

use crate::view::SessionView;

/// The system tables as one session sees them.
pub struct ServerTables<'a> {
    pub view: SessionView<'a>,
}

impl VirtualTables for ServerTables<'_> {
    fn rows(
        &self,
        database: &str,
        table: &str,
        wanted: &[usize],
        conditions: &[Expr],
        eval: &EvalContext,
    ) -> Result<Vec<RecordBatch>> {
        let catalog = &self.view.shared.catalog;
        let schema = catalog.cluster.schema();
        let table = schema.require_table(database, table)?;
        let view = self.view;
        let sources = Sources {
            cluster: &catalog.cluster,
            accounts: &catalog.accounts,
            statistics: &catalog.statistics,
            server: &StatementServer { view, eval },
        };
        system::batches(sources, table, wanted, conditions, eval)
    }
}

/// The server as a statement of one session sees it.
struct StatementServer<'a> {
    view: SessionView<'a>,
    eval: &'a EvalContext,
}

impl Server for StatementServer<'_> {
    fn processes(&self) -> Vec<ProcessRow> {
        let view = self.view;
        view.shared.process_rows(&view.client.viewer(), usize::MAX)
    }

    fn cluster_processes(&self) -> Result<Vec<(String, ProcessRow)>> {
        let view = self.view;
        view.shared
            .cluster_processes(view.client.viewer(), &view.process.interrupt, self.eval)
    }

    fn variables(&self, global: bool) -> Vec<(String, String)> {
        let rows = self.view.all_variables(global).into_iter();
        rows.map(|(name, value)| (name.to_owned(), value.map(|t| t.to_string()).unwrap_or_default()))
            .collect()
    }

    fn status(&self, _global: bool) -> Vec<(String, String)> {
        self.view.shared.status(&self.view.client.info)
    }

    fn measurements(&self, database: &str, table: &str) -> Vec<Vec<Value>> {
        crate::events::tables::rows(self.view, database, table)
    }

    fn privileges(&self) -> &Privileges {
        &self.view.client.privileges
    }

    fn account(&self) -> (&Arc<Account>, &[AccountName]) {
        (&self.view.client.account, &self.view.client.roles)
    }

    fn time_zone(&self) -> TimeZone {
        self.view.settings.time_zone
    }

    fn interrupt(&self) -> &Arc<Interrupt> {
        &self.view.process.interrupt
    }
}
