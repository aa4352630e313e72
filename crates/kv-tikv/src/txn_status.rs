//! The status of transactions, and the outcomes of ended ones that are remembered.

use kv::Timestamp;
use parking_lot::Mutex;
use std::collections::HashMap;

/// How many ended transactions are remembered, so that each is asked about once.
const FINISHED_MAX: usize = 4_096;

/// A transaction's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxnStatus {
    Committed(Timestamp),
    RolledBack,
    /// Running, and it will commit later than the reader's timestamp.
    Pushed,
    Alive,
    /// Unknown: the transaction has started again with another primary, and this pessimistic lock is left
    /// from before.
    Forgotten,
}

impl TxnStatus {
    /// 0 if it did not commit.
    pub fn commit_ts(self) -> Timestamp {
        match self {
            Self::Committed(commit_ts) => commit_ts,
            _ => 0,
        }
    }
}

/// Outcomes of ended transactions: the commit timestamp, or 0.
#[derive(Default)]
pub struct EndedTxns {
    outcomes: Mutex<HashMap<Timestamp, Timestamp>>,
}

impl EndedTxns {
    pub fn get(&self, start_ts: Timestamp) -> Option<TxnStatus> {
        self.outcomes
            .lock()
            .get(&start_ts)
            .map(|commit_ts| match commit_ts {
                0 => TxnStatus::RolledBack,
                commit_ts => TxnStatus::Committed(*commit_ts),
            })
    }

    pub fn insert(&self, start_ts: Timestamp, commit_ts: Timestamp) {
        let mut outcomes = self.outcomes.lock();
        if outcomes.len() >= FINISHED_MAX {
            outcomes.clear();
        }
        outcomes.insert(start_ts, commit_ts);
    }
}
