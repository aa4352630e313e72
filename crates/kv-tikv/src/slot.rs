//! The hand-over of an answer from an I/O thread to the thread that waits for it: one lock, one wake-up, no channel.

use crate::backoff::Until;
use kv::{Error, Interrupt, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an answer is waited for although an interrupt is raised: what needs no waiting is not interrupted.
const GRACE: Duration = Duration::from_millis(100);

/// Where one answer will be.
pub struct Slot<T> {
    value: Mutex<Option<T>>,
    waiter: Thread,
}

impl<T> Slot<T> {
    /// For the calling thread to wait on.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            value: Mutex::new(None),
            waiter: thread::current(),
        })
    }

    pub fn fill(&self, value: T) {
        *self.value.lock() = Some(value);
        self.waiter.unpark();
    }

    /// The answer; `None` if it has not come by the deadline.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; the answer may still come.
    pub fn wait(&self, until: Until) -> Result<Option<T>> {
        debug_assert_eq!(
            thread::current().id(),
            self.waiter.id(),
            "waits on another thread's slot"
        );
        let Until { deadline, interrupt } = until;
        let _wake_guard = interrupt.map(Interrupt::wake_me);
        let mut grace_end = None;
        loop {
            if let Some(value) = self.value.lock().take() {
                return Ok(Some(value));
            }
            let now = Instant::now();
            let remaining = deadline.saturating_duration_since(now);
            let mut pause = remaining;
            if interrupt.is_some_and(Interrupt::is_raised) {
                let grace = grace_end
                    .get_or_insert(now + GRACE)
                    .saturating_duration_since(now);
                if grace.is_zero() {
                    return Err(Error::Interrupted);
                }
                pause = pause.min(grace);
            } else if let Some(left) = interrupt.and_then(Interrupt::time_left) {
                // By then it is raised.
                pause = pause.min(left);
            }
            if remaining.is_zero() {
                return Ok(None);
            }
            thread::park_timeout(pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_an_interrupt_and_the_deadline_end_the_wait() {
        let far = Instant::now() + Duration::from_secs(60);
        let slot = Slot::new();
        let filler = Arc::clone(&slot);
        let thread = thread::spawn(move || filler.fill(7));
        assert_eq!(slot.wait(far.into()), Ok(Some(7)));
        thread.join().unwrap();
        assert_eq!(slot.wait(Instant::now().into()), Ok(None));
        let interrupt = Interrupt::new();
        let raiser = Arc::clone(&interrupt);
        let thread = thread::spawn(move || raiser.raise());
        let until = Until {
            deadline: far,
            interrupt: Some(&interrupt),
        };
        assert_eq!(slot.wait(until), Err(Error::Interrupted));
        thread.join().unwrap();
        // A statement's time limit is nobody's call: the wait has to end by itself.
        interrupt.clear();
        interrupt.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
        assert_eq!(slot.wait(until), Err(Error::Interrupted));
    }
}
