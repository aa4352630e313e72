//! Who is connected and what they run: the list behind SHOW PROCESSLIST and KILL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

/// One connection, as others see it.
pub struct Process {
    pub id: u64,
    /// Raised to end the running statement.
    pub interrupt: Arc<kv::Interrupt>,
    killed: AtomicBool,
    activity: Mutex<Activity>,
    /// Closes the client's socket, so that a blocked read or write ends. Set by the server.
    on_kill: Mutex<Option<Box<dyn Fn() + Send>>>,
}

/// What SHOW PROCESSLIST tells of a connection.
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
    pub fn activity(&self) -> Activity {
        self.activity.lock().clone()
    }

    pub fn user(&self) -> String {
        self.activity.lock().user.clone()
    }

    pub(crate) fn set_database(&self, database: Option<Arc<str>>) {
        self.activity.lock().database = database;
    }

    pub(crate) fn set_user(&self, user: &str, host: &str) {
        let mut activity = self.activity.lock();
        activity.user = user.to_owned();
        activity.host = host.to_owned();
    }

    pub(crate) fn begin(&self, command: &'static str, statement: Option<Arc<str>>) {
        let mut activity = self.activity.lock();
        activity.command = command;
        activity.state = if statement.is_some() { "executing" } else { "" };
        activity.statement = statement;
        activity.since = Instant::now();
    }

    pub(crate) fn end(&self) {
        self.begin("Sleep", None);
    }

    /// How long the current command has been running; `None` while the connection sleeps.
    pub fn running_for(&self) -> Option<Duration> {
        let activity = self.activity.lock();
        (activity.command != "Sleep").then(|| activity.since.elapsed())
    }

    /// Whether KILL CONNECTION has been asked for.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// KILL QUERY.
    pub fn kill_query(&self) {
        self.interrupt.raise();
    }

    /// KILL CONNECTION of one's own: the connection ends once the statement has been answered.
    pub(crate) fn kill_self(&self) {
        self.killed.store(true, Ordering::Relaxed);
    }

    /// A command begins: what was meant to end the one before is over. KILL CONNECTION stays.
    pub(crate) fn clear_interrupt(&self) {
        self.interrupt.clear();
        if self.is_killed() {
            self.interrupt.raise();
        }
    }

    /// KILL CONNECTION.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        self.interrupt.raise();
        if let Some(close) = &*self.on_kill.lock() {
            close();
        }
    }

    /// Says how to close the client's socket from another thread.
    pub fn set_on_kill(&self, close: Box<dyn Fn() + Send>) {
        *self.on_kill.lock() = Some(close);
    }
}

/// All connections of this server.
#[derive(Default)]
pub struct ProcessList {
    next_id: AtomicU64,
    processes: RwLock<BTreeMap<u64, Arc<Process>>>,
}

impl ProcessList {
    /// A new connection's number, from 1 upward; never used twice.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
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
            interrupt: kv::Interrupt::new(),
            killed: AtomicBool::new(false),
            activity: Mutex::new(activity),
            on_kill: Mutex::new(None),
        });
        self.processes.write().insert(id, process.clone());
        process
    }

    pub(crate) fn remove(&self, id: u64) {
        self.processes.write().remove(&id);
    }

    pub fn find(&self, id: u64) -> Option<Arc<Process>> {
        self.processes.read().get(&id).cloned()
    }

    /// Every connection, by number.
    pub fn all(&self) -> Vec<Arc<Process>> {
        self.processes.read().values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.processes.read().len()
    }
}
