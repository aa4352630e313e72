//! The shared side: the tables a transaction uses.

use std::sync::Arc;

use types::Result;

use super::table_lock::TableLock;
use super::{Deadline, MetadataLocks, WaitLimit};

/// Locks a session remembers between transactions, so that taking one again needs no look-up.
const REMEMBERED: usize = 32;

/// The shared metadata locks of one session's current transaction. Dropping it releases them.
pub struct TransactionLocks {
    locks: Arc<MetadataLocks>,
    /// The first `held` of them are held; the rest were, and are kept for the next time.
    tables: Vec<Arc<TableLock>>,
    held: usize,
}

impl TransactionLocks {
    pub fn new(locks: Arc<MetadataLocks>) -> Self {
        Self {
            locks,
            tables: Vec::new(),
            held: 0,
        }
    }

    /// Takes a table's lock, if the transaction has not got it already.
    ///
    /// The definition may have changed while this waited: compare the schema's version afterwards.
    ///
    /// # Errors
    /// 1205 after the time-out, 1317 when interrupted.
    pub fn acquire(&mut self, table: i64, limit: &WaitLimit) -> Result<()> {
        let known = self.tables.iter().position(|t| t.id == table);
        if known.is_some_and(|at| at < self.held) {
            return Ok(());
        }
        let at = known.unwrap_or_else(|| {
            self.tables.push(self.locks.table(table));
            self.tables.len() - 1
        });
        let lock = &self.tables[at];
        if !lock.try_enter() {
            // The lock may have been forgotten with its table; then a fresh look-up changes nothing, ids being unique.
            lock.enter(&Deadline::new(limit))?;
        }
        self.tables.swap(at, self.held);
        self.held += 1;
        Ok(())
    }

    pub fn holds(&self, table: i64) -> bool {
        self.tables[..self.held].iter().any(|t| t.id == table)
    }

    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Releases everything: the transaction has ended.
    pub fn release_all(&mut self) {
        for lock in &self.tables[..self.held] {
            lock.leave();
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
