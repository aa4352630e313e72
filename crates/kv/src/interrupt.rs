//! Ending a statement early, by KILL or its time limit: whatever waits, and long scans, check it.

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::thread::{self, Thread};
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Deadlines are kept as nanoseconds since this moment.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
/// No deadline.
const NEVER: u64 = u64::MAX;

/// A flag shared by the thread that runs a statement and the threads that may interrupt it.
///
/// [`Interrupt::raise`] also wakes that thread where it waits. The flag stays set until [`Interrupt::clear`].
#[derive(Debug)]
pub struct Interrupt {
    raised: AtomicBool,
    /// When the statement's time limit ends.
    deadline_ns: AtomicU64,
    /// The owner of the locks of the transaction that the session has open, or had last; 0: none.
    transaction: AtomicU64,
    /// The session whose statements it ends; 0: none.
    session: u64,
    /// What the statement waits for, as SHOW PROCESSLIST says it; empty: it does not wait.
    waits_for: Mutex<&'static str>,
    /// The thread that sleeps in a wait. One connection runs one statement, so there is at most one.
    sleeper: Mutex<Option<Thread>>,
    /// That of the statement, if this one is of a part of it: see [`Interrupt::within`].
    statement: Option<Arc<Self>>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self {
            raised: AtomicBool::new(false),
            deadline_ns: AtomicU64::new(NEVER),
            transaction: AtomicU64::new(0),
            session: 0,
            waits_for: Mutex::new(""),
            sleeper: Mutex::new(None),
            statement: None,
        }
    }
}

impl Interrupt {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// That of a session, by its number.
    pub fn of_session(session: u64) -> Arc<Self> {
        Arc::new(Self {
            session,
            ..Self::default()
        })
    }

    /// One for a part of a statement whose threads may outlive the statement. It is raised with the statement's, and stays
    /// raised once [`Interrupt::raise`] has ended the part: that of the statement is cleared for the next statement, and
    /// a thread that looks only then would go on.
    pub fn within(statement: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            statement: Some(Arc::clone(statement)),
            session: statement.session,
            ..Self::default()
        })
    }

    /// The number of the session; 0: it is of none.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// What the statement waits for, as SHOW PROCESSLIST says it; empty: it does not wait, or for nothing that has a
    /// name.
    pub fn waits_for(&self) -> &'static str {
        *self.waits_for.lock()
    }

    /// Says what the statement waits for from now on, until the next call; empty: it does not wait any more.
    pub fn set_waits_for(&self, what: &'static str) {
        match &self.statement {
            Some(statement) => statement.set_waits_for(what),
            None => *self.waits_for.lock() = what,
        }
    }

    /// From `deadline` on it counts as raised; `None`: there is no time limit.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        let ns = deadline.map_or(NEVER, |at| {
            u64::try_from(at.saturating_duration_since(*EPOCH).as_nanos()).unwrap_or(NEVER)
        });
        self.deadline_ns.store(ns, Ordering::Relaxed);
    }

    /// How long a wait may last before it has to check again; `None`: forever.
    pub fn time_left(&self) -> Option<Duration> {
        if let Some(statement) = &self.statement {
            return statement.time_left();
        }
        let deadline = self.deadline_ns.load(Ordering::Relaxed);
        (deadline != NEVER).then(|| Duration::from_nanos(deadline).saturating_sub(EPOCH.elapsed()))
    }

    /// The owner of the locks of the transaction that the session has open, or had last; 0: none. Which of
    /// the two, the locks themselves say.
    pub fn transaction(&self) -> u64 {
        self.transaction.load(Ordering::Relaxed)
    }

    pub(crate) fn set_transaction(&self, owner: u64) {
        self.transaction.store(owner, Ordering::Relaxed);
    }

    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if let Some(thread) = self.sleeper.lock().as_ref() {
            thread.unpark();
        }
    }

    pub fn clear(&self) {
        self.raised.store(false, Ordering::SeqCst);
        self.set_deadline(None);
    }

    /// Whether the statement has to end.
    pub fn is_raised(&self) -> bool {
        self.is_killed() || self.is_late()
    }

    /// Whether [`Interrupt::raise`] has been called.
    pub fn is_killed(&self) -> bool {
        let statement = self.statement.as_ref();
        self.raised.load(Ordering::Relaxed) || statement.is_some_and(|statement| statement.is_killed())
    }

    /// Whether the deadline has passed.
    pub fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// # Errors
    /// [`Error::Interrupted`] once it is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_raised() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Makes [`Interrupt::raise`] unpark the calling thread as long as the guard lives.
    pub fn wake_me(&self) -> WakeGuard<'_> {
        self.set_sleeper(Some(&thread::current()));
        WakeGuard(self)
    }

    fn set_sleeper(&self, thread: Option<&Thread>) {
        *self.sleeper.lock() = thread.cloned();
        if let Some(statement) = &self.statement {
            statement.set_sleeper(thread);
        }
    }
}

/// See [`Interrupt::wake_me`].
pub struct WakeGuard<'a>(&'a Interrupt);

impl memory::WaitControl for Interrupt {
    fn left(&self) -> Option<Duration> {
        if self.is_killed() {
            return Some(Duration::ZERO);
        }
        self.time_left()
    }

    fn run(&self, wait: &mut dyn FnMut()) {
        let _awake = self.wake_me();
        wait();
    }
}

impl Drop for WakeGuard<'_> {
    fn drop(&mut self) {
        self.0.set_sleeper(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_raises_it_and_clearing_takes_it_away() {
        let interrupt = Interrupt::new();
        assert!(!interrupt.is_raised() && interrupt.time_left().is_none());
        interrupt.set_deadline(Some(Instant::now() + Duration::from_secs(3600)));
        assert!(!interrupt.is_raised() && interrupt.time_left().is_some());
        interrupt.set_deadline(Some(Instant::now()));
        assert!(interrupt.is_raised() && interrupt.is_late() && !interrupt.is_killed());
        interrupt.clear();
        assert!(!interrupt.is_raised());
        interrupt.raise();
        assert!(interrupt.is_raised() && interrupt.is_killed() && !interrupt.is_late());
    }

    #[test]
    fn that_of_a_part_is_raised_with_the_statement_and_stays_raised_after_it() {
        let statement = Interrupt::new();
        let part = Interrupt::within(&statement);
        assert!(!part.is_raised());
        statement.raise();
        assert!(part.is_killed());
        statement.clear();
        assert!(!part.is_raised());
        statement.set_deadline(Some(Instant::now()));
        assert!(part.is_late());
        statement.clear();
        part.raise();
        statement.clear();
        assert!(part.is_raised() && !statement.is_raised());
    }
}
