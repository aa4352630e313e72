//! Waits that end at a deadline, or when the statement is interrupted.

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

/// A [`WaitLimit`] whose time runs.
pub struct Deadline<'a> {
    /// `None`: the timeout is beyond what the clock can represent (MySQL's default is 31,536,000 s).
    at: Option<Instant>,
    interrupt: &'a kv::Interrupt,
}

impl<'a> Deadline<'a> {
    pub fn new(limit: &WaitLimit<'a>) -> Self {
        Self {
            at: Instant::now().checked_add(limit.timeout),
            interrupt: limit.interrupt,
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
