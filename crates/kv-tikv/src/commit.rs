//! Commits writes. If one request to one region carries all of them, the store commits them in one phase.
//! If not: prewrite all keys, commit the primary key, which decides the outcome, and commit the other keys
//! in the background.
//!
//! There are three outcomes. A refusal is a definite failure. If a response is lost,
//! [`crate::resolve::own_status`] asks the cluster for the outcome; only an outcome that stays unknown until
//! the deadline is reported as unknown.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome};
use crate::failure;
use crate::fan_out::{Batch, Group, Item, fan_out, group};
use crate::heartbeat::{Heartbeats, Lifetime, lock_ttl_ms};
use crate::proto::kvrpcpb::*;
use crate::resolve::{self, locks_of};
use crate::sharing::SharedLocks;
use crate::txn_status::TxnStatus;
use bytes::Bytes;
use kv::{Error, Fence, Interrupt, Part, Result, Timestamp};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

const WRITE_BATCH: Batch = Batch {
    items_max: 2_048,
    bytes_max: 512 << 10,
    interruptible: false,
};

/// What is done to a key.
#[derive(Debug, Clone)]
pub enum Change {
    Put(Bytes),
    /// A put that fails if the key exists.
    Insert(Bytes),
    Delete,
    /// No change: the transaction has only locked the key.
    Lock,
}

/// One key's write.
#[derive(Debug, Clone)]
pub struct Write {
    /// With the keyspace's prefix.
    pub key: Vec<u8>,
    pub change: Change,
    /// Whether the transaction holds the key's pessimistic lock.
    pub is_locked: bool,
}

impl Item for Write {
    fn key(&self) -> &[u8] {
        &self.key
    }

    fn size_bytes(&self) -> usize {
        let value = match &self.change {
            Change::Put(value) | Change::Insert(value) => value.len(),
            Change::Delete | Change::Lock => 0,
        };
        self.key.len() + value
    }
}

/// The transaction to commit.
pub struct Commit<'a> {
    pub cluster: &'a Cluster,
    pub heartbeats: &'a Heartbeats,
    pub start_ts: Timestamp,
    pub primary: Vec<u8>,
    pub lifetime: Lifetime,
    /// In key order.
    pub writes: Vec<Write>,
    /// 0 if no pessimistic locks are held.
    pub for_update_ts: Timestamp,
    /// The commit timestamp must not be smaller.
    pub min_commit_ts: Timestamp,
    /// The commit timestamp must not be later than this fence allows.
    pub fence: Option<&'a Fence>,
    /// Shared locks that must still hold at the commit. They belong to other transactions in the cluster.
    pub shared_locks: &'a SharedLocks<'a>,
    pub interrupt: &'a Interrupt,
    /// Until when to wait for locks of other transactions; `None`: do not wait.
    pub lock_deadline: Option<Instant>,
}

/// How a commit ended, if that is known.
pub enum CommitOutcome {
    Committed {
        commit_ts: Timestamp,
        /// Keys that still have to be committed.
        secondaries: Vec<Vec<u8>>,
    },
    /// Not committed. Locks may be left behind, to be rolled back.
    Failed(Error),
    /// Not committed, and no lock is left behind: another transaction's commit or lock was in the way.
    Blocked(Error),
}

impl Commit<'_> {
    /// # Errors
    /// [`Error::Undetermined`].
    pub fn run(self) -> Result<CommitOutcome> {
        let mut backoff = self.cluster.backoff(Some(self.interrupt));
        let groups = match group(self.cluster, self.writes.clone(), WRITE_BATCH, &mut backoff) {
            Ok(groups) => groups,
            Err(error) => return Ok(CommitOutcome::Failed(error)),
        };
        // A one-phase commit checks no shared locks, so it is used only without them.
        if self.shared_locks.is_empty()
            && let [_] = groups.as_slice()
            && let Some(outcome) = self.one_phase(groups, &mut backoff)?
        {
            return Ok(outcome);
        }
        self.two_phases()
    }

    fn prewrite(&self, writes: &[Write], one_phase: bool) -> PrewriteRequest {
        let mutation = |write: &Write| {
            let (op, value) = match &write.change {
                Change::Put(value) => (op::PUT, value.clone()),
                Change::Insert(value) => (op::INSERT, value.clone()),
                Change::Delete => (op::DELETE, Bytes::new()),
                Change::Lock => (op::LOCK, Bytes::new()),
            };
            let key = write.key.clone();
            Mutation { op, key, value }
        };
        let is_pessimistic = self.for_update_ts > 0;
        let action = |write: &Write| i32::from(write.is_locked) * pessimistic_action::DO_PESSIMISTIC_CHECK;
        let now = self.cluster.oracle.estimate();
        PrewriteRequest {
            context: None,
            mutations: writes.iter().map(mutation).collect(),
            primary_lock: self.primary.clone(),
            start_version: self.start_ts,
            lock_ttl: lock_ttl_ms(self.start_ts, now, self.lifetime.ttl),
            pessimistic_actions: if is_pessimistic {
                writes.iter().map(action).collect()
            } else {
                Vec::new()
            },
            txn_size: u64::try_from(self.writes.len()).unwrap_or(u64::MAX),
            for_update_ts: self.for_update_ts,
            min_commit_ts: self
                .min_commit_ts
                .max(self.start_ts + 1)
                .max(self.for_update_ts + 1),
            try_one_pc: one_phase,
            // If the store cannot commit below this timestamp in one phase, it falls back to a prewrite.
            max_commit_ts: self.fence.map_or(0, Fence::last),
        }
    }

    /// `None`: the commit needs two phases, and the first attempt has certainly not committed.
    fn one_phase(
        &self,
        mut groups: Vec<Group<Write>>,
        backoff: &mut Backoff,
    ) -> Result<Option<CommitOutcome>> {
        let mut in_doubt = false;
        while let (Some(Group { region, items }), true) = (groups.pop(), groups.is_empty()) {
            let deadline = backoff.request(self.cluster.options.request_timeout).deadline;
            let sent = self
                .cluster
                .send(region, self.prewrite(&items, true), deadline)
                .and_then(|mut sent| Ok((sent.wait(None)?, sent.region)));
            let (outcome, region) = match sent {
                Ok(sent) => sent,
                // The response cannot be decoded.
                Err(error) => return self.find_outcome(error, backoff),
            };
            let paused = match outcome {
                Outcome::Answered(answer) if answer.one_pc_commit_ts > 0 => {
                    return Ok(Some(CommitOutcome::Committed {
                        commit_ts: answer.one_pc_commit_ts,
                        secondaries: Vec::new(),
                    }));
                }
                Outcome::Answered(answer) if answer.errors.is_empty() => {
                    // The store fell back to a prewrite: the locks are in place.
                    return self.commit_prewritten(items).map(Some);
                }
                Outcome::Answered(answer) => {
                    if in_doubt {
                        // The refusal may be the effect of an earlier attempt that succeeded.
                        return self.find_outcome(failure::locks_lost(), backoff);
                    }
                    match self.prewrite_refused(&answer.errors, backoff) {
                        Ok(()) => Ok(()),
                        Err(outcome) => return Ok(Some(outcome)),
                    }
                }
                Outcome::Refused(error) => self.cluster.refused(&region, &error, backoff),
                Outcome::Failed(error) => {
                    in_doubt |= error.may_have_run();
                    self.cluster.failed(&region, &error, backoff)
                }
            };
            if let Err(error) = paused {
                return if in_doubt || matches!(error, Error::Undetermined(_)) {
                    self.find_outcome(error, backoff)
                } else {
                    Ok(Some(CommitOutcome::Failed(error)))
                };
            }
            if in_doubt {
                match resolve::own_status(self.cluster, &self.primary, self.start_ts, backoff) {
                    Ok(TxnStatus::Committed(commit_ts)) => {
                        return Ok(Some(CommitOutcome::Committed {
                            commit_ts,
                            secondaries: Vec::new(),
                        }));
                    }
                    Ok(TxnStatus::RolledBack) => {
                        return Ok(Some(CommitOutcome::Blocked(failure::locks_lost())));
                    }
                    // Only the pessimistic lock is there, or a prewrite. Sending the same request again is
                    // harmless.
                    Ok(_) => {}
                    Err(error) => return Err(Error::Undetermined(error.to_string())),
                }
            }
            groups = match group(self.cluster, items, WRITE_BATCH, backoff) {
                Ok(groups) => groups,
                Err(error) if in_doubt => return self.find_outcome(error, backoff),
                Err(error) => return Ok(Some(CommitOutcome::Failed(error))),
            };
        }
        if in_doubt {
            return self.find_outcome(failure::locks_lost(), backoff);
        }
        Ok(None)
    }

    /// Finds out what became of a one-phase commit whose response was lost.
    fn find_outcome(&self, error: Error, backoff: &Backoff) -> Result<Option<CommitOutcome>> {
        // The commit has used up its own time, so this takes some more. It ignores interrupts: half a
        // second later the outcome is certain.
        let patience = backoff
            .deadline
            .saturating_duration_since(Instant::now())
            .max(Duration::from_secs(3));
        let mut backoff = Backoff::new(patience, None);
        match resolve::own_status(self.cluster, &self.primary, self.start_ts, &mut backoff) {
            Ok(TxnStatus::Committed(commit_ts)) => Ok(Some(CommitOutcome::Committed {
                commit_ts,
                secondaries: Vec::new(),
            })),
            Ok(TxnStatus::RolledBack) => Ok(Some(CommitOutcome::Failed(error))),
            Ok(_) => {
                // The primary is prewritten or only locked. Rolling it back decides the outcome.
                let primary = vec![self.primary.clone()];
                match roll_back_keys(self.cluster, self.start_ts, primary, &mut backoff) {
                    Ok(()) => Ok(Some(CommitOutcome::Failed(error))),
                    Err(_) => Err(Error::Undetermined(error.to_string())),
                }
            }
            Err(_) => Err(Error::Undetermined(error.to_string())),
        }
    }

    /// Decides on the key errors of a prewrite: retry (`Ok`), or end the commit.
    fn prewrite_refused(&self, errors: &[KeyError], backoff: &mut Backoff) -> Result<(), CommitOutcome> {
        let locks = locks_of(errors, self.start_ts).map_err(|error| match error {
            // `Deadlock`: another transaction found one of our keys without a primary lock and rolled it
            // back.
            Error::WriteConflict { .. } | Error::Deadlock => CommitOutcome::Blocked(error),
            error => CommitOutcome::Failed(error),
        })?;
        let alive = resolve::for_write(self.cluster, &locks, backoff).map_err(CommitOutcome::Failed)?;
        if !alive {
            return Ok(());
        }
        match self.lock_deadline {
            Some(deadline) if Instant::now() < deadline => backoff
                .pause(Part::Lock, &"a row is locked")
                .map_err(CommitOutcome::Failed),
            _ => Err(CommitOutcome::Blocked(Error::LockTimeout)),
        }
    }

    fn two_phases(self) -> Result<CommitOutcome> {
        let _alive = self
            .heartbeats
            .start_for(self.start_ts, self.primary.clone(), self.lifetime);
        if let Err(outcome) = self.prewrite_all(self.writes.clone()) {
            self.roll_back();
            return Ok(outcome);
        }
        self.commit_prewritten(self.writes.clone())
    }

    /// Prewrites without a commit: one part after the other, all keys of a part at once. The parts together
    /// are the writes of this commit.
    ///
    /// # Errors
    /// None of the writes stays prewritten, unless the cluster does not respond.
    pub fn prewrite_parts(&self, parts: impl IntoIterator<Item = Vec<Write>>) -> Result<()> {
        for part in parts {
            if let Err(outcome) = self.prewrite_all(part) {
                self.roll_back();
                return match outcome {
                    CommitOutcome::Failed(error) | CommitOutcome::Blocked(error) => Err(error),
                    CommitOutcome::Committed { .. } => {
                        Err(Error::Internal("a prewrite has committed".into()))
                    }
                };
            }
        }
        Ok(())
    }

    /// The error is how the commit ends.
    fn prewrite_all(&self, writes: Vec<Write>) -> Result<(), CommitOutcome> {
        let outcome = RefCell::new(None);
        let mut backoff = self.cluster.backoff(Some(self.interrupt));
        let prewritten = fan_out(
            self.cluster,
            writes,
            WRITE_BATCH,
            &mut backoff,
            |writes| self.prewrite(writes, false),
            |writes, answer: PrewriteResponse, backoff| {
                if answer.errors.is_empty() {
                    return Ok(Vec::new());
                }
                match self.prewrite_refused(&answer.errors, backoff) {
                    Ok(()) => Ok(writes),
                    Err(other) => {
                        outcome.borrow_mut().get_or_insert(other);
                        // Only ends the fan-out. `outcome` holds the result.
                        Err(Error::LockTimeout)
                    }
                }
            },
        );
        prewritten.map_err(|error| outcome.into_inner().unwrap_or(CommitOutcome::Failed(error)))
    }

    /// Commits the primary of writes that are prewritten.
    ///
    /// # Errors
    /// As [`Commit::run`].
    pub fn commit_prewritten(&self, writes: Vec<Write>) -> Result<CommitOutcome> {
        let mut backoff = self.cluster.backoff(None);
        let commit_ts = match self.commit_timestamp() {
            Ok(commit_ts) => commit_ts,
            Err(error) => {
                self.roll_back();
                return Ok(CommitOutcome::Failed(error));
            }
        };
        match self.commit_primary(commit_ts, &mut backoff)? {
            Ok(commit_ts) => Ok(CommitOutcome::Committed {
                commit_ts,
                secondaries: writes
                    .into_iter()
                    .map(|write| write.key)
                    .filter(|key| *key != self.primary)
                    .collect(),
            }),
            Err(error) => {
                self.roll_back();
                Ok(CommitOutcome::Failed(error))
            }
        }
    }

    /// Chooses the commit timestamp. The locks are in place by now, so a reader with a later timestamp
    /// finds them, and the commit request may arrive at any time after. Shared locks that are still held
    /// afterwards have kept other transactions from committing before this timestamp.
    fn commit_timestamp(&self) -> Result<Timestamp> {
        let commit_ts = self.cluster.timestamp(None)?;
        self.fence.map_or(Ok(()), |fence| fence.check(commit_ts))?;
        self.shared_locks.confirm(self.cluster)?;
        Ok(commit_ts)
    }

    /// The inner error is a definite failure.
    fn commit_primary(&self, mut commit_ts: Timestamp, backoff: &mut Backoff) -> Result<Result<Timestamp>> {
        let in_doubt = Cell::new(false);
        let give_up = |error: Error| {
            if in_doubt.get() || matches!(error, Error::Undetermined(_)) {
                Err(Error::Undetermined(error.to_string()))
            } else {
                Ok(Err(error))
            }
        };
        loop {
            let region = match self.cluster.region(&self.primary, backoff) {
                Ok(region) => region,
                Err(error) => return give_up(error),
            };
            let command = CommitRequest {
                start_version: self.start_ts,
                keys: vec![self.primary.clone()],
                commit_version: commit_ts,
                ..Default::default()
            };
            let deadline = backoff.request(self.cluster.options.request_timeout).deadline;
            let mut sent = match self.cluster.send(region, command, deadline) {
                Ok(sent) => sent,
                Err(error) => return give_up(error),
            };
            let paused = match sent.wait(None) {
                Ok(Outcome::Answered(answer)) => match answer.error {
                    None => return Ok(Ok(commit_ts)),
                    Some(error) if error.commit_ts_expired.is_some() => {
                        // A reader has required a later commit timestamp.
                        match self.commit_timestamp() {
                            Ok(later) => commit_ts = later,
                            // This response proves that no earlier attempt has committed, nor will.
                            Err(error) => return Ok(Err(error)),
                        }
                        Ok(())
                    }
                    // The store reports success for every repetition of a commit that succeeded. So another
                    // transaction has removed the lock by rolling this one back.
                    Some(error) => return Ok(Err(failure::of_key(&error, self.start_ts))),
                },
                Ok(Outcome::Refused(error)) => self.cluster.refused(&sent.region, &error, backoff),
                Ok(Outcome::Failed(error)) => {
                    in_doubt.set(in_doubt.get() || error.may_have_run());
                    self.cluster.failed(&sent.region, &error, backoff)
                }
                Err(error) => {
                    in_doubt.set(true);
                    backoff.pause(Part::Store, &error)
                }
            };
            if let Err(error) = paused {
                return give_up(error);
            }
        }
    }

    fn roll_back(&self) {
        let keys = self.writes.iter().map(|write| write.key.clone()).collect();
        let mut backoff = self.cluster.backoff(None);
        if let Err(error) = roll_back_keys(self.cluster, self.start_ts, keys, &mut backoff) {
            tracing::warn!(%error, "locks of a failed commit are left to run out");
        }
    }
}

/// Removes a transaction's locks, and leaves rollback records, so that its requests which arrive later fail.
pub fn roll_back_keys(
    cluster: &Cluster,
    start_ts: Timestamp,
    keys: Vec<Vec<u8>>,
    backoff: &mut Backoff,
) -> Result<()> {
    fan_out(
        cluster,
        keys,
        WRITE_BATCH,
        backoff,
        |keys| BatchRollbackRequest {
            context: None,
            start_version: start_ts,
            keys: keys.to_vec(),
        },
        |_, answer, _| match answer.error {
            Some(error) => Err(failure::of_key(&error, start_ts)),
            None => Ok(Vec::new()),
        },
    )
}

/// Turns the locks of a committed transaction into versions. A transaction that meets one of the locks
/// before does the same.
pub fn commit_secondaries(
    cluster: &Cluster,
    start_ts: Timestamp,
    commit_ts: Timestamp,
    keys: Vec<Vec<u8>>,
) -> Result<()> {
    let mut backoff = cluster.backoff(None);
    fan_out(
        cluster,
        keys,
        WRITE_BATCH,
        &mut backoff,
        |keys| CommitRequest {
            context: None,
            start_version: start_ts,
            keys: keys.to_vec(),
            commit_version: commit_ts,
        },
        |_, answer, _| match answer.error {
            Some(error) => Err(failure::of_key(&error, start_ts)),
            None => Ok(Vec::new()),
        },
    )
}
