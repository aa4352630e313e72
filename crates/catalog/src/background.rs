//! The catalog's own threads: for schema changes that were interrupted and for the garbage queue, and, where other processes
//! use the same store, one that follows what they change and one that keeps the lease.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kv::defect;
use parking_lot::{Condvar, Mutex};
use types::{Error, Result};

use crate::Catalog;

/// How often the queues are looked at.
const PERIOD: Duration = Duration::from_secs(5);
/// The same where a job can be left behind by another node at any time, and holds up others until it is taken over.
const SHARED_PERIOD: Duration = Duration::from_millis(500);
/// How long to leave a store alone that could not be asked.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long at least between two calls to hurry, however many statements wait.
const CALL_PAUSE: Duration = Duration::from_millis(50);

/// The running threads, and how to end them.
pub(crate) struct Background {
    signal: Arc<Signal>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
    /// Ends a resumed schema change.
    interrupt: Arc<kv::Interrupt>,
}

#[derive(Default)]
struct SignalState {
    stop: bool,
    /// How often threads have been asked to hurry, and when last.
    calls: u64,
    called: Option<Instant>,
}

impl Signal {
    fn call(&self) {
        let mut state = self.state.lock();
        if state.called.is_none_or(|at| at.elapsed() >= CALL_PAUSE) {
            state.called = Some(Instant::now());
            state.calls += 1;
            self.changed.notify_all();
        }
    }

    /// Sleeps for `period`, or until there are other calls than those `heard`. True: the thread is to end.
    fn sleep(&self, period: Duration, heard: Option<u64>) -> bool {
        let until = Instant::now().checked_add(period);
        let mut state = self.state.lock();
        while !state.stop && heard.is_none_or(|heard| heard == state.calls) {
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

impl Catalog {
    /// Has the threads that keep the lease and follow the store look at once: a statement waits for them.
    pub(crate) fn hurry(&self) {
        if let Some(background) = &*self.background.lock() {
            background.signal.call();
        }
    }

    /// Starts the background thread: resumes schema changes that a crash interrupted, then keeps destroying what was
    /// dropped. Ends with [`Catalog::close`], or with the catalog.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub fn start_background(self: &Arc<Self>) -> Result<()> {
        let mut running = self.background.lock();
        if running.is_some() {
            return Ok(());
        }
        let signal = Arc::new(Signal::default());
        let mut threads = vec![self.repeat("catalog", &signal, false, |catalog, signal| {
            catalog.resume_jobs(&signal.interrupt);
            if catalog.membership.is_some() {
                return SHARED_PERIOD;
            }
            catalog.collect_dropped();
            PERIOD
        })?];
        if self.membership.is_some() {
            // Apart from each other: each may have to wait for a part of the store, and the others must not.
            threads.push(self.repeat("catalog-garbage", &signal, false, |catalog, _| {
                catalog.collect_dropped();
                PERIOD
            })?);
            threads.push(self.repeat("catalog-lease", &signal, true, |catalog, _| {
                if let Err(error) = catalog.keep_lease() {
                    tracing::warn!(%error, "the lease in the store could not be renewed; it is tried again");
                }
                catalog.lease_interval()
            })?);
            threads.push(self.repeat("catalog-follow", &signal, true, |catalog, _| {
                if let Err(error) = catalog.tick() {
                    tracing::warn!(%error, "the store could not be asked for changed definitions");
                    return AFTER_FAILURE;
                }
                catalog.poll_interval()
            })?);
        }
        *running = Some(Background { signal, threads });
        Ok(())
    }

    /// A thread that does `work`, again after the time that it says, or at once when it is called and `hears` that.
    fn repeat(
        self: &Arc<Self>,
        name: &str,
        signal: &Arc<Signal>,
        hears: bool,
        work: impl Fn(&Self, &Signal) -> Duration + Send + 'static,
    ) -> Result<JoinHandle<()>> {
        let (weak, signal) = (Arc::downgrade(self), Arc::clone(signal));
        let doing = format!("the work of thread {name}");
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                loop {
                    let Some(catalog) = weak.upgrade() else { return };
                    // One that comes while the thread works is for the next look.
                    let heard = hears.then(|| signal.state.lock().calls);
                    // A panic is logged. The others' work goes on, and this in the next round.
                    let period = defect::catch(&doing, || work(&catalog, &signal)).unwrap_or(AFTER_FAILURE);
                    drop(catalog);
                    if signal.sleep(period, heard) {
                        return;
                    }
                }
            })
            .map_err(|e| Error::internal(format!("cannot start the catalog's thread: {e}")))
    }

    pub(crate) fn collect_dropped(&self) {
        if let Err(error) = self.run_gc_queue() {
            tracing::warn!(%error, "destroying dropped data failed; it is tried again");
        }
    }

    pub(crate) fn stop_background(&self) {
        let Some(Background { signal, threads }) = self.background.lock().take() else {
            return;
        };
        signal.state.lock().stop = true;
        signal.interrupt.raise();
        signal.changed.notify_all();
        for thread in threads {
            if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
                tracing::warn!("a thread of the catalog panicked");
            }
        }
    }
}
