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
    /// Statements spill to it.
    pub spill_directory: PathBuf,
    pub counters: Counters,
    /// Of every commit.
    durability: AtomicU8,
    /// A [`ReadOnly`].
    read_only: AtomicU8,
}

/// Whose writes are refused: `read_only` and `super_read_only`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ReadOnly {
    /// Nobody's.
    Off,
    /// Those of accounts without CONNECTION_ADMIN.
    On,
    /// Everybody's.
    Super,
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

impl Engine {
    pub fn new(store: Store, cluster: Arc<Cluster>, spill_directory: PathBuf) -> Self {
        Self {
            memory: store.budget(),
            store,
            cluster,
            spill_directory,
            counters: Counters::default(),
            durability: AtomicU8::new(encoded(Durability::Sync)),
            read_only: AtomicU8::new(ReadOnly::Off as u8),
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

    /// Sets whose writes are refused.
    pub fn set_read_only(&self, read_only: ReadOnly) {
        self.read_only.store(read_only as u8, Ordering::Relaxed);
    }

    /// Fails with 1290 while writes are refused. `is_admin`: the account has CONNECTION_ADMIN or SUPER.
    pub fn check_writable(&self, is_admin: bool) -> Result<()> {
        let read_only = self.read_only.load(Ordering::Relaxed);
        let option = match is_admin {
            _ if read_only == ReadOnly::Off as u8 => return Ok(()),
            true if read_only == ReadOnly::On as u8 => return Ok(()),
            true => "--super-read-only",
            false => "--read-only",
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
