//! What an embedded engine, its transactions and its threads share.

use crate::defect;
use crate::engine::GcReport;
use crate::error::{Error, Result};
use crate::garbage::{Collecting, Garbage};
use crate::group_commit::GroupCommit;
use crate::group_member::GroupMember;
use crate::health::LogHealth;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::lock_table::LockTable;
use crate::oracle::Oracle;
use crate::pending_commit::INTERRUPT_CHECK;
use crate::storage::{Pressure, Storage};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::timestamp::{Clock, SystemClock};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How an embedded engine behaves.
#[derive(Clone)]
pub struct EmbeddedOptions {
    pub limits: Limits,
    /// How long superseded versions are kept, if the storage has room for them. What a live snapshot needs is
    /// kept in any case.
    pub gc_age: Duration,
    /// How often garbage is collected in the background, unless memory pressure asks for it sooner.
    pub gc_interval: Duration,
    /// Whether to run background threads: for group commit, for garbage collection, and for the sync each
    /// second of commits that did not wait for one.
    pub background: bool,
    /// Whether each commit checks the promises about its writes ([`crate::promise`]). For tests.
    pub check_promises: bool,
    pub clock: Arc<dyn Clock>,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            gc_age: Duration::from_secs(600),
            gc_interval: Duration::from_secs(30),
            background: true,
            check_promises: false,
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedOptions")
            .field("limits", &self.limits)
            .field("gc_age", &self.gc_age)
            .field("gc_interval", &self.gc_interval)
            .field("background", &self.background)
            .field("check_promises", &self.check_promises)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub groups: AtomicU64,
    pub syncs: AtomicU64,
    pub conflicts: AtomicU64,
    /// Bulk loads that have become part of the store.
    pub loads: AtomicU64,
}

/// What the engine and its transactions share.
pub(crate) struct Shared<S: Storage> {
    pub storage: S,
    pub oracle: Oracle,
    pub locks: LockTable,
    pub counters: Counters,
    pub health: LogHealth,
    /// Transactions that have begun and not ended.
    pub open: AtomicUsize,
    pub processors: usize,
    pub commits: GroupCommit<GroupMember<S::Prepared>>,
    pub options: EmbeddedOptions,
    pub garbage: Garbage,
    /// Something has been applied and not synced since the last sync.
    pub unsynced: AtomicBool,
}

impl<S: Storage> Shared<S> {
    /// Whether more transactions are open than there are processors.
    pub fn is_crowded(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.processors
    }

    /// Syncs what was committed without waiting for a sync. After a failure, further writes are refused.
    pub fn sync_log(&self) -> Result<()> {
        if !self.unsynced.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.health.check_writable()?;
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        let synced = defect::catch("syncing the log", || self.storage.sync_log())
            .unwrap_or_else(|message| Err(Error::Internal(message)));
        synced.inspect_err(|error| {
            self.health
                .refuse_writes(&format!("a write to the log failed ({error})"));
        })
    }

    /// Collects garbage if superseded versions take too much memory, before a commit adds to them. On the
    /// committing transaction's own thread, never on the one that commits groups. If another thread is
    /// collecting, waits for that. So memory exceeds the limit by no more than the commits add that are past
    /// this point at the same time.
    ///
    /// # Errors
    /// Those of the collection, if what snapshots need cannot be moved to disk. [`Error::Interrupted`].
    pub fn make_room(&self, interrupt: &Interrupt) -> Result<()> {
        while self.storage.pressure() == Pressure::TooHigh {
            let Some(running) = self.garbage.try_begin(INTERRUPT_CHECK) else {
                interrupt.check()?;
                continue;
            };
            if self.storage.pressure() < Pressure::TooHigh {
                break;
            }
            match self.collect(&running, false) {
                Err(error) if self.storage.pressure() == Pressure::TooHigh => return Err(error),
                _ => break,
            }
        }
        Ok(())
    }

    pub fn collect_garbage(&self, thorough: bool) -> Result<GcReport> {
        self.collect(&self.garbage.begin(), thorough)
    }

    fn collect(&self, running: &Collecting<'_>, thorough: bool) -> Result<GcReport> {
        let safe_point = running.advance_safe_point(&self.oracle, &self.storage);
        self.health.check_writable()?;
        running.collect(&self.storage, &self.locks, safe_point, thorough)
    }
}
