//! Counters of statements by digest: `events_statements_summary_by_digest` and the histograms.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::available_parallelism;

use parking_lot::RwLock;
use syntax::StatementDigest;

use super::event::StatementEvent;
use super::histogram::{BUCKETS, Histogram};

/// `performance_schema_digests_size`: statements of any more digests are counted together.
const DIGESTS_MAX: usize = 10_000;
const SHARDS_MAX: usize = 4;
/// `performance_schema_max_sql_text_length`
const SAMPLE_BYTES_MAX: usize = 1024;

/// All digests of a server, by number. A number is never given to another digest.
pub struct Digests {
    numbers: RwLock<HashMap<DigestKey, u32>>,
    /// Number 1 is of the statements for which there was no room.
    entries: Box<[OnceLock<Box<Digest>>]>,
    shards: usize,
}

#[derive(PartialEq, Eq, Hash)]
struct DigestKey {
    schema: Option<Box<str>>,
    tokens: Box<[u8]>,
}

/// The number of the statements for which there was no room.
const OTHERS: u32 = 1;

/// The statements of one digest.
pub struct Digest {
    pub schema: Option<Box<str>>,
    /// `None`: statements of many digests.
    pub digest: Option<String>,
    pub text: Option<String>,
    /// The first one.
    pub sample: String,
    /// Microseconds since 1970; 0: none was seen since the counters were reset.
    first_seen: AtomicI64,
    shards: Box<[Shard]>,
}

/// The counters that some connections add to, in cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Shard {
    counters: [AtomicU64; Counter::COUNT],
    last_seen: AtomicI64,
    least_ns: LeastNs,
    most_ns: AtomicU64,
    histogram: Histogram,
}

struct LeastNs(AtomicU64);

impl Default for LeastNs {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

/// What is summed up.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    TimeNs,
    RowsSent,
    RowsExamined,
    RowsAffected,
    Errors,
    Warnings,
    Scans,
    Ranges,
    FullJoins,
    NoIndex,
    Sorts,
    SortedRows,
    TemporaryTables,
}

impl Counter {
    const COUNT: usize = Counter::TemporaryTables as usize + 1;
}

/// The counters of one digest at one moment.
pub struct DigestCounts {
    sums: [u64; Counter::COUNT],
    pub buckets: Box<[u64; BUCKETS]>,
    pub count: u64,
    pub least_ns: u64,
    pub most_ns: u64,
    pub first_seen_us: i64,
    pub last_seen_us: i64,
}

impl DigestCounts {
    pub fn of(&self, counter: Counter) -> u64 {
        self.sums[counter as usize]
    }
}

impl Default for Digests {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            numbers: RwLock::default(),
            entries: (0..DIGESTS_MAX + 2).map(|_| OnceLock::new()).collect(),
            shards: cores.next_power_of_two().min(SHARDS_MAX),
        }
    }
}

impl Digests {
    /// The number of a digest, which is new if it was not seen before. `text`: a statement of it.
    pub fn number(&self, schema: Option<&str>, digest: StatementDigest, text: &str) -> u32 {
        let key = DigestKey {
            schema: schema.map(Into::into),
            tokens: digest.tokens.into(),
        };
        if let Some(number) = self.numbers.read().get(&key) {
            return *number;
        }
        let mut numbers = self.numbers.write();
        if let Some(number) = numbers.get(&key) {
            return *number;
        }
        if numbers.len() >= DIGESTS_MAX {
            let others = || Box::new(Digest::new(None, None, None, String::new(), self.shards));
            self.entries[OTHERS as usize].get_or_init(others);
            return OTHERS;
        }
        let number = OTHERS + 1 + numbers.len() as u32;
        let entry = Digest::new(
            key.schema.clone(),
            Some(functions::digest_of(&key.tokens)),
            Some(digest.text),
            text[..text.floor_char_boundary(SAMPLE_BYTES_MAX)].to_owned(),
            self.shards,
        );
        self.entries[number as usize].get_or_init(|| Box::new(entry));
        numbers.insert(key, number);
        number
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<&Digest> {
        self.entries.get(number as usize)?.get().map(|entry| &**entry)
    }

    /// Those that were seen since the counters were reset, with their counters.
    pub fn seen(&self) -> impl Iterator<Item = (&Digest, DigestCounts)> {
        let last = OTHERS as usize + self.numbers.read().len();
        let entries = self.entries[..=last].iter().filter_map(OnceLock::get);
        entries
            .map(|entry| (&**entry, entry.counts()))
            .filter(|(_, counts)| counts.count > 0)
    }

    /// TRUNCATE TABLE of the summary.
    pub fn reset(&self) {
        self.entries
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|entry| entry.reset());
    }

    pub fn reset_histograms(&self) {
        let entries = self.entries.iter().filter_map(OnceLock::get);
        entries
            .flat_map(|entry| entry.shards.iter())
            .for_each(|shard| shard.histogram.reset());
    }
}

impl Digest {
    fn new(
        schema: Option<Box<str>>,
        digest: Option<String>,
        text: Option<String>,
        sample: String,
        shards: usize,
    ) -> Self {
        Self {
            schema,
            digest,
            text,
            sample,
            first_seen: AtomicI64::new(0),
            shards: (0..shards).map(|_| Shard::default()).collect(),
        }
    }

    /// Adds a statement that has ended. `connection` chooses the shard.
    pub fn record(&self, event: &StatementEvent, took_ns: u64, connection: u64) {
        let shard = &self.shards[connection as usize & (self.shards.len() - 1)];
        let add = |counter: Counter, by: u64| {
            if by > 0 {
                shard.counters[counter as usize].fetch_add(by, Ordering::Relaxed);
            }
        };
        shard.histogram.record(took_ns);
        add(Counter::TimeNs, took_ns);
        if took_ns < shard.least_ns.0.load(Ordering::Relaxed) {
            shard.least_ns.0.fetch_min(took_ns, Ordering::Relaxed);
        }
        if took_ns > shard.most_ns.load(Ordering::Relaxed) {
            shard.most_ns.fetch_max(took_ns, Ordering::Relaxed);
        }
        shard.last_seen.store(event.now_us, Ordering::Relaxed);
        add(Counter::RowsSent, event.rows_sent);
        add(Counter::RowsExamined, event.reads.examined());
        if event.is_point {
            return;
        }
        add(Counter::RowsAffected, event.changes.affected);
        add(Counter::Errors, u64::from(event.failed));
        add(Counter::Warnings, event.warnings);
        add(Counter::Scans, u64::from(event.traits.scans));
        add(Counter::Ranges, u64::from(event.traits.ranges));
        add(Counter::FullJoins, u64::from(event.traits.full_joins));
        add(Counter::NoIndex, u64::from(event.traits.uses_no_index()));
        add(Counter::Sorts, u64::from(event.traits.sorts));
        add(Counter::SortedRows, event.reads.sorted);
        add(Counter::TemporaryTables, u64::from(event.traits.temporary_tables));
    }

    fn counts(&self) -> DigestCounts {
        let mut counts = DigestCounts {
            sums: [0; Counter::COUNT],
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            least_ns: u64::MAX,
            most_ns: 0,
            first_seen_us: self.first_seen.load(Ordering::Relaxed),
            last_seen_us: 0,
        };
        for shard in &self.shards {
            for (sum, counter) in counts.sums.iter_mut().zip(&shard.counters) {
                *sum += counter.load(Ordering::Relaxed);
            }
            shard.histogram.add_to(&mut counts.buckets);
            counts.least_ns = counts.least_ns.min(shard.least_ns.0.load(Ordering::Relaxed));
            counts.most_ns = counts.most_ns.max(shard.most_ns.load(Ordering::Relaxed));
            counts.last_seen_us = counts.last_seen_us.max(shard.last_seen.load(Ordering::Relaxed));
        }
        counts.count = counts.buckets.iter().sum();
        counts
    }

    /// When a statement of it was planned for the first time.
    pub fn first_seen_at(&self, now_us: i64) {
        let _ = self
            .first_seen
            .compare_exchange(0, now_us, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn reset(&self) {
        self.first_seen.store(0, Ordering::Relaxed);
        for shard in &self.shards {
            for counter in &shard.counters {
                counter.store(0, Ordering::Relaxed);
            }
            shard.least_ns.0.store(u64::MAX, Ordering::Relaxed);
            shard.most_ns.store(0, Ordering::Relaxed);
            shard.last_seen.store(0, Ordering::Relaxed);
            shard.histogram.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::RowChanges;
    use super::*;

    fn number(digests: &Digests, schema: &str, text: &str) -> u32 {
        let digest = syntax::statement_digest(text, &types::SqlMode::default(), 1024);
        digests.number(Some(schema), digest, text)
    }

    #[test]
    fn statements_of_one_digest_share_its_counters() {
        let digests = Digests::default();
        let first = number(&digests, "d", "SELECT 1");
        assert_eq!(first, number(&digests, "d", "select  2"));
        assert_ne!(first, number(&digests, "e", "SELECT 1"));
        assert_ne!(first, number(&digests, "d", "SELECT a"));
        let event = StatementEvent {
            rows_sent: 1,
            changes: RowChanges {
                affected: 2,
                ..RowChanges::default()
            },
            ..StatementEvent::default()
        };
        for connection in 0..10 {
            digests
                .get(first)
                .unwrap()
                .record(&event, 1000 + connection, connection);
        }
        let seen: Vec<_> = digests.seen().collect();
        assert_eq!(seen.len(), 1, "the others have not run");
        let (digest, counts) = &seen[0];
        assert_eq!(digest.text.as_deref(), Some("SELECT ?"));
        assert_eq!((counts.count, counts.least_ns, counts.most_ns), (10, 1000, 1009));
        assert_eq!(
            (counts.of(Counter::RowsSent), counts.of(Counter::RowsAffected)),
            (10, 20)
        );
        digests.reset();
        assert_eq!(digests.seen().count(), 0);
    }

    #[test]
    fn beyond_the_limit_statements_are_counted_together() {
        let digests = Digests::default();
        let numbers: Vec<u32> = (0..DIGESTS_MAX + 2)
            .map(|i| number(&digests, "d", &format!("SELECT a{i}")))
            .collect();
        assert_eq!(numbers[DIGESTS_MAX..], [OTHERS, OTHERS]);
        assert!(digests.get(OTHERS).is_some_and(|others| others.digest.is_none()));
    }
}
