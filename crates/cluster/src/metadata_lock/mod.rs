//! Metadata locks: a table's definition does not change while a transaction uses the table.
//!
//! A transaction takes a table's lock *shared* at its first statement on the table and holds it to its end
//! ([`crate::TransactionLocks`]). A schema change takes it *for change* ([`ChangeLocks`]): one change at a
//! time per table, beside transactions; and *exclusive* for the moment in which the new definition is
//! published.
//!
//! An exclusive request closes the table to new transactions while it waits for the ones inside to end. It
//! never holds some of its tables while it waits long for others: it tries all of them for [`ROUND`], then
//! opens them again, lets waiting transactions enter, and tries again until its timeout. So a schema change
//! that waits for a long transaction delays others for moments only, and no transaction can deadlock with a
//! schema change: a lock that a transaction waits for is available within a round. (In MySQL, all later
//! statements wait behind a waiting ALTER TABLE, and a deadlock kills a transaction.)
//!
//! LOCK TABLES uses the same locks for as long as the session holds them ([`SessionLocks`]). For it,
//! transactions that write a table are counted apart from those that read it. Where several processes share a
//! store, LOCK TABLES closes the tables on all of them, by schema versions (`ddl`).
//!
//! A statement that fills a table by a bulk load keeps all other writers out, and all readers for the moment in
//! which the rows appear ([`Filling`]).
//!
//! These locks are of one process. Where several share a store, each closes tables as the schema versions of
//! the others ask for it ([`ClosedTable`]).

mod change;
mod claim;
mod closed;
mod filling;
mod session;
mod table_lock;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use types::{Error, Result, errno};

use crate::wait::{Deadline, WaitLimit};

pub use change::{ChangeLocks, Exclusive, PAUSE_MAX, PAUSE_MIN, WithoutWriters};
pub use claim::{Claim, ClaimNow, Purpose, Stage};

use claim::Claims;
pub(crate) use closed::{ClosedTable, ClosedTo};
pub use filling::{Alone, Filling};
pub use session::SessionLocks;
pub(crate) use table_lock::TableLock;
pub use table_lock::Use;

/// How long an exclusive request keeps its tables closed before it lets other transactions enter.
pub const ROUND: Duration = Duration::from_secs(1);
const SHARDS: usize = 64;

/// In place of a table's id, for LOCK INSTANCE FOR BACKUP: definitions enter as writers, and the session that backs up
/// keeps writers out.
pub const INSTANCE: i64 = i64::MIN;

/// All metadata locks of a process.
pub struct MetadataLocks {
    shards: Vec<RwLock<HashMap<i64, Arc<TableLock>>>>,
    claims: Claims,
}

impl Default for MetadataLocks {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            claims: Claims::default(),
        }
    }
}

impl MetadataLocks {
    pub(crate) fn table(&self, id: i64) -> Arc<TableLock> {
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

    /// Drops the lock of a table that has been dropped. Ids are never used twice, so a transaction that still
    /// waits for the lock may get it: it then finds that the table does not exist.
    pub fn forget(&self, id: i64) {
        self.shards[id.unsigned_abs() as usize % SHARDS]
            .write()
            .remove(&id);
    }

    /// What statements and sessions have locked, and wait for, at this moment.
    pub fn claims(&self) -> Vec<ClaimNow> {
        self.claims.now()
    }

    /// Shows locks that a session is about to wait for, until the result is dropped: tables by their ids, and whether
    /// for writing. It locks nothing.
    pub fn claim(&self, session: u64, purpose: Purpose, tables: &[(i64, bool)]) -> Arc<Claim> {
        self.claims.add(session, purpose, tables)
    }

    /// The deadline of a wait for a table; others see what is waited for.
    pub(crate) fn deadline<'a>(&self, table: i64, what: Use, limit: &WaitLimit<'a>) -> Deadline<'a> {
        Deadline::showing(limit, self.claims.state_of_wait(table, what))
    }

    /// LOCK TABLES: the ids of the tables, each once, and whether it is WRITE. The session must not use any
    /// of them.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn lock_for_session(&self, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<SessionLocks> {
        SessionLocks::acquire(self, Purpose::LockTables, tables, limit, &|| Ok(()))
    }

    /// FLUSH TABLES WITH READ LOCK: the same for all tables.
    ///
    /// # Errors
    /// Those of [`MetadataLocks::lock_for_session`].
    pub fn lock_all_for_session(&self, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<SessionLocks> {
        SessionLocks::acquire(self, Purpose::LockAll, tables, limit, &|| Ok(()))
    }

    /// LOCK INSTANCE: waits for the definitions that run. `delays_change`: whether a definition waits for the session's
    /// tables, as [`crate::TransactionLocks::delays_change`] and [`SessionLocks::delays_change`] say.
    ///
    /// # Errors
    /// 1213 if a definition waits for the session, 1205 after the timeout, 1317 when interrupted.
    pub fn lock_instance(&self, limit: &WaitLimit, delays_change: &dyn Fn() -> bool) -> Result<SessionLocks> {
        let check = || match delays_change() {
            true => Err(deadlock()),
            false => Ok(()),
        };
        SessionLocks::acquire(self, Purpose::Backup, &[(INSTANCE, false)], limit, &check)
    }

    /// Keeps others from writing a table that the caller's transaction is inside of as a writer, with nothing written.
    /// Waits for those who do. `is_choice`: the caller can write the table without that, too, so it gets `None` instead
    /// of a long wait. `None` also where the table's definition changes, whose job waits for the caller.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn fill(&self, id: i64, is_choice: bool, limit: &WaitLimit) -> Result<Option<Filling>> {
        Filling::begin(self.table(id), is_choice, limit)
    }

    /// Reserves the schema change of these tables. Waits for other schema changes, not for transactions.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn lock_for_change(&self, ids: &[i64], limit: &WaitLimit) -> Result<ChangeLocks> {
        ChangeLocks::acquire(self, Purpose::Alter, ids, limit)
    }

    /// The same, for a change that drops or renames the tables.
    ///
    /// # Errors
    /// Those of [`MetadataLocks::lock_for_change`].
    pub fn lock_to_replace(&self, ids: &[i64], limit: &WaitLimit) -> Result<ChangeLocks> {
        ChangeLocks::acquire(self, Purpose::Replace, ids, limit)
    }
}

/// Error 1213.
fn deadlock() -> Error {
    Error::new(
        errno::ER_LOCK_DEADLOCK,
        "Deadlock found when trying to get lock; try restarting transaction",
    )
}

#[cfg(test)]
mod tests;
