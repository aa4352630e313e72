//! Pools: the shares of the budget.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A share of the budget. The shares are separate, so that large statements, which wait for one another,
/// leave room for the others, and so that a waiting statement holds nothing that those it waits for may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// For statements that are not large, and for connections.
    Small = 0,
    /// For what outlives a statement: uncommitted writes, rows of cursors, parameters that were sent ahead.
    Session = 1,
    /// For large statements, and for transactions that do not fit in [`Share::Session`].
    Large = 2,
    /// For long packets while they arrive and while their commands run.
    Packets = 3,
}

pub(crate) const SHARES: [Share; 4] = [Share::Small, Share::Session, Share::Large, Share::Packets];

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

    /// Takes `bytes` if they and `left` more are free.
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
