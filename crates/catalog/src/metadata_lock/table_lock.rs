//! One table's lock: a count of transactions inside, and whether the table is closed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use types::Result;

use super::Deadline;

/// Set while an exclusive request waits or is granted. The other bits count the transactions inside.
const CLOSED: u64 = 1 << 63;

pub(super) struct TableLock {
    pub(super) id: i64,
    state: AtomicU64,
    /// Whether a schema change has the table. Also guards the waits on `changed`.
    changing: Mutex<bool>,
    changed: Condvar,
}

impl TableLock {
    pub(super) fn new(id: i64) -> Self {
        Self {
            id,
            state: AtomicU64::new(0),
            changing: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// The way in that every statement takes: one atomic addition.
    pub(super) fn try_enter(&self) -> bool {
        if self.state.fetch_add(1, Ordering::Acquire) & CLOSED == 0 {
            return true;
        }
        self.leave();
        false
    }

    /// Enters as soon as the table is open.
    pub(super) fn enter(&self, deadline: &Deadline) -> Result<()> {
        loop {
            if self.try_enter() {
                return Ok(());
            }
            let sleep = deadline.next_sleep()?;
            let mut guard = self.changing.lock();
            if self.state.load(Ordering::Acquire) & CLOSED != 0 {
                self.changed.wait_for(&mut guard, sleep);
            }
        }
    }

    pub(super) fn leave(&self) {
        if self.state.fetch_sub(1, Ordering::Release) == CLOSED | 1 {
            self.wake();
        }
    }

    /// Closes the table to transactions that are not inside yet.
    pub(super) fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub(super) fn open(&self) {
        self.state.fetch_and(!CLOSED, Ordering::AcqRel);
        self.wake();
    }

    /// Waits until nobody is inside; false when that did not happen by `until`.
    pub(super) fn drained(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
        while self.state.load(Ordering::Acquire) != CLOSED {
            if Instant::now() >= until {
                return Ok(false);
            }
            let sleep = deadline.next_sleep()?;
            let mut guard = self.changing.lock();
            if self.state.load(Ordering::Acquire) != CLOSED {
                self.changed.wait_for(&mut guard, sleep);
            }
        }
        Ok(true)
    }

    /// Becomes the table's one schema change.
    pub(super) fn begin_change(&self, deadline: &Deadline) -> Result<()> {
        let mut changing = self.changing.lock();
        while *changing {
            let sleep = deadline.next_sleep()?;
            self.changed.wait_for(&mut changing, sleep);
        }
        *changing = true;
        Ok(())
    }

    pub(super) fn end_change(&self) {
        *self.changing.lock() = false;
        self.changed.notify_all();
    }

    fn wake(&self) {
        // Through the mutex, so that nobody who has just looked at the state and not slept yet misses it.
        drop(self.changing.lock());
        self.changed.notify_all();
    }
}
