//! One table's lock: how many transactions read and write the table, and which requests must wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use types::Result;

use crate::wait::Deadline;

/// Set while an exclusive request waits or is granted: no transaction can enter.
const CLOSED: u64 = 1 << 63;
/// Set while a session has, or waits for, the table by LOCK TABLES ... READ: no writer can enter.
const READ_ONLY: u64 = 1 << 62;
const FLAGS: u64 = CLOSED | READ_ONLY;
/// The other bits count the transactions inside: those that read in the lower half, those that write in the
/// upper.
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

    /// The flags that keep it out.
    fn barrier(self) -> u64 {
        match self {
            Self::Read => CLOSED,
            Self::Write => FLAGS,
        }
    }
}

pub(crate) struct TableLock {
    pub(crate) id: i64,
    state: AtomicU64,
    /// Those of the writers inside who wait for their turn to fill the table. They have written nothing yet.
    waiting_fillers: AtomicU64,
    /// Also guards the waits on `changed`.
    claims: Mutex<Claims>,
    changed: Condvar,
}

#[derive(Default)]
struct Claims {
    /// Whether a schema change, or a session by LOCK TABLES ... WRITE, has the table.
    changing: bool,
    /// Whether that is a statement that fills the table.
    filling: bool,
    /// Whether it has found no other writer. Transactions that wait to fill the table must then not write before it ends.
    fills_alone: bool,
    /// How many sessions have [`READ_ONLY`] set.
    read_locks: usize,
    /// How many of those that have it set will wait for all readers to end.
    refusals: usize,
    /// How many schema changes wait for the table.
    waiting_changes: usize,
}

/// A schema change that waits for a table.
pub(crate) struct WaitingChange<'a>(&'a TableLock);

impl Drop for WaitingChange<'_> {
    fn drop(&mut self) {
        self.0.claims.lock().waiting_changes -= 1;
    }
}

impl TableLock {
    pub(crate) fn new(id: i64) -> Self {
        Self {
            id,
            state: AtomicU64::new(0),
            waiting_fillers: AtomicU64::new(0),
            claims: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The fast path of every statement: one atomic addition.
    pub(crate) fn try_enter(&self, what: Use) -> bool {
        self.try_pass(what, what.barrier())
    }

    fn try_pass(&self, what: Use, barrier: u64) -> bool {
        if self.state.fetch_add(what.one(), Ordering::Acquire) & barrier == 0 {
            return true;
        }
        self.leave(what);
        false
    }

    /// [`TableLock::enter_further`], if that needs no wait.
    pub(crate) fn try_enter_further(&self) -> bool {
        self.try_pass(Use::Write, READ_ONLY)
    }

    /// Enters as soon as the table is open.
    pub(crate) fn enter(&self, what: Use, deadline: &Deadline) -> Result<()> {
        self.pass(what, what.barrier(), deadline)
    }

    /// Enters to write, for a transaction that is inside as a reader. It does not wait for an exclusive
    /// request, since that request waits for this transaction.
    ///
    /// # Errors
    /// 1213 if what keeps writers out waits for this transaction, too, or will do so.
    pub(crate) fn enter_further(&self, deadline: &Deadline) -> Result<()> {
        self.pass(Use::Write, READ_ONLY, deadline)
    }

    fn pass(&self, what: Use, barrier: u64, deadline: &Deadline) -> Result<()> {
        loop {
            if self.try_pass(what, barrier) {
                return Ok(());
            }
            let sleep = deadline.next_sleep()?;
            let mut claims = self.claims.lock();
            if claims.refusals > 0 && barrier == READ_ONLY {
                return Err(super::deadlock());
            }
            if self.state.load(Ordering::Acquire) & barrier != 0 {
                self.changed.wait_for(&mut claims, sleep);
            }
        }
    }

    pub(crate) fn leave(&self, what: Use) {
        let before = self.state.fetch_sub(what.one(), Ordering::Release);
        let after = before - what.one();
        if after & FLAGS != 0 && (after & !FLAGS == 0 || after & WRITERS == 0) {
            self.wake();
        }
    }

    /// Closes the table to transactions that are not inside yet.
    pub(crate) fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub(crate) fn open(&self) {
        self.state.fetch_and(!CLOSED, Ordering::AcqRel);
        self.wake();
    }

    /// Closes the table to transactions that would write and are not inside as writers yet.
    pub(crate) fn close_to_writers(&self) {
        let mut claims = self.claims.lock();
        claims.read_locks += 1;
        self.state.fetch_or(READ_ONLY, Ordering::AcqRel);
    }

    pub(crate) fn open_to_writers(&self) {
        let mut claims = self.claims.lock();
        claims.read_locks -= 1;
        if claims.read_locks == 0 {
            self.state.fetch_and(!READ_ONLY, Ordering::AcqRel);
        }
        drop(claims);
        self.changed.notify_all();
    }

    /// From now on, transactions that are inside as readers get error 1213 if they have to wait to write.
    pub(crate) fn refuse_further_writers(&self) {
        self.claims.lock().refusals += 1;
        self.changed.notify_all();
    }

    /// Ends one [`TableLock::refuse_further_writers`].
    pub(crate) fn admit_further_writers(&self) {
        self.claims.lock().refusals -= 1;
    }

    /// The caller, and transactions that wait to fill the table.
    fn fillers(&self) -> u64 {
        WRITER * (1 + self.waiting_fillers.load(Ordering::Acquire))
    }

    /// Waits until no other transaction writes than the caller, which fills the table; false when that did not happen
    /// by `until`. `readers_too`: until none reads, either.
    pub(crate) fn fills_alone(&self, readers_too: bool, until: Instant, deadline: &Deadline) -> Result<bool> {
        let mask = if readers_too { !FLAGS } else { WRITERS };
        let is_so = |state: u64| state & mask == self.fillers();
        while self.wait_until(is_so, until, deadline)? {
            // Under the mutex: a waiting transaction cannot give up its turn and write at the same time.
            let mut claims = self.claims.lock();
            if is_so(self.state.load(Ordering::Acquire)) {
                claims.fills_alone = true;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until no other transaction uses the table than the caller, which fills it, and transactions that wait for its turn
    /// to end; false when that did not happen by `until`.
    pub(crate) fn drained_but_one(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
        self.wait_until(|state| state & !FLAGS == self.fillers(), until, deadline)
    }

    /// Waits until no transaction is inside; false when that did not happen by `until`.
    pub(crate) fn drained(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
        self.wait_until(|state| state & !FLAGS == 0, until, deadline)
    }

    /// Waits until no transaction writes; false when that did not happen by `until`.
    pub(crate) fn left_by_writers(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
        self.wait_until(|state| state & WRITERS == 0, until, deadline)
    }

    /// Waits until no transaction writes, and enters as a reader; false when that did not happen by `until`.
    pub(crate) fn enter_without_writers(&self, until: Instant, deadline: &Deadline) -> Result<bool> {
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

    /// Becomes the table's only schema change.
    pub(crate) fn begin_change(&self, deadline: &Deadline) -> Result<()> {
        let mut claims = self.claims.lock();
        while claims.changing {
            let sleep = deadline.next_sleep()?;
            self.changed.wait_for(&mut claims, sleep);
        }
        claims.changing = true;
        Ok(())
    }

    /// Counts a schema change among those that wait for the table, until the result is dropped.
    pub(crate) fn change_waits(&self) -> WaitingChange<'_> {
        self.claims.lock().waiting_changes += 1;
        WaitingChange(self)
    }

    /// Whether a schema change waits for the table, now or between two rounds.
    pub(crate) fn has_waiting_change(&self) -> bool {
        self.claims.lock().waiting_changes > 0
    }

    /// [`TableLock::begin_change`], if that needs no wait.
    pub(crate) fn try_begin_change(&self) -> bool {
        !std::mem::replace(&mut self.claims.lock().changing, true)
    }

    /// Becomes the one that fills the table, for a transaction that is inside as a writer and has written nothing.
    /// Waits for others that do. `false`: a definition changes, or it is not its turn by `until`. Where another one
    /// counts on being alone, it is waited for in any case: the caller would write beside it.
    pub(crate) fn begin_filling(&self, until: Option<Instant>, deadline: &Deadline) -> Result<bool> {
        let mut claims = self.claims.lock();
        while claims.changing {
            let mut sleep = deadline.next_sleep()?;
            if !claims.filling {
                return Ok(false);
            }
            if let Some(until) = until.filter(|_| !claims.fills_alone) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(false);
                }
                sleep = sleep.min(left);
            }
            self.waiting_fillers.fetch_add(1, Ordering::AcqRel);
            self.changed.wait_for(&mut claims, sleep);
            self.waiting_fillers.fetch_sub(1, Ordering::AcqRel);
        }
        (claims.changing, claims.filling) = (true, true);
        Ok(true)
    }

    /// Whether no transaction is inside.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.load(Ordering::Acquire) & !FLAGS == 0
    }

    /// Whether no transaction is inside that writes.
    pub(crate) fn has_no_writers(&self) -> bool {
        self.state.load(Ordering::Acquire) & WRITERS == 0
    }

    pub(crate) fn end_change(&self) {
        let mut claims = self.claims.lock();
        (claims.changing, claims.filling, claims.fills_alone) = (false, false, false);
        drop(claims);
        self.changed.notify_all();
    }

    fn wake(&self) {
        // With the mutex, so that a thread that has read the state and is about to sleep does not miss it.
        drop(self.claims.lock());
        self.changed.notify_all();
    }
}
