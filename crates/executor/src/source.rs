//! Where a statement's rows are read from: a snapshot, or the transaction it runs in.
//!
//! Not here: the reads themselves (`operator::scan`) and the state a running statement carries (`env`).

use kv::{Reader, Snapshot, Timestamp, Transaction, View};

/// The store as one statement sees it.
pub enum ReadSource<'a> {
    /// An autocommit read. [`kv::Store::latest`] will do for plans [`crate::query::reads_one_moment`] says yes to.
    Snapshot(&'a Snapshot),
    /// What a transaction saw when the view was made: an INSERT's own query does not see the rows it inserts.
    View { view: &'a View, snapshot_ts: Timestamp },
    /// Plain reads see the transaction's snapshot and its own writes; locking reads and DML see the newest committed
    /// version and lock what they touch.
    Transaction(&'a mut Transaction),
}

impl ReadSource<'_> {
    /// What plain reads see.
    pub(crate) fn reader(&self) -> &dyn Reader {
        match self {
            Self::Snapshot(snapshot) => *snapshot,
            Self::View { view, .. } => *view,
            Self::Transaction(txn) => &**txn,
        }
    }

    /// The moment plain reads see; [`kv::LATEST`] for the newest.
    pub(crate) fn ts(&self) -> Timestamp {
        match self {
            Self::Snapshot(snapshot) => snapshot.ts(),
            Self::View { snapshot_ts, .. } => *snapshot_ts,
            Self::Transaction(txn) => txn.snapshot_ts(),
        }
    }

    /// Whether all plain reads see the same moment.
    pub(crate) fn is_consistent(&self) -> bool {
        self.ts() != kv::LATEST
    }

    /// The transaction, for locking reads and writes; the others have none.
    pub(crate) fn transaction(&mut self) -> types::Result<&mut Transaction> {
        match self {
            Self::Transaction(txn) => Ok(txn),
            Self::Snapshot(_) | Self::View { .. } => Err(types::Error::internal(
                "a locking read or a write needs a transaction",
            )),
        }
    }
}
