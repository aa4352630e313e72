//! One thread waits for what another one finds out.

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::{self, Thread};
use crate::timestamp::Timestamp;
use std::sync::Arc;

struct Shared {
    is_kept: AtomicBool,
    outcome: Mutex<Option<Result<Timestamp>>>,
    waiting: Thread,
}

/// For the thread that has made it.
pub(crate) struct Ticket(Arc<Shared>);

/// For the one that knows. Dropped without a word, which is a defect, it says that nobody knows the outcome.
pub(crate) struct Promise(Arc<Shared>);

impl Ticket {
    pub fn new() -> (Self, Promise) {
        let shared = Arc::new(Shared {
            is_kept: AtomicBool::new(false),
            outcome: Mutex::new(None),
            waiting: thread::current(),
        });
        (Self(Arc::clone(&shared)), Promise(shared))
    }

    pub fn wait(self) -> Result<Timestamp> {
        while !self.0.is_kept.load(Ordering::Acquire) {
            thread::park();
        }
        let outcome = self.0.outcome.lock().take();
        outcome.unwrap_or_else(|| Err(Error::Undetermined("the commit was cut short by a defect".into())))
    }
}

impl Promise {
    pub fn keep(self, outcome: Result<Timestamp>) {
        *self.0.outcome.lock() = Some(outcome);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.0.is_kept.store(true, Ordering::Release);
        self.0.waiting.unpark();
    }
}
