//! Metadata locks: a table's definition stands still while a transaction uses the table.
//!
//! A transaction takes a table's lock *shared* at its first statement on the table and keeps it to its end
//! ([`TransactionLocks`]). A schema change takes it *for change* ([`ChangeLocks`]): one change at a time per table, which
//! disturbs nobody, and *exclusive* for the moment in which the new definition is published.
//!
//! An exclusive request closes the table to new transactions while it waits for the ones inside to end. It never holds
//! some of its tables while it waits long for others: it tries all of them for [`ROUND`], then opens them again, lets
//! waiting transactions pass, and tries anew until its own time-out. So a schema change behind a long transaction stalls
//! others for moments only, and no transaction can deadlock with a schema change: whatever it waits for here is given
//! within a round. (MySQL stalls everybody behind a waiting ALTER TABLE, and resolves deadlocks by killing a transaction.)
//!
//! LOCK TABLES uses the same locks for as long as a session likes ([`SessionLocks`]). For it, transactions that write a
//! table are counted apart from those that read it.
//!
//! Locks are this process's. Where several share a store, each closes tables here as the schema versions of the others
//! ask for it (`closed`, [`crate::nodes`]). A transaction then also relies on its node's lease, which it names before it
//! takes its first lock ([`TransactionLocks::rely_on`]).

mod change;
mod closed;
mod session;
mod table_lock;
mod transaction;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use types::{Error, Result, errno};

pub use change::{ChangeLocks, Exclusive};
pub(crate) use change::{PAUSE_MAX, PAUSE_MIN};
pub(crate) use closed::ClosedTable;
use session::Revocable;
pub use session::SessionLocks;
use table_lock::TableLock;
pub use table_lock::Use;
pub use transaction::TransactionLocks;

/// How long an exclusive request keeps its tables closed before it lets others pass.
pub const ROUND: Duration = Duration::from_secs(1);
/// How often a wait looks whether it has been interrupted.
const INTERRUPT_CHECK: Duration = Duration::from_millis(20);
const SHARDS: usize = 64;

/// How long to wait for a metadata lock.
#[derive(Clone)]
pub struct WaitLimit<'a> {
    /// `lock_wait_timeout`.
    pub timeout: Duration,
    pub interrupt: &'a kv::Interrupt,
}

/// All metadata locks of a process.
pub struct MetadataLocks {
    shards: Vec<RwLock<HashMap<i64, Arc<TableLock>>>>,
    /// Those of LOCK TABLES.
    sessions: Mutex<Vec<Weak<Revocable>>>,
}

impl Default for MetadataLocks {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            sessions: Mutex::default(),
        }
    }
}

impl MetadataLocks {
    fn table(&self, id: i64) -> Arc<TableLock> {
        let shard = &self.shards[id.unsigned_abs() as usize % SHARDS];
        if let Some(lock) = shard.read().get(&id) {
            return lock.clone();
        }
        shard
            .write()
            .entry(id)
            .or_insert_with(|| Arc::new(TableLock::new(id)))
            .clone()
    }

    /// Drops the lock of a table that is gone. Ids are never used twice, so whoever still waits on it is let through,
    /// and finds that the table is not there any more.
    pub fn forget(&self, id: i64) {
        self.shards[id.unsigned_abs() as usize % SHARDS]
            .write()
            .remove(&id);
    }

    fn remember_session(&self, session: &Arc<Revocable>) {
        let mut sessions = self.sessions.lock();
        sessions.retain(|other| other.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    /// Takes away what sessions have locked by LOCK TABLES, and ends their waits for more.
    pub(crate) fn revoke_session_locks(&self) {
        let sessions = std::mem::take(&mut *self.sessions.lock());
        for session in sessions.iter().filter_map(Weak::upgrade) {
            session.revoke();
        }
    }

    /// LOCK TABLES: tables by their ids, each once, and whether they are to be written. The session must not be inside
    /// any of them.
    ///
    /// # Errors
    /// 1205 after the time-out, 1317 when interrupted, 8027 when the lease is lost meanwhile.
    pub fn lock_for_session(&self, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<SessionLocks> {
        SessionLocks::acquire(self, tables, limit)
    }

    /// Takes part in schema changes of these tables, one change at a time. Waits for other changes, not for transactions.
    ///
    /// # Errors
    /// 1205 after the time-out, 1317 when interrupted.
    pub fn lock_for_change(&self, ids: &[i64], limit: &WaitLimit) -> Result<ChangeLocks> {
        ChangeLocks::acquire(self, ids, limit)
    }
}

/// A wait that ends at a time, or when interrupted.
pub(crate) struct Deadline<'a> {
    at: Option<Instant>,
    interrupt: &'a kv::Interrupt,
}

impl<'a> Deadline<'a> {
    pub(crate) fn new(limit: &WaitLimit<'a>) -> Self {
        Self {
            // A time-out beyond what the clock can say (31536000 s is MySQL's default) is no time-out.
            at: Instant::now().checked_add(limit.timeout),
            interrupt: limit.interrupt,
        }
    }

    /// How long to sleep before looking again; an error once the wait is over.
    pub(crate) fn next_sleep(&self) -> Result<Duration> {
        if self.interrupt.is_raised() {
            return Err(Error::new(
                errno::ER_QUERY_INTERRUPTED,
                "Query execution was interrupted",
            ));
        }
        let Some(at) = self.at else {
            return Ok(INTERRUPT_CHECK);
        };
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(
                errno::ER_LOCK_WAIT_TIMEOUT,
                "Lock wait timeout exceeded; try restarting transaction",
            ));
        }
        Ok(left.min(INTERRUPT_CHECK))
    }
}

#[cfg(test)]
mod tests;
