//! The end of a transaction that was detached from its node ([`kv::detached`]). Its primary lock decides, as in
//! every commit; any node may send the requests.

use crate::commit::{Commit, CommitOutcome, commit_secondaries, roll_back_keys};
use crate::heartbeat::Lifetime;
use crate::node::Node;
use crate::resolve::own_status;
use crate::sharing::SharedLocks;
use crate::txn_status::TxnStatus;
use kv::{Detached, DetachedEnd, Error, Interrupt, Result};

/// Commits the primary, or rolls it back, and returns what it says afterwards: another node may have been first.
pub fn end(node: &Node, detached: &Detached, commit: bool) -> Result<DetachedEnd> {
    let requested = match commit {
        true => commit_primary(node, detached),
        false => roll_back_primary(node, detached),
    };
    match status(node, detached)? {
        Some(end) => {
            if let DetachedEnd::Committed(commit_ts) = end {
                node.committed(detached.start_ts, commit_ts, Vec::new());
            }
            Ok(end)
        }
        None => Err(requested.err().unwrap_or_else(|| {
            Error::Internal("a detached transaction was ended, and its primary is still locked".into())
        })),
    }
}

fn commit_primary(node: &Node, detached: &Detached) -> Result<()> {
    let commit = Commit {
        cluster: &node.cluster,
        heartbeats: &node.heartbeats,
        start_ts: detached.start_ts,
        primary: node.cluster.keyspace.key(&detached.primary),
        lifetime: Lifetime::configured(&node.cluster.options),
        writes: Vec::new(),
        for_update_ts: 0,
        min_commit_ts: 0,
        fence: None,
        shared_locks: &SharedLocks {
            sharing: &node.sharing,
            keys: Vec::new(),
        },
        interrupt: &Interrupt::default(),
        lock_deadline: None,
    };
    match commit.commit_prewritten(Vec::new())? {
        CommitOutcome::Committed { .. } => Ok(()),
        CommitOutcome::Failed(error) | CommitOutcome::Blocked(error) => Err(error),
    }
}

fn roll_back_primary(node: &Node, detached: &Detached) -> Result<()> {
    let cluster = &node.cluster;
    let primary = cluster.keyspace.key(&detached.primary);
    roll_back_keys(
        cluster,
        detached.start_ts,
        vec![primary],
        &mut cluster.backoff(None),
    )
}

/// `None`: it waits for its end. A primary without a trace of the transaction is rolled back.
pub fn status(node: &Node, detached: &Detached) -> Result<Option<DetachedEnd>> {
    let cluster = &node.cluster;
    let primary = cluster.keyspace.key(&detached.primary);
    let status = own_status(cluster, &primary, detached.start_ts, &mut cluster.backoff(None))?;
    Ok(match status {
        TxnStatus::Committed(commit_ts) => Some(DetachedEnd::Committed(commit_ts)),
        TxnStatus::RolledBack => Some(DetachedEnd::RolledBack),
        _ => None,
    })
}

/// Ends the transaction at the other keys.
pub fn finish(node: &Node, detached: &Detached, end: DetachedEnd) -> Result<()> {
    let cluster = &node.cluster;
    let keys = detached.keys.iter().map(|key| cluster.keyspace.key(key));
    let keys = keys.collect();
    match end {
        DetachedEnd::Committed(commit_ts) => commit_secondaries(cluster, detached.start_ts, commit_ts, keys),
        DetachedEnd::RolledBack => {
            roll_back_keys(cluster, detached.start_ts, keys, &mut cluster.backoff(None))
        }
    }
}
