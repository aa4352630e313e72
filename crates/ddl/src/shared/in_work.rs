//! The jobs in the store that this process works on.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::job::Job;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalState {
    /// A thread works on it.
    InWork,
    /// Its statement has failed, so it must be undone.
    Failed,
}

/// The jobs that this process has started or taken over.
#[derive(Default)]
pub(super) struct JobsInWork {
    jobs: Mutex<HashMap<i64, LocalState>>,
}

/// Work on a job. If it is dropped before [`Work::done`], the job will be undone.
pub(crate) struct Work<'a> {
    jobs: &'a JobsInWork,
    id: i64,
    done: bool,
}

impl JobsInWork {
    pub(super) fn begin(&self, id: i64) -> Work<'_> {
        self.jobs.lock().insert(id, LocalState::InWork);
        Work {
            jobs: self,
            id,
            done: false,
        }
    }

    pub(super) fn state(&self, id: i64) -> Option<LocalState> {
        self.jobs.lock().get(&id).copied()
    }

    /// Forgets the jobs that are no longer in the store.
    pub(super) fn retain(&self, stored: &[Job]) {
        let exists = |id: i64| stored.iter().any(|job| job.id == id);
        self.jobs
            .lock()
            .retain(|id, state| *state == LocalState::InWork || exists(*id));
    }

    #[cfg(test)]
    pub(super) fn forget(&self, id: i64) {
        self.jobs.lock().remove(&id);
    }
}

impl Work<'_> {
    /// The job stays in work, until it is begun again.
    pub(super) fn goes_on(self) {
        std::mem::forget(self);
    }

    pub(crate) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut jobs = self.jobs.jobs.lock();
        if self.done {
            jobs.remove(&self.id);
        } else {
            jobs.insert(self.id, LocalState::Failed);
        }
    }
}
