//! What a group of commits does to an embedded store.
//!
//! All of a group is written together, but for those who follow others of the same group ([`crate::pending_commit`]): what they
//! replace has to be there before they can be prepared. So a group falls into *runs*, each applied at a timestamp of its own,
//! one after the other; the last one is synced, and with it all, before any of it shows.
//!
//! Nothing here waits but for the log. What a run's members replace is known when it begins: it was read before they queued, or is
//! what earlier runs of the group leave behind. Room for what they supersede was made then, too. Who panics leaves it open what of
//! the group is there: the store refuses writes from then on, and all members hear that their outcome is not known.

use crate::buffer::WriteBuffer;
use crate::embedded::Shared;
use crate::error::{Error, Result};
use crate::pending_commit::PendingCommit;
use crate::storage::{ApplyError, ApplyHow, KnownVersions, Storage};
use crate::timestamp::Timestamp;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A transaction of a commit group.
pub(crate) struct Member<P> {
    pub work: Work<P>,
    /// The last timestamp at which it may be committed.
    pub last: Timestamp,
    /// Whether it may use the space that is kept free. Who shares its run may then too, which is rare and bounded.
    pub use_reserve: bool,
    pub commit: Arc<PendingCommit>,
}

pub(crate) enum Work<P> {
    Ready(P),
    /// To be prepared once the commits it follows have been applied. All that its writes replace is fresh or known then, so
    /// nothing is read.
    Later {
        writes: Arc<WriteBuffer>,
        known: KnownVersions,
        after: Vec<Arc<PendingCommit>>,
    },
}

impl<P> Member<P> {
    fn has_to_wait(&self) -> bool {
        match &self.work {
            Work::Ready(_) => false,
            Work::Later { after, .. } => after
                .iter()
                .any(|commit| !commit.is_applied() && !commit.has_failed()),
        }
    }
}

impl<P> Work<P> {
    fn prepare<S: Storage<Prepared = P>>(self, storage: &S) -> Result<P> {
        match self {
            Self::Ready(prepared) => Ok(prepared),
            // Who fails takes those along who have seen its writes.
            Self::Later { after, .. } if !after.iter().all(|commit| commit.is_applied()) => {
                Err(Error::Deadlock)
            }
            Self::Later { writes, known, .. } => storage.prepare(&writes, &known),
        }
    }
}

/// A group that is being committed.
struct Group<'a, S: Storage> {
    open: OpenCommit<'a, S>,
    sync: bool,
    outcomes: Vec<Result<Timestamp>>,
    /// Something was applied that has not been synced.
    unsynced: bool,
}

impl<S: Storage> Shared<S> {
    /// The outcome of each, in their order.
    pub fn commit_group(&self, members: Vec<Member<S::Prepared>>, sync: bool) -> Vec<Result<Timestamp>> {
        if let Err(error) = self.check_writable() {
            return vec![Err(error); members.len()];
        }
        if !sync {
            self.unsynced.store(true, Ordering::SeqCst);
        }
        let mut group = Group {
            open: OpenCommit::new(self),
            sync,
            outcomes: Vec::with_capacity(members.len()),
            unsynced: false,
        };
        let mut run = Vec::with_capacity(members.len());
        let mut members = members.into_iter().peekable();
        while let Some(first) = members.next() {
            run.push(first);
            run.extend(std::iter::from_fn(|| {
                members.next_if(|member| !member.has_to_wait())
            }));
            group.apply(&mut run, members.peek().is_none());
        }
        group.end()
    }
}

impl<S: Storage> Group<'_, S> {
    fn apply(&mut self, run: &mut Vec<Member<S::Prepared>>, is_last: bool) {
        let shared = self.open.shared;
        let ts = self.open.next_ts();
        let how = ApplyHow {
            sync: self.sync && is_last,
            use_reserve: run.iter().any(|member| member.use_reserve),
        };
        let mut commits = Vec::with_capacity(run.len());
        let mut prepared = Vec::with_capacity(run.len());
        for member in run.drain(..) {
            let Member {
                work, last, commit, ..
            } = member;
            let ready = shared.check_writable().and_then(|()| match last < ts {
                true => Err(Error::CommitTooLate { commit_ts: ts, last }),
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
            Err(ApplyError::Unknown(error)) => self.lose(&error),
        }
    }

    /// Nobody knows what of the group will be there after a restart. Until then, readers see the runs that were applied.
    fn lose(&mut self, error: &Error) {
        self.unsynced = false;
        self.open
            .shared
            .refuse_writes(&format!("a write to the log failed ({error})"));
        for outcome in self.outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
            *outcome = Err(Error::Undetermined(error.to_string()));
        }
    }

    fn end(mut self) -> Vec<Result<Timestamp>> {
        let shared = self.open.shared;
        // Where the last run was not to be: those before it count on its sync.
        if self.sync
            && mem::take(&mut self.unsynced)
            && let Err(error) = shared.storage.sync_log()
        {
            self.lose(&error);
        }
        let committed = self.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        self.open.settle();
        if committed > 0 {
            let counters = &shared.counters;
            let committed = u64::try_from(committed).unwrap_or(u64::MAX);
            counters.commits.fetch_add(committed, Ordering::Relaxed);
            counters.groups.fetch_add(1, Ordering::Relaxed);
            if self.sync {
                counters.syncs.fetch_add(1, Ordering::Relaxed);
                // The sync took along what earlier groups had left.
                shared.unsynced.store(false, Ordering::SeqCst);
            }
        }
        self.outcomes
    }
}

/// A commit in flight. Dropped without being settled (a panic), it refuses further writes: nobody knows what is there.
struct OpenCommit<'a, S: Storage> {
    shared: &'a Shared<S>,
    first_ts: Timestamp,
    /// The next one's to be given.
    next_ts: Timestamp,
    settled: bool,
}

impl<'a, S: Storage> OpenCommit<'a, S> {
    fn new(shared: &'a Shared<S>) -> Self {
        let first_ts = shared.oracle.begin_commit();
        Self {
            shared,
            first_ts,
            next_ts: first_ts,
            settled: false,
        }
    }

    /// Nobody else is given timestamps from the first one on until all show.
    fn next_ts(&mut self) -> Timestamp {
        let ts = self.next_ts;
        self.next_ts += 1;
        ts
    }

    /// All that could be applied is there.
    fn settle(mut self) {
        self.settled = true;
    }
}

impl<S: Storage> Drop for OpenCommit<'_, S> {
    fn drop(&mut self) {
        if !self.settled {
            self.shared.refuse_writes("a commit was cut short by a defect");
        }
        // Failed or not: if nothing is there, its timestamp shows nothing.
        let last_ts = self.next_ts.saturating_sub(1).max(self.first_ts);
        self.shared.oracle.publish(self.first_ts, last_ts);
    }
}
