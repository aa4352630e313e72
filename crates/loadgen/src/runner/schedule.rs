//! When operations are sent: as soon as a client is free (closed loop), or at a fixed rate (open loop).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The turns of all workers of a run.
#[derive(Debug)]
pub struct Schedule {
    /// Operations per second over all workers.
    rate: Option<f64>,
    /// The largest number of turns.
    limit: Option<u64>,
    start_ns: AtomicU64,
    taken: AtomicU64,
}

/// One worker's turn to send an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// When it should be sent, in the clock's time; `None`: now. Latency counts from this time, however
    /// late the worker is. So a stall of the server shows in every operation that it delayed.
    pub intended: Option<Duration>,
}

impl Schedule {
    pub fn new(rate: Option<f64>, limit: Option<u64>) -> Self {
        Self {
            rate,
            limit,
            start_ns: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// The first turn is at this time.
    pub fn start(&self, at: Duration) {
        self.start_ns.store(at.as_nanos() as u64, Ordering::SeqCst);
    }

    /// The next turn; `None` when there are no more.
    pub fn take(&self) -> Option<Turn> {
        if self.rate.is_none() && self.limit.is_none() {
            return Some(Turn { intended: None });
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        if self.limit.is_some_and(|limit| number >= limit) {
            return None;
        }
        Some(Turn {
            intended: self.rate.map(|rate| self.at(number, rate)),
        })
    }

    fn at(&self, number: u64, rate: f64) -> Duration {
        Duration::from_nanos(self.start_ns.load(Ordering::SeqCst))
            + Duration::from_secs_f64(number as f64 / rate)
    }

    /// Turns that were due by `now` and that no worker has taken: how far the workers are behind.
    pub fn missed(&self, now: Duration) -> u64 {
        let Some(rate) = self.rate else { return 0 };
        let start = Duration::from_nanos(self.start_ns.load(Ordering::SeqCst));
        let mut due = (now.saturating_sub(start).as_secs_f64() * rate) as u64;
        if let Some(limit) = self.limit {
            due = due.min(limit);
        }
        due.saturating_sub(self.taken.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_at_a_rate_are_evenly_spaced_from_the_start() {
        let schedule = Schedule::new(Some(1000.0), None);
        schedule.start(Duration::from_secs(5));
        let intended: Vec<_> = (0..3)
            .map(|_| schedule.take().unwrap().intended.unwrap())
            .collect();
        assert_eq!(intended, [5000, 5001, 5002].map(Duration::from_millis));
        assert_eq!(schedule.missed(Duration::from_millis(5010)), 7);
        assert_eq!(schedule.missed(Duration::from_secs(1)), 0);
    }

    #[test]
    fn a_limit_ends_the_turns() {
        let schedule = Schedule::new(None, Some(2));
        assert_eq!(schedule.take(), Some(Turn { intended: None }));
        assert!(schedule.take().is_some());
        assert_eq!(schedule.take(), None);
        assert_eq!(schedule.missed(Duration::from_secs(9)), 0);
    }
}
