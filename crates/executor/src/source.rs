//! What a statement reads: a snapshot, or the transaction it runs in.
//!
//! Not here: the reads themselves (`operator::scan`), and the state of a running statement (`env`).

use kv::{Reader, Snapshot, Timestamp, Transaction, View};

/// The store as one statement sees it.
pub enum ReadSource<'a> {
    /// An autocommit read. For plans of [`crate::query::reads_one_moment`] it may be [`kv::Store::latest`].
    Snapshot(&'a Snapshot),
    /// The data as a transaction saw it when the view was made: an INSERT's own query does not see the rows
    /// that it inserts.
    View { view: &'a View, snapshot_ts: Timestamp },
    /// Plain reads see the transaction's snapshot and its own writes. Locking reads and DML see the newest
    /// committed version and lock the rows that they read.
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

    /// The timestamp of plain reads; [`kv::LATEST`] for the newest.
    pub(crate) fn ts(&self) -> Timestamp {
        match self {
            Self::Snapshot(snapshot) => snapshot.ts(),
            Self::View { snapshot_ts, .. } => *snapshot_ts,
            Self::Transaction(txn) => txn.snapshot_ts(),
        }
    }

    /// Whether all plain reads see the same moment, however many calls they take.
    pub(crate) fn is_consistent(&self) -> bool {
        self.ts() != kv::LATEST
    }

    /// The transaction, for locking reads and writes. The other sources have none.
    pub(crate) fn transaction(&mut self) -> types::Result<&mut Transaction> {
        match self {
            Self::Transaction(txn) => Ok(txn),
            Self::Snapshot(_) | Self::View { .. } => Err(types::Error::internal(
                "a locking read or a write needs a transaction",
            )),
        }
    }
}
