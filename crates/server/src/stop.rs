//! A flag that ends background threads and wakes those that sleep on it.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub struct Stop {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub fn set(&self) {
        *self.set.lock() = true;
        self.changed.notify_all();
    }

    pub fn is_set(&self) -> bool {
        *self.set.lock()
    }

    /// Sleeps for `timeout` or until [`Stop::set`]; returns whether it is set.
    pub fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut set = self.set.lock();
        while !*set {
            if self.changed.wait_until(&mut set, deadline).timed_out() {
                break;
            }
        }
        *set
    }

    /// Sleeps until it is set.
    pub fn wait_for_ever(&self) {
        let mut set = self.set.lock();
        while !*set {
            self.changed.wait(&mut set);
        }
    }
}
