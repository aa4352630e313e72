//! A reply that an I/O thread delivers to the one thread that waits for it: one lock and one wake-up, without
//! a channel. The waiting thread need not be the one that sent the request.

use crate::backoff::Until;
use kv::{Error, Interrupt, Result};
use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an interrupted thread still waits for the reply, so that replies that come at once are not
/// lost.
const GRACE: Duration = Duration::from_millis(20);

/// Holds one reply.
pub struct Reply<T> {
    state: Mutex<State<T>>,
}

enum State<T> {
    Empty,
    Awaited(Thread),
    Delivered(T),
}

impl<T> Reply<T> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::Empty),
        })
    }

    pub fn deliver(&self, value: T) {
        let before = mem::replace(&mut *self.state.lock(), State::Delivered(value));
        if let State::Awaited(waiter) = before {
            waiter.unpark();
        }
    }

    /// The reply, if it is there. Otherwise the calling thread is unparked when it comes.
    fn take(&self) -> Option<T> {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, State::Empty) {
            State::Delivered(value) => Some(value),
            State::Empty | State::Awaited(_) => {
                *state = State::Awaited(thread::current());
                None
            }
        }
    }

    /// Waits for the reply; `None` if the deadline passes first. One thread at a time may wait.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; the reply may still come.
    pub fn wait(&self, until: Until) -> Result<Option<T>> {
        let Until { deadline, interrupt } = until;
        let _wake_guard = interrupt.map(Interrupt::wake_me);
        let mut grace_end = None;
        loop {
            if let Some(value) = self.take() {
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

    #[test]
    fn another_thread_than_the_one_that_asked_is_woken() {
        let began = Instant::now();
        let far = began + Duration::from_secs(60);
        let reply = Reply::new();
        // A thread that gave up must not stay registered for the wake-up.
        assert_eq!(reply.wait(Instant::now().into()), Ok(None));
        thread::scope(|scope| {
            let waiter = scope.spawn(|| reply.wait(far.into()));
            thread::sleep(Duration::from_millis(50));
            reply.deliver(7);
            assert_eq!(waiter.join().unwrap(), Ok(Some(7)));
        });
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
