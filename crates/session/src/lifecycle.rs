//! Starts, resets and ends a session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use functions::UserLocks;
use runner::TransactionContext;
use schema::temporary_tables::TemporaryTables;
use types::{Error, Result};
use wire::capability;
use wire::connection::ClientInfo;

use crate::client::Client;
use crate::client_charset;
use crate::diagnostics::Diagnostics;
use crate::evaluation::EvalContexts;
use crate::events::event::StatementEvent;
use crate::events::general_log;
use crate::init_connect;
use crate::last_statement::LastStatement;
use crate::prepared::{NamedStatements, PreparedStatements};
use crate::profiles::Profiles;
use crate::recent_texts::RecentTexts;
use crate::session::Session;
use crate::shared::Shared;
use crate::table_locks::TableLocks;
use crate::temporary_tables;
use crate::tracking::SessionTracker;
use crate::user_locks::SessionUserLocks;
use crate::user_variables::UserVariables;
use crate::variables::SessionVariables;
use crate::variables::settings::Settings;

const ER_SERVER_OFFLINE_MODE: u16 = 3032;

impl Session {
    /// Opens a session for an authenticated client.
    ///
    /// # Errors
    /// 1049 if its database does not exist, 1184 if `init_connect` fails, 3032 in `offline_mode`.
    pub fn open(shared: Arc<Shared>, connection_id: u64, client: ClientInfo) -> Result<Self> {
        let process = shared
            .processes
            .add(connection_id, &client.user, &Client::host_and_port(&client));
        let variables = SessionVariables::new(&shared.variables);
        let settings = Settings::read(&variables);
        let interrupt = process.interrupt.clone();
        let cluster = &shared.engine.cluster;
        let user_locks = Arc::new(SessionUserLocks::new(
            shared.user_locks.clone(),
            process.interrupt.clone(),
            cluster.is_shared().then(|| shared.engine.store.clone()),
        ));
        let mut session = Self {
            interrupted: Arc::new(move || interrupt.is_raised()),
            process,
            variables,
            settings,
            transaction: TransactionContext::new(cluster.metadata_locks().clone()),
            table_locks: TableLocks::default(),
            instance_lock: None,
            temporary: TemporaryTables::default(),
            user_locks,
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
            profiles: Profiles::default(),
            hide_warning_count: false,
            shared,
        };
        let uses = session.transaction.show_tables();
        session.process.show_table_uses(uses);
        session
            .process
            .set_isolation(session.settings.run.isolation.name());
        session.start()?;
        init_connect::run(&mut session)?;
        session.tracker.clear_changes();
        Ok(session)
    }

    /// Resets the session for a client that COM_CHANGE_USER has authenticated.
    ///
    /// # Errors
    /// 1049 if its database does not exist, 3032 in `offline_mode`.
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
        self.show_client();
        let shared = &self.shared;
        if shared.variables.boolean("offline_mode") && !self.settings.run.is_admin {
            return Err(Error::new(
                ER_SERVER_OFFLINE_MODE,
                "The server is currently in offline mode",
            ));
        }
        let default_days = shared.variables.integer("default_password_lifetime");
        let default_days = u16::try_from(default_days).unwrap_or(u16::MAX);
        let default_most = shared.variables.integer("max_user_connections");
        let default_most = u32::try_from(default_most).unwrap_or(u32::MAX);
        self.client.guard = shared.account_usage.begin(
            &self.client.account,
            (default_days, default_most),
            cluster::now_us(),
        )?;
        if self.client.has(capability::INTERACTIVE) {
            // From here on only wait_timeout is used, and the client can set it.
            let timeout = self.settings.interactive_timeout.as_secs().to_string();
            self.variables.put("wait_timeout", &timeout);
        }
        if self.client.has(capability::IGNORE_SPACE) {
            self.variables.add_sql_mode("IGNORE_SPACE");
        }
        client_charset::set_connection_collation(self, self.client.info.collation)?;
        let database = self.client.info.database.clone();
        if let Some(database) = database.filter(|d| !d.is_empty()) {
            self.use_database(&database)?;
        }
        self.tracker.clear_changes();
        self.note_attributes();
        general_log::log_connect(self);
        Ok(())
    }

    /// Shows the attributes that the client has sent.
    fn note_attributes(&self) {
        let attributes = &self.client.info.attributes;
        let bytes: usize = attributes
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        let longest = &self.shared.statistics.longest_attributes;
        longest.fetch_max(bytes as u64, Ordering::Relaxed);
        self.process.set_attributes(attributes);
    }

    /// COM_RESET_CONNECTION: a fresh session for the same user and database.
    pub(crate) fn reset(&mut self) {
        self.shared.processes.restart(&self.process);
        self.transaction.abandon();
        self.transaction.xa = None;
        self.transaction.next = runner::Characteristics::default();
        self.table_locks.unlock();
        self.instance_lock = None;
        temporary_tables::remove_all(self);
        self.user_locks.release_all();
        self.variables = SessionVariables::new(&self.shared.variables);
        self.settings_changed();
        // It cannot fail, because the session accepted it before.
        let _ = client_charset::set_connection_collation(self, self.client.info.collation);
        self.prepared.close_all();
        self.named = NamedStatements::default();
        self.user_variables.clear();
        self.last = LastStatement::default();
        self.profiles = Profiles::default();
        self.diagnostics.clear();
        self.tracker = SessionTracker::default();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.transaction.abandon();
        self.table_locks.unlock();
        self.user_locks.release_all();
        self.prepared.close_all();
        general_log::log_command(self, "Quit", "");
        self.shared.processes.remove(self.process.id);
    }
}
