//! Counters of requests and lock waits, for the engine's metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Requests to the cluster since the start.
#[derive(Default)]
pub struct Counters {
    /// Commands to regions, and timestamps.
    pub requests: AtomicU64,
    pub timestamps: AtomicU64,
    /// Commands that a region refused because it had moved or was busy, and commands that got no response.
    pub refusals: AtomicU64,
    pub failures: AtomicU64,
    /// Requests to compute that the store refused, or did not answer in time, so that the rows were read.
    pub not_computed: AtomicU64,
}

/// Counters of lock waits in the cluster.
#[derive(Default)]
pub struct WaitCounters {
    pub waiting: AtomicU64,
    pub waits: AtomicU64,
    pub waited_us: AtomicU64,
    pub longest_us: AtomicU64,
    pub timeouts: AtomicU64,
    pub deadlocks: AtomicU64,
}

/// Counts one wait while it lives.
pub struct WaitGuard {
    counters: Arc<WaitCounters>,
    since: Instant,
}

impl WaitGuard {
    pub fn new(counters: &Arc<WaitCounters>) -> Self {
        counters.waiting.fetch_add(1, Ordering::Relaxed);
        counters.waits.fetch_add(1, Ordering::Relaxed);
        Self {
            counters: Arc::clone(counters),
            since: Instant::now(),
        }
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let waited_us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.counters.waiting.fetch_sub(1, Ordering::Relaxed);
        self.counters.waited_us.fetch_add(waited_us, Ordering::Relaxed);
        self.counters.longest_us.fetch_max(waited_us, Ordering::Relaxed);
    }
}
