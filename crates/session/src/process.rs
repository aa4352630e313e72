//! The connections and their activity: the list behind SHOW PROCESSLIST and KILL.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cluster::message::Requester;
use cluster::node::NUMBER_MAX;
use cluster::{TableUse, TableUses};
use parking_lot::{Mutex, RwLock};
use syntax::ast::SqlCommand;
use types::{Error, SqlMode};

use crate::counters::SessionCounters;
use crate::events::by_name::NameSums;
use crate::events::event::StatementEvent;
use crate::events::history::{History, StatementRecord};

/// One connection, as seen by other connections.
pub struct Process {
    pub id: u64,
    /// The interrupt that ends the running statement.
    pub interrupt: Arc<kv::Interrupt>,
    killed: AtomicBool,
    /// The account with its active roles has SYSTEM_USER.
    is_system_user: AtomicBool,
    /// The account with its active roles has CONNECTION_ADMIN or SUPER.
    is_administrator: AtomicBool,
    shown: Mutex<Shown>,
    pub counters: SessionCounters,
    /// The tables that the transaction uses.
    table_uses: OnceLock<Arc<TableUses>>,
    /// The isolation level of its transactions.
    isolation: Mutex<&'static str>,
    /// Rows that a running ALTER TABLE has processed; 0 at other times.
    progress: Arc<AtomicU64>,
    /// The attributes that the client sent when it connected.
    attributes: Mutex<Arc<[(String, String)]>>,
    /// Closes the client's socket, so that a blocked read or write ends. Set by the server.
    on_kill: Mutex<Option<Box<dyn Fn() + Send>>>,
}

fn without_secrets(text: Arc<str>) -> Arc<str> {
    match syntax::without_secrets(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown.into(),
    }
}

/// What a connection does and did, behind one lock.
struct Shown {
    activity: Activity,
    history: History,
}

/// A connection, as SHOW PROCESSLIST shows it.
#[derive(Debug, Clone)]
pub struct Activity {
    pub user: String,
    pub host: String,
    pub database: Option<Arc<str>>,
    /// `Query`, `Execute`, `Sleep` ...
    pub command: &'static str,
    pub state: &'static str,
    /// The running statement's text.
    pub statement: Option<Arc<str>>,
    pub since: Instant,
}

impl Process {
    /// What the connection does. Passwords are left out of its statement.
    pub fn activity(&self) -> Activity {
        let mut activity = self.shown.lock().activity.clone();
        activity.statement = activity.statement.map(without_secrets);
        activity
    }

    /// The client's host without its port, as the logs print it.
    pub fn host_name(&self) -> String {
        let host = self.activity().host;
        let name = host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host);
        match name {
            "127.0.0.1" | "::1" => "localhost".to_owned(),
            name => name.to_owned(),
        }
    }

    /// The client's address; empty for a Unix socket.
    pub fn host_address(&self) -> String {
        let host = self.activity().host;
        let address = host.rsplit_once(':').map_or("", |(host, _)| host);
        address.to_owned()
    }

    /// The user, and the host without its port.
    fn account(&self) -> (String, String) {
        let activity = &self.shown.lock().activity;
        (activity.user.clone(), host_of(&activity.host).to_owned())
    }

    /// The state of the connection, for SHOW PROCESSLIST.
    pub fn state(&self) -> String {
        let rows = self.progress.load(Ordering::Relaxed);
        let waits_for = self.interrupt.waits_for();
        if !waits_for.is_empty() {
            return waits_for.to_owned();
        }
        if rows > 0 {
            return format!("altering table: {rows} rows");
        }
        let (state, statement) = {
            let activity = &self.shown.lock().activity;
            (activity.state, activity.statement.clone())
        };
        statement.map_or(state, |text| state_of(&text)).to_owned()
    }

    /// A counter in which a definition statement reports its progress. It is set to 0 when the statement
    /// ends.
    pub(crate) fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.progress)
    }

    pub fn attributes(&self) -> Arc<[(String, String)]> {
        self.attributes.lock().clone()
    }

    /// The tables that the session's transaction uses.
    pub fn table_uses(&self) -> Vec<TableUse> {
        self.table_uses
            .get()
            .map(|uses| uses.now().collect())
            .unwrap_or_default()
    }

    /// The isolation level of the session's transaction.
    pub fn isolation(&self) -> &'static str {
        let of_transaction = self.table_uses.get().map_or("", |uses| uses.isolation());
        match of_transaction {
            "" => *self.isolation.lock(),
            level => level,
        }
    }

    /// Sets the isolation level that the session's transactions have from now on.
    pub(crate) fn set_isolation(&self, level: &'static str) {
        *self.isolation.lock() = level;
    }

    /// Sets the tables that the transaction uses. Only the first call has an effect.
    pub(crate) fn show_table_uses(&self, uses: Arc<TableUses>) {
        let _ = self.table_uses.set(uses);
    }

    pub(crate) fn set_attributes(&self, attributes: &[(String, String)]) {
        *self.attributes.lock() = attributes.into();
    }

    pub fn user(&self) -> String {
        self.shown.lock().activity.user.clone()
    }

    pub(crate) fn set_database(&self, database: Option<Arc<str>>) {
        self.shown.lock().activity.database = database;
    }

    pub(crate) fn set_user(&self, user: &str, host: &str) {
        let activity = &mut self.shown.lock().activity;
        activity.user = user.to_owned();
        activity.host = host.to_owned();
    }

    pub(crate) fn begin(&self, command: &'static str, statement: Option<Arc<str>>, since: Instant) {
        let activity = &mut self.shown.lock().activity;
        activity.command = command;
        activity.state = if statement.is_some() { "executing" } else { "" };
        activity.statement = statement;
        activity.since = since;
    }

    /// Adds the statement that has ended to the last ones.
    pub(crate) fn record(&self, event: &StatementEvent, started: Instant, took_ns: u64) {
        let shown = &mut *self.shown.lock();
        shown.history.add(StatementRecord {
            number: 0,
            event: *event,
            started,
            took_ns,
            text: shown.activity.statement.clone(),
            database: shown.activity.database.clone(),
            error: None,
        });
    }

    /// The error of the statement that was added last, if it has failed.
    pub(crate) fn record_error(&self, error: &Error) {
        let history = &mut self.shown.lock().history;
        if let Some(last) = history.last_mut()
            && last.event.failed
            && last.error.is_none()
        {
            last.error = Some(Box::new(error.clone()));
        }
    }

    /// The last statements, the oldest first. Passwords are left out.
    pub fn last_statements(&self) -> Vec<StatementRecord> {
        let mut records = self.shown.lock().history.records();
        for record in &mut records {
            record.text = record.text.take().map(without_secrets);
        }
        records
    }

    pub(crate) fn forget_statements(&self) {
        self.shown.lock().history.clear();
    }

    pub(crate) fn end(&self, since: Instant) {
        self.begin("Sleep", None, since);
    }

    /// How long the current command has been running; `None` while the connection sleeps.
    pub fn running_for(&self) -> Option<Duration> {
        let activity = &self.shown.lock().activity;
        (activity.command != "Sleep").then(|| activity.since.elapsed())
    }

    pub(crate) fn set_system_user(&self, is_system_user: bool) {
        self.is_system_user.store(is_system_user, Ordering::Relaxed);
    }

    pub(crate) fn set_administrator(&self, is_administrator: bool) {
        self.is_administrator.store(is_administrator, Ordering::Relaxed);
    }

    /// Whether a requester may end the connection and its statements.
    pub(crate) fn may_be_killed_by(&self, requester: &Requester) -> bool {
        let reaches = requester.administers || self.user() == requester.user;
        reaches && (requester.is_system_user || !self.is_system_user.load(Ordering::Relaxed))
    }

    /// Whether KILL CONNECTION was called.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// KILL QUERY.
    pub fn kill_query(&self) {
        self.interrupt.raise();
    }

    /// KILL CONNECTION of the own connection, which ends after the reply.
    pub(crate) fn kill_self(&self) {
        self.killed.store(true, Ordering::Relaxed);
    }

    /// Must be called when a command begins, so that a KILL QUERY of the previous one does not affect it.
    /// KILL CONNECTION stays in force.
    pub(crate) fn clear_interrupt(&self) {
        self.interrupt.clear();
        if self.is_killed() {
            self.interrupt.raise();
        }
    }

    /// KILL CONNECTION.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        // This must come first: the client gets no reply to the statement that the interrupt ends.
        if let Some(close) = &*self.on_kill.lock() {
            close();
        }
        self.interrupt.raise();
    }

    /// Sets a function that closes the client's socket from another thread.
    pub fn set_on_kill(&self, close: Box<dyn Fn() + Send>) {
        *self.on_kill.lock() = Some(close);
    }
}

/// What a statement does, in MySQL's words. It is found when somebody asks, so statements need not say it.
fn state_of(statement: &str) -> &'static str {
    /// A longer text is an INSERT of many rows.
    const PARSED_MAX: usize = 64 << 10;
    if statement.len() > PARSED_MAX {
        return match statement
            .trim_start()
            .get(..6)
            .map(str::to_ascii_uppercase)
            .as_deref()
        {
            Some("INSERT") => "update",
            _ => "executing",
        };
    }
    let parsed = syntax::parse_one(statement, SqlMode::default());
    match parsed.ok().and_then(|parsed| parsed.statement.command()) {
        Some(SqlCommand::Update | SqlCommand::Delete) => "updating",
        Some(SqlCommand::Insert | SqlCommand::Replace) => "update",
        _ => "executing",
    }
}

/// The host without the port.
fn host_of(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

/// If several servers share a store, the low bits of a connection's number count connections, and the high
/// bits are the server's number. Together they fit into the 32 bits of the protocol.
const COUNT_BITS: u32 = 21;
const _: () = assert!(NUMBER_MAX.leading_zeros() == COUNT_BITS);

/// The number of the node that a connection is on.
pub fn node_of(connection: u64) -> u64 {
    connection >> COUNT_BITS
}

/// All connections of this server.
#[derive(Default)]
pub struct ProcessList {
    /// The last number assigned, without the node's number.
    next_id: AtomicU64,
    processes: RwLock<BTreeMap<u64, Arc<Process>>>,
    most: AtomicUsize,
    /// When there were so many, in microseconds since 1970.
    most_since_us: AtomicI64,
    /// The counters of sessions that have ended.
    ended: SessionCounters,
    /// By user and host.
    accounts: Mutex<BTreeMap<(String, String), Connections>>,
}

/// The connections of an account.
#[derive(Default)]
struct Connections {
    /// How many there have been.
    all: u64,
    /// The counters of those that have ended.
    ended: SessionCounters,
}

impl ProcessList {
    /// A number for a new connection that no other connection to the store has. A server that does not share
    /// the store uses all 32 bits, a node the bits below its number (2 million values). Numbers in use are
    /// skipped.
    pub fn next_id(&self, node: Option<u32>) -> u64 {
        let (first, bits) = match node {
            Some(number) => (u64::from(number) << COUNT_BITS, COUNT_BITS),
            None => (0, u32::BITS),
        };
        loop {
            let count = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
            let id = first | (count & ((1 << bits) - 1));
            if id != first && self.find(id).is_none() {
                return id;
            }
        }
    }

    pub(crate) fn add(&self, id: u64, user: &str, host: &str) -> Arc<Process> {
        let activity = Activity {
            user: user.to_owned(),
            host: host.to_owned(),
            database: None,
            command: "Sleep",
            state: "",
            statement: None,
            since: Instant::now(),
        };
        let process = Arc::new(Process {
            id,
            interrupt: kv::Interrupt::of_session(id),
            killed: AtomicBool::new(false),
            is_system_user: AtomicBool::new(false),
            // Nobody ends a connection before its account is known.
            is_administrator: AtomicBool::new(true),
            shown: Mutex::new(Shown {
                activity,
                history: History::default(),
            }),
            counters: SessionCounters::default(),
            table_uses: OnceLock::new(),
            isolation: Mutex::new(""),
            progress: Arc::default(),
            attributes: Mutex::new(Arc::new([])),
            on_kill: Mutex::new(None),
        });
        self.accounts.lock().entry(process.account()).or_default().all += 1;
        let mut processes = self.processes.write();
        processes.insert(id, process.clone());
        if self.most.fetch_max(processes.len(), Ordering::Relaxed) < processes.len() {
            self.most_since_us.store(cluster::now_us(), Ordering::Relaxed);
        }
        process
    }

    pub(crate) fn remove(&self, id: u64) {
        let mut processes = self.processes.write();
        if let Some(process) = processes.remove(&id) {
            self.end(&process);
        }
    }

    /// Adds all that a session has counted to what those that have ended have.
    fn end(&self, process: &Process) {
        self.end_of_counters(process);
        self.end_of_statements(process);
    }

    fn end_of_counters(&self, process: &Process) {
        let mut accounts = self.accounts.lock();
        let account = accounts.entry(process.account()).or_default();
        account.ended.add_counters(&process.counters);
        process.counters.move_counters_to(&self.ended);
    }

    fn end_of_statements(&self, process: &Process) {
        let mut accounts = self.accounts.lock();
        let account = accounts.entry(process.account()).or_default();
        account.ended.by_name.add_all(&process.counters.by_name);
        process.counters.by_name.move_to(&self.ended.by_name);
    }

    /// The session begins anew, perhaps with another account. What it has counted stays in the sums of the server and
    /// of its account.
    pub(crate) fn restart(&self, process: &Process) {
        // The lock keeps other threads from summing up meanwhile.
        let _processes = self.processes.write();
        self.end(process);
    }

    /// FLUSH STATUS: the same, but the sums of statements by name stay.
    pub(crate) fn reset_counters(&self, process: &Process) {
        let _processes = self.processes.write();
        self.end_of_counters(process);
    }

    /// TRUNCATE TABLE of statements by thread: their sums stay in those of the server and of the accounts.
    pub(crate) fn reset_statements_of_sessions(&self) {
        let processes = self.processes.write();
        for process in processes.values() {
            self.end_of_statements(process);
        }
    }

    /// TRUNCATE TABLE of statements by account, user or host: their sums stay in those of the server.
    pub(crate) fn reset_statements_of_accounts(&self) {
        self.reset_statements_of_sessions();
        let accounts = self.accounts.lock();
        accounts
            .values()
            .for_each(|connections| connections.ended.by_name.reset());
    }

    /// TRUNCATE TABLE of the server's statements.
    pub(crate) fn reset_statements(&self) {
        self.reset_statements_of_accounts();
        self.ended.by_name.reset();
    }

    /// The sums over all sessions since the start.
    pub(crate) fn counters(&self) -> SessionCounters {
        let sum = SessionCounters::default();
        let processes = self.processes.read();
        sum.add_all(&self.ended);
        for process in processes.values() {
            sum.add_all(&process.counters);
        }
        sum
    }

    /// The same by user and host.
    pub(crate) fn counters_by_account(&self) -> BTreeMap<(String, String), SessionCounters> {
        let processes = self.processes.read();
        let mut sums: BTreeMap<(String, String), SessionCounters> = BTreeMap::new();
        for (account, connections) in &*self.accounts.lock() {
            let sum = sums.entry(account.clone()).or_default();
            sum.add_all(&connections.ended);
        }
        for process in processes.values() {
            let sum = sums.entry(process.account()).or_default();
            sum.add_all(&process.counters);
        }
        sums
    }

    /// How many accounts there are, and the bytes that each takes.
    pub(crate) fn accounts(&self) -> (usize, usize) {
        (self.accounts.lock().len(), size_of::<Connections>())
    }

    /// How many sums of statements by name there are, of sessions, of accounts and of the server, and the bytes of one.
    pub(crate) fn statement_sums(&self) -> (usize, usize, usize, usize) {
        let of_sessions = self
            .all()
            .iter()
            .map(|process| process.counters.by_name.used())
            .sum();
        let accounts = self.accounts.lock();
        let of_accounts = accounts
            .values()
            .map(|connections| connections.ended.by_name.used())
            .sum();
        let of_server = self.ended.by_name.used();
        (of_sessions, of_accounts, of_server, size_of::<NameSums>())
    }

    pub fn find(&self, id: u64) -> Option<Arc<Process>> {
        self.processes.read().get(&id).cloned()
    }

    /// Ends the connections of all accounts but administrators and those with SYSTEM_USER, as `offline_mode` does.
    pub(crate) fn end_of_clients(&self) {
        let is_client = |process: &&Arc<Process>| {
            let spared = [&process.is_administrator, &process.is_system_user];
            !spared.iter().any(|flag| flag.load(Ordering::Relaxed))
        };
        self.all()
            .iter()
            .filter(is_client)
            .for_each(|process| process.kill());
    }

    /// Every connection, by number.
    pub fn all(&self) -> Vec<Arc<Process>> {
        self.processes.read().values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.processes.read().len()
    }

    /// Users and hosts, with the number of present connections and of all since the start.
    pub(crate) fn by_account(&self) -> Vec<(Activity, u64, u64)> {
        let now: Vec<Activity> = self.all().iter().map(|process| process.activity()).collect();
        let accounts = self.accounts.lock();
        let of_account = |((user, host), connections): (&(String, String), &Connections)| {
            let same = |a: &&Activity| a.user == *user && host_of(&a.host) == host;
            let activity = Activity {
                user: user.clone(),
                host: host.clone(),
                database: None,
                command: "",
                state: "",
                statement: None,
                since: Instant::now(),
            };
            (activity, now.iter().filter(same).count() as u64, connections.all)
        };
        accounts.iter().map(of_account).collect()
    }

    /// The largest number of connections at the same time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// When there were so many, in microseconds since 1970.
    pub fn most_since_us(&self) -> i64 {
        self.most_since_us.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_nodes_do_not_meet() {
        let (alone, first, last) = (
            ProcessList::default(),
            ProcessList::default(),
            ProcessList::default(),
        );
        assert_eq!([alone.next_id(None), alone.next_id(None)], [1, 2]);
        let id = first.next_id(Some(1));
        assert_eq!((id, node_of(id)), ((1 << COUNT_BITS) + 1, 1));
        let id = last.next_id(Some(NUMBER_MAX));
        assert!(u32::try_from(id).is_ok() && node_of(id) == u64::from(NUMBER_MAX));
    }

    #[test]
    fn states_are_those_of_statements() {
        let long = format!("insert into t values ({})", "1,".repeat(40_000));
        for (text, state) in [
            ("UPDATE t SET a = 1", "updating"),
            ("delete from t", "updating"),
            ("update t, u set t.a = 1", "executing"),
            ("/* c */ replace t values (1)", "update"),
            ("insert into t select 1", "executing"),
            ("select 1", "executing"),
            ("no statement", "executing"),
            (long.as_str(), "update"),
        ] {
            assert_eq!(state_of(text), state, "{text}");
        }
    }

    #[test]
    fn numbers_in_use_are_passed_over() {
        let list = ProcessList::default();
        let first = list.next_id(Some(3));
        list.add(first, "u", "h");
        // The counter wraps around.
        list.next_id.store((1 << COUNT_BITS) - 1, Ordering::Relaxed);
        assert_eq!(list.next_id(Some(3)), first + 1);
    }
}
