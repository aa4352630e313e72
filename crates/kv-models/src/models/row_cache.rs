//! The row cache, with a map in place of RocksDB: commits, loads, reads, the removal of deletions and of
//! ranges, each in the steps that `kv-rocksdb` takes for it.
//!
//! What must hold: a reader finds in a page what was committed at or before its timestamp, no older and no
//! newer version, and never a part of a commit. When no thread runs any more, each page has what is stored.

use crate::cache::{Lookup, Page, PageLoad, PageRange, RowCache, StoredEntries};
use crate::layout::{TS_BYTES, Version, push_version};
use crate::oracle::Oracle;
use crate::sync::{Mutex, thread};
use crate::{KeyRange, ManualClock, Pins, Result, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Unseen, PoisonError};

/// Values of this length are in no page.
const TOO_LONG: usize = 33 << 10;
/// Two values of this length end a load, four split a page.
const LONG: usize = 9 << 10;

type Key = &'static str;

#[derive(Clone, Debug, PartialEq)]
struct Committed {
    ts: Timestamp,
    /// A mark that identifies it, and its length; `None`: a deletion.
    value: Option<(u8, usize)>,
}

struct World {
    cache: RowCache,
    /// In place of RocksDB: each call is atomic.
    stored: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// All versions that have ever been committed, for the checks. Not a synchronization of the modelled
    /// threads.
    versions: Unseen<BTreeMap<Key, Vec<Committed>>>,
    acknowledged: Unseen<Timestamp>,
    oracle: Oracle,
    pins: Pins,
    /// One commit at a time.
    committing: Mutex<()>,
}

/// The stored entries of a range as of one moment.
struct Cursor {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    at: usize,
}

impl StoredEntries for Cursor {
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        let (key, stored) = self.entries.get(self.at)?;
        Some((key, stored))
    }

    fn step(&mut self) {
        self.at += 1;
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Pages that are loaded one after the other.
struct Loading<'a> {
    load: PageLoad<'a>,
    stored: Cursor,
    next: Vec<u8>,
}

fn bytes_of(committed: &Committed) -> Vec<u8> {
    let value = committed.value.map(|(mark, length)| vec![mark; length]);
    let mut stored = Vec::new();
    let value = value.as_deref();
    push_version(
        &mut stored,
        Version {
            ts: committed.ts,
            value,
        },
    );
    stored
}

fn parsed(stored: &[u8]) -> Committed {
    let version = Version::parse(stored).expect("a version");
    let value = version
        .value
        .map(|value| (value.first().copied().unwrap_or(0), value.len()));
    Committed {
        ts: version.ts,
        value,
    }
}

fn unseen<T>(of: &Unseen<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    fn new(budget_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            cache: RowCache::new(budget_bytes),
            stored: Mutex::default(),
            versions: Unseen::default(),
            acknowledged: Unseen::new(0),
            oracle: Oracle::new(0, Arc::new(ManualClock::new(1_000))),
            pins: Pins::new(Arc::default()),
            committing: Mutex::default(),
        })
    }

    /// As `Latest::commit`, with the steps before and after it.
    fn commit(&self, writes: &[(Key, Option<(u8, usize)>)]) {
        let _alone = self.committing.lock();
        let ts = self.oracle.begin_commit();
        let all: Vec<(Key, Committed)> = writes
            .iter()
            .map(|&(key, value)| (key, Committed { ts, value }))
            .collect();
        let bytes: Vec<(Key, Vec<u8>)> = all
            .iter()
            .map(|(key, version)| (*key, bytes_of(version)))
            .collect();
        {
            let mut stored = self.stored.lock();
            let mut versions = unseen(&self.versions);
            for ((key, version), (_, bytes)) in all.into_iter().zip(&bytes) {
                stored.insert(key.as_bytes().to_vec(), bytes.clone());
                versions.entry(key).or_default().push(version);
            }
        }
        self.cache.update(
            bytes
                .iter()
                .map(|(key, bytes)| (key.as_bytes(), bytes.as_slice())),
        );
        self.oracle.publish(ts, ts);
        *unseen(&self.acknowledged) = ts;
    }

    /// Values of one length under some keys.
    fn fill_with(&self, keys: &[Key], length: usize) {
        let writes: Vec<_> = keys.iter().map(|key| (*key, Some((1, length)))).collect();
        self.commit(&writes);
    }

    fn iterate(&self, range: &KeyRange) -> Cursor {
        let stored = self.stored.lock();
        let inside = stored.iter().filter(|(key, _)| range.contains(key));
        Cursor {
            entries: inside
                .map(|(key, stored)| (key.clone(), stored.clone()))
                .collect(),
            at: 0,
        }
    }

    /// As `kv_rocksdb`'s `load_page_around`.
    fn load_around(&self, key: Key, ts: Timestamp) -> Option<PageRange> {
        let load = self.cache.begin_load_around(key.as_bytes());
        let start = load.range.start.clone();
        let mut stored = self.iterate(&load.range);
        let part = self
            .cache
            .fill(&load, &start, &mut stored, ts, |_, _| {})
            .expect("versions");
        part.filter(|part| part.end.is_empty() || key.as_bytes() < part.end.as_slice())
    }

    /// As `kv_rocksdb`'s `PageLoads`: the next page of what is being loaded, or the first one of a new load.
    fn load<'a>(&'a self, loading: &mut Option<Loading<'a>>, at: &[u8], ts: Timestamp) -> Option<PageRange> {
        let goes_on = loading.as_ref().is_some_and(|loading| {
            loading.next == at && loading.load.range.contains(at) && !self.cache.is_void(&loading.load)
        });
        if !goes_on {
            *loading = None;
            let load = self.cache.begin_load(KeyRange::new(at, ""));
            let stored = self.iterate(&load.range);
            let next = at.to_vec();
            *loading = Some(Loading { load, stored, next });
        }
        let Loading { load, stored, next } = loading.as_mut()?;
        let part = self.cache.fill(load, next, stored, ts, |_, _| {});
        let part = part.expect("versions")?;
        next.clone_from(&part.end);
        Some(part)
    }

    fn pinned(&self) -> Timestamp {
        let floor = *unseen(&self.acknowledged);
        let ts = loop {
            let ts = self.oracle.current_ts();
            if self.pins.pin(ts).is_ok() {
                break ts;
            }
        };
        assert!(
            ts > floor,
            "a reader does not see what was acknowledged before it began"
        );
        ts
    }

    /// What a reader of `ts` must see.
    fn expected(&self, key: &[u8], ts: Timestamp) -> Option<Committed> {
        let versions = unseen(&self.versions);
        let of_key = versions
            .iter()
            .find(|(other, _)| other.as_bytes() == key)
            .map(|(_, all)| all)?;
        of_key.iter().rev().find(|version| version.ts <= ts).cloned()
    }

    /// `found`: what a page or the store has as the newest version.
    fn judge(&self, key: &[u8], ts: Timestamp, found: Option<&[u8]>) {
        let found = found.map(parsed);
        let expected = self.expected(key, ts);
        if let Some(newer) = found.as_ref().filter(|found| found.ts > ts) {
            // The reader goes to the history, which has what is expected.
            let versions = unseen(&self.versions);
            let is_real = versions.values().flatten().any(|version| version == newer);
            assert!(is_real, "{key:?} at {ts}: {newer:?} was never committed");
            return;
        }
        let visible = |version: Option<Committed>| version.filter(|version| version.value.is_some());
        assert_eq!(visible(found), visible(expected), "{key:?} at {ts}");
    }

    /// As a read of one key; `loads`: it is worth loading a page.
    fn read(&self, key: Key, loads: bool) {
        let ts = self.pinned();
        let page = match self.cache.page(key.as_bytes(), ts) {
            Lookup::Found(page) => Some(page),
            Lookup::Missing if loads => self.load_around(key, ts).map(|part| part.page),
            Lookup::Missing | Lookup::TooOld => None,
        };
        match page {
            Some(page) => self.judge(key.as_bytes(), ts, page.get(key.as_bytes())),
            None => {
                let stored = self.stored.lock().get(key.as_bytes()).cloned();
                self.judge(key.as_bytes(), ts, stored.as_deref());
            }
        }
        self.pins.unpin(ts);
    }

    fn judge_part(&self, part: &PageRange, ts: Timestamp) {
        let range = KeyRange::new(part.start.as_slice(), part.end.as_slice());
        let keys: Vec<Key> = unseen(&self.versions).keys().copied().collect();
        for key in keys.into_iter().filter(|key| range.contains(key.as_bytes())) {
            self.judge(key.as_bytes(), ts, part.page.get(key.as_bytes()));
        }
    }

    /// As a scan of everything, in either direction.
    fn scan(&self, reverse: bool) {
        let ts = self.pinned();
        let (mut at, mut loading) = (Vec::new(), None);
        loop {
            let found = match reverse {
                false => self.cache.from(&at, ts),
                true => self.cache.before(&at, ts),
            };
            let part = match found {
                Lookup::Found(part) => part,
                Lookup::Missing if !reverse => match self.load(&mut loading, &at, ts) {
                    Some(part) => part,
                    None => break,
                },
                Lookup::Missing | Lookup::TooOld => break,
            };
            self.judge_part(&part, ts);
            at = if reverse { part.start } else { part.end };
            if at.is_empty() {
                break;
            }
        }
        self.pins.unpin(ts);
    }

    /// As the collection of deletions, whose keys no thread writes.
    fn collect(&self, keys: &[Key]) {
        let safe_point = self.pins.advance(self.oracle.last());
        let mut stored = self.stored.lock();
        for key in keys {
            let is_deletion = |stored: &Vec<u8>| {
                let version = parsed(stored);
                version.value.is_none() && version.ts <= safe_point
            };
            if stored.get(key.as_bytes()).is_some_and(is_deletion) {
                stored.remove(key.as_bytes());
            }
        }
    }

    /// As `Latest::destroy`, of a range that no thread reads or writes.
    fn destroy(&self, range: &KeyRange) {
        {
            let mut stored = self.stored.lock();
            stored.retain(|key, _| !range.contains(key));
            unseen(&self.versions).retain(|key, _| !range.contains(key.as_bytes()));
        }
        self.cache.forget(range);
    }

    /// When no thread is running any more.
    fn check_all(&self) {
        let ts = self.pinned();
        let mut rest = KeyRange::all();
        while let Some(part) = self.cache.next_page(&rest) {
            if part.page.is_complete_at(ts) {
                self.judge_part(&part, ts);
                let stored = self.stored.lock();
                for (key, bytes) in (0..part.page.len()).filter_map(|at| part.page.entry(at)) {
                    let is_there = stored.get(key).is_some_and(|stored| stored == bytes);
                    assert!(is_there || parsed(bytes).value.is_none(), "{key:?} is not stored");
                }
            }
            if part.end.is_empty() {
                break;
            }
            rest.start = part.end;
        }
        self.pins.unpin(ts);
        for reverse in [false, true] {
            self.scan(reverse);
        }
    }
}

/// Runs all at the same time, then checks the result.
fn together<const N: usize>(world: &Arc<World>, threads: [fn(&World); N]) {
    let threads: Vec<_> = threads
        .into_iter()
        .map(|run| {
            let world = Arc::clone(world);
            thread::spawn(move || run(&world))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    world.check_all();
}

/// Loads and commits of the same keys, on a cache that is empty at first.
pub fn loads_and_commits() {
    let world = World::new(1 << 20);
    world.fill_with(&["a", "b", "c"], 10);
    together(
        &world,
        [
            |world| {
                world.commit(&[("a", Some((2, 10))), ("c", None)]);
                world.commit(&[("b", Some((3, 20))), ("c", Some((3, 10)))]);
            },
            |world| {
                world.read("b", true);
                world.read("c", true);
                world.read("a", false);
            },
            |world| world.scan(false),
        ],
    );
}

/// Pages that are split, joined and evicted.
pub fn pages_that_split_and_go() {
    let world = World::new(6 * LONG as u64);
    world.fill_with(&["a", "b", "c", "d"], LONG);
    together(
        &world,
        [
            |world| {
                world.commit(&[("a", Some((2, LONG))), ("bb", Some((2, LONG)))]);
                world.commit(&[("c", Some((3, 2 * LONG))), ("d", None)]);
            },
            |world| {
                world.scan(false);
                world.read("bb", true);
            },
            |world| {
                world.read("d", true);
                world.scan(true);
            },
        ],
    );
}

const LITTER: [Key; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// A page full of deletions, which readers clear while one of its rows grows beyond what a page may have.
pub fn an_entry_that_no_page_holds() {
    let world = World::new(1 << 20);
    world.fill_with(&LITTER, 10);
    world.scan(false);
    let deletions: Vec<_> = LITTER[1..].iter().map(|key| (*key, None)).collect();
    world.commit(&deletions);
    together(
        &world,
        [
            |world| {
                world.commit(&[("a", Some((2, TOO_LONG)))]);
                world.commit(&[("c", Some((3, 10)))]);
            },
            |world| {
                world.scan(false);
                world.read("a", true);
            },
            |world| {
                world.collect(&LITTER[4..]);
                world.scan(true);
            },
        ],
    );
}

/// A range in the middle of what is read is dropped.
pub fn a_range_that_is_dropped() {
    let world = World::new(1 << 20);
    world.fill_with(&["a", "m", "n", "z"], 10);
    together(
        &world,
        [
            |world| {
                world.destroy(&KeyRange::new("m", "o"));
                world.read("m", true);
                world.read("n", false);
            },
            |world| {
                world.read("a", true);
                world.read("z", true);
            },
            |world| world.commit(&[("z", Some((2, 10))), ("a", None)]),
        ],
    );
}
