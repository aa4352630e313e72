//! The runner's clock. Tests have one that they advance themselves.

use std::time::{Duration, Instant};

/// Time since some start.
pub trait Clock: Sync {
    fn now(&self) -> Duration;
    /// Returns at `until`, or earlier if `stopped` returns true. Returns at once if that time has passed.
    fn sleep_until(&self, until: Duration, stopped: &dyn Fn() -> bool);
}

/// The machine's clock.
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
        // It sleeps for short times, so that it notices the end of a run.
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
