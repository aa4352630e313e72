//! Large statements that wait for memory, in order of arrival.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::pool::Pool;

/// How much memory a statement requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRequest {
    /// The least, for which it waits.
    pub least: usize,
    /// The most that it can use. It gets a part of what is free, between the two.
    pub most: usize,
    /// How much has to stay free for all-or-nothing requests. Among many that take less they would wait long.
    pub leave: usize,
}

impl MemoryRequest {
    /// If a request can use less than its maximum, it gets this part of the free memory, an eighth, so that
    /// later requests get some too.
    const PART: usize = 8;

    /// All of it, or nothing.
    pub fn exactly(bytes: usize) -> Self {
        Self {
            least: bytes,
            most: bytes,
            leave: 0,
        }
    }

    /// How much of `pool` it gets, if there is enough.
    pub(crate) fn of(self, pool: &Pool) -> Option<usize> {
        let leave = self.leave.min(pool.capacity / 2);
        let free = pool.free().saturating_sub(leave);
        // A request for more than the whole pool is granted when no other holder has anything.
        let least = self.least.min(pool.capacity - leave);
        (least <= free).then(|| (free / Self::PART).clamp(least, self.most.max(least)))
    }
}

/// Ends a wait for memory early.
pub trait WaitControl {
    /// How long the wait may still last; zero: it has to end. `None`: no limit.
    fn left(&self) -> Option<Duration>;

    /// Runs `wait` on this thread, and unparks the thread when the wait has to end.
    fn run(&self, wait: &mut dyn FnMut());
}

/// How often a waiting statement checks whether the process has returned memory.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Arc<Waiter>>,
}

pub(crate) struct Waiter {
    thread: Thread,
    request: MemoryRequest,
    /// The bytes that it has been granted; 0: not yet.
    granted: AtomicUsize,
}

impl Waiter {
    pub fn granted(&self) -> Option<usize> {
        match self.granted.load(Ordering::Acquire) {
            0 => None,
            bytes => Some(bytes),
        }
    }

    /// Sleeps until memory is granted or the wait has to end. Calls `look` at intervals.
    pub fn sleep(&self, control: &dyn WaitControl, longest: Duration, look: &mut dyn FnMut()) {
        let over = Instant::now() + longest;
        control.run(&mut || {
            while self.granted().is_none() {
                let left = over.saturating_duration_since(Instant::now());
                let left = control.left().map_or(left, |own| own.min(left));
                if left.is_zero() {
                    return;
                }
                thread::park_timeout(left.min(LOOK_AGAIN));
                if self.granted().is_none() {
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

    pub fn join(&mut self, request: MemoryRequest) -> Arc<Waiter> {
        let waiter = Arc::new(Waiter {
            thread: thread::current(),
            request,
            granted: AtomicUsize::new(0),
        });
        self.waiting.push_back(Arc::clone(&waiter));
        waiter
    }

    pub fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.waiting.retain(|other| !Arc::ptr_eq(other, waiter));
    }

    /// Grants memory in order of arrival, until there is not enough for the next request.
    pub fn serve(&mut self, take: &mut dyn FnMut(MemoryRequest) -> Option<usize>) {
        while let Some(first) = self.waiting.front()
            && let Some(bytes) = take(first.request)
        {
            first.granted.store(bytes, Ordering::Release);
            first.thread.unpark();
            self.waiting.pop_front();
        }
    }
}
