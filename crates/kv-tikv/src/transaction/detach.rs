//! Prewrites a transaction that other nodes will end ([`kv::detached`]).

use super::{TikvTransaction, in_doubt, only_locked};
use crate::commit::{Change, Commit, Write};
use crate::failure;
use crate::heartbeat::{FOREVER, Lifetime};
use crate::locks::release;
use crate::sharing::SharedLocks;
use kv::{Detached, Error, LockOptions, Result, WriteBuffer};
use std::sync::Arc;

/// The value of a primary that is committed.
const COMMITTED: &[u8] = b"committed";

impl TikvTransaction {
    /// All keys are locked in the cluster. Afterwards the locks belong to nobody, and no longer end with this
    /// transaction.
    pub(super) fn try_detach(
        &mut self,
        writes: &WriteBuffer,
        detached: &Detached,
        options: &LockOptions,
    ) -> Result<()> {
        self.check_locks()?;
        let node = Arc::clone(&self.node);
        let cluster = &node.cluster;
        let primary = cluster.keyspace.key(&detached.primary);
        let mut all = self.writes(writes);
        let Some(locks) = self.cluster.as_ref().filter(|locks| !locks.is_lost()) else {
            return Err(failure::locks_lost());
        };
        let in_doubt = in_doubt(locks, &all);
        all.extend(only_locked(locks, &all));
        for write in &mut all {
            if write.key == primary {
                write.change = Change::Put(COMMITTED.into());
            }
        }
        let (first_locked, for_update_ts) = (locks.primary.clone(), locks.for_update_ts);
        let commit = Commit {
            cluster,
            heartbeats: &node.heartbeats,
            start_ts: self.start_ts,
            primary: primary.clone(),
            lifetime: Lifetime {
                ttl: FOREVER,
                longest: FOREVER,
            },
            writes: all.clone(),
            for_update_ts,
            min_commit_ts: for_update_ts + 1,
            fence: None,
            shared_locks: &SharedLocks {
                sharing: &node.sharing,
                keys: Vec::new(),
            },
            interrupt: &options.interrupt,
            lock_deadline: None,
        };
        let prewritten = commit.prewrite_parts(in_order(all, &primary, &first_locked));
        prewritten.map_err(|error| match error {
            // All keys are locked, so a conflict means that a lock was lost.
            Error::WriteConflict { .. } => failure::locks_lost(),
            error => error,
        })?;
        if let Some(locks) = &mut self.cluster {
            locks.take_keys();
        }
        if let Err(error) = release(cluster, self.start_ts, for_update_ts, in_doubt) {
            tracing::warn!(%error, "locks are left to run out");
        }
        Ok(())
    }
}

/// The primary first: every other prewritten lock leads to it. The key that was locked first last: until all
/// others are prewritten, their locks lead there, and a transaction that waits for one must not find that it has
/// another primary.
fn in_order(writes: Vec<Write>, primary: &[u8], first_locked: &[u8]) -> [Vec<Write>; 3] {
    let mut parts = [const { Vec::new() }; 3];
    let [first, others, last] = &mut parts;
    for write in writes {
        let part = match write.key.as_slice() {
            key if key == primary => &mut *first,
            key if key == first_locked => &mut *last,
            _ => &mut *others,
        };
        part.push(write);
    }
    parts
}
