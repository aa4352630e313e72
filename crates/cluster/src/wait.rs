//! Waits that end at a deadline, or when the statement is interrupted. While they last, SHOW PROCESSLIST says what
//! the session waits for.

use std::cell::Cell;
use std::time::{Duration, Instant};

use types::{Error, Result, errno};

/// How often a wait checks for an interrupt.
const INTERRUPT_CHECK: Duration = Duration::from_millis(20);

/// How long a statement may wait.
#[derive(Clone)]
pub struct WaitLimit<'a> {
    /// `lock_wait_timeout`, for a metadata lock.
    pub timeout: Duration,
    pub interrupt: &'a kv::Interrupt,
}

/// What a session waits for, in the words of SHOW PROCESSLIST.
pub mod state {
    pub const TABLE: &str = "Waiting for table metadata lock";
    pub const ALL_TABLES: &str = "Waiting for global read lock";
    pub const BACKUP: &str = "Waiting for backup lock";
}

/// A [`WaitLimit`] whose time runs.
pub struct Deadline<'a> {
    /// `None`: the timeout is beyond what the clock can represent (MySQL's default is 31,536,000 s).
    at: Option<Instant>,
    interrupt: &'a kv::Interrupt,
    /// What others see that it waits for; empty: nothing.
    state: &'static str,
    is_shown: Cell<bool>,
}

impl<'a> Deadline<'a> {
    pub fn new(limit: &WaitLimit<'a>) -> Self {
        Self::showing(limit, "")
    }

    /// One of [`state`] is shown from the first sleep until this is dropped.
    pub fn showing(limit: &WaitLimit<'a>, state: &'static str) -> Self {
        Self {
            at: Instant::now().checked_add(limit.timeout),
            interrupt: limit.interrupt,
            state,
            is_shown: Cell::new(false),
        }
    }

    /// How long to sleep before the condition is checked again.
    ///
    /// # Errors
    /// 1205 after the deadline, 1317 when interrupted.
    pub fn next_sleep(&self) -> Result<Duration> {
        if self.interrupt.is_raised() {
            return Err(Error::new(
                errno::ER_QUERY_INTERRUPTED,
                "Query execution was interrupted",
            ));
        }
        if !self.state.is_empty() && !self.is_shown.replace(true) {
            self.interrupt.set_waits_for(self.state);
        }
        let Some(at) = self.at else {
            return Ok(INTERRUPT_CHECK);
        };
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(
                errno::ER_LOCK_WAIT_TIMEOUT,
                "Lock wait timeout exceeded; try restarting transaction",
            ));
        }
        Ok(left.min(INTERRUPT_CHECK))
    }

    /// Sleeps for `time`.
    ///
    /// # Errors
    /// Those of [`Deadline::next_sleep`].
    pub fn sleep(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            std::thread::sleep(self.next_sleep()?);
        }
        Ok(())
    }
}

impl Drop for Deadline<'_> {
    fn drop(&mut self) {
        if self.is_shown.get() {
            self.interrupt.set_waits_for("");
        }
    }
}
