//! One table's lock: how many transactions read and write it, and who is kept out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use types::Result;

use super::Deadline;

/// Set while an exclusive request waits or is granted: nobody gets in.
const CLOSED: u64 = 1 << 63;
/// Set while a session has, or waits for, the table by LOCK TABLES ... READ: no writer gets in.
const READ_ONLY: u64 = 1 << 62;
const FLAGS: u64 = CLOSED | READ_ONLY;
/// The other bits count the transactions inside: those that read in the lower half, those that write in the upper.
const READER: u64 = 1;
const WRITER: u64 = 1 << 31;
const WRITERS: u64 = !FLAGS & !(WRITER - 1);

/// What a transaction does with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    Write,
}

impl Use {
    fn one(self) -> u64 {
        match self {
            Self::Read => READER,
            Self::Write => WRITER,
        }
    }

    /// What keeps it out.
    fn barrier(self) -> u64 {
        match self {
            Self::Read => CLOSED,
            Self::Write => FLAGS,
        }
    }
}

pub(super) struct TableLock {
    pub(super) id: i64,
    state: AtomicU64,
    /// Also guards the waits on `changed`.
    claims: Mutex<Claims>,
    changed: Condvar,
}

#[derive(Default)]
struct Claims {
    /// Whether a schema change, or a session by LOCK TABLES ... WRITE, has the table.
    changing: bool,
    /// How many sessions have [`READ_ONLY`] set.
    read_locks: usize,
}

impl TableLock {
    pub(super) fn new(id: i64) -> Self {
        Self {
            id,
            state: AtomicU64::new(0),
            claims: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The way in that every statement takes: one atomic addition.
    pub(super) fn try_enter(&self, what: Use) -> bool {
        self.try_pass(what, what.barrier())
    }

    fn try_pass(&self, what: Use, barrier: u64) -> bool {
        if self.state.fetch_add(what.one(), Ordering::Acquire) & barrier == 0 {
            return true;
        }
        self.leave(what);
        false
    }

    /// Enters as soon as the table is open.
    pub(super) fn enter(&self, what: Use, deadline: &Deadline) -> Result<()> {
        self.pass(what, what.barrier(), deadline)
    }

    /// Enters to write, from inside as a reader. An exclusive request waits for this transaction, which therefore does
    /// not wait for it.
    pub(super) fn enter_further(&self, deadline: &Deadline) -> Result<()> {
        self.pass(Use::Write, READ_ONLY, deadline)
    }

    fn pass(&self, what: Use, barrier: u64, deadline: &Deadline) -> Result<()> {
        loop {
            if self.try_pass(what, barrier) {
                return Ok(());
            }
            let sleep = deadline.next_sleep()?;
            let mut claims = self.claims.lock();
            if self.state.load(Ordering::Acquire) & barrier != 0 {
                self.changed.wait_for(&mut claims, sleep);
            }
        }
    }

    pub(super) fn leave(&self, what: Use) {
        let before = self.state.fetch_sub(what.one(), Ordering::Release);
        let after = before - what.one();
        if after & FLAGS != 0 && (after & !FLAGS == 0 || after & WRITERS == 0) {
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

    /// Closes the table to transactions that would write and are not inside as writers yet.
    pub(super) fn close_to_writers(&self) {
        let mut claims = self.claims.lock();
        claims.read_locks += 1;
        self.state.fetch_or(READ_ONLY, Ordering::AcqRel);
    }

    pub(super) fn open_to_writers(&self) {
        let mut claims = self.claims.lock();
        claims.read_locks -= 1;
        if claims.read_locks == 0 {
            self.state.fetch_and(!READ_ONLY, Ordering::AcqRel);
        }
        drop(claims);
        self.changed.notify_all();
    }

    /// Waits until nobody is inside; false when that did not happen by `until`.
    pub(super) fn drained(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
        self.wait_until(|state| state & !FLAGS == 0, until, deadline)
    }

    /// Waits until nobody writes and enters as a reader; false when that did not happen by `until`.
    pub(super) fn enter_without_writers(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
        loop {
            // A closed table can be open again within the round.
            if !self.wait_until(|state| state & (WRITERS | CLOSED) == 0, until, deadline)? {
                return Ok(false);
            }
            if self.try_enter(Use::Read) {
                return Ok(true);
            }
        }
    }

    fn wait_until(&self, is_so: impl Fn(u64) -> bool, until: Instant, deadline: &Deadline) -> Result<bool> {
        while !is_so(self.state.load(Ordering::Acquire)) {
            if Instant::now() >= until {
                return Ok(false);
            }
            let sleep = deadline.next_sleep()?;
            let mut claims = self.claims.lock();
            if !is_so(self.state.load(Ordering::Acquire)) {
                self.changed.wait_for(&mut claims, sleep);
            }
        }
        Ok(true)
    }

    /// Becomes the table's one schema change.
    pub(super) fn begin_change(&self, deadline: &Deadline) -> Result<()> {
        let mut claims = self.claims.lock();
        while claims.changing {
            let sleep = deadline.next_sleep()?;
            self.changed.wait_for(&mut claims, sleep);
        }
        claims.changing = true;
        Ok(())
    }

    /// [`TableLock::begin_change`], if that needs no wait.
    pub(super) fn try_begin_change(&self) -> bool {
        !std::mem::replace(&mut self.claims.lock().changing, true)
    }

    /// Whether nobody is inside.
    pub(super) fn is_empty(&self) -> bool {
        self.state.load(Ordering::Acquire) & !FLAGS == 0
    }

    pub(super) fn end_change(&self) {
        self.claims.lock().changing = false;
        self.changed.notify_all();
    }

    fn wake(&self) {
        // Through the mutex, so that nobody who has just looked at the state and not slept yet misses it.
        drop(self.claims.lock());
        self.changed.notify_all();
    }
}
