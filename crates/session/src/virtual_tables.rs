//! The server's data that the system tables (`system`) read: connections, variables, status, and the
//! account's privileges.

use std::sync::Arc;

use accounts::{Account, AccountName, Privileges};
use arrow::record_batch::RecordBatch;
use cluster::message::ProcessRow;
use executor::VirtualTables;
use functions::{EvalContext, Expr, TimeZone};
use kv::Interrupt;
use schema::model::INFORMATION_SCHEMA;
use schema::privilege::Privilege;
use system::{Server, SessionTransaction, Sources, UserLock};
use types::{Result, Value, Warning, errno};

use crate::process::Process;
use crate::view::SessionView;

/// The system tables, as seen by one session.
pub struct ServerTables<'a> {
    pub view: SessionView<'a>,
}

impl ServerTables<'_> {
    /// SHOW ENGINE INNODB STATUS.
    pub fn engine_status(&self, eval: &EvalContext) -> String {
        let catalog = &self.view.shared.catalog;
        let sources = Sources {
            cluster: &catalog.cluster,
            accounts: &catalog.accounts,
            statistics: &catalog.statistics,
            server: &StatementServer {
                view: self.view,
                eval,
            },
        };
        system::engine_status(sources, eval)
    }
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
        if system::needs_process(table) {
            view.client.check_any("PROCESS", &[Privilege::Process], &[])?;
        }
        if table.database == INFORMATION_SCHEMA && table.name == "PROFILING" {
            eval.warnings.push(Warning::warning(
                errno::ER_WARN_DEPRECATED_SYNTAX,
                "'INFORMATION_SCHEMA.PROFILING' is deprecated and will be removed in a future release. Please use \
                 Performance Schema instead",
            ));
        }
        let sources = Sources {
            cluster: &catalog.cluster,
            accounts: &catalog.accounts,
            statistics: &catalog.statistics,
            server: &StatementServer { view, eval },
        };
        system::batches(sources, table, wanted, conditions, eval)
    }
}

/// The server, as seen by a statement of one session.
struct StatementServer<'a> {
    view: SessionView<'a>,
    eval: &'a EvalContext,
}

impl Server for StatementServer<'_> {
    fn processes(&self) -> Vec<ProcessRow> {
        let view = self.view;
        view.shared.process_rows(&view.client.viewer(), usize::MAX)
    }

    fn transactions(&self) -> Vec<SessionTransaction> {
        let processes = self.view.shared.processes.all().into_iter();
        let now_us = self.view.clock_us();
        let transaction = |process: Arc<Process>| {
            let activity = process.activity();
            SessionTransaction {
                owner: process.interrupt.transaction(),
                session: process.id,
                statement: activity.statement,
                since_us: now_us - i64::try_from(activity.since.elapsed().as_micros()).unwrap_or(0),
                tables: process.table_uses(),
                isolation: process.isolation(),
            }
        };
        processes.map(transaction).collect()
    }

    fn user_locks(&self) -> Vec<UserLock> {
        self.view.shared.user_locks.now()
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

    fn status(&self, global: bool) -> Vec<(String, String)> {
        // MySQL shows the counters of kinds of statements in other tables (`events_statements_summary...`).
        let mut rows = self.view.status(global);
        rows.retain(|(name, _)| !name.starts_with("Com_") || name == "Com_stmt_reprepare");
        rows
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
