//! Committing a group of transactions to an embedded store.
//!
//! A group is written together, except that a dependent commit ([`crate::pending_commit`]) cannot be prepared
//! before the commits of the same group that it depends on have been applied. So a group is divided into
//! *runs*. Each run is applied at a timestamp of its own, in order. The last run is synced, and the earlier
//! ones with it, before readers see any of them.
//!
//! Nothing here waits for anything but the log. What a run's members replace is in memory when the run
//! starts: their own threads have read it, or earlier runs of the group write it. Their threads have also
//! made room in the history. A panic leaves it unknown what of the group is in the store: from then on the
//! store refuses writes, and all members get the outcome [`Error::Undetermined`]. `docs/commit.md` shows the
//! whole way of a commit.

use crate::embedded_state::Shared;
use crate::error::{Error, Result};
use crate::group_commit::QueuedCommit;
use crate::group_member::GroupMember;
use crate::storage::{ApplyError, ApplyHow, Storage};
use crate::timestamp::Timestamp;
use std::mem;
use std::sync::atomic::Ordering;

impl<S: Storage> Shared<S> {
    /// Commits what a transaction has prepared, as part of a group.
    pub fn commit(&self, commit: QueuedCommit<GroupMember<S::Prepared>>) {
        self.commits.submit(commit, self.is_crowded(), &|group, sync| {
            commit_group(self, group, sync)
        });
    }

    /// The work of the thread that commits groups.
    pub fn serve_commits(&self) {
        self.commits.serve(&|group, sync| commit_group(self, group, sync));
    }
}

/// Commits a group, and returns the outcome of each member, in their order.
pub(crate) fn commit_group<S: Storage>(
    shared: &Shared<S>,
    members: Vec<GroupMember<S::Prepared>>,
    sync: bool,
) -> Vec<Result<Timestamp>> {
    if let Err(error) = shared.health.check_writable() {
        return vec![Err(error); members.len()];
    }
    if !sync {
        shared.unsynced.store(true, Ordering::SeqCst);
    }
    let mut group = CommittingGroup {
        timestamps: GroupTimestamps::new(shared),
        sync,
        outcomes: Vec::with_capacity(members.len()),
        unsynced: false,
    };
    let mut run = Vec::with_capacity(members.len());
    let mut members = members.into_iter().peekable();
    while let Some(first) = members.next() {
        run.push(first);
        run.extend(std::iter::from_fn(|| {
            members.next_if(|member| !member.needs_new_run())
        }));
        group.apply(&mut run, members.peek().is_none());
    }
    group.finish()
}

/// A group while it is committed.
struct CommittingGroup<'a, S: Storage> {
    timestamps: GroupTimestamps<'a, S>,
    sync: bool,
    outcomes: Vec<Result<Timestamp>>,
    /// A run has been applied and not synced.
    unsynced: bool,
}

impl<S: Storage> CommittingGroup<'_, S> {
    /// Applies a run at the next timestamp.
    fn apply(&mut self, run: &mut Vec<GroupMember<S::Prepared>>, is_last: bool) {
        let shared = self.timestamps.shared;
        let ts = self.timestamps.next();
        let how = ApplyHow {
            sync: self.sync && is_last,
            use_reserve: run.iter().any(|member| member.use_reserve),
        };
        let mut commits = Vec::with_capacity(run.len());
        let mut prepared = Vec::with_capacity(run.len());
        for member in run.drain(..) {
            let GroupMember {
                work,
                last_ts,
                commit,
                ..
            } = member;
            let ready = shared.health.check_writable().and_then(|()| match last_ts < ts {
                true => Err(Error::CommitTooLate {
                    commit_ts: ts,
                    last: last_ts,
                }),
                false => work.prepare(&shared.storage),
            });
            match ready {
                Ok(ready) => {
                    prepared.push(ready);
                    commits.push((self.outcomes.len(), commit));
                    self.outcomes.push(Ok(ts));
                }
                Err(error) => {
                    commit.end(false);
                    self.outcomes.push(Err(error));
                }
            }
        }
        if prepared.is_empty() {
            return;
        }
        match shared.storage.apply(prepared, ts, how) {
            Ok(()) => {
                self.unsynced = !how.sync;
                commits.iter().for_each(|(_, commit)| commit.applied(ts));
            }
            Err(ApplyError::NotApplied(error)) => {
                for (at, commit) in commits {
                    commit.end(false);
                    self.outcomes[at] = Err(error.clone());
                }
            }
            Err(ApplyError::Unknown(error)) => self.make_undetermined(&error),
        }
    }

    /// After an error that leaves it unknown what of the group is in the log. Until a restart, readers see
    /// the runs that were applied.
    fn make_undetermined(&mut self, error: &Error) {
        self.unsynced = false;
        let health = &self.timestamps.shared.health;
        health.refuse_writes(&format!("a write to the log failed ({error})"));
        for outcome in self.outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
            *outcome = Err(Error::Undetermined(error.to_string()));
        }
    }

    fn finish(mut self) -> Vec<Result<Timestamp>> {
        let shared = self.timestamps.shared;
        // Runs before the last rely on its sync. If the last one was not applied, they need a sync of their
        // own.
        if self.sync
            && mem::take(&mut self.unsynced)
            && let Err(error) = shared.storage.sync_log()
        {
            self.make_undetermined(&error);
        }
        let committed = self.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        self.timestamps.publish();
        if committed > 0 {
            let counters = &shared.counters;
            let committed = u64::try_from(committed).unwrap_or(u64::MAX);
            counters.commits.fetch_add(committed, Ordering::Relaxed);
            counters.groups.fetch_add(1, Ordering::Relaxed);
            if self.sync {
                counters.syncs.fetch_add(1, Ordering::Relaxed);
                // The sync covered what earlier groups had not synced.
                shared.unsynced.store(false, Ordering::SeqCst);
            }
        }
        self.outcomes
    }
}

/// The timestamps of a group in flight. Readers get none of them before they are published. If it is dropped
/// without [`GroupTimestamps::publish`], by a panic, it is unknown what of the group is in the store, so
/// further writes are refused.
struct GroupTimestamps<'a, S: Storage> {
    shared: &'a Shared<S>,
    first_ts: Timestamp,
    next_ts: Timestamp,
    is_complete: bool,
}

impl<'a, S: Storage> GroupTimestamps<'a, S> {
    fn new(shared: &'a Shared<S>) -> Self {
        let first_ts = shared.oracle.begin_commit();
        Self {
            shared,
            first_ts,
            next_ts: first_ts,
            is_complete: false,
        }
    }

    fn next(&mut self) -> Timestamp {
        let ts = self.next_ts;
        self.next_ts += 1;
        ts
    }

    /// Lets readers see what has been applied.
    fn publish(mut self) {
        self.is_complete = true;
    }
}

impl<S: Storage> Drop for GroupTimestamps<'_, S> {
    fn drop(&mut self) {
        if !self.is_complete {
            let health = &self.shared.health;
            health.refuse_writes("a commit was cut short by a defect");
        }
        // After a failure too: a timestamp at which nothing was applied shows nothing.
        let last_ts = self.next_ts.saturating_sub(1).max(self.first_ts);
        self.shared.oracle.publish(self.first_ts, last_ts);
    }
}
