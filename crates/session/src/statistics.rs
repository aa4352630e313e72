//! Counters of the server's work, for SHOW STATUS and the metrics of the status port.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Kinds of statements with separate counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    Select,
    Insert,
    Replace,
    Update,
    Delete,
    Begin,
    Commit,
    Rollback,
    Set,
    Show,
    Definition,
    Prepare,
    Other,
}

impl Kind {
    /// All kinds, with the names of their metrics.
    pub const ALL: [(Kind, &'static str); 13] = [
        (Kind::Select, "select"),
        (Kind::Insert, "insert"),
        (Kind::Replace, "replace"),
        (Kind::Update, "update"),
        (Kind::Delete, "delete"),
        (Kind::Begin, "begin"),
        (Kind::Commit, "commit"),
        (Kind::Rollback, "rollback"),
        (Kind::Set, "set"),
        (Kind::Show, "show"),
        (Kind::Definition, "ddl"),
        (Kind::Prepare, "prepare"),
        (Kind::Other, "other"),
    ];
}

/// Upper bounds of the latency histogram's buckets, in microseconds; the last bucket has none.
pub const LATENCY_BOUNDS_US: [u64; 16] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    10_000_000,
];

/// The counters of one kind of statement. They have separate cache lines, because all connections write to
/// them.
#[derive(Default)]
#[repr(align(128))]
pub struct PerKind {
    pub errors: AtomicU64,
    pub total_us: AtomicU64,
    /// Not cumulative. There is one more bucket than bounds.
    pub buckets: [AtomicU64; LATENCY_BOUNDS_US.len() + 1],
}

/// In separate cache lines.
#[derive(Default)]
#[repr(align(128))]
pub struct Statistics {
    kinds: [PerKind; Kind::ALL.len()],
    pub plan_cache_hits: AtomicU64,
    pub plan_cache_misses: AtomicU64,
    pub slow_queries: AtomicU64,
}

impl PerKind {
    /// How many statements have ended.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|b| b.load(Ordering::Relaxed)).sum()
    }
}

impl Statistics {
    /// Counts a statement that has ended.
    pub fn record(&self, kind: Kind, took: Duration, failed: bool) {
        let counted = &self.kinds[kind as usize];
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_BOUNDS_US.partition_point(|&bound| bound < us);
        counted.total_us.fetch_add(us, Ordering::Relaxed);
        counted.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        if failed {
            counted.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn of(&self, kind: Kind) -> &PerKind {
        &self.kinds[kind as usize]
    }

    /// Statements of all kinds.
    pub fn questions(&self) -> u64 {
        self.kinds.iter().map(PerKind::count).sum()
    }

    /// For SHOW STATUS.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        [
            (
                "Stemdb_plan_cache_hits",
                self.plan_cache_hits.load(Ordering::Relaxed),
            ),
            (
                "Stemdb_plan_cache_misses",
                self.plan_cache_misses.load(Ordering::Relaxed),
            ),
        ]
        .into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_lands_in_the_bucket_of_its_latency() {
        let statistics = Statistics::default();
        statistics.record(Kind::Select, Duration::from_micros(25), false);
        statistics.record(Kind::Select, Duration::from_micros(26), true);
        statistics.record(Kind::Select, Duration::from_secs(60), false);
        let select = statistics.of(Kind::Select);
        let buckets: Vec<u64> = select.buckets.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        assert_eq!(
            (buckets[0], buckets[1], buckets[LATENCY_BOUNDS_US.len()]),
            (1, 1, 1)
        );
        assert_eq!((select.count(), select.errors.load(Ordering::Relaxed)), (3, 1));
    }

    #[test]
    fn kinds_are_listed_in_their_own_order() {
        for (position, (kind, _)) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, position);
        }
    }
}
