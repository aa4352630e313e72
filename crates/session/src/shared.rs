//! What all sessions of a server share. Made once, when the server starts.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cluster::TransactionLocks;
use kv::{Durability, Store};
use memory::Broker;
use parking_lot::Mutex;
use planner::PlanCache;
use types::{Error, Result, errno};

use crate::catalog::Catalog;
use crate::process::ProcessList;
use crate::session::Session;
use crate::statistics::Statistics;
use crate::user_locks::UserLockTable;
use crate::variables::GlobalVariables;

/// The version clients are told: MySQL's, whose behaviour we have, and our own.
pub const VERSION: &str = concat!("8.0.33-StemDB-", env!("CARGO_PKG_VERSION"));

/// The server as its sessions see it.
pub struct Shared {
    pub store: Store,
    pub catalog: Catalog,
    pub plans: PlanCache,
    pub variables: GlobalVariables,
    pub processes: ProcessList,
    pub statistics: Statistics,
    pub(crate) user_locks: Arc<UserLockTable>,
    /// Where statements and transactions have their memory from.
    pub memory: &'static Broker,
    /// Where analytical queries spill to.
    pub spill_directory: PathBuf,
    pub started: Instant,
    /// Prepared statements open in all sessions, bounded by `max_prepared_stmt_count`.
    pub(crate) prepared_count: AtomicU64,
    /// `innodb_flush_log_at_trx_commit`, read at every commit.
    durability: AtomicU64,
    /// Held while global variables are read from the store and taken over: whoever reads them later does so later.
    pub(crate) globals_turn: Mutex<()>,
    /// `read_only`, looked at by every write.
    read_only: AtomicBool,
    /// What is counted of connections, which sessions do not see.
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
            memory: store.budget(),
            store,
            catalog,
            plans: PlanCache::default(),
            variables,
            processes: ProcessList::default(),
            statistics: Statistics::default(),
            user_locks: Arc::default(),
            spill_directory,
            started: Instant::now(),
            prepared_count: AtomicU64::new(0),
            durability: AtomicU64::new(1),
            globals_turn: Mutex::default(),
            read_only: AtomicBool::new(false),
            connections: OnceLock::new(),
        };
        shared.globals_changed();
        let shared = Arc::new(shared);
        shared.meet_other_nodes();
        shared
    }

    /// Has SHOW STATUS tell what is counted of connections. Only the first call counts.
    pub fn show_connections(&self, counters: Counters) {
        let _ = self.connections.set(counters);
    }

    /// Brings what the server reads often in line with the global variables.
    pub(crate) fn globals_changed(&self) {
        self.durability.store(
            self.variables.integer("innodb_flush_log_at_trx_commit"),
            Ordering::Relaxed,
        );
        self.read_only
            .store(self.variables.boolean("read_only"), Ordering::Relaxed);
        self.store
            .set_gc_age(Duration::from_secs(self.variables.integer("stemdb_gc_age")));
    }

    /// Refuses writes while `read_only` is set.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.read_only.load(Ordering::Relaxed) {
            return Err(Error::new(
                1290,
                "The MySQL server is running with the --read-only option so it cannot execute this statement",
            ));
        }
        Ok(())
    }

    /// Gives back a transaction's metadata locks after its commit.
    pub(crate) fn end_locks(&self, locks: &mut TransactionLocks, commit: &Result<()>) {
        if matches!(commit, Err(error) if error.code == errno::ER_RESULT_UNDETERMINED) {
            // It may still arrive, and has been made for the definitions as they are.
            let none = TransactionLocks::new(self.catalog.cluster.metadata_locks().clone());
            self.catalog
                .cluster
                .keep_undetermined(std::mem::replace(locks, none));
        }
        locks.release_all();
    }

    /// When commits are acknowledged.
    pub fn durability(&self) -> Durability {
        match self.durability.load(Ordering::Relaxed) {
            0 => Durability::Lazy,
            2 => Durability::Os,
            _ => Durability::Sync,
        }
    }

    /// SHOW STATUS: names and values, sorted by name.
    pub(crate) fn status(&self, session: &Session) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> = self
            .statistics
            .counters()
            .chain(
                self.connections
                    .get()
                    .map(|counters| counters())
                    .unwrap_or_default(),
            )
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .chain(
                self.store
                    .stats()
                    .into_iter()
                    .map(|(name, value)| (format!("Stemdb_{name}"), value.to_string())),
            )
            .collect();
        rows.extend(self.memory_status());
        let connections = self.processes.count().to_string();
        rows.push(("Threads_connected".into(), connections.clone()));
        rows.push(("Max_used_connections".into(), self.processes.most().to_string()));
        rows.push(("Threads_running".into(), self.running().to_string()));
        rows.push(("Uptime".into(), self.started.elapsed().as_secs().to_string()));
        rows.push((
            "Prepared_stmt_count".into(),
            self.prepared_count.load(Ordering::Relaxed).to_string(),
        ));
        rows.push((
            "Ssl_cipher".into(),
            session.tls().map(|t| t.cipher.clone()).unwrap_or_default(),
        ));
        rows.push((
            "Ssl_version".into(),
            session.tls().map(|t| t.version.clone()).unwrap_or_default(),
        ));
        let compression = session.client.compression;
        rows.push((
            "Compression".into(),
            if compression.is_some() { "ON" } else { "OFF" }.into(),
        ));
        rows.push(("Compression_algorithm".into(), compression.unwrap_or("").into()));
        rows.sort();
        rows
    }

    fn memory_status(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let figures = self.memory.figures();
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
            "Uptime: {}  Threads: {}  Questions: {}  Slow queries: 0  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {:.3}",
            self.started.elapsed().as_secs(),
            self.processes.count(),
            self.statistics.questions(),
            self.statistics.questions() as f64 / self.started.elapsed().as_secs_f64().max(1.0),
        )
    }
}
