//! What all sessions of a server share. Made once, when the server starts.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kv::{Durability, Store};
use parking_lot::Mutex;
use planner::PlanCache;
use runner::Engine;
use types::Result;
use wire::connection::ClientInfo;

use crate::catalog::Catalog;
use crate::events::Events;
use crate::process::ProcessList;
use crate::statistics::Statistics;
use crate::user_locks::UserLockTable;
use crate::variables::GlobalVariables;

/// The version that clients see: MySQL's, whose behaviour this is, and our own.
pub const VERSION: &str = concat!("8.0.33-StemDB-", env!("CARGO_PKG_VERSION"));

/// The server as its sessions see it.
pub struct Shared {
    /// What statements run on.
    pub engine: Engine,
    pub catalog: Catalog,
    pub plans: PlanCache,
    pub variables: GlobalVariables,
    pub processes: ProcessList,
    pub statistics: Statistics,
    pub events: Events,
    /// When the server was started: microseconds since 1970.
    pub(crate) started_us: i64,
    pub(crate) user_locks: Arc<UserLockTable>,
    pub started: Instant,
    /// Prepared statements open in all sessions, bounded by `max_prepared_stmt_count`.
    pub(crate) prepared_count: Arc<AtomicU64>,
    /// Held while global variables are read from the store and taken over, so that older values never replace
    /// newer ones.
    pub(crate) globals_turn: Mutex<()>,
    /// Counters of connections, which sessions do not see.
    connections: OnceLock<Counters>,
}

/// Gives counters by their names in SHOW STATUS.
pub type Counters = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

impl Shared {
    pub fn new(
        store: Store,
        catalog: Catalog,
        variables: GlobalVariables,
        spill_directory: PathBuf,
    ) -> Arc<Self> {
        let shared = Self {
            events: Events::new(&variables),
            started_us: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_micros() as i64),
            engine: Engine::new(store, Arc::clone(&catalog.cluster), spill_directory),
            catalog,
            plans: PlanCache::default(),
            variables,
            processes: ProcessList::default(),
            statistics: Statistics::default(),
            user_locks: Arc::default(),
            started: Instant::now(),
            prepared_count: Arc::default(),
            globals_turn: Mutex::default(),
            connections: OnceLock::new(),
        };
        shared.globals_changed();
        let shared = Arc::new(shared);
        shared.join_other_nodes();
        shared
    }

    /// Starts the background work.
    ///
    /// # Errors
    /// When the operating system has no more threads.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        self.catalog.start()?;
        let shared = Arc::downgrade(self);
        self.catalog.statistics.start(&self.catalog.cluster, move || {
            shared
                .upgrade()
                .is_some_and(|shared| shared.variables.boolean("innodb_stats_auto_recalc"))
        })
    }

    /// Adds counters of connections to SHOW STATUS. Only the first call has an effect.
    pub fn show_connections(&self, counters: Counters) {
        let _ = self.connections.set(counters);
    }

    /// Brings what the server reads often in line with the global variables.
    /// `@@activate_all_roles_on_login`.
    pub(crate) fn activates_all_roles(&self) -> bool {
        self.variables.boolean("activate_all_roles_on_login")
    }

    pub(crate) fn globals_changed(&self) {
        let durability = match self.variables.integer("innodb_flush_log_at_trx_commit") {
            0 => Durability::Lazy,
            2 => Durability::Os,
            _ => Durability::Sync,
        };
        self.events.configure(&self.variables);
        self.engine.set_durability(durability);
        self.engine.set_read_only(self.variables.boolean("read_only"));
        self.engine
            .store
            .set_gc_age(Duration::from_secs(self.variables.integer("stemdb_gc_age")));
    }

    /// SHOW STATUS for a client: names and values, sorted by name.
    pub(crate) fn status(&self, client: &ClientInfo) -> Vec<(String, String)> {
        let connections = self
            .connections
            .get()
            .map(|counters| counters())
            .unwrap_or_default();
        let mut rows: Vec<(String, String)> = self
            .statistics
            .counters()
            .chain(self.engine_status())
            .chain(connections)
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .collect();
        let store = self.engine.store.stats().into_iter();
        rows.extend(store.map(|(name, value)| (format!("Stemdb_{name}"), value.to_string())));
        rows.extend(self.memory_status());
        let tls = client.tls.as_ref();
        let texts = [
            ("Threads_connected", self.processes.count().to_string()),
            ("Max_used_connections", self.processes.most().to_string()),
            ("Threads_running", self.running().to_string()),
            ("Uptime", self.started.elapsed().as_secs().to_string()),
            (
                "Prepared_stmt_count",
                self.prepared_count.load(Ordering::Relaxed).to_string(),
            ),
            ("Ssl_cipher", tls.map(|t| t.cipher.clone()).unwrap_or_default()),
            ("Ssl_version", tls.map(|t| t.version.clone()).unwrap_or_default()),
            (
                "Compression",
                if client.compression.is_some() { "ON" } else { "OFF" }.into(),
            ),
            ("Compression_algorithm", client.compression.unwrap_or("").into()),
        ];
        rows.extend(texts.map(|(name, value)| (name.to_owned(), value)));
        rows.sort();
        rows
    }

    fn engine_status(&self) -> [(&'static str, u64); 3] {
        let counters = &self.engine.counters;
        [
            ("Handler_commit", &counters.committed),
            ("Handler_rollback", &counters.rolled_back),
            ("Stemdb_analytical_queries", &counters.analytical),
        ]
        .map(|(name, counter)| (name, counter.load(Ordering::Relaxed)))
    }

    fn memory_status(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let figures = self.engine.memory.figures();
        let values = [
            ("limit_bytes", figures.limit as u64),
            ("statements_bytes", figures.statements as u64),
            ("used_bytes", figures.used as u64),
            ("waiting", figures.waiting as u64),
            ("waits", figures.waits),
            ("refused", figures.refused),
        ];
        let named = |(name, value): (&str, u64)| (format!("Stemdb_memory_{name}"), value.to_string());
        values.into_iter().map(named)
    }

    fn running(&self) -> usize {
        self.processes
            .all()
            .iter()
            .filter(|p| p.running_for().is_some())
            .count()
    }

    /// COM_STATISTICS' line.
    pub(crate) fn one_line(&self) -> String {
        format!(
            "Uptime: {}  Threads: {}  Questions: {}  Slow queries: {}  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {:.3}",
            self.started.elapsed().as_secs(),
            self.processes.count(),
            self.statistics.questions(),
            self.statistics.slow_queries.load(Ordering::Relaxed),
            self.statistics.questions() as f64 / self.started.elapsed().as_secs_f64().max(1.0),
        )
    }
}
