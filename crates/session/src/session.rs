//! One connection's state.
//!
//! The way of a query: [`Session::handle`] decodes the command; `text` (COM_QUERY) or `prepared` (COM_STMT_EXECUTE)
//! finds the plan, in the plan cache or by `planner`; `run` takes the metadata locks, opens or joins the transaction,
//! and hands the plan to `executor` or `analytics`; `reply` turns rows into packets as they come.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accounts::{Account, Accounts, Privileges};
use cluster::TransactionLocks;
use functions::{EvalContext, UserLocks};
use parking_lot::Mutex;
use types::{Error, Result, Value, Warning, WarningLevel, errno};
use wire::capability;
use wire::connection::{ClientInfo, Flow, PacketSink, TlsInfo};
use wire::session_track::SessionTrack;

use crate::errors;
use crate::known_texts::KnownTexts;
use crate::lock_tables::LockedTables;
use crate::prepared::{NamedStatement, Prepared};
use crate::process::Process;
use crate::shared::Shared;
use crate::track::Told;
use crate::transaction::TransactionState;
use crate::user_locks::SessionUserLocks;
use crate::variables::settings::Settings;
use crate::variables::{Definition, SessionVariables};

pub struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) process: Arc<Process>,
    pub(crate) client: ClientInfo,
    /// USER() and CURRENT_USER().
    pub(crate) user: Arc<str>,
    pub(crate) current_user: Arc<str>,
    /// Whether the process's interrupt is raised.
    pub(crate) interrupted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The account the client works under, and the list of accounts it was found in.
    pub(crate) account: Arc<Account>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) variables: SessionVariables,
    /// `variables`, parsed; made anew whenever one is set.
    pub(crate) settings: Arc<Settings>,
    pub(crate) database: Option<Arc<str>>,
    /// The last statement's, to be used again.
    pub(crate) kept_context: Mutex<Option<Arc<EvalContext>>>,
    pub(crate) transaction: TransactionState,
    /// Metadata locks the transaction holds.
    pub(crate) table_locks: TransactionLocks,
    /// What LOCK TABLES has locked.
    pub(crate) locked: Option<LockedTables>,
    pub(crate) user_locks: Arc<SessionUserLocks>,
    /// Statements prepared by COM_STMT_PREPARE.
    pub(crate) prepared: BTreeMap<u32, Prepared>,
    /// Of COM_QUERY.
    pub(crate) known_texts: KnownTexts,
    pub(crate) next_statement_id: u32,
    /// Statements prepared by PREPARE, by lower-case name.
    pub(crate) named: HashMap<String, NamedStatement>,
    pub(crate) user_variables: Arc<HashMap<String, Value>>,
    /// How many statements have assigned to them.
    pub(crate) assignments: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) row_count: i64,
    pub(crate) found_rows: u64,
    pub(crate) diagnostics: Diagnostics,
    /// Warnings that planning the current statement has caused.
    pub(crate) planning_warnings: functions::Warnings,
    /// Changes to tell the client with the next OK.
    pub(crate) changes: SessionTrack,
    /// What it knows of the transaction.
    pub(crate) told: Told,
    /// More statements of the same COM_QUERY follow.
    pub(crate) more_results: bool,
    /// Parameters of the statement that runs, where it is a command and not a plan.
    pub(crate) command_params: Vec<Value>,
    /// The statement's answer waits for its commit, which is still under way.
    pub(crate) answer_waits: bool,
    pub(crate) statement_started: Instant,
    /// SHOW WARNINGS announces no warnings of its own.
    pub(crate) hide_warning_count: bool,
}

/// The diagnostics area: what SHOW WARNINGS shows of the last statement.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    pub warnings: Vec<Warning>,
    /// How many there were, kept or not.
    pub count: u64,
    /// Warnings and errors of the statement before: what `@@warning_count` and `@@error_count` tell of.
    pub previous: (u64, u64),
}

impl Diagnostics {
    pub fn clear(&mut self) {
        self.warnings.clear();
        self.count = 0;
    }

    /// A statement begins: what `previous` tells of is the one that ends.
    pub fn begin(&mut self) {
        self.previous = (self.count, self.error_count());
        self.clear();
    }

    pub fn add(&mut self, warning: Warning) {
        self.count += 1;
        self.warnings.push(warning);
    }

    pub fn error_count(&self) -> u64 {
        self.warnings
            .iter()
            .filter(|w| w.level == WarningLevel::Error)
            .count() as u64
    }
}

/// Where a client is, as SHOW PROCESSLIST has it: with its port, if it came by TCP.
fn host_and_port(client: &ClientInfo) -> String {
    match client.peer {
        Some(peer) => format!("{}:{}", client.host, peer.port()),
        None => client.host.clone(),
    }
}

impl Session {
    /// Opens a session for a client that has authenticated itself.
    ///
    /// # Errors
    /// 1049 if the database it asks for is not there.
    pub fn open(shared: Arc<Shared>, connection_id: u64, client: ClientInfo) -> Result<Self> {
        let process = shared
            .processes
            .add(connection_id, &client.user, &host_and_port(&client));
        let variables = SessionVariables::new(&shared.variables);
        let settings = Arc::new(Settings::read(&variables));
        let table_locks = TransactionLocks::new(shared.catalog.cluster.metadata_locks().clone());
        let interrupt = process.interrupt.clone();
        let mut session = Self {
            interrupted: Arc::new(move || interrupt.is_raised()),
            process,
            variables,
            settings,
            table_locks,
            locked: None,
            user_locks: Arc::new(SessionUserLocks::new(shared.user_locks.clone(), connection_id)),
            client: ClientInfo::default(),
            user: Arc::default(),
            current_user: Arc::default(),
            account: Arc::new(no_account()),
            accounts: Arc::default(),
            database: None,
            kept_context: Mutex::default(),
            transaction: TransactionState::default(),
            prepared: BTreeMap::new(),
            known_texts: KnownTexts::default(),
            next_statement_id: 1,
            named: HashMap::new(),
            user_variables: Arc::default(),
            assignments: 0,
            last_insert_id: 0,
            row_count: -1,
            found_rows: 0,
            diagnostics: Diagnostics::default(),
            planning_warnings: functions::Warnings::default(),
            changes: SessionTrack::default(),
            told: Told::default(),
            more_results: false,
            command_params: Vec::new(),
            answer_waits: false,
            statement_started: Instant::now(),
            hide_warning_count: false,
            shared,
        };
        session.start(client)?;
        Ok(session)
    }

    /// Begins anew for a client, after COM_CHANGE_USER has authenticated it.
    ///
    /// # Errors
    /// 1049 if the database it asks for is not there.
    pub fn change_user(&mut self, client: ClientInfo) -> Result<()> {
        self.reset();
        self.process.set_user(&client.user, &host_and_port(&client));
        self.database = None;
        self.start(client)
    }

    fn start(&mut self, client: ClientInfo) -> Result<()> {
        let database = client.database.clone();
        self.user = format!("{}@{}", client.user, client.host).into();
        self.current_user = client.account.as_str().into();
        self.client = client;
        self.accounts = Arc::default();
        self.refresh_account();
        if self.has(capability::INTERACTIVE) {
            // From here on wait_timeout is what counts, and can be set.
            let timeout = self.settings.interactive_timeout.as_secs().to_string();
            self.variables.put("wait_timeout", &timeout);
        }
        self.set_connection_collation(self.client.collation)?;
        if let Some(database) = database.filter(|d| !d.is_empty()) {
            self.use_database(&database)?;
        }
        self.changes.clear();
        Ok(())
    }

    /// COM_RESET_CONNECTION: a fresh session for the same user and database.
    pub(crate) fn reset(&mut self) {
        self.transaction.rollback();
        self.transaction.next = Default::default();
        self.table_locks.release_all();
        self.locked = None;
        self.user_locks.release_all();
        self.variables = SessionVariables::new(&self.shared.variables);
        self.settings_changed();
        // It has been taken before.
        let _ = self.set_connection_collation(self.client.collation);
        self.close_all_prepared();
        self.named.clear();
        self.user_variables = Arc::default();
        self.last_insert_id = 0;
        self.row_count = -1;
        self.found_rows = 0;
        self.diagnostics.clear();
        self.changes.clear();
        self.told = Told::default();
    }

    /// `USE database`.
    pub(crate) fn use_database(&mut self, name: &str) -> Result<()> {
        self.account.check_database(name)?;
        let schema = self.shared.catalog.cluster.schema();
        let database = schema
            .database(name)
            .ok_or_else(|| errors::unknown_database(name))?;
        self.variables
            .put("character_set_database", database.collation.charset().name());
        self.variables
            .put("collation_database", database.collation.name());
        self.settings_changed();
        self.database = Some(database.name.as_str().into());
        self.process.set_database(self.database.clone());
        if self.settings.track_schema {
            self.changes.schema(&database.name);
        }
        self.state_changed();
        Ok(())
    }

    /// The database is gone: nothing is selected any more.
    pub(crate) fn leave_database(&mut self) {
        self.database = None;
        self.process.set_database(None);
    }

    pub(crate) fn settings_changed(&mut self) {
        self.settings = Arc::new(Settings::read(&self.variables));
    }

    pub(crate) fn variable_text(&self, definition: &Definition) -> Option<Arc<str>> {
        match definition.canonical().name {
            "last_insert_id" => Some(self.last_insert_id.to_string().into()),
            "warning_count" => Some(self.diagnostics.previous.0.to_string().into()),
            "error_count" => Some(self.diagnostics.previous.1.to_string().into()),
            "timestamp" => Some(format!("{:.6}", self.now_us() as f64 / 1e6).into()),
            _ => self.variables.text(definition),
        }
    }

    /// Microseconds since 1970 that NOW() gives.
    pub(crate) fn now_us(&self) -> i64 {
        self.settings.timestamp_us.unwrap_or_else(|| {
            let since = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
        })
    }

    /// User and host of the account that matched, apart.
    pub(crate) fn account_parts(&self) -> (String, String) {
        match self.client.account.rsplit_once('@') {
            Some((user, host)) => (user.to_owned(), host.to_owned()),
            None => (self.client.account.clone(), String::new()),
        }
    }

    /// The account that a statement names; CURRENT_USER() arrives as two empty names.
    pub(crate) fn named_account(&self, (user, host): &(String, String)) -> (String, String) {
        if user.is_empty() && host.is_empty() {
            return self.account_parts();
        }
        (user.clone(), host.clone())
    }

    pub(crate) fn has(&self, capability: u32) -> bool {
        self.client.capabilities & capability != 0
    }

    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub fn tls(&self) -> Option<&TlsInfo> {
        self.client.tls.as_ref()
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

    /// How long the client may take to receive anything of an answer.
    pub fn net_write_timeout(&self) -> Duration {
        self.settings.net_write_timeout
    }

    pub fn max_allowed_packet(&self) -> usize {
        self.settings.max_allowed_packet
    }

    /// Runs one command packet and sends its answer.
    ///
    /// # Errors
    /// The client is gone.
    pub fn handle(&mut self, packet: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        let flow = self.command(packet, out)?;
        if !self.answer_waits {
            self.process.end(Instant::now());
        }
        if self.process.is_killed() {
            return Ok(Flow::Close);
        }
        Ok(flow)
    }

    /// The error of a statement that was interrupted: by KILL, or by its time limit.
    pub(crate) fn interruption(&self, error: Error) -> Error {
        let interrupt = &self.process.interrupt;
        if error.code == errno::ER_QUERY_INTERRUPTED && !interrupt.is_killed() && interrupt.is_late() {
            return out_of_time();
        }
        error
    }
}

/// Error 3024: `max_execution_time` is over.
pub(crate) fn out_of_time() -> Error {
    Error::new(
        errno::ER_QUERY_TIMEOUT,
        "Query execution was interrupted, maximum statement execution time exceeded",
    )
}

impl Drop for Session {
    fn drop(&mut self) {
        self.transaction.rollback();
        self.table_locks.release_all();
        self.locked = None;
        self.user_locks.release_all();
        self.close_all_prepared();
        self.shared.processes.remove(self.process.id);
    }
}

/// Stands in until the session knows its account.
fn no_account() -> Account {
    Account {
        user: String::new(),
        host: String::new(),
        plugin: String::new(),
        authentication: String::new(),
        locked: true,
        password_changed_us: 0,
        privileges: Privileges::default(),
    }
}
