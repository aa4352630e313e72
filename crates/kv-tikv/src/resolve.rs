//! Locks of others: whether their transactions live, and cleaning up after those that do not.
//!
//! A transaction's fate is its primary lock's. A lock met elsewhere is resolved by looking at the primary: committed,
//! the lock becomes a version; rolled back, or out of its time, it is removed. Async commit is never used by us.

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::failure;
use crate::proto::kvrpcpb::*;
use kv::{Error, LATEST, Part, Result, Timestamp, timestamp_to_ms};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Transactions of more keys have all their locks of a region resolved at once.
const SMALL_TXN_KEYS: u64 = 16;

/// Finished transactions remembered, so that each is asked about once.
const FINISHED_MAX: usize = 4_096;

/// A transaction's fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Committed(Timestamp),
    RolledBack,
    /// It will commit later than the reader reads.
    Pushed,
    Alive,
}

/// What became of finished transactions: the commit timestamp, or 0.
#[derive(Default)]
pub struct Finished {
    fates: Mutex<HashMap<Timestamp, Timestamp>>,
}

impl Finished {
    fn get(&self, start_ts: Timestamp) -> Option<Fate> {
        self.fates.lock().get(&start_ts).map(|commit_ts| match commit_ts {
            0 => Fate::RolledBack,
            commit_ts => Fate::Committed(*commit_ts),
        })
    }

    fn insert(&self, start_ts: Timestamp, commit_ts: Timestamp) {
        let mut fates = self.fates.lock();
        if fates.len() >= FINISHED_MAX {
            fates.clear();
        }
        fates.insert(start_ts, commit_ts);
    }
}

impl Cluster {
    /// For a read at `read_ts` that met these locks: after it, the read may be sent again, ignoring the locks of
    /// `ignored`. Waits if a transaction lives.
    pub fn resolve_for_read(
        &self,
        locks: &[LockInfo],
        read_ts: Timestamp,
        ignored: &mut Vec<Timestamp>,
        backoff: &mut Backoff,
    ) -> Result<()> {
        let mut must_wait = false;
        for lock in locks {
            match self.fate(lock, read_ts, backoff)? {
                Fate::Alive => must_wait = true,
                Fate::Pushed => ignored.push(lock.lock_version),
                fate => {
                    self.clean_up(lock, fate, backoff)?;
                    if read_ts != LATEST
                        && !matches!(fate, Fate::Committed(commit_ts) if commit_ts <= read_ts)
                    {
                        ignored.push(lock.lock_version);
                    }
                }
            }
        }
        if must_wait {
            backoff.pause(Part::Lock, &"a row is being committed")
        } else {
            backoff.hurry(Part::Lock, &"a row is locked by a transaction that has ended")
        }
    }

    /// For a write that met these locks: cleans up after the dead; whether any transaction lives.
    pub fn resolve_for_write(&self, locks: &[LockInfo], backoff: &mut Backoff) -> Result<bool> {
        let mut alive = false;
        for lock in locks {
            match self.fate(lock, 0, backoff)? {
                Fate::Alive | Fate::Pushed => alive = true,
                fate => self.clean_up(lock, fate, backoff)?,
            }
        }
        Ok(alive)
    }

    /// What became of a lock's transaction. It is rolled back by the question if its time is over.
    fn fate(&self, lock: &LockInfo, read_ts: Timestamp, backoff: &mut Backoff) -> Result<Fate> {
        if let Some(fate) = self.finished.get(lock.lock_version) {
            return Ok(fate);
        }
        // Nobody is to lose his locks because of our clock.
        let now = self.oracle.timestamp(backoff.until())?;
        self.fate_at(lock, read_ts, now, backoff)
    }

    /// [`Cluster::fate`], with [`LATEST`] for a time at which every lock's time is over.
    fn fate_at(
        &self,
        lock: &LockInfo,
        read_ts: Timestamp,
        current_ts: Timestamp,
        backoff: &mut Backoff,
    ) -> Result<Fate> {
        let is_over = current_ts == LATEST || has_expired(lock, current_ts);
        let is_pessimistic = lock.lock_type == op::PESSIMISTIC_LOCK;
        let mut question = CheckTxnStatusRequest {
            primary_key: lock.primary_lock.to_vec(),
            lock_ts: lock.lock_version,
            caller_start_ts: if read_ts == LATEST { 0 } else { read_ts },
            current_ts,
            // Only the lock, since the transaction may have others that live; or all of it.
            resolving_pessimistic_lock: is_pessimistic && current_ts != LATEST,
            ..Default::default()
        };
        let mut answer = self.call(&lock.primary_lock, &question, backoff)?;
        if answer
            .error
            .as_ref()
            .is_some_and(|error| error.txn_not_found.is_some())
        {
            if !is_over {
                // The primary may be on its way.
                return Ok(Fate::Alive);
            }
            question.rollback_if_not_exist = true;
            answer = self.call(&lock.primary_lock, &question, backoff)?;
        }
        if let Some(error) = &answer.error {
            return match error.locked {
                Some(_) => Ok(Fate::Alive),
                None => Err(failure::of_key(error, lock.lock_version)),
            };
        }
        let fate = match answer {
            CheckTxnStatusResponse { commit_version, .. } if commit_version > 0 => {
                Fate::Committed(commit_version)
            }
            CheckTxnStatusResponse { lock_ttl: 0, .. } => Fate::RolledBack,
            answer if answer.action == action::MIN_COMMIT_TS_PUSHED => Fate::Pushed,
            _ => Fate::Alive,
        };
        match fate {
            Fate::Committed(commit_ts) => self.finished.insert(lock.lock_version, commit_ts),
            // A transaction that has only lost a pessimistic lock may have others.
            Fate::RolledBack if !is_pessimistic => self.finished.insert(lock.lock_version, 0),
            _ => {}
        }
        Ok(fate)
    }

    /// Rolls back the transaction that has locked a key (with its prefix), if it began before a moment, whatever is left of
    /// its time. What else it has locked is then free as soon as it is met, for its primary says so.
    pub fn end_lock(&self, key: Vec<u8>, began_before: Timestamp) -> Result<()> {
        let mut backoff = self.backoff(None);
        let command = ScanLockRequest {
            max_version: began_before,
            end_key: [&key[..], &[0]].concat(),
            start_key: key,
            limit: 1,
            ..Default::default()
        };
        for lock in &self.scan_locks(&command, &mut backoff)? {
            let fate = self.fate_at(lock, 0, LATEST, &mut backoff)?;
            self.clean_up(lock, fate, &mut backoff)?;
        }
        Ok(())
    }

    /// How one of our own transactions ended, when the answer to its commit was lost. A transaction of which nothing
    /// is found is rolled back by the question, so that a late command cannot commit it any more.
    pub fn fate_of_own(&self, primary: &[u8], start_ts: Timestamp, backoff: &mut Backoff) -> Result<Fate> {
        let question = CheckTxnStatusRequest {
            primary_key: primary.to_vec(),
            lock_ts: start_ts,
            current_ts: start_ts,
            rollback_if_not_exist: true,
            ..Default::default()
        };
        let answer = self.call(primary, &question, backoff)?;
        Ok(match answer {
            CheckTxnStatusResponse { error: Some(_), .. } => Fate::Alive,
            CheckTxnStatusResponse { commit_version, .. } if commit_version > 0 => {
                Fate::Committed(commit_version)
            }
            CheckTxnStatusResponse { lock_ttl: 0, .. } => Fate::RolledBack,
            _ => Fate::Alive,
        })
    }

    /// The locks that a command asks for. A commit in one phase has its locks in the store's memory only, for as long as it
    /// takes; the store names one of them instead of an answer.
    fn scan_locks(&self, command: &ScanLockRequest, backoff: &mut Backoff) -> Result<Vec<LockInfo>> {
        loop {
            let answer = self.call(&command.start_key, command, backoff)?;
            match &answer.error {
                None => return Ok(answer.locks),
                Some(error) if error.locked.is_some() => {
                    backoff.pause(Part::Lock, &"a row is being committed")?;
                }
                Some(error) => return Err(failure::of_key(error, command.max_version)),
            }
        }
    }

    fn clean_up(&self, lock: &LockInfo, fate: Fate, backoff: &mut Backoff) -> Result<()> {
        if lock.lock_type == op::PESSIMISTIC_LOCK {
            let command = PessimisticRollbackRequest {
                start_version: lock.lock_version,
                for_update_ts: match lock.lock_for_update_ts {
                    0 => Timestamp::MAX,
                    ts => ts,
                },
                keys: vec![lock.key.to_vec()],
                ..Default::default()
            };
            let answer = self.call(&lock.key, &command, backoff)?;
            return match answer.errors.first() {
                Some(error) => Err(failure::of_key(error, lock.lock_version)),
                None => Ok(()),
            };
        }
        let keys = if lock.txn_size < SMALL_TXN_KEYS {
            vec![lock.key.to_vec()]
        } else {
            Vec::new()
        };
        let command = ResolveLockRequest {
            start_version: lock.lock_version,
            commit_version: match fate {
                Fate::Committed(commit_ts) => commit_ts,
                _ => 0,
            },
            keys,
            ..Default::default()
        };
        match self.call(&lock.key, &command, backoff)?.error {
            Some(error) => Err(failure::of_key(&error, lock.lock_version)),
            None => Ok(()),
        }
    }

    /// Resolves every lock older than `safe_point`, in the whole of our keyspace: before garbage is collected, since
    /// what they commit or leave must be known by then.
    pub fn resolve_old_locks(&self, safe_point: Timestamp) -> Result<u64> {
        const PAGE: u32 = 1_024;
        let range = self.keyspace.range(&kv::KeyRange::all());
        let mut start = range.start;
        let mut resolved = 0;
        loop {
            let mut backoff = self.backoff(None);
            let region = self.region(&start, &mut backoff)?;
            let end = match region.end.is_empty() || region.end > range.end {
                true => range.end.clone(),
                false => region.end.clone(),
            };
            let command = ScanLockRequest {
                max_version: safe_point,
                start_key: start.clone(),
                end_key: end.clone(),
                limit: PAGE,
                ..Default::default()
            };
            let locks = self.scan_locks(&command, &mut backoff)?;
            let is_last = locks.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            let after = locks.last().map(|lock| [&lock.key[..], &[0]].concat());
            while self.resolve_for_write(&locks, &mut backoff)? {
                // They live although they are older than the safe point, which their pins should have held back: a
                // node that reported too late. Its time is soon over.
                backoff.pause(
                    Part::Lock,
                    &"a transaction is older than the garbage-collection safe point",
                )?;
            }
            resolved += u64::try_from(locks.len()).unwrap_or(0);
            match after {
                Some(after) if !is_last => start = after,
                _ if end >= range.end => return Ok(resolved),
                _ => start = end,
            }
        }
    }
}

fn has_expired(lock: &LockInfo, now: Timestamp) -> bool {
    timestamp_to_ms(now) > timestamp_to_ms(lock.lock_version).saturating_add(lock.lock_ttl)
}

/// The locks among key errors, or the first error that is something else.
pub fn locks_of(errors: &[KeyError], start_ts: Timestamp) -> Result<Vec<LockInfo>> {
    let locks: Vec<LockInfo> = errors.iter().filter_map(|error| error.locked.clone()).collect();
    match errors.iter().find(|error| error.locked.is_none()) {
        Some(error) => Err(failure::of_key(error, start_ts)),
        None if locks.is_empty() => Err(Error::Internal("no error where there was one".into())),
        None => Ok(locks),
    }
}
