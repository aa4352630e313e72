//! Time as the runner sees it; tests have one that they move by hand.

use std::time::{Duration, Instant};

/// Time since some start.
pub trait Clock: Sync {
    fn now(&self) -> Duration;
    /// Returns at `until`, or earlier when `stopped` says so. At once where that has passed.
    fn sleep_until(&self, until: Duration, stopped: &dyn Fn() -> bool);
}

/// The machine's.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep_until(&self, until: Duration, stopped: &dyn Fn() -> bool) {
        // Short naps, so that the end of a run is noticed.
        const NAP: Duration = Duration::from_millis(100);
        loop {
            let left = until.saturating_sub(self.now());
            if left.is_zero() || stopped() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}
