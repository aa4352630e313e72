//! One connection's state, and how it begins and ends. A method is in the file of the field that it is about;
//! what needs several fields is in the file of its step on a query's way (see the crate's documentation).

use std::sync::Arc;
use std::time::{Duration, Instant};

use functions::UserLocks;
use runner::TransactionContext;
use schema::definition::TableName;
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use schema::temporary_tables::TemporaryTables;
use types::{Result, Value};
use wire::capability;
use wire::connection::{ClientInfo, TlsInfo};

use crate::client::Client;
use crate::diagnostics::Diagnostics;
use crate::errors;
use crate::evaluation::EvalContexts;
use crate::events::event::StatementEvent;
use crate::last_statement::LastStatement;
use crate::prepared::{NamedStatements, PreparedStatements};
use crate::process::Process;
use crate::recent_texts::RecentTexts;
use crate::shared::Shared;
use crate::table_locks::TableLocks;
use crate::tracking::SessionTracker;
use crate::user_locks::{SessionUserLocks, SharedLocks};
use crate::user_variables::UserVariables;
use crate::variables::SessionVariables;
use crate::variables::settings::Settings;

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
    /// Parameters of the statement that runs, where it is a command and not a plan.
    pub(crate) command_params: Vec<Value>,
    pub(crate) statement_started: Instant,
    /// When the last statement that was counted has ended, until the command's end is noted.
    pub(crate) ended: Option<Instant>,
    /// What the statement adds to the counters.
    pub(crate) event: StatementEvent,
    /// The digests of BEGIN, COMMIT and ROLLBACK in the selected database; 0: not yet known.
    pub(crate) word_digests: [u32; 3],
    /// More statements of the same COM_QUERY follow.
    pub(crate) more_results: bool,
    /// The reply waits for the statement's commit, which is still under way.
    pub(crate) reply_waits: bool,
    /// SHOW WARNINGS announces no warnings of its own.
    pub(crate) hide_warning_count: bool,
}

impl Session {
    /// Opens a session for a client that has authenticated itself.
    ///
    /// # Errors
    /// 1049 if the database it asks for is not there.
    pub fn open(shared: Arc<Shared>, connection_id: u64, client: ClientInfo) -> Result<Self> {
        let process = shared
            .processes
            .add(connection_id, &client.user, &Client::host_and_port(&client));
        let variables = SessionVariables::new(&shared.variables);
        let settings = Settings::read(&variables);
        let interrupt = process.interrupt.clone();
        let shared_locks = shared.engine.cluster.is_shared().then(|| SharedLocks {
            store: shared.engine.store.clone(),
            interrupt: process.interrupt.clone(),
        });
        let cluster = &shared.engine.cluster;
        let mut session = Self {
            interrupted: Arc::new(move || interrupt.is_raised()),
            process,
            variables,
            settings,
            transaction: TransactionContext::new(cluster.metadata_locks().clone()),
            table_locks: TableLocks::default(),
            temporary: TemporaryTables::default(),
            user_locks: Arc::new(SessionUserLocks::new(
                shared.user_locks.clone(),
                connection_id,
                shared_locks,
            )),
            client: Client::new(client, &shared.catalog.accounts, shared.activates_all_roles()),
            database: None,
            contexts: EvalContexts::default(),
            prepared: PreparedStatements::new(shared.prepared_count.clone()),
            named: NamedStatements::default(),
            recent_texts: RecentTexts::default(),
            user_variables: UserVariables::default(),
            last: LastStatement::default(),
            diagnostics: Diagnostics::default(),
            tracker: SessionTracker::default(),
            command_params: Vec::new(),
            statement_started: Instant::now(),
            ended: None,
            event: StatementEvent::default(),
            word_digests: [0; 3],
            more_results: false,
            reply_waits: false,
            hide_warning_count: false,
            shared,
        };
        let uses = session.transaction.show_tables();
        session.process.show_table_uses(uses);
        session.start()?;
        Ok(session)
    }

    /// Begins anew for a client, after COM_CHANGE_USER has authenticated it.
    ///
    /// # Errors
    /// 1049 if the database it asks for is not there.
    pub fn change_user(&mut self, client: ClientInfo) -> Result<()> {
        self.reset();
        self.process
            .set_user(&client.user, &Client::host_and_port(&client));
        self.database = None;
        self.client = Client::new(
            client,
            &self.shared.catalog.accounts,
            self.shared.activates_all_roles(),
        );
        self.start()
    }

    fn start(&mut self) -> Result<()> {
        let shared = &self.shared;
        let default_days = shared.variables.integer("default_password_lifetime");
        let default_days = u16::try_from(default_days).unwrap_or(u16::MAX);
        self.client.guard =
            shared
                .account_usage
                .begin(&self.client.account, default_days, cluster::now_us())?;
        if self.client.has(capability::INTERACTIVE) {
            // From here on wait_timeout is what counts, and can be set.
            let timeout = self.settings.interactive_timeout.as_secs().to_string();
            self.variables.put("wait_timeout", &timeout);
        }
        self.set_connection_collation(self.client.info.collation)?;
        let database = self.client.info.database.clone();
        if let Some(database) = database.filter(|d| !d.is_empty()) {
            self.use_database(&database)?;
        }
        self.tracker.clear_changes();
        self.process.set_attributes(&self.client.info.attributes);
        self.log_connect();
        Ok(())
    }

    /// COM_RESET_CONNECTION: a fresh session for the same user and database.
    pub(crate) fn reset(&mut self) {
        self.shared.processes.reset_counters(&self.process);
        self.transaction.abandon();
        self.transaction.xa = None;
        self.transaction.next = runner::Characteristics::default();
        self.table_locks.unlock();
        self.reset_temporary();
        self.user_locks.release_all();
        self.variables = SessionVariables::new(&self.shared.variables);
        self.settings_changed();
        // The session has taken it before.
        let _ = self.set_connection_collation(self.client.info.collation);
        self.prepared.close_all();
        self.named = NamedStatements::default();
        self.user_variables.clear();
        self.last = LastStatement::default();
        self.diagnostics.clear();
        self.tracker = SessionTracker::default();
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

    /// The database is gone: none is selected any more.
    pub(crate) fn leave_database(&mut self) {
        self.database = None;
        self.word_digests = [0; 3];
        self.process.set_database(None);
    }

    /// A table that a statement names, where the account may do anything with it.
    pub(crate) fn table(&self, name: &TableName) -> Result<Arc<Table>> {
        if let Some(table) = self.temporary.find(&name.database, &name.name) {
            return Ok(Arc::clone(table));
        }
        self.client.check_sees(&name.database, &name.name, "SELECT")?;
        let schema = self.shared.engine.cluster.schema();
        if schema.database(&name.database).is_none() {
            return Err(errors::unknown_database(&name.database));
        }
        schema
            .table(&name.database, &name.name)
            .cloned()
            .ok_or_else(|| errors::no_such_table(name))
    }

    /// [`Client::check_table`] of a table that may be the session's own.
    pub(crate) fn check_table(&self, name: &TableName, wanted: PrivilegeSet) -> Result<()> {
        match self.temporary.find(&name.database, &name.name) {
            Some(_) => Ok(()),
            None => self.client.check_table(name, wanted),
        }
    }

    /// Fails with 1142 unless the account has a privilege on the whole table: SHOW CREATE TABLE shows all columns.
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

    pub(crate) fn settings_changed(&mut self) {
        self.settings = Settings::read(&self.variables);
        if let Some(private) = self.transaction.private() {
            private.set_limit(self.settings.run.memory_limit_bytes);
        }
    }

    /// The next OK reports, if the client asked for it, that something about the session is not as it was.
    pub(crate) fn state_changed(&mut self) {
        if self.settings.track_state {
            self.tracker.state_change();
        }
    }

    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub fn tls(&self) -> Option<&TlsInfo> {
        self.client.info.tls.as_ref()
    }

    /// Whether a transaction is open; a server that drains lets it finish.
    pub fn in_transaction(&self) -> bool {
        self.transaction.in_transaction()
    }

    /// How long the client may be silent.
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

impl Drop for Session {
    fn drop(&mut self) {
        self.transaction.abandon();
        self.table_locks.unlock();
        self.user_locks.release_all();
        self.prepared.close_all();
        self.log_command("Quit", "");
        self.shared.processes.remove(self.process.id);
    }
}
