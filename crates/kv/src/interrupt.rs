//! The kill flag of a statement: lock waits and long scans look at it.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// A flag shared between the thread that runs a statement and whoever may interrupt it.
///
/// [`Interrupt::raise`] also wakes that thread if it waits for a lock. The flag stays up until [`Interrupt::clear`].
#[derive(Debug, Default)]
pub struct Interrupt {
    raised: AtomicBool,
    /// Who sleeps in a lock wait, to be woken. One connection runs one statement, so there is at most one.
    sleeper: Mutex<Option<Thread>>,
}

impl Interrupt {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if let Some(thread) = self.sleeper.lock().as_ref() {
            thread.unpark();
        }
    }

    pub fn clear(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }

    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// [`Error::Interrupted`] once the flag is up.
    pub fn check(&self) -> Result<()> {
        if self.is_raised() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Has [`Interrupt::raise`] unpark the calling thread for as long as the guard lives.
    pub fn wake_me(&self) -> WakeGuard<'_> {
        *self.sleeper.lock() = Some(thread::current());
        WakeGuard(self)
    }
}

/// See [`Interrupt::wake_me`].
pub struct WakeGuard<'a>(&'a Interrupt);

impl Drop for WakeGuard<'_> {
    fn drop(&mut self) {
        *self.0.sleeper.lock() = None;
    }
}
