//! Large statements that wait for memory, in the order in which they came.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::pool::Pool;

/// How much somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Bytes to be waited for.
    pub least: usize,
    /// More than that is of no use. In between, who asks gets a part of what is free.
    pub most: usize,
    /// What is to stay free: for those who ask for all or nothing, and would wait long among many who do not.
    pub leave: usize,
}

impl Ask {
    /// Of what is free, what somebody gets who can do with less than it wants: an eighth, so that those who come after
    /// it get something too.
    const PART: usize = 8;

    /// All of it, or nothing.
    pub fn exactly(bytes: usize) -> Self {
        Self {
            least: bytes,
            most: bytes,
            leave: 0,
        }
    }

    /// How much of `pool` there is for it, if there is enough.
    pub(crate) fn of(self, pool: &Pool) -> Option<usize> {
        let leave = self.leave.min(pool.capacity / 2);
        let free = pool.free().saturating_sub(leave);
        // What is more than there will ever be is had by whoever is alone.
        let least = self.least.min(pool.capacity - leave);
        (least <= free).then(|| (free / Self::PART).clamp(least, self.most.max(least)))
    }
}

/// What ends a wait for memory early.
pub trait Patience {
    /// How long it may last from now on; zero: it is over. `None`: nothing limits it.
    fn left(&self) -> Option<Duration>;

    /// Runs `wait` on this thread, which is unparked when the wait is to end.
    fn run(&self, wait: &mut dyn FnMut());
}

/// How often a statement that waits looks whether the process has given memory back.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Arc<Waiter>>,
}

pub(crate) struct Waiter {
    thread: Thread,
    ask: Ask,
    /// What it has got; 0: nothing so far.
    given: AtomicUsize,
}

impl Waiter {
    pub fn given(&self) -> Option<usize> {
        match self.given.load(Ordering::Acquire) {
            0 => None,
            bytes => Some(bytes),
        }
    }

    /// Sleeps until it has got something or the wait is to end; `look` is run now and then.
    pub fn sleep(&self, patience: &dyn Patience, longest: Duration, look: &mut dyn FnMut()) {
        let over = Instant::now() + longest;
        patience.run(&mut || {
            while self.given().is_none() {
                let left = over.saturating_duration_since(Instant::now());
                let left = patience.left().map_or(left, |own| own.min(left));
                if left.is_zero() {
                    return;
                }
                thread::park_timeout(left.min(LOOK_AGAIN));
                if self.given().is_none() {
                    look();
                }
            }
        });
    }
}

impl Queue {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn join(&mut self, ask: Ask) -> Arc<Waiter> {
        let waiter = Arc::new(Waiter {
            thread: thread::current(),
            ask,
            given: AtomicUsize::new(0),
        });
        self.waiting.push_back(Arc::clone(&waiter));
        waiter
    }

    pub fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.waiting.retain(|other| !Arc::ptr_eq(other, waiter));
    }

    /// Gives to those who came first, until there is not enough for the next one.
    pub fn serve(&mut self, take: &mut dyn FnMut(Ask) -> Option<usize>) {
        while let Some(first) = self.waiting.front()
            && let Some(bytes) = take(first.ask)
        {
            first.given.store(bytes, Ordering::Release);
            first.thread.unpark();
            self.waiting.pop_front();
        }
    }
}
