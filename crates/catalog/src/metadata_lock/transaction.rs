//! The shared side: the tables a transaction uses.

use std::sync::Arc;

use kv::Fence;
use types::Result;

use super::table_lock::{TableLock, Use};
use super::{Deadline, MetadataLocks, WaitLimit};
use crate::Catalog;
use crate::nodes::{Node, lease_is_over};

/// Locks a session remembers between transactions, so that taking one again needs no look-up.
const REMEMBERED: usize = 32;

/// The shared metadata locks of one session's current transaction. Dropping it releases them.
pub struct TransactionLocks {
    locks: Arc<MetadataLocks>,
    /// The first `held` of them are held; the rest were, and are kept for the next time.
    tables: Vec<Used>,
    held: usize,
    /// Under whose lease the transaction began, where several processes share the store.
    node: Option<Arc<Node>>,
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
            node: None,
        }
    }

    /// Names the lease that the transaction relies on, before a statement takes its locks: what it then finds defined is
    /// good for commits within that lease. A transaction has one lease to its end.
    ///
    /// # Errors
    /// 8027 when there is none, or another than the transaction began with: it cannot be committed any more.
    pub fn rely_on(&mut self, catalog: &Catalog) -> Result<()> {
        let Some(now) = catalog.lease()? else {
            return Ok(());
        };
        match &self.node {
            Some(node) if node.term != now.term => Err(lease_is_over()),
            Some(_) => Ok(()),
            None => {
                self.node = Some(now);
                Ok(())
            }
        }
    }

    /// Waits for a lease where [`TransactionLocks::rely_on`] finds none, and relies on it from now on. `is_bound`: the
    /// transaction has written or locked rows, and can do with no other lease than its own. One that has only read goes on
    /// where its tables are what they were.
    ///
    /// # Errors
    /// 8027 when there is none in time, or none that it can go on with; 1317 when interrupted.
    #[cold]
    pub fn regain(&mut self, catalog: &Catalog, is_bound: bool, limit: &WaitLimit) -> Result<()> {
        self.node = self.lease_covering(catalog, None, is_bound, limit)?;
        Ok(())
    }

    /// Waits for a lease under which what is read at a moment can be told, where [`TransactionLocks::check_read_at`] says
    /// that there is none. The definitions that it was read by are those of that moment, or this fails.
    ///
    /// # Errors
    /// Those of [`TransactionLocks::regain`].
    #[cold]
    pub fn wait_to_cover(
        &self,
        catalog: &Catalog,
        ts: kv::Timestamp,
        is_bound: bool,
        limit: &WaitLimit,
    ) -> Result<()> {
        self.lease_covering(catalog, Some(ts), is_bound, limit).map(drop)
    }

    fn lease_covering(
        &self,
        catalog: &Catalog,
        ts: Option<kv::Timestamp>,
        is_bound: bool,
        limit: &WaitLimit,
    ) -> Result<Option<Arc<Node>>> {
        let only = self.node.as_deref().filter(|_| is_bound);
        let covers = |node: &Node| ts.is_none_or(|ts| node.covers(ts));
        let now = catalog.wait_for_lease(only, &covers, limit)?;
        match (&self.node, &now) {
            (Some(before), Some(now)) if !now.continues(before, self.held_tables()) => Err(lease_is_over()),
            _ => Ok(now),
        }
    }

    fn held_tables(&self) -> impl Iterator<Item = i64> {
        self.tables[..self.held].iter().map(|used| used.lock.id)
    }

    /// Whether what is read at a moment, [`kv::LATEST`] after it was read, is what the definitions say under the lease.
    ///
    /// # Errors
    /// 8027 if the moment is behind the end of the lease: others may have changed definitions by then.
    pub fn check_read_at(&self, ts: kv::Timestamp) -> Result<()> {
        match &self.node {
            Some(node) if !node.covers(ts) => Err(lease_is_over()),
            _ => Ok(()),
        }
    }

    /// The lease that the transaction relies on.
    pub fn lease(&self) -> Option<Arc<Node>> {
        self.node.clone()
    }

    /// What bounds the transaction's commit.
    pub fn fence(&self) -> Option<&Fence> {
        self.node.as_ref().map(|node| &node.fence)
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

    /// Takes out what is held, to be released by somebody else.
    pub fn hand_over(&mut self) -> Self {
        let tables = self.tables[..self.held].iter_mut().map(|used| Used {
            lock: Arc::clone(&used.lock),
            reads: std::mem::take(&mut used.reads),
            writes: std::mem::take(&mut used.writes),
        });
        let taken = Self {
            locks: Arc::clone(&self.locks),
            tables: tables.collect(),
            held: std::mem::take(&mut self.held),
            node: self.node.take(),
        };
        self.tables.truncate(REMEMBERED);
        taken
    }

    pub fn holds(&self, table: i64) -> bool {
        self.held_tables().any(|held| held == table)
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
        self.node = None;
        self.tables.truncate(REMEMBERED);
    }
}

impl Drop for TransactionLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
