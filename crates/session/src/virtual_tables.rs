//! What the system tables (`system`) read from the server: connections, variables, status, and what the account may see.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use cluster::message::ProcessRow;
use executor::VirtualTables;
use functions::{EvalContext, Expr, TimeZone};
use kv::Interrupt;
use schema::model::{INFORMATION_SCHEMA, Table};
use system::{Server, Sources};
use types::Result;

use crate::session::Session;
use crate::variables::definitions::{Scope, all};

/// The system tables as one session sees them.
pub struct ServerTables<'a> {
    pub session: &'a Session,
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
        let catalog = &self.session.shared.catalog;
        let schema = catalog.cluster.schema();
        let table = schema.require_table(database, table)?;
        let session = self.session;
        let sources = Sources {
            cluster: &catalog.cluster,
            accounts: &catalog.accounts,
            statistics: &catalog.statistics,
            server: &StatementServer { session, eval },
        };
        system::batches(sources, table, wanted, conditions, eval)
    }
}

/// The server as a statement of one session sees it.
struct StatementServer<'a> {
    session: &'a Session,
    eval: &'a EvalContext,
}

impl Server for StatementServer<'_> {
    fn processes(&self) -> Vec<ProcessRow> {
        let session = self.session;
        session.shared.process_rows(&session.requester(), usize::MAX)
    }

    fn cluster_processes(&self) -> Result<Vec<(String, ProcessRow)>> {
        self.session.cluster_processes(self.eval)
    }

    fn variables(&self, global: bool) -> Vec<(String, String)> {
        let session = self.session;
        let mut rows = Vec::new();
        for definition in all() {
            let value = match (global, definition.scope) {
                (true, Scope::Session) => continue,
                (true, _) | (_, Scope::Global) => session.shared.variables.get(definition),
                (false, _) => session.variable_text(definition),
            };
            rows.push((
                definition.name.to_owned(),
                value.map(|t| t.to_string()).unwrap_or_default(),
            ));
        }
        rows
    }

    fn status(&self, _global: bool) -> Vec<(String, String)> {
        self.session.shared.status(self.session)
    }

    fn may_see(&self, database: &str) -> bool {
        self.session.account.may_use(database)
    }

    fn may_see_accounts(&self) -> bool {
        self.session.account.may_administer()
    }

    fn time_zone(&self) -> TimeZone {
        self.session.settings.time_zone
    }

    fn interrupt(&self) -> &Arc<Interrupt> {
        &self.session.process.interrupt
    }
}

/// Whether MySQL stores a system table in InnoDB, so that a query of it is part of a transaction: tables about the schema and
/// the accounts are, tables about what the server does at the moment are not.
pub(crate) fn is_in_dictionary(table: &Table) -> bool {
    const OF_THE_MOMENT: [&str; 13] = [
        "CLUSTER_PROCESSLIST",
        "COLUMN_PRIVILEGES",
        "ENGINES",
        "KEYWORDS",
        "OPTIMIZER_TRACE",
        "PLUGINS",
        "PROCESSLIST",
        "PROFILING",
        "SCHEMA_PRIVILEGES",
        "ST_UNITS_OF_MEASURE",
        "TABLESPACES",
        "TABLE_PRIVILEGES",
        "USER_PRIVILEGES",
    ];
    match table.database.as_str() {
        INFORMATION_SCHEMA => !OF_THE_MOMENT.contains(&table.name.as_str()),
        "mysql" => true,
        _ => false,
    }
}
