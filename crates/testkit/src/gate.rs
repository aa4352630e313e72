//! A place in the code where threads wait until a test lets them continue.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Longer than any step of a test takes.
const LONG: Duration = Duration::from_secs(20);

#[derive(Debug)]
struct State {
    is_open: bool,
    waiting: usize,
}

/// The test's end. Threads wait until it is dropped.
#[derive(Debug)]
pub struct Gate(Arc<Place>);

/// The threads' end. It is open by default.
#[derive(Debug)]
pub(crate) struct Place {
    state: Mutex<State>,
    changed: Condvar,
}

impl Place {
    fn new(is_open: bool) -> Self {
        Self {
            state: Mutex::new(State { is_open, waiting: 0 }),
            changed: Condvar::new(),
        }
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Place::new(false)))
    }

    pub(crate) fn place(&self) -> Arc<Place> {
        Arc::clone(&self.0)
    }

    /// Waits until so many threads wait at the gate.
    ///
    /// # Panics
    /// If they do not come within a long time.
    pub fn wait_for(&self, threads: usize) {
        let mut state = self.0.state.lock();
        while state.waiting < threads {
            let timed_out = self.0.changed.wait_for(&mut state, LONG).timed_out();
            assert!(!timed_out || state.waiting >= threads, "nobody comes to the gate");
        }
    }

    /// How many threads wait at the gate.
    pub fn waiting(&self) -> usize {
        self.0.state.lock().waiting
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.0.state.lock().is_open = true;
        self.0.changed.notify_all();
    }
}

impl Place {
    pub fn pass(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.changed.notify_all();
        while !state.is_open {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
    }
}
