//! Background threads that repeat a piece of work, and how they are woken and ended.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kv::defect;
use parking_lot::{Condvar, Mutex};
use types::{Error, Result};

/// How long to wait after work that failed.
pub const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The shortest time between two wake-ups, however many statements wait.
const WAKE_PAUSE: Duration = Duration::from_millis(50);

/// The stack of a thread, which binds expressions as deep as those of a connection.
const STACK_BYTES: usize = 16 << 20;

/// Ends or wakes the threads of one [`Workers`].
#[derive(Default)]
pub struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
    /// Ends statements that a worker runs.
    interrupt: Arc<kv::Interrupt>,
}

#[derive(Default)]
struct SignalState {
    stop: bool,
    /// How often the threads have been woken, and when last.
    wakes: u64,
    woken: Option<Instant>,
}

impl Signal {
    pub fn interrupt(&self) -> &Arc<kv::Interrupt> {
        &self.interrupt
    }

    /// Has the threads that wait for it work now: a statement waits for the result.
    pub(crate) fn wake(&self) {
        let mut state = self.state.lock();
        if state.woken.is_none_or(|at| at.elapsed() >= WAKE_PAUSE) {
            state.woken = Some(Instant::now());
            state.wakes += 1;
            self.changed.notify_all();
        }
    }

    /// Sleeps for `period`, or until the number of wake-ups is no longer `seen`. True: the thread must end.
    fn sleep(&self, period: Duration, seen: Option<u64>) -> bool {
        let until = Instant::now().checked_add(period);
        let mut state = self.state.lock();
        while !state.stop && seen.is_none_or(|seen| seen == state.wakes) {
            let is_over = match until {
                Some(until) => self.changed.wait_until(&mut state, until).timed_out(),
                None => {
                    self.changed.wait(&mut state);
                    false
                }
            };
            if is_over {
                break;
            }
        }
        state.stop
    }
}

/// When a worker's next round begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// After the time that the last round returned.
    ByTime,
    /// Also when [`Signal::wake`] is called.
    ByTimeOrSignal,
}

/// The threads of one owner.
#[derive(Default)]
pub struct Workers {
    pub(crate) signal: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    pub fn is_running(&self) -> bool {
        !self.threads.lock().is_empty()
    }

    /// Starts a thread that does `work` again and again until [`Workers::stop`] or until `owner` is dropped.
    /// `work` returns the time until its next round. A panic in it is logged, and the next round begins after
    /// [`AFTER_FAILURE`].
    ///
    /// # Errors
    /// 1105 when the operating system has no more threads.
    pub fn repeat<T: Send + Sync + 'static>(
        &self,
        owner: &Arc<T>,
        name: &str,
        wake: Wake,
        work: impl Fn(&T, &Signal) -> Duration + Send + 'static,
    ) -> Result<()> {
        let (owner, signal) = (Arc::downgrade(owner), Arc::clone(&self.signal));
        let doing = format!("the work of thread {name}");
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                loop {
                    let Some(owner) = owner.upgrade() else { return };
                    // A wake-up that arrives during the work starts the next round.
                    let seen = (wake == Wake::ByTimeOrSignal).then(|| signal.state.lock().wakes);
                    let period = defect::catch(&doing, || work(&owner, &signal)).unwrap_or(AFTER_FAILURE);
                    drop(owner);
                    if signal.sleep(period, seen) {
                        return;
                    }
                }
            })
            .map_err(|e| Error::internal(format!("cannot start the thread {name}: {e}")))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Ends the threads and waits for them.
    pub fn stop(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        if threads.is_empty() {
            return;
        }
        self.signal.state.lock().stop = true;
        self.signal.interrupt.raise();
        self.signal.changed.notify_all();
        for thread in threads {
            if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
                tracing::warn!("a background thread panicked");
            }
        }
    }
}
