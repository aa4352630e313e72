//! Locks of others: whether their transactions live, and cleaning up after those that do not.
//!
//! A transaction's fate is its primary lock's. A lock met elsewhere is resolved by looking at the primary: committed,
//! the lock becomes a version; rolled back, or out of its time, it is removed.
//!
//! We never commit asynchronously, but others of the cluster may, and whoever moves the safe point meets their locks, too. Such a
//! transaction is committed once all its keys are prewritten, which nobody has to write down: its fate is what all of its
//! locks say together ([`Cluster::fate_by_all_locks`]).

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::failure;
use crate::fan_out::Batch;
use crate::proto::kvrpcpb::*;
use crate::region::Region;
use kv::{Error, KeyRange, LATEST, Part, Result, Timestamp, timestamp_to_ms};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// Transactions of more keys have all their locks of a region resolved at once.
const SMALL_TXN_KEYS: u64 = 16;

/// Of one transaction and region.
const CLEANING: Batch = Batch {
    items_max: 1_024,
    bytes_max: 256 << 10,
    interruptible: true,
};

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
    /// Not known: a pessimistic lock that its transaction, which has begun again with another primary, has forgotten.
    Forgotten,
}

impl Fate {
    /// 0: it has none.
    fn commit_ts(self) -> Timestamp {
        match self {
            Self::Committed(commit_ts) => commit_ts,
            _ => 0,
        }
    }
}

/// Transactions whose locks a read passes by.
#[derive(Default)]
pub struct Passed {
    /// It does not see them.
    ignored: Vec<Timestamp>,
    /// It sees them: the locks are as good as versions.
    committed: Vec<Timestamp>,
}

impl Passed {
    pub fn fill(&self, context: &mut Context) {
        context.resolved_locks.clone_from(&self.ignored);
        context.committed_locks.clone_from(&self.committed);
    }
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
    /// For a read at `read_ts` that met these locks: after it, the read may be sent again, passing by those of `passed`.
    /// Waits if a transaction lives. Locks that have outlived their time are cleaned up; of others their own transaction is
    /// about to do so.
    pub fn resolve_for_read(
        &self,
        locks: &[LockInfo],
        read_ts: Timestamp,
        passed: &mut Passed,
        backoff: &mut Backoff,
    ) -> Result<()> {
        let mut must_wait = false;
        let mut ended = Vec::new();
        for lock in locks {
            let fate = self.fate(lock, read_ts, backoff)?;
            let to_pass = match fate {
                Fate::Alive => {
                    must_wait = true;
                    continue;
                }
                Fate::Committed(commit_ts) if commit_ts <= read_ts => &mut passed.committed,
                _ => &mut passed.ignored,
            };
            if !to_pass.contains(&lock.lock_version) {
                to_pass.push(lock.lock_version);
            }
            if fate != Fate::Pushed && has_expired(lock, self.oracle.estimate()) {
                ended.push((lock, fate));
            }
        }
        self.clean_up(ended, backoff)?;
        if must_wait {
            backoff.pause(Part::Lock, &"a row is being committed")
        } else {
            backoff.hurry(Part::Lock, &"a row is locked by a transaction that has ended")
        }
    }

    /// For a write that met these locks: cleans up after the dead; whether any transaction lives.
    pub fn resolve_for_write(&self, locks: &[LockInfo], backoff: &mut Backoff) -> Result<bool> {
        let mut alive = false;
        let mut ended = Vec::new();
        for lock in locks {
            match self.fate(lock, 0, backoff)? {
                Fate::Alive | Fate::Pushed => alive = true,
                fate => ended.push((lock, fate)),
            }
        }
        self.clean_up(ended, backoff)?;
        Ok(alive)
    }

    /// What became of a lock's transaction. It is rolled back by the question if its time is over.
    fn fate(&self, lock: &LockInfo, read_ts: Timestamp, backoff: &mut Backoff) -> Result<Fate> {
        if let Some(fate) = self.finished.get(lock.lock_version) {
            return Ok(fate);
        }
        let current_ts = match lock.lock_ttl {
            // What a prewrite says of a lock on a key that is guarded by a row which the prewrite's transaction holds: whoever
            // has it has lost that row, and can only fail. No need to wait until he does.
            0 => LATEST,
            // Nobody is to lose his locks because of our clock.
            _ if has_expired(lock, self.oracle.estimate()) => self.oracle.timestamp(backoff.until())?,
            // It is young by any clock.
            _ => self.oracle.last(),
        };
        let is_over = has_expired(lock, current_ts);
        let is_pessimistic = lock.lock_type == op::PESSIMISTIC_LOCK;
        let mut question = CheckTxnStatusRequest {
            primary_key: lock.primary_lock.to_vec(),
            lock_ts: lock.lock_version,
            // LATEST: of one key. Its transaction is not committed when the store is asked, so the read may go before it.
            caller_start_ts: read_ts,
            current_ts,
            // Only the lock, since the transaction may have others that live; or all of it.
            resolving_pessimistic_lock: is_pessimistic,
            // It may be the lock of an attempt that chose another primary. What is found at that key by now is not to be
            // rolled back as if the transaction hung on it.
            verify_is_primary: true,
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
            return match (&error.locked, &error.primary_mismatch) {
                (Some(_), _) => Ok(Fate::Alive),
                (None, Some(_)) if is_pessimistic => Ok(Fate::Forgotten),
                _ => Err(failure::of_key(error, lock.lock_version)),
            };
        }
        let commits_async = answer
            .lock_info
            .as_ref()
            .filter(|primary| primary.use_async_commit);
        if let Some(primary) = commits_async
            && has_expired(primary, current_ts)
        {
            if let Some(fate) = self.fate_by_all_locks(primary, backoff)? {
                self.finished.insert(lock.lock_version, fate.commit_ts());
                return Ok(fate);
            }
            question.force_sync_commit = true;
            answer = self.call(&lock.primary_lock, &question, backoff)?;
            if let Some(error) = &answer.error {
                return Err(failure::of_key(error, lock.lock_version));
            }
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

    /// How a transaction ended that was committing asynchronously when its time was over: committed, if all its keys are
    /// prewritten; if not, it is rolled back by the question, where it is not prewritten. All its locks become that. `None`: it
    /// has gone over to two phases, so that its primary alone decides.
    fn fate_by_all_locks(&self, primary: &LockInfo, backoff: &mut Backoff) -> Result<Option<Fate>> {
        let start_ts = primary.lock_version;
        let prewritten_until = Cell::new(primary.min_commit_ts);
        let sealed = Cell::new(None);
        let in_two_phases = Cell::new(false);
        self.fan_out(
            primary.secondaries.clone(),
            CLEANING,
            backoff,
            |keys| CheckSecondaryLocksRequest {
                context: None,
                keys: keys.to_vec(),
                start_version: start_ts,
            },
            |keys, answer: CheckSecondaryLocksResponse, _| {
                if let Some(error) = &answer.error {
                    return Err(failure::of_key(error, start_ts));
                }
                if answer.locks.len() < keys.len() {
                    let fate = match answer.commit_ts {
                        0 => Fate::RolledBack,
                        commit_ts => Fate::Committed(commit_ts),
                    };
                    if sealed.replace(Some(fate)).is_some_and(|other| other != fate) {
                        return Err(Error::Internal(format!(
                            "transaction {start_ts} has ended in two ways"
                        )));
                    }
                }
                for lock in &answer.locks {
                    in_two_phases.set(in_two_phases.get() || !lock.use_async_commit);
                    prewritten_until.set(prewritten_until.get().max(lock.min_commit_ts));
                }
                Ok(Vec::new())
            },
        )?;
        let fate = match sealed.get() {
            Some(fate) => fate,
            None if in_two_phases.get() => return Ok(None),
            None => Fate::Committed(prewritten_until.get()),
        };
        let mut keys = primary.secondaries.clone();
        keys.push(primary.key.to_vec());
        self.resolve(primary, fate, keys, false, backoff)?;
        Ok(Some(fate))
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

    /// The locks that a command asks for, and the region that has answered. A commit in one phase has its locks in the store's
    /// memory only, for as long as it takes; the store names one of them instead of an answer.
    fn scan_locks(
        &self,
        command: &ScanLockRequest,
        backoff: &mut Backoff,
    ) -> Result<(Vec<LockInfo>, Arc<Region>)> {
        loop {
            let (answer, region) = self.call_region(&command.start_key, command, backoff)?;
            match &answer.error {
                None => return Ok((answer.locks, region)),
                Some(error) if error.locked.is_some() => {
                    backoff.pause(Part::Lock, &"a row is being committed")?;
                }
                Some(error) => return Err(failure::of_key(error, command.max_version)),
            }
        }
    }

    /// Cleans up after transactions that have ended: one request for all the locks of one in a region, those that were not
    /// met included if its time is over. (A store names one pessimistic lock at a time, and lets us wait for each.)
    fn clean_up(&self, mut ended: Vec<(&LockInfo, Fate)>, backoff: &mut Backoff) -> Result<()> {
        let now = self.oracle.estimate();
        let kind = |(lock, fate): &(&LockInfo, Fate)| {
            // A lock that is taken later stays. 0: not said.
            let for_update_ts = match lock.lock_for_update_ts {
                0 => Timestamp::MAX,
                ts => ts,
            };
            let is_pessimistic = lock.lock_type == op::PESSIMISTIC_LOCK;
            let is_over = *fate != Fate::Forgotten && has_expired(lock, now);
            let pessimistic_ts = is_pessimistic.then_some(for_update_ts);
            (lock.lock_version, pessimistic_ts, is_over)
        };
        ended.sort_by_key(kind);
        for alike in ended.chunk_by(|a, b| kind(a) == kind(b)) {
            let Some(first) = alike.first() else { continue };
            let keys: Vec<Vec<u8>> = alike.iter().map(|(lock, _)| lock.key.to_vec()).collect();
            let (lock, fate) = first;
            match kind(first) {
                (start_ts, Some(for_update_ts), is_over) => {
                    // By name, too: older stores know no other way.
                    self.release((start_ts, for_update_ts), keys.clone(), false, backoff)?;
                    if is_over {
                        self.release((start_ts, for_update_ts), keys, true, backoff)?;
                    }
                }
                (_, None, is_over) => {
                    let is_whole = is_over || lock.txn_size >= SMALL_TXN_KEYS;
                    self.resolve(lock, *fate, keys, is_whole, backoff)?;
                }
            }
        }
        Ok(())
    }

    /// Removes pessimistic locks of a transaction, taken at `for_update_ts` or before: those of some keys, or all in their
    /// regions.
    fn release(
        &self,
        (start_ts, for_update_ts): (Timestamp, Timestamp),
        keys: Vec<Vec<u8>>,
        is_whole: bool,
        backoff: &mut Backoff,
    ) -> Result<()> {
        self.fan_out(
            keys,
            CLEANING,
            backoff,
            |keys| PessimisticRollbackRequest {
                start_version: start_ts,
                for_update_ts,
                keys: if is_whole { Vec::new() } else { keys.to_vec() },
                ..Default::default()
            },
            |_, answer, _| match answer.errors.first() {
                Some(error) => Err(failure::of_key(error, start_ts)),
                None => Ok(Vec::new()),
            },
        )
    }

    /// Makes the locks of a transaction versions, or removes them: those of some keys, or all in their regions.
    fn resolve(
        &self,
        lock: &LockInfo,
        fate: Fate,
        keys: Vec<Vec<u8>>,
        is_whole: bool,
        backoff: &mut Backoff,
    ) -> Result<()> {
        self.fan_out(
            keys,
            CLEANING,
            backoff,
            |keys| ResolveLockRequest {
                start_version: lock.lock_version,
                commit_version: match fate {
                    Fate::Committed(commit_ts) => commit_ts,
                    _ => 0,
                },
                keys: if is_whole { Vec::new() } else { keys.to_vec() },
                ..Default::default()
            },
            |_, answer, _| match answer.error {
                Some(error) => Err(failure::of_key(&error, lock.lock_version)),
                None => Ok(Vec::new()),
            },
        )
    }

    /// Resolves every lock in a range that is older than `safe_point`: before garbage is collected, since what they commit or
    /// leave must be known by then.
    pub fn resolve_old_locks(&self, range: &KeyRange, safe_point: Timestamp) -> Result<u64> {
        const PAGE: u32 = 1_024;
        let mut start = range.start.clone();
        let mut resolved = 0;
        loop {
            let mut backoff = self.backoff(None);
            let asked = self.region(&start, &mut backoff)?;
            let command = ScanLockRequest {
                max_version: safe_point,
                start_key: start.clone(),
                end_key: end_within(&asked, &range.end),
                limit: PAGE,
                ..Default::default()
            };
            let (locks, region) = self.scan_locks(&command, &mut backoff)?;
            // It may have split since: then what it had last is another's by now.
            let end = end_within(&region, &command.end_key);
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

/// Where a region ends, or what is of interest in it.
fn end_within(region: &Region, end: &[u8]) -> Vec<u8> {
    match region.end.is_empty() || region.end.as_slice() > end {
        true => end.to_vec(),
        false => region.end.clone(),
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
