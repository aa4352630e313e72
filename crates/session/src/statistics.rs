//! Counters of the server's work, for SHOW STATUS and the metrics of the status port.

use std::sync::atomic::{AtomicU64, Ordering};

use scheduling::per_cpu::PerCpu;

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

/// Statements of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct KindCounts {
    pub errors: u64,
    pub total_us: u64,
    /// Not cumulative; one more than there are bounds.
    pub buckets: [u64; LATENCY_BOUNDS_US.len() + 1],
}

#[derive(Default)]
struct KindCounters {
    errors: AtomicU64,
    total_us: AtomicU64,
    buckets: [AtomicU64; LATENCY_BOUNDS_US.len() + 1],
}

/// What each statement adds to.
#[derive(Default)]
struct Counters {
    kinds: [KindCounters; Kind::ALL.len()],
    plan_cache_hits: AtomicU64,
}

const COPIES_MAX: usize = 64;

pub struct Statistics {
    counters: PerCpu<Counters>,
    pub plan_cache_misses: AtomicU64,
    pub slow_queries: AtomicU64,
    /// FLUSH TABLES.
    pub table_flushes: AtomicU64,
    /// The most bytes of attributes that a client has sent.
    pub longest_attributes: AtomicU64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            counters: PerCpu::new(COPIES_MAX),
            plan_cache_misses: AtomicU64::default(),
            slow_queries: AtomicU64::default(),
            table_flushes: AtomicU64::default(),
            longest_attributes: AtomicU64::default(),
        }
    }
}

impl KindCounts {
    /// How many have ended.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl Statistics {
    /// Counts a statement that has ended.
    pub fn record(&self, kind: Kind, took_ns: u64, failed: bool) {
        let counters = &self.counters.here().kinds[kind as usize];
        let us = took_ns / 1000;
        let bucket = LATENCY_BOUNDS_US.partition_point(|&bound| bound < us);
        counters.total_us.fetch_add(us, Ordering::Relaxed);
        counters.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        if failed {
            counters.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn of(&self, kind: Kind) -> KindCounts {
        let mut counts = KindCounts::default();
        for counters in self.counters.all() {
            let counters = &counters.kinds[kind as usize];
            counts.errors += counters.errors.load(Ordering::Relaxed);
            counts.total_us += counters.total_us.load(Ordering::Relaxed);
            for (count, bucket) in counts.buckets.iter_mut().zip(&counters.buckets) {
                *count += bucket.load(Ordering::Relaxed);
            }
        }
        counts
    }

    /// Statements of all kinds.
    pub fn questions(&self) -> u64 {
        Kind::ALL.iter().map(|(kind, _)| self.of(*kind).count()).sum()
    }

    /// A cached plan is used.
    #[inline]
    pub fn count_plan_cache_hit(&self) {
        self.counters
            .here()
            .plan_cache_hits
            .fetch_add(1, Ordering::Relaxed);
    }

    pub fn plan_cache_hits(&self) -> u64 {
        let hits = |counters: &Counters| counters.plan_cache_hits.load(Ordering::Relaxed);
        self.counters.all().map(hits).sum()
    }

    /// For SHOW STATUS.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("Flush_commands", count(&self.table_flushes)),
            (
                "Performance_schema_session_connect_attrs_longest_seen",
                count(&self.longest_attributes),
            ),
            ("Stemdb_plan_cache_hits", self.plan_cache_hits()),
            ("Stemdb_plan_cache_misses", count(&self.plan_cache_misses)),
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
        statistics.record(Kind::Select, 25_000, false);
        statistics.record(Kind::Select, 26_999, true);
        statistics.record(Kind::Select, 60_000_000_000, false);
        let select = statistics.of(Kind::Select);
        let buckets = &select.buckets;
        assert_eq!(
            (buckets[0], buckets[1], buckets[LATENCY_BOUNDS_US.len()]),
            (1, 1, 1)
        );
        assert_eq!((select.count(), select.errors), (3, 1));
    }

    #[test]
    fn kinds_are_listed_in_their_own_order() {
        for (position, (kind, _)) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, position);
        }
    }
}
