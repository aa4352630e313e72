//! Garbage collection of an embedded engine: which versions are garbage, and one collection at a time.

use crate::engine::GcReport;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::lock::{LockMode, LockWait};
use crate::lock_table::{Acquired, COLLECTOR, LockRequest, LockTable};
use crate::lock_wait::HeldKey;
use crate::oracle::Oracle;
use crate::pending_commit::INTERRUPT_CHECK;
use crate::pins::Pins;
use crate::storage::{KeyGuard, Storage};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::timestamp::{Timestamp, timestamp_from_ms};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// What a collection goes by.
pub(crate) struct Garbage {
    /// Snapshots that hold the safe point back.
    pub pins: Pins,
    age_ms: AtomicU64,
    running: Mutex<()>,
    /// Versions removed since the start.
    pub collected: AtomicU64,
}

/// The right to collect, until dropped.
pub(crate) struct Collecting<'a> {
    garbage: &'a Garbage,
    _running: MutexGuard<'a, ()>,
}

impl Garbage {
    /// `age`: how long superseded versions are kept.
    pub fn new(safe_point: Arc<AtomicU64>, age: Duration) -> Self {
        Self {
            pins: Pins::new(safe_point),
            age_ms: AtomicU64::new(milliseconds(age)),
            running: Mutex::new(()),
            collected: AtomicU64::new(0),
        }
    }

    pub fn set_age(&self, age: Duration) {
        self.age_ms.store(milliseconds(age), Ordering::Relaxed);
    }

    /// Waits until no other thread collects.
    pub fn begin(&self) -> Collecting<'_> {
        Collecting {
            garbage: self,
            _running: self.running.lock(),
        }
    }

    /// [`Garbage::begin`] that waits no longer than `most`.
    ///
    /// # Errors
    /// [`Error::LockTimeout`], [`Error::Interrupted`].
    pub fn begin_within(&self, most: Duration, interrupt: Option<&Interrupt>) -> Result<Collecting<'_>> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(collecting) = self.try_begin(INTERRUPT_CHECK) {
                return Ok(collecting);
            }
            if let Some(interrupt) = interrupt {
                interrupt.check()?;
            }
            waited += INTERRUPT_CHECK;
            if waited >= most {
                return Err(Error::LockTimeout);
            }
        }
    }

    /// [`Garbage::begin`] that waits no longer than `timeout`.
    pub fn try_begin(&self, timeout: Duration) -> Option<Collecting<'_>> {
        let running = self.running.try_lock_for(timeout)?;
        Some(Collecting {
            garbage: self,
            _running: running,
        })
    }
}

impl Collecting<'_> {
    /// Moves the safe point as far as age, memory pressure and live snapshots let it, and returns it.
    pub fn advance_safe_point<S: Storage>(&self, oracle: &Oracle, storage: &S) -> Timestamp {
        let age_ms = self.garbage.age_ms.load(Ordering::Relaxed);
        // Never above the timestamps that have been given: a commit may still be below "now". With an age of
        // zero, up to there, because timestamps may be ahead of the clock.
        let mut wanted = oracle.last();
        if age_ms > 0 {
            let aged = timestamp_from_ms(oracle.now_ms().saturating_sub(age_ms));
            wanted = wanted.min(aged.max(storage.wanted_safe_point()));
        }
        self.garbage.pins.advance(wanted)
    }

    /// Removes what no snapshot at or above the safe point sees.
    pub fn collect<S: Storage>(
        &self,
        storage: &S,
        locks: &LockTable,
        safe_point: Timestamp,
        thorough: bool,
    ) -> Result<GcReport> {
        let mut guard = CollectorLocks {
            locks,
            held: Vec::new(),
            interrupt: Interrupt::default(),
        };
        let removed = storage.collect(safe_point, thorough, &mut guard)?;
        self.garbage.collected.fetch_add(removed, Ordering::Relaxed);
        Ok(GcReport {
            safe_point,
            removed: Some(removed),
        })
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Locks keys for a collection, without waiting.
struct CollectorLocks<'a> {
    locks: &'a LockTable,
    held: Vec<HeldKey>,
    interrupt: Interrupt,
}

impl KeyGuard for CollectorLocks<'_> {
    fn try_lock(&mut self, key: &[u8]) -> bool {
        let request = LockRequest {
            owner: COLLECTOR,
            locks_held: 0,
            key,
            mode: LockMode::Exclusive,
            wait: LockWait::SkipLocked,
            interrupt: &self.interrupt,
            has_waited: Cell::default(),
        };
        match self.locks.lock(&request) {
            Ok(Acquired::New(held) | Acquired::AfterPending(held, _)) => {
                self.held.push(held);
                true
            }
            Ok(Acquired::AlreadyHeld) => true,
            Ok(Acquired::Skipped) | Err(_) => false,
        }
    }

    fn unlock_all(&mut self) {
        for held in self.held.drain(..) {
            self.locks.unlock(COLLECTOR, &held);
        }
    }
}

impl Drop for CollectorLocks<'_> {
    fn drop(&mut self) {
        self.unlock_all();
    }
}
