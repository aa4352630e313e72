//! Whether the row cache agrees with RocksDB.
//!
//! Both change while they are compared, RocksDB first. They have to agree on what a reader of one timestamp
//! sees. So a page is read before RocksDB. If RocksDB then has a version that is newer than the timestamp,
//! that was committed in between or is not published yet, and the page must have the version that the history
//! says was there before.
//!
//! ADMIN CHECK TABLE compares all pages of a range. With [`crate::RocksOptions::compare_cached_reads`], which
//! tests set, each read that a page answers is compared.

use super::Versions;
use crate::failure::from_rocksdb;
use crate::latest::cache::{Lookup, PageRange};
use crate::layout::Version;
use kv::{Damage, Interrupt, KeyRange, Result, Timestamp};
use std::thread;
use std::time::{Duration, Instant};

/// How long a commit may take from RocksDB to the cache, on a machine that is busy with other work.
const COMMIT_MAX: Duration = Duration::from_secs(20);
const RETRY_AFTER: Duration = Duration::from_millis(1);

/// Compares what readers of one timestamp see.
pub(crate) struct Comparison<'a> {
    versions: &'a Versions,
    ts: Timestamp,
}

impl<'a> Comparison<'a> {
    pub fn new(versions: &'a Versions, ts: Timestamp) -> Self {
        Self { versions, ts }
    }

    /// Compares all pages of a range. The timestamp is pinned, and at or above everything acknowledged. Pages
    /// with a difference are dropped.
    ///
    /// # Errors
    /// RocksDB's errors, [`kv::Error::Interrupted`].
    pub fn of_range(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Damage>> {
        let cache = self.versions.latest.cache();
        let mut found = Vec::new();
        let mut rest = range.clone();
        while let Some(next) = cache.next_page(&rest) {
            interrupt.map_or(Ok(()), Interrupt::check)?;
            let before = found.len();
            self.compare_page(&next, &rest, &mut found)?;
            if found.len() > before {
                cache.forget(&KeyRange::new(next.start, next.end.as_slice()));
            }
            if next.end.is_empty() || found.len() >= Damage::REPORTED_MAX {
                break;
            }
            rest.start = next.end;
        }
        found.truncate(Damage::REPORTED_MAX);
        Ok(found)
    }

    /// Compares a read that a page answers with `cached`. The history of a timestamp that is not pinned may
    /// be gone. Then, as for [`kv::LATEST`], the page only has to agree with RocksDB once the commits in
    /// flight have ended.
    ///
    /// # Panics
    /// If they differ: a test cannot continue after that.
    #[cold]
    pub fn of_read(&self, key: &[u8], is_pinned: bool, cached: Option<Version>) -> Result<()> {
        let damage = if is_pinned {
            let stored = self.versions.latest.get(key)?;
            let stored = stored.as_deref().map(Version::parse).transpose()?;
            self.damage(key, cached, stored)?
        } else {
            self.lasting_damage(key, cached)?
        };
        insist_on_none(damage);
        Ok(())
    }

    /// Compares what a scan reads of a page. The timestamp is pinned.
    ///
    /// # Panics
    /// If they differ.
    #[cold]
    pub fn of_scan(&self, page: &PageRange, range: &KeyRange) -> Result<()> {
        let mut found = Vec::new();
        self.compare_page(page, range, &mut found)?;
        insist_on_none(found.pop());
        Ok(())
    }

    fn compare_page(&self, page: &PageRange, range: &KeyRange, found: &mut Vec<Damage>) -> Result<()> {
        if !page.page.is_complete_at(self.ts) {
            return Ok(());
        }
        let start = page.start.as_slice().max(&range.start);
        let ends = [page.end.as_slice(), &range.end].into_iter();
        let end = ends.filter(|end| !end.is_empty()).min().unwrap_or_default();
        let positions = page.page.positions(start, end);
        let mut cached = positions.filter_map(|at| page.page.entry(at)).peekable();
        let mut stored = self.versions.latest.iterate(&KeyRange::new(start, end))?;
        stored.seek_to_first();
        loop {
            let keys = (cached.peek().map(|entry| entry.0), stored.key());
            let key = match keys {
                (Some(cached), Some(stored)) => cached.min(stored),
                (Some(key), None) | (None, Some(key)) => key,
                (None, None) => break,
            };
            let in_page = cached.next_if(|entry| entry.0 == key);
            let in_page = in_page.map(|(_, bytes)| Version::parse(bytes)).transpose()?;
            let in_store = stored.item().filter(|entry| entry.0 == key);
            let in_store = in_store.map(|(_, bytes)| Version::parse(bytes)).transpose()?;
            found.extend(self.damage(key, in_page, in_store)?);
            if in_store.is_some() {
                stored.next();
            }
        }
        stored.status().map_err(|error| from_rocksdb(&error))
    }

    /// The difference, if there is one, for readers of a pinned timestamp. RocksDB was read after the page.
    fn damage(&self, key: &[u8], cached: Option<Version>, stored: Option<Version>) -> Result<Option<Damage>> {
        let is_newer = |version: Option<Version>| version.is_some_and(|version| version.ts > self.ts);
        if !is_newer(stored) || is_newer(cached) {
            // Where both are newer, both lead to the history; but a page is never ahead of RocksDB.
            let is_right = match (cached, stored) {
                (Some(cached), Some(stored)) if is_newer(Some(stored)) => cached.ts <= stored.ts,
                _ => visible(cached) == visible(stored),
            };
            return Ok((!is_right).then(|| damage_of(key, cached, stored)));
        }
        let before = self.versions.superseded.read(key, self.ts, |version| {
            (version.ts, version.value.map(<[u8]>::to_vec))
        })?;
        let (ts, value) = before.unwrap_or_default();
        let value = value.as_deref();
        let before = Some(Version { ts, value });
        Ok((visible(cached) != visible(before)).then(|| damage_of(key, cached, before)))
    }

    /// The difference that remains when no commit can be the reason any more, for a timestamp whose history
    /// may be gone.
    fn lasting_damage(&self, key: &[u8], cached: Option<Version>) -> Result<Option<Damage>> {
        let latest = &self.versions.latest;
        let mut page;
        let mut cached = cached;
        let start = Instant::now();
        loop {
            let stored = latest.get(key)?;
            let stored = stored.as_deref().map(Version::parse).transpose()?;
            if visible(cached) == visible(stored) || stored.is_some_and(|stored| stored.ts > self.ts) {
                return Ok(None);
            }
            if start.elapsed() > COMMIT_MAX {
                return Ok(Some(damage_of(key, cached, stored)));
            }
            thread::sleep(RETRY_AFTER);
            let Lookup::Found(found) = latest.cache().page(key, self.ts) else {
                return Ok(None);
            };
            page = found;
            cached = page.get(key).map(Version::parse).transpose()?;
        }
    }
}

/// What a reader sees: a deletion and an absent key are the same.
fn visible(version: Option<Version<'_>>) -> Option<(Timestamp, &[u8])> {
    version.and_then(|version| Some((version.ts, version.value?)))
}

fn damage_of(key: &[u8], cached: Option<Version>, stored: Option<Version>) -> Damage {
    let show = |version: Option<Version>| match version {
        None | Some(Version { ts: 0, value: None }) => "nothing".to_owned(),
        Some(Version { ts, value: None }) => format!("a deletion of {ts}"),
        Some(Version {
            ts,
            value: Some(value),
        }) => {
            let shown: String = value.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
            format!("{} bytes of {ts} (0x{shown})", value.len())
        }
    };
    Damage {
        key: key.to_vec(),
        what: format!("the row cache has {}, the store {}", show(cached), show(stored)),
    }
}

fn insist_on_none(damage: Option<Damage>) {
    if let Some(damage) = damage {
        panic!("{damage}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latest::PageLoads;
    use crate::layout::push_version;
    use crate::{RocksOptions, RocksStorage};
    use kv::{ApplyHow, Error, LATEST, LockedVersions, ScanRequest, Storage, Write, WriteBuffer};
    use std::ops::ControlFlow;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use tempfile::TempDir;

    const TS: Timestamp = 100;

    fn commit(storage: &RocksStorage, ts: Timestamp, writes: &[(&str, Option<&str>)]) {
        let mut buffer = WriteBuffer::new();
        for (key, value) in writes {
            match value {
                Some(value) => buffer.put(key.as_bytes().to_vec(), value.as_bytes().to_vec()),
                None => buffer.delete(key.as_bytes().to_vec()),
            }
        }
        let prepared = storage.prepare(&buffer, &LockedVersions::default()).unwrap();
        storage.apply(vec![prepared], ts, ApplyHow::default()).unwrap();
    }

    fn scan(storage: &RocksStorage, ts: Timestamp, reverse: bool) -> Vec<String> {
        let mut found = Vec::new();
        let request = ScanRequest {
            range: &KeyRange::all(),
            ts,
            reverse,
            interrupt: None,
            fills_caches: true,
        };
        let visit = &mut |key: &[u8], value: &[u8]| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.push(format!("{}={}", text(key), text(value)));
            ControlFlow::Continue(())
        };
        storage.scan(request, visit).unwrap();
        found
    }

    fn verify(
        storage: &RocksStorage,
        range: &KeyRange,
        ts: Timestamp,
        interrupt: Option<&Interrupt>,
    ) -> Result<Vec<Damage>> {
        storage.verify_cached(range, ts, interrupt)
    }

    /// Rows a to e in one page, some of them changed and deleted after a snapshot of 15.
    fn cached(dir: &TempDir) -> RocksStorage {
        let storage =
            RocksStorage::open(dir.path(), &RocksOptions::small(), &std::sync::Arc::default()).unwrap();
        let first = ["a", "b", "c", "d", "e"].map(|key| (key, Some("1")));
        commit(&storage, 10, &first);
        let mut loads = PageLoads::begin(&storage.versions.latest, b"", b"", true).unwrap();
        loads.load(10).unwrap().unwrap();
        drop(loads);
        commit(&storage, 20, &[("b", Some("2")), ("c", None), ("f", Some("2"))]);
        storage
    }

    fn behind(storage: &RocksStorage, key: &str, version: Option<(Timestamp, Option<&str>)>) {
        let (db, latest) = storage.versions.latest.raw();
        let Some((ts, value)) = version else {
            return db.delete_cf(latest, key).unwrap();
        };
        let mut stored = Vec::new();
        let value = value.map(str::as_bytes);
        push_version(&mut stored, Version { ts, value });
        db.put_cf(latest, key, stored).unwrap();
    }

    #[test]
    fn readers_of_all_moments_agree_with_the_store() {
        let dir = tempfile::tempdir().unwrap();
        let storage = cached(&dir);
        for reverse in [false, true] {
            assert_eq!(scan(&storage, 15, reverse).len(), 5);
            assert_eq!(scan(&storage, TS, reverse).len(), 5);
        }
        for key in ["a", "b", "c", "f", "g"] {
            let nothing = &mut |_: &[u8]| {};
            storage.get_with(key.as_bytes(), 15, nothing).unwrap();
            storage.get_with(key.as_bytes(), LATEST, nothing).unwrap();
            storage.get_settled_with(key.as_bytes(), TS, nothing).unwrap();
        }
        assert!(verify(&storage, &KeyRange::all(), TS, None).unwrap().is_empty());
        assert!(verify(&storage, &KeyRange::all(), 15, None).unwrap().is_empty());
        let killed = Interrupt::new();
        killed.raise();
        let ended = verify(&storage, &KeyRange::all(), TS, Some(&killed));
        assert_eq!(ended, Err(Error::Interrupted));
    }

    #[test]
    fn each_kind_of_difference_is_found() {
        for (key, version) in [
            // Another value, of the same commit or of another; none; one that no commit has put there; a
            // deletion that came back.
            ("a", Some((10, Some("x")))),
            ("a", Some((20, Some("1")))),
            ("a", None),
            ("aa", Some((10, Some("1")))),
            ("c", Some((10, Some("1")))),
            // The page is ahead of the store.
            ("b", Some((10, Some("1")))),
            ("f", None),
            // The page has not heard of it.
            ("d", Some((30, None))),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let storage = cached(&dir);
            behind(&storage, key, version);
            let one_key = KeyRange::new(key, [key.as_bytes(), b"\0"].concat());
            let elsewhere = KeyRange::new("g", "");
            assert!(verify(&storage, &elsewhere, TS, None).unwrap().is_empty());
            let loud = catch_unwind(AssertUnwindSafe(|| scan(&storage, TS, false)));
            assert!(loud.is_err(), "{key} {version:?}");
            let read = || storage.get_with(key.as_bytes(), TS, &mut |_| {});
            assert!(catch_unwind(AssertUnwindSafe(read)).is_err(), "{key} {version:?}");
            let keys = [key.as_bytes().to_vec()];
            let read = || storage.batch_get_with(&keys, TS, &mut |_, _, _| {});
            assert!(catch_unwind(AssertUnwindSafe(read)).is_err(), "{key} {version:?}");
            let found = verify(&storage, &one_key, TS, None).unwrap();
            assert_eq!(found.len(), 1, "{key} {version:?}");
            assert_eq!(found[0].key, key.as_bytes());
            // The page is gone, and reads are right.
            assert!(verify(&storage, &KeyRange::all(), TS, None).unwrap().is_empty());
            scan(&storage, TS, false);
        }
    }

    #[test]
    fn what_an_old_snapshot_sees_is_compared_too() {
        let dir = tempfile::tempdir().unwrap();
        let storage = cached(&dir);
        // Committed after the snapshot, but the history has no such version.
        behind(&storage, "a", Some((20, Some("2"))));
        let found = verify(&storage, &KeyRange::all(), 15, None).unwrap();
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["key 0x61: the row cache has 1 bytes of 10 (0x31), the store nothing"]
        );
    }

    #[test]
    fn a_commit_on_its_way_is_no_difference() {
        let dir = tempfile::tempdir().unwrap();
        let storage = cached(&dir);
        let page = storage.versions.page(b"a", LATEST).unwrap().unwrap();
        behind(&storage, "a", Some((30, Some("new"))));
        let old = page.get(b"a").map(Version::parse).transpose().unwrap();
        thread::scope(|scope| {
            let read = scope.spawn(|| Comparison::new(&storage.versions, LATEST).of_read(b"a", false, old));
            thread::sleep(RETRY_AFTER * 3);
            let mut writes = WriteBuffer::new();
            writes.write(b"a".to_vec(), Write::put(b"new".to_vec()).fresh());
            let prepared = storage.prepare(&writes, &LockedVersions::default()).unwrap();
            storage.apply(vec![prepared], 30, ApplyHow::default()).unwrap();
            read.join().unwrap().unwrap();
        });
    }
}
