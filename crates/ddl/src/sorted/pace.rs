//! The progress of a sorted build, which ADMIN SHOW DDL JOBS shows, and whether the build is to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cluster::meta::{Meta, keys};
use kv::{Durability, Store};
use parking_lot::Mutex;
use types::Result;

use crate::context::Watch;
use crate::job::{Job, Progress, check_not_cancelled};

/// How often a build looks whether its job has been cancelled, and stores how far it is.
const LOOK: Duration = Duration::from_millis(500);

/// Rows or entries between two looks of a thread at whether to stop.
pub(super) const ENTRIES_PER_LOOK: u64 = 1_024;

/// The progress of a build, and whether it is to stop.
pub(super) struct Pace<'a> {
    store: &'a Store,
    job: &'a Job,
    watch: Watch<'a>,
    pub(super) rows: AtomicU64,
    pub(super) stop: AtomicBool,
    looked: Mutex<Instant>,
}

impl<'a> Pace<'a> {
    pub(super) fn new(store: &'a Store, job: &'a Job, watch: Watch<'a>) -> Self {
        Self {
            store,
            job,
            watch,
            rows: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            looked: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn interrupt(&self) -> &'a Arc<kv::Interrupt> {
        self.watch.interrupt
    }

    /// Shows how far the build is, and at intervals (or `now`) stores it and looks at the job.
    ///
    /// # Errors
    /// 1317, 8214, those of the store.
    pub(super) fn look(&self, now: bool) -> Result<()> {
        self.watch.interrupt.check()?;
        let rows = self.rows.load(Ordering::Relaxed);
        if let Some(shown) = self.watch.progress {
            shown.store(rows, Ordering::Relaxed);
        }
        let mut looked = self.looked.lock();
        if !now && looked.elapsed() < LOOK {
            return Ok(());
        }
        *looked = Instant::now();
        if let Some(job) = Job::read(&self.store.latest(), self.job.id)? {
            check_not_cancelled(&job)?;
        }
        put_progress(self.store, self.job, rows)
    }
}

pub(super) fn put_progress(store: &Store, job: &Job, rows: u64) -> Result<()> {
    let mut txn = Meta::begin(store)?;
    let done = Vec::new();
    Meta::new(&mut txn).put(keys::job_progress(job.id), &Progress { done, rows })?;
    txn.commit(Durability::Os)?;
    Ok(())
}
