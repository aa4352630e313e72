//! What all statements of a process run on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use cluster::Cluster;
use cluster::TransactionLocks;
use kv::{Durability, Store};
use memory::Broker;
use types::{Error, Result, errno};

/// The store with its schema, and the other things that all statements share. Created once, when the process
/// starts.
pub struct Engine {
    pub store: Store,
    pub cluster: Arc<Cluster>,
    /// Statements and transactions get their memory from it.
    pub memory: &'static Broker,
    /// Analytical queries spill to it.
    pub spill_directory: PathBuf,
    pub counters: Counters,
    /// Of every commit.
    durability: AtomicU8,
    /// Whether writes are refused.
    /// See [`WriteMode`].
    write_mode: AtomicU8,
}

/// Counters of what statements have done, in cache lines of their own because all threads write to them.
#[derive(Default)]
#[repr(align(128))]
pub struct Counters {
    /// Queries that `analytics` has run.
    pub analytical: AtomicU64,
    /// Transactions that have ended, those of single statements included.
    pub committed: AtomicU64,
    pub rolled_back: AtomicU64,
}

/// Who may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteMode {
    All,
    /// `read_only`
    Administrators,
    /// `super_read_only`
    Nobody,
}

impl Engine {
    pub fn new(store: Store, cluster: Arc<Cluster>, spill_directory: PathBuf) -> Self {
        Self {
            memory: store.budget(),
            store,
            cluster,
            spill_directory,
            counters: Counters::default(),
            durability: AtomicU8::new(encoded(Durability::Sync)),
            write_mode: AtomicU8::new(WriteMode::All as u8),
        }
    }

    /// Sets when commits are acknowledged.
    pub fn set_durability(&self, durability: Durability) {
        self.durability.store(encoded(durability), Ordering::Relaxed);
    }

    pub fn durability(&self) -> Durability {
        match self.durability.load(Ordering::Relaxed) {
            LAZY => Durability::Lazy,
            OS => Durability::Os,
            _ => Durability::Sync,
        }
    }

    /// Sets who may write.
    pub fn set_write_mode(&self, mode: WriteMode) {
        self.write_mode.store(mode as u8, Ordering::Relaxed);
    }

    /// Whether `read_only` is on.
    pub fn is_read_only(&self) -> bool {
        self.write_mode.load(Ordering::Relaxed) != WriteMode::All as u8
    }

    /// Fails with 1290 while writes are refused. `is_exempt`: the account may write in spite of `read_only`, though not
    /// of `super_read_only`.
    pub fn check_writable(&self, is_exempt: bool) -> Result<()> {
        let mode = self.write_mode.load(Ordering::Relaxed);
        let option = match mode {
            _ if mode == WriteMode::Nobody as u8 => "--super-read-only",
            _ if mode == WriteMode::Administrators as u8 && !is_exempt => "--read-only",
            _ => return Ok(()),
        };
        Err(Error::new(
            1290,
            format!(
                "The MySQL server is running with the {option} option so it cannot execute this statement"
            ),
        ))
    }

    /// Releases a transaction's metadata locks after its commit.
    pub(crate) fn end_locks(&self, locks: &mut TransactionLocks, commit: &Result<()>) {
        if matches!(commit, Err(error) if error.code == errno::ER_RESULT_UNDETERMINED) {
            // The commit may still arrive at the store, and its writes fit only the definitions of now.
            let none = TransactionLocks::new(self.cluster.metadata_locks().clone());
            self.cluster.keep_undetermined(std::mem::replace(locks, none));
        }
        locks.release_all();
    }
}

impl Counters {
    /// Counts a transaction that has ended.
    pub(crate) fn count_end(&self, committed: bool) {
        let counter = if committed {
            &self.committed
        } else {
            &self.rolled_back
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

const LAZY: u8 = 0;
const SYNC: u8 = 1;
const OS: u8 = 2;

fn encoded(durability: Durability) -> u8 {
    match durability {
        Durability::Lazy => LAZY,
        Durability::Os => OS,
        Durability::Sync => SYNC,
    }
}
