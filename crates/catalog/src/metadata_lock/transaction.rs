//! The shared side: the tables a transaction uses.

use std::sync::Arc;

use types::Result;

use super::table_lock::{TableLock, Use};
use super::{Deadline, MetadataLocks, WaitLimit};

/// Locks a session remembers between transactions, so that taking one again needs no look-up.
const REMEMBERED: usize = 32;

/// The shared metadata locks of one session's current transaction. Dropping it releases them.
pub struct TransactionLocks {
    locks: Arc<MetadataLocks>,
    /// The first `held` of them are held; the rest were, and are kept for the next time.
    tables: Vec<Used>,
    held: usize,
}

struct Used {
    lock: Arc<TableLock>,
    reads: bool,
    writes: bool,
}

impl TransactionLocks {
    pub fn new(locks: Arc<MetadataLocks>) -> Self {
        Self {
            locks,
            tables: Vec::new(),
            held: 0,
        }
    }

    /// Takes a table's lock for a use of it, if the transaction has not got it already.
    ///
    /// The definition may have changed while this waited: compare the schema's version afterwards.
    ///
    /// # Errors
    /// 1205 after the time-out, 1317 when interrupted.
    pub fn acquire(&mut self, table: i64, what: Use, limit: &WaitLimit) -> Result<()> {
        let known = self.tables.iter().position(|t| t.lock.id == table);
        if let Some(at) = known
            && at < self.held
        {
            let used = &mut self.tables[at];
            if what == Use::Write && !used.writes {
                used.lock.enter_further(&Deadline::new(limit))?;
                used.writes = true;
            }
            return Ok(());
        }
        let at = known.unwrap_or_else(|| {
            self.tables.push(Used {
                lock: self.locks.table(table),
                reads: false,
                writes: false,
            });
            self.tables.len() - 1
        });
        let used = &mut self.tables[at];
        if !used.lock.try_enter(what) {
            // The lock may have been forgotten with its table; then a fresh look-up changes nothing, ids being unique.
            used.lock.enter(what, &Deadline::new(limit))?;
        }
        used.reads = what == Use::Read;
        used.writes = what == Use::Write;
        self.tables.swap(at, self.held);
        self.held += 1;
        Ok(())
    }

    pub fn holds(&self, table: i64) -> bool {
        self.tables[..self.held].iter().any(|t| t.lock.id == table)
    }

    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Releases everything: the transaction has ended.
    pub fn release_all(&mut self) {
        for used in &mut self.tables[..self.held] {
            if std::mem::take(&mut used.reads) {
                used.lock.leave(Use::Read);
            }
            if std::mem::take(&mut used.writes) {
                used.lock.leave(Use::Write);
            }
        }
        self.held = 0;
        self.tables.truncate(REMEMBERED);
    }
}

impl Drop for TransactionLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
