//! Locks left by other transactions: whether those transactions are still running, and cleaning up after
//! those that are not.
//!
//! The primary lock decides a transaction's status. To resolve another lock of the transaction, we look at
//! the primary. If it is committed, the lock becomes a version. If it is rolled back or expired, the lock
//! is removed.
//!
//! We never commit asynchronously, but other clients of the cluster may, and a collector meets their locks
//! too. Such a transaction is committed once all its keys are prewritten. No record says so: its status
//! follows from all of its locks ([`status_by_all_locks`]).

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::command::Command;
use crate::failure;
use crate::fan_out::{Batch, fan_out};
use crate::heartbeat::lives_forever;
use crate::proto::kvrpcpb::*;
use crate::region::Region;
use crate::txn_status::TxnStatus;
use kv::{Error, KeyRange, LATEST, Part, Result, Timestamp, timestamp_to_ms};
use std::cell::Cell;
use std::sync::Arc;

/// A transaction with more keys has all its locks in a region resolved at once.
const SMALL_TXN_KEYS: u64 = 16;

/// For the locks of one transaction in one region.
const CLEANING: Batch = Batch {
    items_max: 1_024,
    bytes_max: 256 << 10,
    interruptible: true,
};

/// Transactions whose locks a read does not stop at.
#[derive(Default)]
pub struct BypassedLocks {
    /// The read does not see their writes.
    ignored: Vec<Timestamp>,
    /// The read sees their writes: the locks count as versions.
    committed: Vec<Timestamp>,
}

impl BypassedLocks {
    pub fn fill(&self, context: &mut Context) {
        context.resolved_locks.clone_from(&self.ignored);
        context.committed_locks.clone_from(&self.committed);
    }
}

/// For a read at `read_ts` that met these locks. Afterwards the read may be sent again and bypass the
/// locks in `bypassed`. Pauses if one of the transactions is running. Cleans up expired locks; a lock
/// that has not expired is left to its own transaction, which is about to do that.
pub fn for_read(
    cluster: &Cluster,
    locks: &[LockInfo],
    read_ts: Timestamp,
    bypassed: &mut BypassedLocks,
    backoff: &mut Backoff,
) -> Result<()> {
    let mut must_wait = false;
    let mut ended = Vec::new();
    for lock in locks {
        let status = status(cluster, lock, read_ts, backoff)?;
        let to_pass = match status {
            TxnStatus::Alive => {
                must_wait = true;
                continue;
            }
            TxnStatus::Committed(commit_ts) if commit_ts <= read_ts => &mut bypassed.committed,
            _ => &mut bypassed.ignored,
        };
        if !to_pass.contains(&lock.lock_version) {
            to_pass.push(lock.lock_version);
        }
        if status != TxnStatus::Pushed && has_expired(lock, cluster.oracle.estimate()) {
            ended.push((lock, status));
        }
    }
    clean_up(cluster, ended, backoff)?;
    if must_wait {
        backoff.pause(Part::Lock, &"a row is being committed")
    } else {
        backoff.retry_at_once(Part::Lock, &"a row is locked by a transaction that has ended")
    }
}

/// For a write that met these locks: cleans up after ended transactions. Returns whether any of the
/// transactions is running.
pub fn for_write(cluster: &Cluster, locks: &[LockInfo], backoff: &mut Backoff) -> Result<bool> {
    Ok(!running(cluster, locks, backoff)?.is_empty())
}

/// Cleans up after ended transactions. Returns the locks of those that are running.
fn running<'l>(
    cluster: &Cluster,
    locks: impl IntoIterator<Item = &'l LockInfo>,
    backoff: &mut Backoff,
) -> Result<Vec<&'l LockInfo>> {
    let mut running = Vec::new();
    let mut ended = Vec::new();
    for lock in locks {
        match status(cluster, lock, 0, backoff)? {
            TxnStatus::Alive | TxnStatus::Pushed => running.push(lock),
            status => ended.push((lock, status)),
        }
    }
    clean_up(cluster, ended, backoff)?;
    Ok(running)
}

/// The status of a lock's transaction. An expired transaction is rolled back by this request.
fn status(
    cluster: &Cluster,
    lock: &LockInfo,
    read_ts: Timestamp,
    backoff: &mut Backoff,
) -> Result<TxnStatus> {
    if let Some(status) = cluster.ended_txns.get(lock.lock_version) {
        return Ok(status);
    }
    let current_ts = match lock.lock_ttl {
        // A prewrite reports a lock without a time to live on a key that is guarded by a row which the
        // prewriting transaction holds. The lock's transaction has lost that row and can only fail, so
        // it counts as expired.
        0 => LATEST,
        // A transaction must not lose its locks because our clock is wrong.
        _ if has_expired(lock, cluster.oracle.estimate()) => cluster.oracle.timestamp(backoff.until())?,
        // The lock has not expired by any clock.
        _ => cluster.oracle.last(),
    };
    let is_over = has_expired(lock, current_ts);
    let is_pessimistic = lock.lock_type == op::PESSIMISTIC_LOCK;
    let mut request = CheckTxnStatusRequest {
        primary_key: lock.primary_lock.to_vec(),
        lock_ts: lock.lock_version,
        // LATEST comes from a read of one key. The transaction was not committed when the store was
        // asked, so the read may precede it.
        caller_start_ts: read_ts,
        current_ts,
        // Rolls back only this lock, since the transaction may be running and hold others; or the whole
        // transaction.
        resolving_pessimistic_lock: is_pessimistic,
        // The lock may be from an attempt with another primary. Whatever is now at that key must not be
        // rolled back as if it were the primary.
        verify_is_primary: true,
        ..Default::default()
    };
    let mut response = cluster.call(&lock.primary_lock, &request, backoff)?;
    if response
        .error
        .as_ref()
        .is_some_and(|error| error.txn_not_found.is_some())
    {
        if !is_over {
            // The primary's prewrite may still be on its way.
            return Ok(TxnStatus::Alive);
        }
        request.rollback_if_not_exist = true;
        response = cluster.call(&lock.primary_lock, &request, backoff)?;
    }
    if let Some(error) = &response.error {
        return match (&error.locked, &error.primary_mismatch) {
            (Some(_), _) => Ok(TxnStatus::Alive),
            (None, Some(_)) if is_pessimistic => Ok(TxnStatus::Forgotten),
            _ => Err(failure::of_key(error, lock.lock_version)),
        };
    }
    let commits_async = response
        .lock_info
        .as_ref()
        .filter(|primary| primary.use_async_commit);
    if let Some(primary) = commits_async
        && has_expired(primary, current_ts)
    {
        if let Some(status) = status_by_all_locks(cluster, primary, backoff)? {
            cluster.ended_txns.insert(lock.lock_version, status.commit_ts());
            return Ok(status);
        }
        request.force_sync_commit = true;
        response = cluster.call(&lock.primary_lock, &request, backoff)?;
        if let Some(error) = &response.error {
            return Err(failure::of_key(error, lock.lock_version));
        }
    }
    let status = match response {
        CheckTxnStatusResponse { commit_version, .. } if commit_version > 0 => {
            TxnStatus::Committed(commit_version)
        }
        CheckTxnStatusResponse { lock_ttl: 0, .. } => TxnStatus::RolledBack,
        response if response.action == action::MIN_COMMIT_TS_PUSHED => TxnStatus::Pushed,
        _ => TxnStatus::Alive,
    };
    match status {
        TxnStatus::Committed(commit_ts) => cluster.ended_txns.insert(lock.lock_version, commit_ts),
        // A transaction that has lost one pessimistic lock may hold others.
        TxnStatus::RolledBack if !is_pessimistic => cluster.ended_txns.insert(lock.lock_version, 0),
        _ => {}
    }
    Ok(status)
}

/// The outcome of an expired transaction that was committing asynchronously: committed if all its keys
/// are prewritten. If not, this request rolls it back at the keys without a prewrite. All its locks are
/// then resolved accordingly. `None`: the transaction has fallen back to two phases, so that its
/// primary alone decides.
fn status_by_all_locks(
    cluster: &Cluster,
    primary: &LockInfo,
    backoff: &mut Backoff,
) -> Result<Option<TxnStatus>> {
    let start_ts = primary.lock_version;
    let prewritten_until = Cell::new(primary.min_commit_ts);
    let sealed = Cell::new(None);
    let in_two_phases = Cell::new(false);
    fan_out(
        cluster,
        primary.secondaries.clone(),
        CLEANING,
        backoff,
        |keys| CheckSecondaryLocksRequest {
            context: None,
            keys: keys.to_vec(),
            start_version: start_ts,
        },
        |keys, response: CheckSecondaryLocksResponse, _| {
            if let Some(error) = &response.error {
                return Err(failure::of_key(error, start_ts));
            }
            if response.locks.len() < keys.len() {
                let status = match response.commit_ts {
                    0 => TxnStatus::RolledBack,
                    commit_ts => TxnStatus::Committed(commit_ts),
                };
                if sealed.replace(Some(status)).is_some_and(|other| other != status) {
                    return Err(Error::Internal(format!(
                        "transaction {start_ts} has ended in two ways"
                    )));
                }
            }
            for lock in &response.locks {
                in_two_phases.set(in_two_phases.get() || !lock.use_async_commit);
                prewritten_until.set(prewritten_until.get().max(lock.min_commit_ts));
            }
            Ok(Vec::new())
        },
    )?;
    let status = match sealed.get() {
        Some(status) => status,
        None if in_two_phases.get() => return Ok(None),
        None => TxnStatus::Committed(prewritten_until.get()),
    };
    let mut keys = primary.secondaries.clone();
    keys.push(primary.key.to_vec());
    resolve(cluster, primary, status, keys, false, backoff)?;
    Ok(Some(status))
}

/// The status of one of our own transactions after the response to its commit was lost. If the store
/// finds no trace of it, this request rolls it back, so that a command which arrives later cannot
/// commit it.
pub fn own_status(
    cluster: &Cluster,
    primary: &[u8],
    start_ts: Timestamp,
    backoff: &mut Backoff,
) -> Result<TxnStatus> {
    let request = CheckTxnStatusRequest {
        primary_key: primary.to_vec(),
        lock_ts: start_ts,
        current_ts: start_ts,
        rollback_if_not_exist: true,
        ..Default::default()
    };
    let response = cluster.call(primary, &request, backoff)?;
    Ok(match response {
        CheckTxnStatusResponse { error: Some(_), .. } => TxnStatus::Alive,
        CheckTxnStatusResponse { commit_version, .. } if commit_version > 0 => {
            TxnStatus::Committed(commit_version)
        }
        CheckTxnStatusResponse { lock_ttl: 0, .. } => TxnStatus::RolledBack,
        _ => TxnStatus::Alive,
    })
}

/// The locks that a command lists, and the region that responded. A one-phase commit keeps its locks
/// only in the store's memory while it runs. The store then reports one of them instead of a list.
fn scan_locks(
    cluster: &Cluster,
    command: &ScanLockRequest,
    backoff: &mut Backoff,
) -> Result<(Vec<LockInfo>, Arc<Region>)> {
    loop {
        let (response, region) = cluster.call_region(&command.start_key, command, backoff)?;
        match &response.error {
            None => return Ok((response.locks, region)),
            Some(error) if error.locked.is_some() => {
                backoff.pause(Part::Lock, &"a row is being committed")?;
            }
            Some(error) => return Err(failure::of_key(error, command.max_version)),
        }
    }
}

/// Cleans up after ended transactions, with one request for all the locks of a transaction in a region.
/// If the transaction has expired, the request covers locks that were not met, too: a store reports one
/// pessimistic lock at a time, and makes us wait for each.
fn clean_up(cluster: &Cluster, mut ended: Vec<(&LockInfo, TxnStatus)>, backoff: &mut Backoff) -> Result<()> {
    let now = cluster.oracle.estimate();
    let kind = |(lock, status): &(&LockInfo, TxnStatus)| {
        // A lock taken at a later timestamp must stay. 0: the store did not say.
        let for_update_ts = match lock.lock_for_update_ts {
            0 => Timestamp::MAX,
            ts => ts,
        };
        let is_pessimistic = lock.lock_type == op::PESSIMISTIC_LOCK;
        let is_over = *status != TxnStatus::Forgotten && has_expired(lock, now);
        let pessimistic_ts = is_pessimistic.then_some(for_update_ts);
        (lock.lock_version, pessimistic_ts, is_over)
    };
    ended.sort_by_key(kind);
    for alike in ended.chunk_by(|a, b| kind(a) == kind(b)) {
        let Some(first) = alike.first() else { continue };
        let keys: Vec<Vec<u8>> = alike.iter().map(|(lock, _)| lock.key.to_vec()).collect();
        let (lock, status) = first;
        match kind(first) {
            (start_ts, Some(for_update_ts), is_over) => {
                // Also by key: older stores ignore a request without keys.
                release(cluster, (start_ts, for_update_ts), keys.clone(), false, backoff)?;
                if is_over {
                    release(cluster, (start_ts, for_update_ts), keys, true, backoff)?;
                }
            }
            (_, None, is_over) => {
                let is_whole = is_over || lock.txn_size >= SMALL_TXN_KEYS;
                resolve(cluster, lock, *status, keys, is_whole, backoff)?;
            }
        }
    }
    Ok(())
}

/// Removes a transaction's pessimistic locks that were taken at or before `for_update_ts`: those of
/// some keys, or all in the keys' regions.
fn release(
    cluster: &Cluster,
    (start_ts, for_update_ts): (Timestamp, Timestamp),
    keys: Vec<Vec<u8>>,
    is_whole: bool,
    backoff: &mut Backoff,
) -> Result<()> {
    let request = |keys| PessimisticRollbackRequest {
        start_version: start_ts,
        for_update_ts,
        keys,
        ..Default::default()
    };
    clean(cluster, keys, is_whole, backoff, request, |response| {
        let error = response.errors.first();
        error.map_or(Ok(()), |error| Err(failure::of_key(error, start_ts)))
    })
}

/// Turns a transaction's locks into versions, or removes them: those of some keys, or all in the keys'
/// regions.
fn resolve(
    cluster: &Cluster,
    lock: &LockInfo,
    status: TxnStatus,
    keys: Vec<Vec<u8>>,
    is_whole: bool,
    backoff: &mut Backoff,
) -> Result<()> {
    let commit_version = match status {
        TxnStatus::Committed(commit_ts) => commit_ts,
        _ => 0,
    };
    let request = |keys| ResolveLockRequest {
        start_version: lock.lock_version,
        commit_version,
        keys,
        ..Default::default()
    };
    clean(cluster, keys, is_whole, backoff, request, |response| {
        let error = response.error.as_ref();
        error.map_or(Ok(()), |error| Err(failure::of_key(error, lock.lock_version)))
    })
}

/// Sends a command to the regions of some keys: with the keys, or without any where it is about all keys
/// of a region.
fn clean<C: Command>(
    cluster: &Cluster,
    keys: Vec<Vec<u8>>,
    is_whole: bool,
    backoff: &mut Backoff,
    request: impl Fn(Vec<Vec<u8>>) -> C,
    check: impl Fn(C::Response) -> Result<()>,
) -> Result<()> {
    fan_out(
        cluster,
        keys,
        CLEANING,
        backoff,
        |keys| request(if is_whole { Vec::new() } else { keys.to_vec() }),
        |_, response, _| check(response).map(|()| Vec::new()),
    )
}

/// What [`all_before`] has found.
#[derive(Debug, Clone, Copy, Default)]
pub struct OldLocks {
    pub resolved: u64,
    /// The start of the oldest transaction that waits for its end ([`kv::detached`]). Its locks stay.
    pub oldest_detached: Option<Timestamp>,
}

/// Resolves every lock in a range that is older than `safe_point`. Garbage collection requires that: it
/// must know which versions these transactions commit. What a transaction that lives commits under a pessimistic lock is
/// newer than the safe point, so such a lock stays.
pub fn all_before(cluster: &Cluster, range: &KeyRange, safe_point: Timestamp) -> Result<OldLocks> {
    const PAGE: u32 = 1_024;
    let mut start = range.start.clone();
    let mut found = OldLocks::default();
    loop {
        let mut backoff = cluster.backoff(None);
        let asked = cluster.region(&start, &mut backoff)?;
        let command = ScanLockRequest {
            max_version: safe_point,
            start_key: start.clone(),
            end_key: end_within(&asked, &range.end),
            limit: PAGE,
            ..Default::default()
        };
        let (locks, region) = scan_locks(cluster, &command, &mut backoff)?;
        // If the region has split since, its last part belongs to another region now.
        let end = end_within(&region, &command.end_key);
        let count = locks.len();
        let is_last = count < usize::try_from(PAGE).unwrap_or(usize::MAX);
        let after = locks.last().map(|lock| [&lock.key[..], &[0]].concat());
        let (pessimistic, prewritten): (Vec<_>, Vec<_>) = locks
            .into_iter()
            .partition(|lock| lock.lock_type == op::PESSIMISTIC_LOCK);
        for_write(cluster, &pessimistic, &mut backoff)?;
        let left = resolve_prewritten(cluster, &prewritten, &mut backoff)?;
        found.oldest_detached = found.oldest_detached.into_iter().chain(left).min();
        found.resolved += u64::try_from(count).unwrap_or(0);
        match after {
            Some(after) if !is_last => start = after,
            _ if end >= range.end => return Ok(found),
            _ => start = end,
        }
    }
}

/// Resolves locks as soon as their transactions have ended or expired. Returns the start of the oldest one
/// that waits for its end.
fn resolve_prewritten(
    cluster: &Cluster,
    locks: &[LockInfo],
    backoff: &mut Backoff,
) -> Result<Option<Timestamp>> {
    let mut oldest_detached = None;
    let mut left: Vec<&LockInfo> = locks.iter().collect();
    loop {
        let (detached, alive): (Vec<_>, Vec<_>) = running(cluster, left, backoff)?
            .into_iter()
            .partition(|lock| lives_forever(lock.lock_ttl));
        let starts = detached.into_iter().map(|lock| lock.lock_version);
        oldest_detached = starts.chain(oldest_detached).min();
        if alive.is_empty() {
            return Ok(oldest_detached);
        }
        left = alive;
        // These transactions are running although they are older than the safe point. Their pins
        // should have held it back: their node reported too late. They expire soon.
        backoff.pause(
            Part::Lock,
            &"a transaction is older than the garbage-collection safe point",
        )?;
    }
}

/// The region's end, or `end` if that comes first.
fn end_within(region: &Region, end: &[u8]) -> Vec<u8> {
    match region.end.is_empty() || region.end.as_slice() > end {
        true => end.to_vec(),
        false => region.end.clone(),
    }
}

fn has_expired(lock: &LockInfo, now: Timestamp) -> bool {
    timestamp_to_ms(now) > timestamp_to_ms(lock.lock_version).saturating_add(lock.lock_ttl)
}

/// The locks among key errors; or the first error that is not about a lock.
pub fn locks_of(errors: &[KeyError], start_ts: Timestamp) -> Result<Vec<LockInfo>> {
    let locks: Vec<LockInfo> = errors.iter().filter_map(|error| error.locked.clone()).collect();
    match errors.iter().find(|error| error.locked.is_none()) {
        Some(error) => Err(failure::of_key(error, start_ts)),
        None if locks.is_empty() => Err(Error::Internal("a list of key errors without an error".into())),
        None => Ok(locks),
    }
}
