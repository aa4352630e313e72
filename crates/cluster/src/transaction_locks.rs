//! The tables that a transaction uses, and the lease under which it uses them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kv::Fence;
use parking_lot::Mutex;
use types::Result;

use crate::lease::{Lease, lease_is_over};
use crate::metadata_lock::{MetadataLocks, TableLock, Use};
use crate::node::Node;
use crate::wait::WaitLimit;

/// How many locks a session keeps between transactions, so that it can take them again without a lookup.
const CACHED: usize = 32;

/// The shared metadata locks of one session's current transaction. Dropping it releases them.
pub struct TransactionLocks {
    locks: Arc<MetadataLocks>,
    /// The first `held` of them are held; the others are cached for a later transaction.
    tables: Vec<UsedTable>,
    held: usize,
    /// The lease under which the transaction began, where several processes share the store.
    node: Option<Arc<Node>>,
    /// The tables as other sessions see them; `None`: they are not shown.
    shown: Option<Arc<TableUses>>,
}

/// How many tables of a transaction others see.
const SHOWN: usize = 16;

/// The tables that a session's transaction uses, for `metadata_locks`, which shows what a schema change waits
/// for. Only the session writes it; others read it at any time.
#[derive(Default)]
pub struct TableUses {
    /// Ids and how they are used, in one number; 0: none.
    slots: [AtomicI64; SHOWN],
    /// What SET TRANSACTION has asked for the open transaction; empty: nothing.
    isolation: Mutex<&'static str>,
}

/// A table that a session uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableUse {
    pub table: i64,
    pub writes: bool,
    /// The session waits for the table.
    pub waits: bool,
}

impl TableUses {
    #[inline]
    fn set(&self, at: usize, used: TableUse) {
        if let Some(slot) = self.slots.get(at) {
            let flags = i64::from(used.writes) | i64::from(used.waits) << 1;
            slot.store(used.table << 2 | flags, Ordering::Relaxed);
        }
    }

    #[inline]
    fn clear(&self, tables: std::ops::Range<usize>) {
        let mut at = tables.start;
        while at < tables.end
            && let Some(slot) = self.slots.get(at)
        {
            slot.store(0, Ordering::Relaxed);
            at += 1;
        }
    }

    /// The isolation level that the open transaction alone has; empty: it has the session's.
    pub fn isolation(&self) -> &'static str {
        *self.isolation.lock()
    }

    /// Those of this moment, at most the first sixteen.
    pub fn now(&self) -> impl Iterator<Item = TableUse> + '_ {
        let slots = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        slots.filter(|slot| *slot != 0).map(|slot| TableUse {
            table: slot >> 2,
            writes: slot & 1 != 0,
            waits: slot & 2 != 0,
        })
    }
}

struct UsedTable {
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
            shown: None,
        }
    }

    /// Shows the tables to others from now on.
    pub fn show(&mut self) -> Arc<TableUses> {
        Arc::clone(self.shown.get_or_insert_default())
    }

    /// Shows that the transaction has another isolation level than the session; empty: it does not.
    pub fn show_isolation(&self, level: &'static str) {
        if let Some(shown) = &self.shown {
            *shown.isolation.lock() = level;
        }
    }

    #[inline]
    fn show_at(&self, at: usize, used: TableUse) {
        if let Some(shown) = &self.shown {
            shown.set(at, used);
        }
    }

    #[inline]
    fn hide(&self, tables: std::ops::Range<usize>) {
        if let Some(shown) = &self.shown {
            shown.clear(tables);
        }
    }

    /// Binds the transaction to the current lease before a statement takes its locks. The definitions that
    /// the statement then finds are valid for commits within that lease. A transaction has one lease until
    /// its end. `lease`: `None` if one process has the store to itself.
    ///
    /// # Errors
    /// 8027 when there is no lease, or another than the transaction began with: the transaction cannot be
    /// committed any more.
    pub fn rely_on(&mut self, lease: Option<&Lease>) -> Result<()> {
        let Some(lease) = lease else {
            return Ok(());
        };
        let now = lease.valid()?;
        match &self.node {
            Some(node) if node.term != now.term => Err(lease_is_over()),
            Some(_) => Ok(()),
            None => {
                self.node = Some(now);
                Ok(())
            }
        }
    }

    /// Waits for a lease after [`TransactionLocks::rely_on`] has found none, and binds the transaction to it.
    /// `is_bound`: the transaction has written or locked rows, so it cannot continue with another lease. One
    /// that has only read continues if its tables have not changed.
    ///
    /// # Errors
    /// 8027 when there is no lease in time, or none that it can continue with; 1317 when interrupted.
    #[cold]
    pub fn regain(&mut self, lease: Option<&Lease>, is_bound: bool, limit: &WaitLimit) -> Result<()> {
        self.node = self.wait_for_lease(lease, None, is_bound, limit)?;
        Ok(())
    }

    /// Waits for a lease that covers a read at `ts`, after [`TransactionLocks::check_read_at`] has found that
    /// the current one does not. The definitions that the read used are those of `ts`, or this fails.
    ///
    /// # Errors
    /// Those of [`TransactionLocks::regain`].
    #[cold]
    pub fn wait_to_cover(
        &self,
        lease: Option<&Lease>,
        ts: kv::Timestamp,
        is_bound: bool,
        limit: &WaitLimit,
    ) -> Result<()> {
        self.wait_for_lease(lease, Some(ts), is_bound, limit).map(drop)
    }

    fn wait_for_lease(
        &self,
        lease: Option<&Lease>,
        ts: Option<kv::Timestamp>,
        is_bound: bool,
        limit: &WaitLimit,
    ) -> Result<Option<Arc<Node>>> {
        let Some(lease) = lease else {
            return Ok(None);
        };
        let only = self.node.as_deref().filter(|_| is_bound);
        let covers = |node: &Node| ts.is_none_or(|ts| node.covers(ts));
        let now = lease.wait_for(only, &covers, limit)?;
        match &self.node {
            Some(before) if !now.continues(before, self.held_tables()) => Err(lease_is_over()),
            _ => Ok(Some(now)),
        }
    }

    fn held_tables(&self) -> impl Iterator<Item = i64> {
        self.tables[..self.held].iter().map(|used| used.lock.id)
    }

    /// Whether the definitions that a read at `ts` used are those of `ts`; for [`kv::LATEST`], call it after
    /// the read.
    ///
    /// # Errors
    /// 8027 if `ts` is after the end of the lease: other nodes may have changed definitions by then.
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

    /// The limit for the transaction's commit.
    pub fn fence(&self) -> Option<&Fence> {
        self.node.as_ref().map(|node| node.fence())
    }

    /// Takes a table's lock, unless the transaction has it already.
    ///
    /// The definition may have changed during the wait: compare the schema's version afterwards.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn acquire(&mut self, table: i64, what: Use, limit: &WaitLimit) -> Result<()> {
        let cached = self.tables.iter().position(|t| t.lock.id == table);
        if let Some(at) = cached
            && at < self.held
        {
            let used = &mut self.tables[at];
            if what == Use::Write && !used.writes {
                if !used.lock.try_enter_further() {
                    let deadline = self.locks.deadline(table, what, limit);
                    used.lock.enter_further(&deadline)?;
                }
                used.writes = true;
                self.show_at(
                    at,
                    TableUse {
                        table,
                        writes: true,
                        waits: false,
                    },
                );
            }
            return Ok(());
        }
        let at = cached.unwrap_or_else(|| {
            self.tables.push(UsedTable {
                lock: self.locks.table(table),
                reads: false,
                writes: false,
            });
            self.tables.len() - 1
        });
        let mut shown = TableUse {
            table,
            writes: what == Use::Write,
            waits: false,
        };
        if !self.tables[at].lock.try_enter(what) {
            // The lock may have been removed with its table. Table ids are unique, so a fresh lookup would
            // change nothing.
            shown.waits = true;
            self.show_at(self.held, shown);
            let entered = self.tables[at]
                .lock
                .enter(what, &self.locks.deadline(table, what, limit));
            shown.waits = false;
            if entered.is_err() {
                self.hide(self.held..self.held + 1);
            }
            entered?;
        }
        self.show_at(self.held, shown);
        let used = &mut self.tables[at];
        used.reads = what == Use::Read;
        used.writes = what == Use::Write;
        self.tables.swap(at, self.held);
        self.held += 1;
        Ok(())
    }

    /// Takes out what is held, for another owner to release.
    pub fn hand_over(&mut self) -> Self {
        self.hide(0..self.held);
        let tables = self.tables[..self.held].iter_mut().map(|used| UsedTable {
            lock: Arc::clone(&used.lock),
            reads: std::mem::take(&mut used.reads),
            writes: std::mem::take(&mut used.writes),
        });
        let taken = Self {
            locks: Arc::clone(&self.locks),
            shown: None,
            tables: tables.collect(),
            held: std::mem::take(&mut self.held),
            node: self.node.take(),
        };
        self.tables.truncate(CACHED);
        taken
    }

    pub fn holds(&self, table: i64) -> bool {
        self.held_tables().any(|held| held == table)
    }

    /// The tables, and whether the transaction writes them.
    pub fn uses(&self) -> impl Iterator<Item = (i64, bool)> {
        self.tables[..self.held]
            .iter()
            .map(|used| (used.lock.id, used.writes))
    }

    /// Whether a schema change waits for one of the tables.
    pub fn delays_change(&self) -> bool {
        self.tables[..self.held]
            .iter()
            .any(|used| used.lock.has_waiting_change())
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
        self.hide(0..self.held);
        self.held = 0;
        self.node = None;
        self.tables.truncate(CACHED);
    }
}

impl Drop for TransactionLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
