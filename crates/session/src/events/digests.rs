//! Counters of statements by digest: `events_statements_summary_by_digest` and the histograms.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use syntax::StatementDigest;

use super::event::StatementEvent;
use super::histogram::{BUCKETS, Histogram};
use super::sums::Sum;
use scheduling::per_cpu::PerCpu;

/// `performance_schema_digests_size`: statements of further digests are counted together.
const DIGESTS_MAX: usize = 10_000;
const COPIES_MAX: usize = 4;
/// `performance_schema_max_sql_text_length`
const SAMPLE_BYTES_MAX: usize = 1024;

/// All digests of a server, by number. A number consists of a position and of how often the position has been
/// assigned. So a number always means the same digest, but a position can be reused: after the counters were
/// reset, if its digest has not been seen since.
pub struct Digests {
    numbers: RwLock<Numbers>,
    /// Position 1 is for the statements for which there was no room.
    entries: Box<[OnceLock<Box<Digest>>]>,
    max: usize,
}

#[derive(Default)]
struct Numbers {
    by_key: HashMap<DigestKey, u32>,
    /// Positions without counts when all counters were reset.
    unseen: Vec<u32>,
}

/// The low bits of a number, which are its position.
const PLACE_BITS: u32 = 14;
const _: () = assert!(DIGESTS_MAX + 2 <= 1 << PLACE_BITS);

fn place_of(number: u32) -> usize {
    (number & ((1 << PLACE_BITS) - 1)) as usize
}

#[derive(PartialEq, Eq, Hash)]
struct DigestKey {
    schema: Option<Box<str>>,
    tokens: Box<[u8]>,
}

/// The number of the statements for which there was no room.
const OTHERS: u32 = 1;

/// What the statements of a digest have in common.
#[derive(Default)]
pub struct Identity {
    pub schema: Option<Box<str>>,
    /// `None`: these are statements of many digests.
    pub digest: Option<String>,
    pub text: Option<String>,
    /// The first statement.
    pub sample: String,
}

/// The statements of one digest.
pub struct Digest {
    number: AtomicU32,
    identity: RwLock<Arc<Identity>>,
    /// Microseconds since 1970; 0: no statement was seen since the counters were reset.
    first_seen: AtomicI64,
    counters: PerCpu<Counters>,
}

/// The fields that each statement writes come first, in one cache line.
#[derive(Default)]
#[repr(C)]
struct Counters {
    last_seen: AtomicI64,
    least_ns: LeastNs,
    most_ns: AtomicU64,
    sums: [AtomicU64; Sum::COUNT],
    histogram: Histogram,
}

struct LeastNs(AtomicU64);

impl Default for LeastNs {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

/// The counters of one digest at one moment.
pub struct DigestCounts {
    pub sums: [u64; Sum::COUNT],
    pub buckets: Box<[u64; BUCKETS]>,
    pub count: u64,
    pub least_ns: u64,
    pub most_ns: u64,
    pub first_seen_us: i64,
    pub last_seen_us: i64,
}

impl Default for Digests {
    fn default() -> Self {
        Self::with_room_for(DIGESTS_MAX)
    }
}

impl Digests {
    fn with_room_for(max: usize) -> Self {
        Self {
            numbers: RwLock::default(),
            entries: (0..max + 2).map(|_| OnceLock::new()).collect(),
            max,
        }
    }

    /// The number of a digest. Assigns a new one if the digest was not seen before. `text`: a statement with
    /// this digest.
    pub fn number(&self, schema: Option<&str>, digest: StatementDigest, text: &str) -> u32 {
        let key = DigestKey {
            schema: schema.map(Into::into),
            tokens: digest.tokens.into(),
        };
        if let Some(number) = self.numbers.read().by_key.get(&key) {
            return *number;
        }
        let mut numbers = self.numbers.write();
        if let Some(number) = numbers.by_key.get(&key) {
            return *number;
        }
        let identity = |key: &DigestKey| Identity {
            schema: key.schema.clone(),
            digest: Some(functions::digest_of(&key.tokens)),
            text: Some(digest.text),
            sample: syntax::without_secrets(&text[..text.floor_char_boundary(SAMPLE_BYTES_MAX)]).into_owned(),
        };
        let used = numbers.by_key.len();
        if used < self.max {
            let number = OTHERS + 1 + used as u32;
            let entry = || Box::new(Digest::new(number, identity(&key)));
            self.entries[place_of(number)].get_or_init(entry);
            numbers.by_key.insert(key, number);
            return number;
        }
        let Some(entry) = self.take_unseen(&mut numbers) else {
            let others = || Box::new(Digest::new(OTHERS, Identity::default()));
            self.entries[OTHERS as usize].get_or_init(others);
            return OTHERS;
        };
        let before = entry.number.load(Ordering::Relaxed);
        let number = before.wrapping_add(1 << PLACE_BITS);
        numbers.by_key.retain(|_, other| *other != before);
        *entry.identity.write() = Arc::new(identity(&key));
        entry.number.store(number, Ordering::Relaxed);
        numbers.by_key.insert(key, number);
        number
    }

    /// Takes the position of a digest that has not been seen since the counters were reset.
    fn take_unseen(&self, numbers: &mut Numbers) -> Option<&Digest> {
        while let Some(place) = numbers.unseen.pop() {
            let entry = self.entries.get(place as usize)?.get()?;
            if entry.first_seen.load(Ordering::Relaxed) == 0 {
                return Some(entry);
            }
        }
        None
    }

    /// The digest of a number. If its position was assigned to another digest, the common one of all others.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Digest> {
        let entry = self.entries.get(place_of(number))?.get()?;
        match entry.number.load(Ordering::Relaxed) == number {
            true => Some(entry),
            false => self.entries.get(OTHERS as usize)?.get().map(|others| &**others),
        }
    }

    /// Whether a statement's number must be looked up again: it was counted with all others and might get a
    /// position now, or its position was assigned to another digest.
    #[inline]
    pub fn is_outdated(&self, number: u32) -> bool {
        if number == OTHERS {
            return !self.numbers.read().unseen.is_empty();
        }
        let entry = self.entries.get(place_of(number)).and_then(OnceLock::get);
        entry.is_none_or(|entry| entry.number.load(Ordering::Relaxed) != number)
    }

    /// The digests that were seen since the counters were reset, with their counters.
    pub fn seen(&self) -> impl Iterator<Item = (Arc<Identity>, DigestCounts)> {
        let last = OTHERS as usize + self.numbers.read().by_key.len();
        let entries = self.entries[..=last].iter().filter_map(OnceLock::get);
        entries
            .map(|entry| (entry.identity.read().clone(), entry.counts()))
            .filter(|(_, counts)| counts.count > 0)
    }

    /// How many digests there are.
    pub fn used(&self) -> usize {
        self.numbers.read().by_key.len()
    }

    /// The bytes that a digest takes, apart from its texts.
    pub fn size() -> usize {
        size_of::<Digest>() + COPIES_MAX * size_of::<Counters>()
    }

    /// How many statements were counted together, because there was no room for their digests.
    pub fn counted_together(&self) -> u64 {
        let others = self.entries.get(OTHERS as usize).and_then(OnceLock::get);
        others.map_or(0, |others| others.counts().count)
    }

    /// TRUNCATE TABLE of the summary. The positions of digests that are not seen afterwards can be reused if
    /// there is no room.
    pub fn reset(&self) {
        let mut numbers = self.numbers.write();
        self.entries
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|entry| entry.reset());
        let used = numbers.by_key.len();
        numbers.unseen = match used >= self.max {
            true => (OTHERS + 1..OTHERS + 1 + used as u32).collect(),
            false => Vec::new(),
        };
    }

    pub fn reset_histograms(&self) {
        let entries = self.entries.iter().filter_map(OnceLock::get);
        entries
            .flat_map(|entry| entry.counters.all())
            .for_each(|counters| counters.histogram.reset());
    }
}

impl Digest {
    fn new(number: u32, identity: Identity) -> Self {
        Self {
            number: AtomicU32::new(number),
            identity: RwLock::new(Arc::new(identity)),
            first_seen: AtomicI64::new(0),
            counters: PerCpu::new(COPIES_MAX),
        }
    }

    pub fn identity(&self) -> Arc<Identity> {
        self.identity.read().clone()
    }

    /// Adds a statement that has ended at `now_us`, in microseconds since 1970.
    pub fn record(&self, event: &StatementEvent, took_ns: u64, now_us: i64) {
        let counters = self.counters.here();
        counters.histogram.record(took_ns);
        if took_ns < counters.least_ns.0.load(Ordering::Relaxed) {
            counters.least_ns.0.fetch_min(took_ns, Ordering::Relaxed);
        }
        if took_ns > counters.most_ns.load(Ordering::Relaxed) {
            counters.most_ns.fetch_max(took_ns, Ordering::Relaxed);
        }
        counters.last_seen.store(now_us, Ordering::Relaxed);
        if self.first_seen.load(Ordering::Relaxed) == 0 {
            self.first_seen.store(now_us, Ordering::Relaxed);
        }
        event.for_each_sum(took_ns, |sum, by| {
            if by > 0 {
                counters.sums[sum as usize].fetch_add(by, Ordering::Relaxed);
            }
        });
    }

    fn counts(&self) -> DigestCounts {
        let mut counts = DigestCounts {
            sums: [0; Sum::COUNT],
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            least_ns: u64::MAX,
            most_ns: 0,
            first_seen_us: self.first_seen.load(Ordering::Relaxed),
            last_seen_us: 0,
        };
        for counters in self.counters.all() {
            for (sum, counter) in counts.sums.iter_mut().zip(&counters.sums) {
                *sum += counter.load(Ordering::Relaxed);
            }
            counters.histogram.add_to(&mut counts.buckets);
            counts.least_ns = counts.least_ns.min(counters.least_ns.0.load(Ordering::Relaxed));
            counts.most_ns = counts.most_ns.max(counters.most_ns.load(Ordering::Relaxed));
            counts.last_seen_us = counts
                .last_seen_us
                .max(counters.last_seen.load(Ordering::Relaxed));
        }
        counts.count = counts.buckets.iter().sum();
        counts
    }

    fn reset(&self) {
        self.first_seen.store(0, Ordering::Relaxed);
        for counters in self.counters.all() {
            for sum in &counters.sums {
                sum.store(0, Ordering::Relaxed);
            }
            counters.least_ns.0.store(u64::MAX, Ordering::Relaxed);
            counters.most_ns.store(0, Ordering::Relaxed);
            counters.last_seen.store(0, Ordering::Relaxed);
            counters.histogram.reset();
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
            digests.get(first).unwrap().record(&event, 1000 + connection, 7);
        }
        let seen: Vec<_> = digests.seen().collect();
        assert_eq!(seen.len(), 1, "the others have not run");
        let (digest, counts) = &seen[0];
        assert_eq!(digest.text.as_deref(), Some("SELECT ?"));
        assert_eq!((counts.count, counts.least_ns, counts.most_ns), (10, 1000, 1009));
        assert_eq!(
            (
                counts.sums[Sum::RowsSent as usize],
                counts.sums[Sum::RowsAffected as usize]
            ),
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
        assert!(digests.get(OTHERS).is_some());
    }

    #[test]
    fn truncate_makes_room_for_new_statements() {
        let digests = Digests::with_room_for(2);
        let event = StatementEvent::default();
        let run = |number: u32| digests.get(number).unwrap().record(&event, 1000, 7);
        let texts = || {
            let seen = digests.seen();
            let mut texts: Vec<_> = seen
                .map(|(identity, counts)| (identity.text.clone(), counts.count, counts.first_seen_us))
                .collect();
            texts.sort();
            texts
        };
        let text = |text: &str| Some(text.to_owned());
        let (a, b) = (
            number(&digests, "d", "SELECT a"),
            number(&digests, "d", "SELECT b"),
        );
        let c = number(&digests, "d", "SELECT c");
        for number in [a, b, c] {
            run(number);
        }
        assert_eq!(c, OTHERS);
        assert!(!digests.is_outdated(c));
        digests.reset();
        // A digest that still occurs keeps its position.
        run(b);
        assert!(digests.is_outdated(c));
        let c = number(&digests, "d", "SELECT c");
        run(c);
        assert_eq!(texts(), [(text("SELECT `b`"), 1, 7), (text("SELECT `c`"), 1, 7)]);
        // There was only one free position, and the new statement does not get the old number.
        assert!(digests.is_outdated(a) && !digests.is_outdated(b) && !digests.is_outdated(c));
        assert_eq!(number(&digests, "d", "SELECT a"), OTHERS);
        assert!(!digests.is_outdated(OTHERS));
        run(a);
        assert_eq!(
            texts(),
            [
                (None, 1, 7),
                (text("SELECT `b`"), 1, 7),
                (text("SELECT `c`"), 1, 7)
            ]
        );
    }
}
