//! The outcome of a commit, handed from the thread that learns it to the thread that waits for it.

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::{self, Thread};
use crate::timestamp::Timestamp;
use std::sync::Arc;

struct Shared {
    is_sent: AtomicBool,
    outcome: Mutex<Option<Result<Timestamp>>>,
    receiver: Thread,
}

/// For the thread that created it.
pub(crate) struct OutcomeReceiver(Arc<Shared>);

/// For the thread that learns the outcome. Dropped without [`OutcomeSender::send`], which is a defect, it
/// sends that the outcome is unknown.
pub(crate) struct OutcomeSender(Arc<Shared>);

pub(crate) fn outcome_channel() -> (OutcomeSender, OutcomeReceiver) {
    let shared = Arc::new(Shared {
        is_sent: AtomicBool::new(false),
        outcome: Mutex::new(None),
        receiver: thread::current(),
    });
    (OutcomeSender(Arc::clone(&shared)), OutcomeReceiver(shared))
}

impl OutcomeReceiver {
    pub fn wait(self) -> Result<Timestamp> {
        while !self.0.is_sent.load(Ordering::Acquire) {
            thread::park();
        }
        let outcome = self.0.outcome.lock().take();
        outcome.unwrap_or_else(|| Err(Error::Undetermined("the commit was cut short by a defect".into())))
    }
}

impl OutcomeSender {
    pub fn send(self, outcome: Result<Timestamp>) {
        *self.0.outcome.lock() = Some(outcome);
    }
}

impl Drop for OutcomeSender {
    fn drop(&mut self) {
        self.0.is_sent.store(true, Ordering::Release);
        self.0.receiver.unpark();
    }
}
