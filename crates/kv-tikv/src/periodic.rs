//! A background thread that repeats its work at an interval.

use kv::defect;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[derive(Default)]
struct Stop {
    requested: Mutex<bool>,
    changed: Condvar,
}

/// See the module. Dropping it ends the thread, after the round that runs.
pub struct Periodic {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Periodic {
    /// Starts the thread. It waits for `interval` before each round, and ends when a round breaks. A panic
    /// in a round is logged, with `doing`, and the next round runs.
    pub fn start(
        name: &str,
        interval: Duration,
        doing: &'static str,
        mut round: impl FnMut() -> ControlFlow<()> + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let of_thread = Arc::clone(&stop);
        let run = move || {
            while !of_thread.wait(interval) {
                if let Ok(ControlFlow::Break(())) = defect::catch(doing, &mut round) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Stop {
    /// Sleeps; true once the thread must end.
    fn wait(&self, interval: Duration) -> bool {
        let mut requested = self.requested.lock();
        if !*requested {
            self.changed.wait_for(&mut requested, interval);
        }
        *requested
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        *self.stop.requested.lock() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
