//! One connection's state.
//!
//! Where to find what: a method that concerns one field is in the file of the field's type. A step on the way
//! of a query needs many fields, so it is a function in its own module, and calls name the module:
//! `execute::run_compiled(session, ..)`. `Session` has methods only here, in `parts`, in `lifecycle`, and in
//! `command` (those that the server calls).

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use cluster::metadata_lock::SessionLocks;
use planner::plan::Plan;
use runner::TransactionContext;
use schema::definition::TableName;
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use schema::temporary_tables::TemporaryTables;
use types::{Result, Value};
use wire::connection::TlsInfo;

use crate::client::{Client, SYSTEM_USER};
use crate::counters::StatusCounter;
use crate::diagnostics::Diagnostics;
use crate::errors;
use crate::evaluation::EvalContexts;
use crate::events::event::StatementEvent;
use crate::last_statement::LastStatement;
use crate::prepared::{NamedStatements, PreparedStatements};
use crate::process::Process;
use crate::profiles::Profiles;
use crate::recent_texts::RecentTexts;
use crate::shared::Shared;
use crate::table_locks::TableLocks;
use crate::tracking::SessionTracker;
use crate::user_locks::SessionUserLocks;
use crate::user_variables::UserVariables;
use crate::variables::settings::Settings;
use crate::variables::{SessionVariables, lookup};

/// One connection's state.
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    /// The connection, as SHOW PROCESSLIST and KILL see it.
    pub(crate) process: Arc<Process>,
    /// Whether the process's interrupt is raised.
    pub(crate) interrupted: Arc<dyn Fn() -> bool + Send + Sync>,
    pub(crate) client: Client,
    pub(crate) variables: SessionVariables,
    /// `variables`, parsed; read again whenever one is set.
    pub(crate) settings: Settings,
    /// The default database.
    pub(crate) database: Option<Arc<str>>,
    pub(crate) contexts: EvalContexts,
    pub(crate) transaction: TransactionContext,
    pub(crate) table_locks: TableLocks,
    /// LOCK INSTANCE FOR BACKUP.
    pub(crate) instance_lock: Option<SessionLocks>,
    pub(crate) temporary: TemporaryTables,
    pub(crate) user_locks: Arc<SessionUserLocks>,
    /// Statements prepared by COM_STMT_PREPARE.
    pub(crate) prepared: PreparedStatements,
    /// Statements prepared by PREPARE.
    pub(crate) named: NamedStatements,
    pub(crate) recent_texts: RecentTexts,
    pub(crate) user_variables: UserVariables,
    pub(crate) last: LastStatement,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) tracker: SessionTracker,
    /// The parameters of the running statement, if it is a command without a plan.
    pub(crate) command_params: Vec<Value>,
    pub(crate) statement_started: Instant,
    /// The end of the last counted statement, until the end of the command is recorded.
    pub(crate) ended: Option<Instant>,
    /// What the statement adds to the counters.
    pub(crate) event: StatementEvent,
    /// The digest numbers of BEGIN, COMMIT and ROLLBACK in the selected database; 0: not known yet.
    pub(crate) word_digests: [u32; 3],
    /// More statements of the same COM_QUERY follow.
    pub(crate) more_results: bool,
    /// The reply is pending: the statement's commit has not ended.
    pub(crate) reply_waits: bool,
    /// What SHOW PROFILES lists.
    pub(crate) profiles: Profiles,
    /// The reply must not report a number of warnings: SHOW WARNINGS.
    pub(crate) hide_warning_count: bool,
}

impl Session {
    /// Clears what the last statement left for SHOW WARNINGS.
    pub(crate) fn begin_statement(&mut self) {
        self.diagnostics.begin();
        self.event = StatementEvent::default();
        if self.settings.profiling {
            self.profiles.begin(self.statement_started);
        }
        self.refresh_client();
    }

    /// The statement goes on to another stage, which SHOW PROFILE shows.
    #[inline]
    pub(crate) fn in_stage(&self, state: &'static str) {
        if self.settings.profiling {
            self.profiles.stage(state);
        }
    }

    /// Applies what was granted to the client's account and revoked from it since the last command.
    pub(crate) fn refresh_client(&mut self) {
        if self.client.refresh(&self.shared.catalog.accounts) {
            self.show_client();
        }
    }

    /// Shows other sessions what the client's privileges mean for them.
    pub(crate) fn show_client(&mut self) {
        let is_system_user = self.client.privileges.has_dynamic(SYSTEM_USER);
        self.process.set_system_user(is_system_user);
        self.apply_administrator();
    }

    /// Applies whether the client administers connections: `read_only` and `offline_mode` do not concern it then.
    fn apply_administrator(&mut self) {
        self.settings.run.is_admin = self.client.privileges.administers_connections();
        self.process.set_administrator(self.settings.run.is_admin);
    }

    /// Fails with 1290 if the client must not change permanent data now.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.shared.engine.check_writable(self.settings.run.is_admin)
    }

    /// Starts the clock of `max_execution_time`, or of the statement's own MAX_EXECUTION_TIME, which concern
    /// SELECT only.
    pub(crate) fn start_deadline(&self, plan: Option<&Plan>) {
        let limit = match plan {
            Some(Plan::Query(query)) => query.max_execution.unwrap_or(self.settings.max_execution),
            _ => Duration::ZERO,
        };
        if limit > Duration::ZERO {
            self.process.counters.add(StatusCounter::MaxExecutionTimeSet, 1);
        }
        let deadline = (limit > Duration::ZERO).then(|| Instant::now() + limit);
        self.process.interrupt.set_deadline(deadline);
    }

    /// `USE database`.
    pub(crate) fn use_database(&mut self, name: &str) -> Result<()> {
        self.client.check_database(name)?;
        let schema = self.shared.engine.cluster.schema();
        let database = schema
            .database(name)
            .ok_or_else(|| errors::unknown_database(name))?;
        self.variables
            .put("character_set_database", database.collation.charset().name());
        self.variables
            .put("collation_database", database.collation.name());
        self.settings_changed();
        self.database = Some(database.name.as_str().into());
        self.word_digests = [0; 3];
        self.process.set_database(self.database.clone());
        if self.settings.track_schema {
            self.tracker.schema(&database.name);
        }
        self.state_changed();
        Ok(())
    }

    /// Deselects the database, which was dropped.
    pub(crate) fn leave_database(&mut self) {
        self.database = None;
        self.word_digests = [0; 3];
        self.process.set_database(None);
    }

    /// A table that a statement names. Fails unless the account has any privilege on it.
    pub(crate) fn table(&self, name: &TableName) -> Result<Arc<Table>> {
        if let Some(table) = self.temporary.find(&name.database, &name.name) {
            return Ok(Arc::clone(table));
        }
        self.client.check_sees(&name.database, &name.name, "SELECT")?;
        let schema = self.shared.engine.cluster.schema();
        schema.require_table(&name.database, &name.name).cloned()
    }

    /// [`Client::check_table`] for a table that may be temporary.
    pub(crate) fn check_table(&self, name: &TableName, wanted: PrivilegeSet) -> Result<()> {
        match self.temporary.find(&name.database, &name.name) {
            Some(_) => Ok(()),
            None => self.client.check_table(name, wanted),
        }
    }

    /// Fails with 1142 unless the account has a privilege on the whole table, because SHOW CREATE TABLE shows
    /// all columns.
    pub(crate) fn check_shows(&self, name: &TableName) -> Result<()> {
        if self.temporary.find(&name.database, &name.name).is_some() {
            return Ok(());
        }
        let privileges = self.client.privileges.of_table(&name.database, &name.name);
        match (privileges & (PrivilegeSet::TABLE | PrivilegeSet::GRANT)).is_empty() {
            true => Err(self.client.table_denied("SHOW", &name.name)),
            false => Ok(()),
        }
    }

    pub(crate) fn put_tracked(&mut self, name: &str, text: &str) {
        self.variables.put(name, text);
        self.track(name);
    }

    /// The next OK reports the variable, if the client asked for it.
    pub(crate) fn track(&mut self, name: &str) {
        let listed = &self.settings.track_variables;
        if listed == "*" || listed.split(',').any(|n| n.trim().eq_ignore_ascii_case(name)) {
            let value = lookup(name)
                .and_then(|d| self.variables.text(d))
                .unwrap_or_else(|| "".into());
            self.tracker.system_variable(name, &value);
        }
        if name != "session_track_state_change" {
            self.state_changed();
        }
    }

    /// Runs a prepared statement in the database that was selected when it was prepared. Afterwards the one of
    /// before is selected again, unless the statement has dropped it.
    pub(crate) fn in_database<T>(
        &mut self,
        database: Option<Arc<str>>,
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        // Nearly always.
        if self.database == database {
            return run(self);
        }
        let before = std::mem::replace(&mut self.database, database);
        let result = run(self);
        self.database = before;
        self.process.set_database(self.database.clone());
        result
    }

    /// `max_prepared_stmt_count`
    pub(crate) fn prepared_max(&self) -> u64 {
        self.shared.variables.integer("max_prepared_stmt_count")
    }

    pub(crate) fn settings_changed(&mut self) {
        let was_profiling = self.settings.profiling;
        self.settings = Settings::read(&self.variables);
        self.process.set_isolation(self.settings.run.isolation.name());
        if self.settings.profiling && !was_profiling {
            self.profiles.skip_running();
        }
        self.apply_administrator();
        if let Some(private) = self.transaction.private() {
            private.set_limit(self.settings.run.memory_limit_bytes);
        }
    }

    /// The next OK reports that the session's state has changed, if the client asked for it.
    pub(crate) fn state_changed(&mut self) {
        if self.settings.track_state {
            self.tracker.state_change();
        }
    }

    /// The calling thread runs the session's commands: as long as the guard lives, KILL and time limits also end what it
    /// evaluates outside of the contexts of statements.
    pub fn on_thread(&self) -> functions::WorksFor {
        functions::work_for(&self.interrupted)
    }

    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub fn tls(&self) -> Option<&TlsInfo> {
        self.client.info.tls.as_ref()
    }

    /// Whether a transaction is open. A server that drains its connections lets it finish.
    pub fn in_transaction(&self) -> bool {
        self.transaction.in_transaction()
    }

    /// How long the client may send nothing.
    pub fn wait_timeout(&self) -> Duration {
        self.settings.wait_timeout
    }

    /// How long the rest of a command that has begun may take to arrive.
    pub fn net_read_timeout(&self) -> Duration {
        self.settings.net_read_timeout
    }

    /// How long the client may take to receive anything of a reply.
    pub fn net_write_timeout(&self) -> Duration {
        self.settings.net_write_timeout
    }

    pub fn max_allowed_packet(&self) -> usize {
        self.settings.max_allowed_packet
    }
}
