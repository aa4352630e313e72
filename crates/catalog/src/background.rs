//! The catalog's own thread: schema changes that were interrupted, and the garbage queue.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use types::{Error, Result};

use crate::Catalog;

/// How often the queues are looked at.
const PERIOD: Duration = Duration::from_secs(5);

/// The running thread, and how to end it.
pub(crate) struct Background {
    signal: Arc<Signal>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Signal {
    stop: Mutex<bool>,
    changed: Condvar,
    /// Ends a resumed schema change.
    interrupt: Arc<kv::Interrupt>,
}

impl Catalog {
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
        let (weak, seen) = (Arc::downgrade(self), Arc::clone(&signal));
        let thread = std::thread::Builder::new()
            .name("catalog".to_owned())
            .spawn(move || {
                loop {
                    let Some(catalog) = weak.upgrade() else { return };
                    catalog.work_in_background(&seen);
                    drop(catalog);
                    let mut stop = seen.stop.lock();
                    if !*stop {
                        seen.changed.wait_for(&mut stop, PERIOD);
                    }
                    if *stop {
                        return;
                    }
                }
            })
            .map_err(|e| Error::internal(format!("cannot start the catalog's thread: {e}")))?;
        *running = Some(Background { signal, thread });
        Ok(())
    }

    fn work_in_background(&self, signal: &Signal) {
        self.resume_jobs(&signal.interrupt);
        if let Err(error) = self.run_gc_queue() {
            tracing::warn!(%error, "destroying dropped data failed; it is tried again");
        }
    }

    pub(crate) fn stop_background(&self) {
        let Some(Background { signal, thread }) = self.background.lock().take() else {
            return;
        };
        *signal.stop.lock() = true;
        signal.interrupt.raise();
        signal.changed.notify_all();
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            tracing::warn!("the catalog's thread panicked");
        }
    }
}
