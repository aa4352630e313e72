use super::*;
use crate::layout::{TS_BYTES, Version, push_unstamped_version};
use std::collections::BTreeMap;

const BUDGET: usize = 150_000;

pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key{:04}", self.below(1_500)).into_bytes()
    }
}

/// A cache, and what RocksDB would hold.
struct Both {
    cache: RowCache,
    latest: BTreeMap<Vec<u8>, Vec<u8>>,
    now: Timestamp,
    random: Random,
}

impl Both {
    fn commit(&mut self, keys: u64) {
        self.now += 1;
        let mut writes = Vec::new();
        for _ in 0..keys {
            let key = self.random.key();
            let length = match self.random.below(200) {
                0 => BYTES_MAX,
                1..60 => 0,
                n => usize::try_from(n).unwrap(),
            };
            let mut stored = Vec::new();
            push_unstamped_version(&mut stored, (length > 0).then_some(&vec![7; length][..]));
            stored[..TS_BYTES].copy_from_slice(&self.now.to_be_bytes());
            self.latest.insert(key.clone(), stored.clone());
            writes.push((key, stored));
        }
        self.cache
            .update(writes.iter().map(|(key, stored)| (&key[..], &stored[..])));
    }

    /// As `crate::latest::load` does, with a commit before the page is inserted.
    fn load(&mut self) {
        let mut start = self.random.key();
        let (cache, now) = (std::mem::replace(&mut self.cache, RowCache::new(0)), self.now);
        let load = if now % 3 == 0 {
            cache.begin_load(KeyRange::new(start.as_slice(), ""))
        } else {
            cache.begin_load_around(&start)
        };
        assert!(
            load.range.contains(&start)
                || matches!(
                    cache.page(&start, Timestamp::MAX),
                    Lookup::Found(_) | Lookup::TooOld
                )
        );
        if now % 3 == 1 {
            start.clone_from(&load.range.start);
        }
        let mut page = Page::default();
        let mut end = load.range.end.clone();
        for (key, stored) in self.latest.range(start.clone()..) {
            if !load.range.contains(key) {
                break;
            }
            let version = Version::parse(stored).unwrap();
            if page.len() >= 40 {
                end.clone_from(key);
                break;
            }
            if version.value.is_none() {
                page.leave_out(version.ts);
            } else if !page.push(key, stored) {
                end.clone_from(key);
                break;
            }
        }
        if start < end || end.is_empty() {
            let page = Arc::new(page);
            if now % 2 == 0 {
                let key = self.random.key();
                let mut stored = now.to_be_bytes().to_vec();
                stored.extend_from_slice(b"\x01changed");
                self.latest.insert(key.clone(), stored.clone());
                cache.update([(&key[..], &stored[..])].into_iter());
            }
            cache.keep(&load, &PageRange { page, start, end });
        }
        drop(load);
        self.cache = cache;
    }

    fn check_part(&self, part: &PageRange) {
        let range = KeyRange::new(part.start.as_slice(), part.end.as_slice());
        let there = self.latest.iter().filter(|(key, _)| range.contains(key));
        let is_value = |stored: &[u8]| Version::parse(stored).unwrap().value.is_some();
        let expected: Vec<_> = there.filter(|(_, stored)| is_value(stored)).collect();
        let found: Vec<_> = (0..part.page.len())
            .map(|at| part.page.entry(at).unwrap())
            .map(|(key, stored)| (key.to_vec(), stored.to_vec()))
            .filter(|(_, stored)| is_value(stored))
            .collect();
        assert_eq!(found.iter().map(|(k, v)| (k, v)).collect::<Vec<_>>(), expected);
    }

    fn read(&mut self) -> u64 {
        let key = self.random.key();
        let mut found = 0;
        if let Lookup::Found(page) = self.cache.page(&key, self.now) {
            let expected = self.latest.get(&key);
            match page.get(&key) {
                Some(stored) => assert_eq!(Some(stored), expected.map(Vec::as_slice)),
                None => assert!(expected.is_none_or(|s| Version::parse(s).unwrap().value.is_none())),
            }
            found += 1;
        }
        if let Lookup::Found(part) = self.cache.from(&key, self.now) {
            assert!(part.start <= key && (part.end.is_empty() || part.end > key));
            self.check_part(&part);
        }
        if let Lookup::Found(part) = self.cache.before(&key, self.now) {
            assert!(part.start < key && (part.end.is_empty() || part.end >= key));
            self.check_part(&part);
        }
        let end = self.random.key();
        self.check_bytes(&KeyRange::new(key, end));
        found
    }

    fn check_bytes(&self, range: &KeyRange) {
        if let Some(bytes) = self.cache.bytes_of(range) {
            let there = self.latest.iter().filter(|(key, _)| range.contains(key));
            let values = there.filter(|(_, stored)| Version::parse(stored).unwrap().value.is_some());
            let expected: usize = values.map(|(key, stored)| key.len() + stored.len()).sum();
            assert_eq!(bytes, expected as u64, "{range:?}");
        }
    }
}

#[test]
fn pages_hold_what_latest_does() {
    let mut both = Both {
        cache: RowCache::new(BUDGET as u64),
        latest: BTreeMap::new(),
        now: 1,
        random: Random(1),
    };
    let mut found = 0;
    for _ in 0..30_000 {
        match both.random.below(20) {
            0..6 => {
                let keys = both.random.below(5) + 1;
                both.commit(keys);
            }
            6..10 => both.load(),
            10 if both.random.below(100) == 0 => {
                let range = KeyRange::new(both.random.key(), both.random.key());
                both.latest.retain(|key, _| !range.contains(key));
                both.cache.forget(&range);
            }
            _ => found += both.read(),
        }
        let directory = both.cache.directory.read();
        assert_eq!(directory.bytes(), directory.counted_bytes());
        assert!(directory.bytes() <= BUDGET);
    }
    assert!(found > 1_000, "{found}");
    both.cache.forget(&KeyRange::all());
    assert_eq!(both.cache.size(), (0, 0));
}

fn part(page: Page, start: &[u8], end: &[u8]) -> PageRange {
    PageRange {
        page: Arc::new(page),
        start: start.to_vec(),
        end: end.to_vec(),
    }
}

#[test]
fn a_load_around_a_key_reaches_from_the_page_before_to_the_page_behind() {
    let cache = RowCache::new(1 << 20);
    let around = |key: &str| cache.begin_load_around(key.as_bytes()).range.clone();
    assert_eq!(around("h"), KeyRange::all());
    for (start, end) in [(b"c", b"f"), (b"m", b"p")] {
        let load = cache.begin_load(KeyRange::new(start, end));
        cache.keep(&load, &part(Page::default(), start, end));
    }
    assert_eq!(around("a"), KeyRange::new("", "c"));
    assert_eq!(around("f"), KeyRange::new("f", "m"));
    assert_eq!(around("h"), KeyRange::new("f", "m"));
    assert_eq!(around("q"), KeyRange::new("p", ""));
}

#[test]
fn a_range_is_added_up_if_all_of_it_is_there() {
    let cache = RowCache::new(1 << 20);
    for (start, end) in [(b"b", b"f"), (b"f", b"k")] {
        let load = cache.begin_load(KeyRange::new(start, end));
        let mut page = Page::default();
        for key in 0..60 {
            assert!(page.push(&[start[0], key], b"12345678\x01value"));
        }
        cache.keep(&load, &part(page, start, end));
    }
    let bytes = |start: &str, end: &str| cache.bytes_of(&KeyRange::new(start, end));
    assert_eq!(bytes("b", "k"), Some(2 * 60 * 16));
    assert_eq!(bytes("c", "k"), Some(60 * 16));
    assert_eq!(bytes("f", "f\x0a"), Some(10 * 16));
    assert_eq!(bytes("f", "b"), Some(0));
    for (start, end) in [("a", "k"), ("b", "l"), ("b", ""), ("k", "l")] {
        assert_eq!(bytes(start, end), None, "{start} {end}");
    }
    cache.update([(&b"b\x05"[..], &b"12345679\x00"[..])].into_iter());
    assert_eq!(bytes("b", "c"), Some(59 * 16));
}

#[test]
fn a_page_that_is_written_while_it_is_loaded_is_not_kept() {
    let cache = RowCache::new(1 << 20);
    for (key, kept) in [(b"c", true), (b"b", false)] {
        let load = cache.begin_load(KeyRange::new("a", "z"));
        cache.update([(&key[..], &b"12345678\x01v"[..])].into_iter());
        cache.keep(&load, &part(Page::default(), b"a", b"c"));
        drop(load);
        let is_kept = matches!(cache.page(b"b", 1), Lookup::Found(_));
        assert_eq!(is_kept, kept);
        cache.forget(&KeyRange::all());
    }
    let load = cache.begin_load(KeyRange::new("a", "z"));
    cache.forget(&KeyRange::new("x", "y"));
    cache.keep(&load, &part(Page::default(), b"a", b"c"));
    assert_eq!(cache.size(), (0, 0));
}
