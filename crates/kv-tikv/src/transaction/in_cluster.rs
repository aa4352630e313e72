//! What a transaction locks in the cluster: new keys, shared keys, and shared locks that become exclusive ones.

use super::{InCluster, TikvTransaction};
use crate::failure;
use crate::locks::{ClusterLocks, LockOutcome, Request};
use kv::{Error, LockMode, LockOptions, LockWait, Result, Timestamp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

impl TikvTransaction {
    /// Locks in the cluster the keys that this process has locked and the cluster has not yet.
    pub(super) fn lock_in_cluster(
        &mut self,
        keys: &[&Vec<u8>],
        options: &LockOptions,
        values: bool,
        got: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        let deadline = match options.wait {
            LockWait::Timeout(timeout) => Instant::now().checked_add(timeout),
            _ => None,
        };
        let mut new = Vec::new();
        let mut upgrades = Vec::new();
        let mut sharing = Vec::new();
        let mut seen = HashSet::new();
        for key in keys {
            let known = self.held.get(key.as_slice()).map(|held| held.cluster);
            match (options.mode, known) {
                _ if !seen.insert(key.as_slice()) => {}
                (LockMode::Exclusive, Some(InCluster::Nothing)) => new.push(key.as_slice()),
                (LockMode::Exclusive, Some(InCluster::Shared)) => upgrades.push(key.as_slice()),
                (LockMode::Shared, Some(InCluster::Nothing)) => sharing.push(key.as_slice()),
                _ => {}
            }
        }
        let request = |unchanged_since| Request {
            // The time that is left of the limit.
            wait: match (options.wait, deadline) {
                (LockWait::Timeout(_), Some(deadline)) => {
                    LockWait::Timeout(deadline.saturating_duration_since(Instant::now()))
                }
                (wait, _) => wait,
            },
            interrupt: &options.interrupt,
            values,
            unchanged_since,
        };
        let node = Arc::clone(&self.node);
        for key in sharing {
            let prefixed = node.cluster.keyspace.key(key);
            let (answer, has_waited) =
                node.sharing
                    .join(&node.cluster, &node.heartbeats, &prefixed, request(None))?;
            self.local_waits += u64::from(has_waited);
            if answer != LockOutcome::Skipped {
                self.confirm(key, InCluster::Shared);
            }
            got.insert(key.to_vec(), answer);
        }
        for key in upgrades {
            self.upgrade(key, request(None), got)?;
        }
        if new.is_empty() {
            return Ok(());
        }
        if self.optimistic {
            return self.lock_and_note_changes(&new, request(Some(self.start_ts)), got);
        }
        self.lock_exclusively(&new, request(None), got)
    }

    /// An optimistic transaction may lock rows too, and then reads their newest version. If it writes a row
    /// that had changed since its start, that is a conflict.
    fn lock_and_note_changes(
        &mut self,
        keys: &[&[u8]],
        request: Request,
        got: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        for key in keys {
            match self.lock_exclusively(&[key], request, got) {
                Err(Error::WriteConflict { conflict_ts, .. }) => {
                    self.changed.insert(Arc::from(*key), conflict_ts);
                    let newest = Request {
                        unchanged_since: None,
                        ..request
                    };
                    self.lock_exclusively(&[key], newest, got)?;
                }
                other => other?,
            }
        }
        Ok(())
    }

    fn lock_exclusively(
        &mut self,
        keys: &[&[u8]],
        request: Request,
        got: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        let node = Arc::clone(&self.node);
        let keyspace = &node.cluster.keyspace;
        let prefixed = keys.iter().map(|key| keyspace.key(key)).collect();
        let locks = self
            .cluster
            .get_or_insert_with(|| ClusterLocks::new(self.start_ts, self.lifetime));
        let had_none = locks.is_empty();
        let mut answers = HashMap::new();
        let locked = locks.lock(&node.cluster, &node.heartbeats, prefixed, request, &mut answers);
        // An optimistic transaction locks at its start timestamp, as a probe does. So it must not be
        // probed.
        if had_none && !locks.is_empty() && !self.optimistic {
            node.lock_holders
                .insert(self.owner, locks.start_ts, locks.primary.clone());
        }
        let at = request.unchanged_since.unwrap_or(locks.for_update_ts);
        for (key, answer) in answers {
            let Some(key) = keyspace.strip(&key) else { continue };
            if answer != LockOutcome::Skipped {
                self.confirm(key, InCluster::Exclusive(at));
            }
            if at > self.start_ts
                && let (LockOutcome::Value(value), Some(held)) = (&answer, self.held.get(key))
            {
                self.locked
                    .insert(&held.local.key, at, value.as_deref().map(Arc::from));
            }
            got.insert(key.to_vec(), answer);
        }
        locked
    }

    /// Between the release of the shared lock and the exclusive one is a gap, in which no other transaction may
    /// have committed. Whatever is in the way, the shared lock is gone, and the transaction depends on what it has
    /// read: it cannot go on.
    fn upgrade(
        &mut self,
        key: &[u8],
        request: Request,
        got: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        let node = Arc::clone(&self.node);
        self.confirm(key, InCluster::Nothing);
        let since = node.sharing.leave(&node.cluster, &node.cluster.keyspace.key(key));
        let upgraded = match since {
            Some(since) => self.lock_unchanged(key, since, request, got),
            None => Err(failure::locks_lost()),
        };
        let error = match upgraded {
            Ok(()) if got.get(key) != Some(&LockOutcome::Skipped) => return Ok(()),
            Ok(()) => Error::LockNotAvailable,
            Err(error) => error,
        };
        tracing::debug!(%error, "a shared lock was not made an exclusive one");
        self.has_lost_locks = true;
        // The client of a KILL, or of a store that does not answer, gets that error first.
        Err(match error.is_retryable() {
            true => failure::locks_lost(),
            false => error,
        })
    }

    /// Locks a key that has not changed since the shared lock was taken. If it has changed before that and since
    /// the start of an optimistic transaction, that is noted.
    fn lock_unchanged(
        &mut self,
        key: &[u8],
        since: Timestamp,
        request: Request,
        got: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        let unchanged_since = |ts| Request {
            unchanged_since: Some(ts),
            ..request
        };
        if self.optimistic {
            match self.lock_exclusively(&[key], unchanged_since(self.start_ts), got) {
                Err(Error::WriteConflict { conflict_ts, .. }) => {
                    self.changed.insert(Arc::from(key), conflict_ts);
                }
                other => return other,
            }
        }
        // Not at the start timestamp, which a probe may use for its lock. A commit in the gap is later anyway.
        let since = since.max(self.start_ts + 1);
        self.lock_exclusively(&[key], unchanged_since(since), got)
    }
}
