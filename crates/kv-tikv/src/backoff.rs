//! Retries with growing pauses, until a deadline or an interrupt.

use kv::{Error, Interrupt, Part, Result};
use std::thread;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// When a wait ends: at a deadline, or earlier when the interrupt is raised.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    pub deadline: Instant,
    pub interrupt: Option<&'a Interrupt>,
}

impl From<Instant> for Until<'static> {
    /// Without an interrupt.
    fn from(deadline: Instant) -> Self {
        Self {
            deadline,
            interrupt: None,
        }
    }
}

/// How long one operation may go on retrying.
pub struct Backoff<'a> {
    pub deadline: Instant,
    pub interrupt: Option<&'a Interrupt>,
    pauses: u32,
    /// Retries without a pause since the last pause.
    immediate_retries: u32,
    /// Requests without a response.
    pub failures: u32,
    /// The reason for the last pause, as the error that it becomes if no time is left.
    last_reason: Option<Error>,
}

impl<'a> Backoff<'a> {
    pub fn new(patience: Duration, interrupt: Option<&'a Interrupt>) -> Self {
        let now = Instant::now();
        Self {
            // A deadline that cannot be represented becomes one year.
            deadline: now
                .checked_add(patience)
                .unwrap_or(now + Duration::from_secs(365 * 24 * 3600)),
            interrupt,
            pauses: 0,
            immediate_retries: 0,
            failures: 0,
            last_reason: None,
        }
    }

    /// The time that one request may take, at most what is left.
    pub fn request(&self, timeout: Duration) -> Until<'a> {
        Until {
            deadline: self.deadline.min(Instant::now() + timeout),
            interrupt: self.interrupt,
        }
    }

    /// All the time that is left.
    pub fn until(&self) -> Until<'a> {
        Until {
            deadline: self.deadline,
            interrupt: self.interrupt,
        }
    }

    pub fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Retries at once, or pauses after too many retries in a row.
    pub fn retry_at_once(&mut self, part: Part, reason: &dyn std::fmt::Display) -> Result<()> {
        self.immediate_retries += 1;
        if self.immediate_retries > 8 {
            return self.pause(part, reason);
        }
        Ok(())
    }

    /// Pauses because of `part`.
    ///
    /// # Errors
    /// [`Error::ClusterTimeout`] with the reason once the deadline has passed, [`Error::Interrupted`].
    pub fn pause(&mut self, part: Part, reason: &dyn std::fmt::Display) -> Result<()> {
        let longest = FIRST_PAUSE * 2_u32.pow(self.pauses.min(10));
        self.pause_at_least(Duration::ZERO, longest.min(LONGEST_PAUSE), part, reason)
    }

    /// [`Backoff::pause`], with a length that the other side proposes.
    pub fn pause_at_least(
        &mut self,
        shortest: Duration,
        longest: Duration,
        part: Part,
        reason: &dyn std::fmt::Display,
    ) -> Result<()> {
        self.immediate_retries = 0;
        self.pauses += 1;
        let pause = shortest.max(longest / 2 + jitter(longest / 2));
        let now = Instant::now();
        let error = Error::ClusterTimeout {
            part,
            reason: reason.to_string(),
        };
        if now >= self.deadline {
            return Err(error);
        }
        self.last_reason = Some(error);
        self.sleep_until((now + pause).min(self.deadline))
    }

    /// The error to report when PD did not respond within the time that was left: the reason for the pause
    /// that used up the time, if there was one.
    pub fn explain(&self, error: Error) -> Error {
        match (&self.last_reason, error) {
            (Some(reason), Error::ClusterTimeout { .. }) => reason.clone(),
            (_, error) => error,
        }
    }

    fn sleep_until(&self, end: Instant) -> Result<()> {
        let _wake_guard = self.interrupt.map(Interrupt::wake_me);
        loop {
            if let Some(interrupt) = self.interrupt {
                interrupt.check()?;
            }
            let remaining = end.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Ok(());
            }
            let left = self.interrupt.and_then(Interrupt::time_left);
            thread::park_timeout(left.map_or(remaining, |left| left.min(remaining)));
        }
    }
}

/// A random part of `most`, so that callers that were refused together do not retry together.
fn jitter(most: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(0) % 1_000;
    most.mul_f64(random as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_and_an_interrupt_ends_it_sooner() {
        let mut backoff = Backoff::new(Duration::from_millis(20), None);
        let mut pauses = 0;
        let error = loop {
            match backoff.pause(Part::Region, &"why") {
                Ok(()) => pauses += 1,
                Err(error) => break error,
            }
        };
        let expected = Error::ClusterTimeout {
            part: Part::Region,
            reason: "why".into(),
        };
        assert_eq!(error, expected);
        let at_pd = Error::ClusterTimeout {
            part: Part::Oracle,
            reason: "no answer in time".into(),
        };
        assert_eq!(backoff.explain(at_pd.clone()), expected);
        assert_eq!(Backoff::new(Duration::ZERO, None).explain(at_pd.clone()), at_pd);
        assert!((2..30).contains(&pauses), "{pauses}");
        let interrupt = Interrupt::new();
        interrupt.raise();
        let mut backoff = Backoff::new(Duration::from_secs(60), Some(&interrupt));
        assert_eq!(backoff.pause(Part::Store, &"why"), Err(Error::Interrupted));
    }
}
