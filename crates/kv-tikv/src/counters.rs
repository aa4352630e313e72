//! Counters of requests and lock waits, for the engine's metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests to the cluster since the start.
#[derive(Default)]
pub struct Counters {
    /// Commands to regions, and timestamps.
    pub requests: AtomicU64,
    pub timestamps: AtomicU64,
    /// Commands that a region refused because it had moved or was busy, and commands that got no response.
    pub refusals: AtomicU64,
    pub failures: AtomicU64,
}

/// Counters of lock waits in the cluster.
#[derive(Default)]
pub struct WaitCounters {
    pub waiting: AtomicU64,
    pub waits: AtomicU64,
    pub timeouts: AtomicU64,
    pub deadlocks: AtomicU64,
}

/// Counts one wait while it lives.
pub struct WaitGuard(Arc<WaitCounters>);

impl WaitGuard {
    pub fn new(counters: &Arc<WaitCounters>) -> Self {
        counters.waiting.fetch_add(1, Ordering::Relaxed);
        counters.waits.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counters))
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
