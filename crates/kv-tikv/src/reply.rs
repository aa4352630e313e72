//! A reply that an I/O thread delivers to the one thread that waits for it: one lock and one wake-up,
//! without a channel.

use crate::backoff::Until;
use kv::{Error, Interrupt, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an interrupted thread still waits for the reply, so that replies that come at once are not
/// lost.
const GRACE: Duration = Duration::from_millis(100);

/// The place of one reply.
pub struct Reply<T> {
    value: Mutex<Option<T>>,
    waiter: Thread,
}

impl<T> Reply<T> {
    /// Only the calling thread may wait for it.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            value: Mutex::new(None),
            waiter: thread::current(),
        })
    }

    pub fn deliver(&self, value: T) {
        *self.value.lock() = Some(value);
        self.waiter.unpark();
    }

    /// Waits for the reply; `None` if the deadline passes first.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; the reply may still come.
    pub fn wait(&self, until: Until) -> Result<Option<T>> {
        debug_assert_eq!(
            thread::current().id(),
            self.waiter.id(),
            "waits on another thread's reply"
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
                // The interrupt is raised by then.
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
        let reply = Reply::new();
        let sender = Arc::clone(&reply);
        let thread = thread::spawn(move || sender.deliver(7));
        assert_eq!(reply.wait(far.into()), Ok(Some(7)));
        thread.join().unwrap();
        assert_eq!(reply.wait(Instant::now().into()), Ok(None));
        let interrupt = Interrupt::new();
        let raiser = Arc::clone(&interrupt);
        let thread = thread::spawn(move || raiser.raise());
        let until = Until {
            deadline: far,
            interrupt: Some(&interrupt),
        };
        assert_eq!(reply.wait(until), Err(Error::Interrupted));
        thread.join().unwrap();
        // No other thread wakes the waiter when a statement's time limit passes, so the wait must end by
        // itself.
        interrupt.clear();
        interrupt.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
        assert_eq!(reply.wait(until), Err(Error::Interrupted));
    }
}
