//! Committing writes: in one phase where one request to one region carries them all, else prewrite everywhere, commit
//! the primary key, which decides, and the others in the background.
//!
//! Three outcomes. A refusal is a definite failure. An answer that was lost is looked into ([`Cluster::fate_of_own`]),
//! and only what stays unknown until the deadline is reported as such.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome};
use crate::failure;
use crate::fan_out::{Batch, Group, Item};
use crate::keeper::{Keeper, lock_ttl_ms};
use crate::proto::kvrpcpb::*;
use crate::resolve::{Fate, locks_of};
use crate::sharing::SharedLocks;
use bytes::Bytes;
use kv::{Error, Fence, Interrupt, Part, Result, Timestamp};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

const WRITE_BATCH: Batch = Batch {
    items_max: 2_048,
    bytes_max: 512 << 10,
    interruptible: false,
};

/// What becomes of a key.
#[derive(Debug, Clone)]
pub enum Change {
    Put(Bytes),
    /// A put that fails where the key is there.
    Insert(Bytes),
    Delete,
    /// Nothing: it was only locked.
    Lock,
}

/// One key's write.
#[derive(Debug, Clone)]
pub struct Write {
    /// With its prefix.
    pub key: Vec<u8>,
    pub change: Change,
    /// The transaction holds its pessimistic lock.
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

/// What is to be committed, and how.
pub struct Commit<'a> {
    pub cluster: &'a Cluster,
    pub keeper: &'a Keeper,
    pub start_ts: Timestamp,
    pub primary: Vec<u8>,
    /// How long its locks outlive a node that dies.
    pub lock_ttl: Duration,
    /// In key order.
    pub writes: Vec<Write>,
    /// 0: no pessimistic locks are held.
    pub for_update_ts: Timestamp,
    /// The commit must not come before it.
    pub min_commit_ts: Timestamp,
    /// The commit must not come behind it.
    pub fence: Option<&'a Fence>,
    /// What the writes may rest on, beside the transaction's own locks.
    pub shared_locks: &'a SharedLocks<'a>,
    pub interrupt: &'a Interrupt,
    /// How long to wait for locks of others; `None`: not at all.
    pub lock_deadline: Option<Instant>,
}

/// How a commit ended, where that is known.
pub enum Ended {
    Committed {
        commit_ts: Timestamp,
        /// Keys that still have to be committed.
        secondaries: Vec<Vec<u8>>,
    },
    /// Definitely not.
    Failed(Error),
    /// Definitely not, and nothing is left behind: someone else's commit, or lock, was in the way.
    InTheWay(Error),
}

impl Commit<'_> {
    /// # Errors
    /// [`Error::Undetermined`].
    pub fn run(self) -> Result<Ended> {
        let mut backoff = self.cluster.backoff(Some(self.interrupt));
        let groups = match self.cluster.group(self.writes.clone(), WRITE_BATCH, &mut backoff) {
            Ok(groups) => groups,
            Err(error) => return Ok(Ended::Failed(error)),
        };
        // A store that commits by itself looks at nothing else.
        if self.shared_locks.is_empty()
            && let [_] = groups.as_slice()
            && let Some(ended) = self.one_phase(groups, &mut backoff)?
        {
            return Ok(ended);
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
            lock_ttl: lock_ttl_ms(self.start_ts, now, self.lock_ttl),
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
            // Beyond it the store leaves a prewrite where one phase was asked for.
            max_commit_ts: self.fence.map_or(0, Fence::last),
        }
    }

    /// `None`: it takes two phases after all, and nothing of the first attempt is in doubt.
    fn one_phase(&self, mut groups: Vec<Group<Write>>, backoff: &mut Backoff) -> Result<Option<Ended>> {
        let mut in_doubt = false;
        while let (Some(Group { region, items }), true) = (groups.pop(), groups.is_empty()) {
            let deadline = backoff.request(self.cluster.options.request_timeout).deadline;
            let sent = self
                .cluster
                .send(region, self.prewrite(&items, true), deadline)
                .and_then(|mut sent| Ok((sent.wait(None)?, sent.region)));
            let (outcome, region) = match sent {
                Ok(sent) => sent,
                // An answer that cannot be read.
                Err(error) => return self.look_into(error, backoff),
            };
            let paused = match outcome {
                Outcome::Answered(answer) if answer.one_pc_commit_ts > 0 => {
                    return Ok(Some(Ended::Committed {
                        commit_ts: answer.one_pc_commit_ts,
                        secondaries: Vec::new(),
                    }));
                }
                Outcome::Answered(answer) if answer.errors.is_empty() => {
                    // The store had reasons not to; the locks are there.
                    return self.commit_prewritten(items).map(Some);
                }
                Outcome::Answered(answer) => {
                    if in_doubt {
                        // Refused because an earlier attempt went through, maybe.
                        return self.look_into(failure::locks_lost(), backoff);
                    }
                    match self.prewrite_refused(&answer.errors, backoff) {
                        Ok(()) => Ok(()),
                        Err(ended) => return Ok(Some(ended)),
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
                    self.look_into(error, backoff)
                } else {
                    Ok(Some(Ended::Failed(error)))
                };
            }
            if in_doubt {
                match self.cluster.fate_of_own(&self.primary, self.start_ts, backoff) {
                    Ok(Fate::Committed(commit_ts)) => {
                        return Ok(Some(Ended::Committed {
                            commit_ts,
                            secondaries: Vec::new(),
                        }));
                    }
                    Ok(Fate::RolledBack) => return Ok(Some(Ended::InTheWay(failure::locks_lost()))),
                    // Only the pessimistic lock, or a prewrite that stayed one: the same request again is harmless.
                    Ok(_) => {}
                    Err(error) => return Err(Error::Undetermined(error.to_string())),
                }
            }
            groups = match self.cluster.group(items, WRITE_BATCH, backoff) {
                Ok(groups) => groups,
                Err(error) if in_doubt => return self.look_into(error, backoff),
                Err(error) => return Ok(Some(Ended::Failed(error))),
            };
        }
        if in_doubt {
            return self.look_into(failure::locks_lost(), backoff);
        }
        Ok(None)
    }

    /// The answer to a one-phase commit was lost and will not be had: what became of it?
    fn look_into(&self, error: Error, backoff: &Backoff) -> Result<Option<Ended>> {
        // Its own patience: the commit's is used up. Not interrupted: half a second more, and the answer is certain.
        let patience = backoff
            .deadline
            .saturating_duration_since(Instant::now())
            .max(Duration::from_secs(3));
        let mut backoff = Backoff::new(patience, None);
        match self
            .cluster
            .fate_of_own(&self.primary, self.start_ts, &mut backoff)
        {
            Ok(Fate::Committed(commit_ts)) => Ok(Some(Ended::Committed {
                commit_ts,
                secondaries: Vec::new(),
            })),
            Ok(Fate::RolledBack) => Ok(Some(Ended::Failed(error))),
            Ok(_) => {
                // Prewritten or only locked. A rollback of the primary settles it.
                match self.roll_back_keys(vec![self.primary.clone()], &mut backoff) {
                    Ok(()) => Ok(Some(Ended::Failed(error))),
                    Err(_) => Err(Error::Undetermined(error.to_string())),
                }
            }
            Err(_) => Err(Error::Undetermined(error.to_string())),
        }
    }

    /// What to do about key errors of a prewrite: try again, or end.
    fn prewrite_refused(&self, errors: &[KeyError], backoff: &mut Backoff) -> Result<(), Ended> {
        let locks = locks_of(errors, self.start_ts).map_err(|error| match error {
            // The latter: who met one of its keys and no primary has taken it for dead.
            Error::WriteConflict { .. } | Error::Deadlock => Ended::InTheWay(error),
            error => Ended::Failed(error),
        })?;
        let alive = self
            .cluster
            .resolve_for_write(&locks, backoff)
            .map_err(Ended::Failed)?;
        if !alive {
            return Ok(());
        }
        match self.lock_deadline {
            Some(deadline) if Instant::now() < deadline => backoff
                .pause(Part::Lock, &"a row is locked")
                .map_err(Ended::Failed),
            _ => Err(Ended::InTheWay(Error::LockTimeout)),
        }
    }

    fn two_phases(self) -> Result<Ended> {
        let _alive = self
            .keeper
            .keep(self.start_ts, self.primary.clone(), self.lock_ttl);
        let ended = RefCell::new(None);
        let mut backoff = self.cluster.backoff(Some(self.interrupt));
        let prewritten = self.cluster.fan_out(
            self.writes.clone(),
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
                        ended.borrow_mut().get_or_insert(other);
                        // Ends the fan-out; what counts is above.
                        Err(Error::LockTimeout)
                    }
                }
            },
        );
        if let Err(error) = prewritten {
            let ended = ended.into_inner().unwrap_or(Ended::Failed(error));
            self.roll_back();
            return Ok(ended);
        }
        self.commit_prewritten(self.writes.clone())
    }

    fn commit_prewritten(&self, writes: Vec<Write>) -> Result<Ended> {
        let mut backoff = self.cluster.backoff(None);
        let commit_ts = match self.commit_timestamp() {
            Ok(commit_ts) => commit_ts,
            Err(error) => {
                self.roll_back();
                return Ok(Ended::Failed(error));
            }
        };
        match self.commit_primary(commit_ts, &mut backoff)? {
            Ok(commit_ts) => Ok(Ended::Committed {
                commit_ts,
                secondaries: writes
                    .into_iter()
                    .map(|write| write.key)
                    .filter(|key| *key != self.primary)
                    .collect(),
            }),
            Err(error) => {
                self.roll_back();
                Ok(Ended::Failed(error))
            }
        }
    }

    /// A timestamp to commit at. The locks are there by now, so whoever reads later than it meets them; a commit that it
    /// permits may be carried out whenever its message arrives. Shared locks that are there afterwards have kept everybody
    /// from committing before it.
    fn commit_timestamp(&self) -> Result<Timestamp> {
        let commit_ts = self.cluster.timestamp(None)?;
        self.fence.map_or(Ok(()), |fence| fence.check(commit_ts))?;
        self.shared_locks.confirm(self.cluster)?;
        Ok(commit_ts)
    }

    /// The inner error is definite.
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
                        // A reader has asked us to commit after it.
                        match self.commit_timestamp() {
                            Ok(later) => commit_ts = later,
                            // The store has said that no earlier attempt went through, nor will.
                            Err(error) => return Ok(Err(error)),
                        }
                        Ok(())
                    }
                    // A commit that went through is answered with success, however often it is asked for; so the lock
                    // is gone because someone rolled the transaction back.
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

    /// Takes prewritten locks back, and makes sure that late requests find the transaction ended.
    fn roll_back(&self) {
        let keys = self.writes.iter().map(|write| write.key.clone()).collect();
        let mut backoff = self.cluster.backoff(None);
        if let Err(error) = self.roll_back_keys(keys, &mut backoff) {
            tracing::warn!(%error, "locks of a failed commit are left to run out");
        }
    }

    fn roll_back_keys(&self, keys: Vec<Vec<u8>>, backoff: &mut Backoff) -> Result<()> {
        self.cluster.fan_out(
            keys,
            WRITE_BATCH,
            backoff,
            |keys| BatchRollbackRequest {
                context: None,
                start_version: self.start_ts,
                keys: keys.to_vec(),
            },
            |_, answer, _| match answer.error {
                Some(error) => Err(failure::of_key(&error, self.start_ts)),
                None => Ok(Vec::new()),
            },
        )
    }
}

/// Turns the locks of a committed transaction into versions. Whoever meets one before does the same.
pub fn commit_secondaries(
    cluster: &Cluster,
    start_ts: Timestamp,
    commit_ts: Timestamp,
    keys: Vec<Vec<u8>>,
) -> Result<()> {
    let mut backoff = cluster.backoff(None);
    cluster.fan_out(
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
