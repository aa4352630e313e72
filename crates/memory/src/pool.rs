//! A part of the budget that statements take from and give back to.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Which part of the budget somebody takes from. They are apart, so that large statements, which wait for one another,
/// leave the others room, and so that whoever waits holds nothing that those it waits for may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Statements that are not large, and what connections hold.
    Small = 0,
    /// What is held beyond a statement: uncommitted writes, rows of cursors, parameters that were sent ahead.
    Kept = 1,
    /// Large statements, and transactions for which the share above is too small.
    Large = 2,
}

pub(crate) const SHARES: [Share; 3] = [Share::Small, Share::Kept, Share::Large];

#[derive(Debug)]
pub(crate) struct Pool {
    pub capacity: usize,
    used: AtomicUsize,
}

impl Pool {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            used: AtomicUsize::new(0),
        }
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    pub fn free(&self) -> usize {
        self.capacity.saturating_sub(self.used())
    }

    /// Takes `bytes`, if they and `left` more are free.
    pub fn take(&self, bytes: usize, left: usize) -> bool {
        let most = self.capacity.saturating_sub(left);
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= most);
        let order = Ordering::SeqCst;
        self.used.fetch_update(order, order, more).is_ok()
    }

    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
    }
}
