//! The storage that [`kv::EmbeddedEngine`] runs on: opening a RocksDB, and which part of this crate does
//! what.
//!
//! The engine calls [`kv::Storage`]'s methods. They delegate to [`Versions`] (reads, scans, preparing
//! commits), its parts [`Latest`] and [`Superseded`] (writes, collection, ranges as a whole), and
//! [`FreeSpace`]. The way of a commit: `docs/commit.md`.

use crate::failure::{from_open, from_rocksdb};
use crate::latest::deletions::remove_expired;
use crate::latest::{Group, Latest, Prepared, approximate_bytes, split_range};
use crate::layout::{FAMILIES_OF_1, FORMAT, FORMAT_KEY, LAST_COMMIT_KEY, Version, damaged, leading_ts};
use crate::log::Log;
use crate::options::RocksOptions;
use crate::recovery::{self, DirectoryLock, SyncMark};
use crate::sorted_files::SortedFiles;
use crate::space::FreeSpace;
use crate::stats::figures;
use crate::superseded::{History, Spill, Superseded};
use crate::versions::{Comparison, Preparation, Scan, Versions};
use kv::engine::VisitNewer;
use kv::{
    ApplyError, ApplyHow, Damage, Error, Interrupt, KeyGuard, KeyRange, LockedVersions, Pressure, Result,
    ScanRequest, Seen, SortedFile, SortedPairs, Storage, Timestamp, Visit, VisitVersions, Watch, WriteBuffer,
};
use rocksdb::{ColumnFamilyDescriptor, CompactOptions, DB, Options, WriteOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys between two checks of an interrupt.
const KEYS_PER_CHECK: u64 = 1_024;

/// An open RocksDB.
pub struct RocksStorage {
    dir: PathBuf,
    space: FreeSpace,
    pub(crate) versions: Versions,
    sorted_files: SortedFiles,
    newest_commit_ts: Timestamp,
    /// Dropped last, after RocksDB has been closed.
    _lock: DirectoryLock,
}

impl RocksStorage {
    /// Opens or creates the store in `dir`. Compactions read `safe_point`, which starts at the newest commit,
    /// since superseded versions do not survive the process.
    pub fn open(dir: &Path, options: &RocksOptions, safe_point: &Arc<AtomicU64>) -> Result<Self> {
        std::fs::create_dir_all(dir)
            .map_err(|error| Error::Unavailable(format!("cannot create {}: {error}", dir.display())))?;
        let lock = DirectoryLock::take(dir)?;
        recovery::before_open(dir)?;
        let mut families = Vec::from(options.column_families(safe_point)?);
        let mut obsolete = DB::list_cf(&options.database(), dir).unwrap_or_default();
        obsolete.retain(|name| FAMILIES_OF_1.contains(&name.as_str()));
        families.extend(
            obsolete
                .iter()
                .map(|name| ColumnFamilyDescriptor::new(name, Options::default())),
        );
        let mut db = DB::open_cf_descriptors(&options.database(), dir, families)
            .map_err(|error| from_open(&error, dir))?;
        options.tune(&db, dir);
        // RocksDB has written the entries of the logs to table files, and started another log.
        let synced = recovery::newest_log(dir)
            .and_then(|log| SyncMark::begin(dir, log, db.latest_sequence_number()))
            .map_err(|error| Error::Unavailable(format!("cannot write to {}: {error}", dir.display())))?;
        let newest_commit_ts = check_format(&db, dir)?;
        safe_point.fetch_max(newest_commit_ts, Ordering::SeqCst);
        for name in &obsolete {
            db.drop_cf(name).map_err(|error| from_rocksdb(&error))?;
        }
        let log = Log::new(dir, synced);
        Ok(Self {
            versions: Versions {
                latest: Latest::new(db, log, options.row_cache_bytes, newest_commit_ts)?,
                superseded: Superseded {
                    history: History::new(options.history_bytes),
                    spill: Spill::new(dir, safe_point),
                },
                compares: options.compare_cached_reads,
            },
            sorted_files: SortedFiles::new(dir, options.sorted_files()?),
            dir: dir.to_owned(),
            space: FreeSpace::new(dir, options.disk_reserve_bytes),
            newest_commit_ts,
            _lock: lock,
        })
    }

    /// `range`, with an end: beyond all keys that are stored, if it has none.
    fn with_end(&self, range: &KeyRange) -> Result<KeyRange> {
        if !range.end.is_empty() {
            return Ok(range.clone());
        }
        let last = self.versions.latest.first_and_last_key(&KeyRange::all())?;
        let longest = last
            .map_or(0, |(_, last)| last.len())
            .max(kv::Limits::default().key_bytes);
        Ok(KeyRange::new(range.start.as_slice(), vec![u8::MAX; longest + 1]))
    }
}

/// Refuses a store of an unknown format, writes the format into a new one, and returns the newest commit's
/// timestamp.
fn check_format(db: &DB, dir: &Path) -> Result<Timestamp> {
    let get = |key| db.get(key).map_err(|error| from_rocksdb(&error));
    match get(FORMAT_KEY)?.as_deref() {
        None | Some([1]) => {
            let mut synced = WriteOptions::default();
            synced.set_sync(true);
            db.put_opt(FORMAT_KEY, [FORMAT], &synced)
                .map_err(|error| from_rocksdb(&error))?;
        }
        Some([FORMAT]) => {}
        Some(other) => {
            return Err(Error::Unavailable(format!(
                "{} has storage format {other:?}; this program knows formats up to {FORMAT}",
                dir.display()
            )));
        }
    }
    match get(LAST_COMMIT_KEY)? {
        None => Ok(0),
        Some(bytes) => leading_ts(&bytes)
            .map(|(ts, _)| ts)
            .ok_or_else(|| damaged("the last commit's timestamp", &bytes)),
    }
}

impl Storage for RocksStorage {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn newest_commit_ts(&self) -> Timestamp {
        self.newest_commit_ts
    }

    fn get_with(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        self.versions.get(key, ts, found)
    }

    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>> {
        self.versions.get_if_settled(key, ts, found)
    }

    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp> {
        self.versions.commit_ts_of(key)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()> {
        self.versions.batch_get(keys, ts, visit)
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        Scan::new(&self.versions, request).run(visit)
    }

    fn will_read(&self, keys: &[&[u8]], ts: Timestamp) {
        self.versions.latest.cache().warm(keys, ts);
    }

    fn prepare(&self, writes: &WriteBuffer, locked: &LockedVersions) -> Result<Prepared> {
        Preparation::of(&self.versions, writes, locked)
    }

    fn supersedes(&self, prepared: &Prepared) -> bool {
        prepared.supersedes()
    }

    fn apply(&self, group: Vec<Prepared>, commit_ts: Timestamp, how: ApplyHow) -> Result<(), ApplyError> {
        let Versions {
            latest, superseded, ..
        } = &self.versions;
        let Some(group) = Group::new(latest.put_heads(), group, commit_ts) else {
            return Ok(());
        };
        self.space
            .check(group.bytes(), how.use_reserve)
            .map_err(ApplyError::NotApplied)?;
        // Before any reader can find a newer version in `latest`.
        superseded.history.add(group.superseded(), commit_ts);
        // RocksDB writes and syncs the log before it makes anything visible. If that fails, the record may
        // have reached the disk all the same, and an operating system that failed to sync once may claim
        // success the next time. So this group's outcome is unknown, and the log cannot be trusted with
        // another group.
        latest.commit(group, how.sync).map_err(|error| {
            tracing::error!(dir = %self.dir.display(), %error, "a write to the log failed");
            ApplyError::Unknown(error)
        })
    }

    fn sync_log(&self) -> Result<()> {
        self.versions.latest.sync_log()
    }

    fn collect(&self, safe_point: Timestamp, thorough: bool, guard: &mut dyn KeyGuard) -> Result<u64> {
        let Versions {
            latest, superseded, ..
        } = &self.versions;
        let dropped = superseded.collect(safe_point, latest.expired());
        // What live snapshots still need.
        superseded
            .spill(&self.space, latest.expired())
            .inspect_err(|error| {
                tracing::warn!(dir = %self.dir.display(), %error, "superseded versions that snapshots need cannot be moved to disk");
            })?;
        let deletions = remove_expired(latest, safe_point, guard)?;
        latest.lower_stall_limits();
        Ok(dropped + deletions + superseded.collect_spilled(safe_point, thorough)?)
    }

    fn pressure(&self) -> Pressure {
        self.versions.superseded.pressure()
    }

    fn wanted_safe_point(&self) -> Timestamp {
        self.versions.superseded.history.wanted_safe_point()
    }

    fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        split_range(&self.versions.latest, range, parts)
    }

    fn approximate_bytes(&self, range: &KeyRange) -> Result<u64> {
        approximate_bytes(&self.versions.latest, range)
    }

    /// The space is freed as files are compacted: at once for files that are wholly within the range, and for
    /// all of it if the disk is nearly full.
    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        let Versions {
            latest, superseded, ..
        } = &self.versions;
        let range = self.with_end(range)?;
        let destroyed = latest.destroy(&range);
        superseded.history.destroy(&range);
        destroyed?;
        superseded.spill.destroy(&range)?;
        if self.space.is_short() {
            // A write buffer that becomes a file frees its log.
            latest.flush()?;
            let mut compact = CompactOptions::default();
            compact.set_exclusive_manual_compaction(false);
            latest.compact(&range, &compact)?;
        }
        Ok(())
    }

    fn loads_by_file(&self) -> bool {
        true
    }

    fn check_space(&self, bytes: usize) -> Result<()> {
        self.space.check_now(bytes)
    }

    fn scratch_file(&self) -> Result<std::fs::File> {
        self.space.check_now(0)?;
        self.sorted_files.scratch()
    }

    fn scan_newer(
        &self,
        range: &KeyRange,
        since: Timestamp,
        interrupt: Option<&Interrupt>,
        visit: &mut VisitNewer,
    ) -> Result<()> {
        let mut iterator = self.versions.latest.iterate_once(range)?;
        iterator.seek_to_first();
        let mut keys = 0_u64;
        while let Some((key, stored)) = iterator.item() {
            // Most keys may be as old as the snapshot, and are not visited.
            if keys.is_multiple_of(KEYS_PER_CHECK)
                && let Some(interrupt) = interrupt
            {
                interrupt.check()?;
            }
            keys += 1;
            let version = Version::parse(stored)?;
            if version.ts > since {
                visit(key, version.ts, version.value)?;
            }
            iterator.next();
        }
        iterator.status().map_err(|error| from_rocksdb(&error))
    }

    fn visit_newest(&self, keys: &[Vec<u8>], visit: &mut VisitNewer) -> Result<()> {
        let found = self.versions.latest.get_many(keys, true)?;
        for (key, stored) in keys.iter().zip(found) {
            if let Some(stored) = stored? {
                let version = Version::parse(&stored)?;
                visit(key, version.ts, version.value)?;
            }
        }
        Ok(())
    }

    fn watch(&self, range: &KeyRange) -> Result<Watch> {
        Ok(self.versions.latest.watches().begin(range.clone()))
    }

    fn is_blank(&self, range: &KeyRange) -> Result<bool> {
        let range = self.with_end(range)?;
        Ok(self.versions.latest.first_and_last_key(&range)?.is_none())
    }

    fn write_sorted_file(&self, pairs: &SortedPairs, ts: Timestamp) -> Result<SortedFile> {
        self.space.check_now(pairs.bytes())?;
        self.sorted_files.write(pairs, ts)
    }

    fn ingest(&self, range: &KeyRange, files: Vec<SortedFile>) -> Result<(), ApplyError> {
        let range = self.with_end(range).map_err(ApplyError::NotApplied)?;
        // Commits wait for a part of it.
        scheduling::background::waited_for(|| self.versions.latest.ingest(&range, &files))
    }

    fn verify_cached(
        &self,
        range: &KeyRange,
        ts: Timestamp,
        interrupt: Option<&Interrupt>,
    ) -> Result<Vec<Damage>> {
        Comparison::new(&self.versions, ts).of_range(range, interrupt)
    }

    fn flush(&self) -> Result<()> {
        self.versions.latest.flush()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        figures(&self.versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{LATEST, META, push_version};

    #[test]
    fn a_store_of_format_1_is_opened_and_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        {
            let families = [META, LATEST].into_iter().chain(FAMILIES_OF_1);
            let db = DB::open_cf(&options, dir.path(), families).unwrap();
            let mut stored = Vec::new();
            push_version(
                &mut stored,
                Version {
                    ts: 7,
                    value: Some(b"value"),
                },
            );
            db.put_cf(db.cf_handle(LATEST).unwrap(), b"key", &stored).unwrap();
            for name in FAMILIES_OF_1 {
                db.put_cf(db.cf_handle(name).unwrap(), b"old", b"old").unwrap();
            }
            db.put(FORMAT_KEY, [1]).unwrap();
            db.put(LAST_COMMIT_KEY, 9_u64.to_be_bytes()).unwrap();
        }
        for _ in 0..2 {
            let safe_point = Arc::<AtomicU64>::default();
            let storage = RocksStorage::open(dir.path(), &RocksOptions::small(), &safe_point).unwrap();
            assert_eq!(storage.newest_commit_ts(), 9);
            assert_eq!(safe_point.load(Ordering::SeqCst), 9);
            let mut value = None;
            storage
                .get_with(b"key", 9, &mut |bytes| value = Some(bytes.to_vec()))
                .unwrap();
            assert_eq!(value.as_deref(), Some(&b"value"[..]));
            let (db, _) = storage.versions.latest.raw();
            assert_eq!(db.get(FORMAT_KEY).unwrap().as_deref(), Some(&[FORMAT][..]));
        }
        let names = DB::list_cf(&options, dir.path()).unwrap();
        assert_eq!(names.len(), 2, "{names:?}");
        let db = DB::open_cf(&options, dir.path(), names).unwrap();
        db.put(FORMAT_KEY, [FORMAT + 1]).unwrap();
        drop(db);
        let refused = RocksStorage::open(dir.path(), &RocksOptions::small(), &Arc::default());
        assert!(matches!(refused.map(|_| ()), Err(Error::Unavailable(_))));
    }

    #[test]
    fn compaction_drops_deletions_that_no_snapshot_needs() {
        let dir = tempfile::tempdir().unwrap();
        let safe_point = Arc::<AtomicU64>::default();
        let storage = RocksStorage::open(dir.path(), &RocksOptions::small(), &safe_point).unwrap();
        for (key, commit_ts) in [("a", 10), ("b", 20), ("c", 30)] {
            let mut writes = WriteBuffer::new();
            writes.delete(key.into());
            writes.put(format!("{key} stays").into_bytes(), b"value".to_vec());
            let prepared = storage.prepare(&writes, &LockedVersions::default()).unwrap();
            storage
                .apply(vec![prepared], commit_ts, ApplyHow::default())
                .unwrap();
        }
        safe_point.store(20, Ordering::SeqCst);
        Storage::flush(&storage).unwrap();
        let mut compact = rocksdb::CompactOptions::default();
        compact.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        storage
            .versions
            .latest
            .compact(&KeyRange::all(), &compact)
            .unwrap();
        let (db, latest) = storage.versions.latest.raw();
        let left: Vec<_> = db
            .iterator_cf(latest, rocksdb::IteratorMode::Start)
            .map(|entry| String::from_utf8(entry.unwrap().0.to_vec()).unwrap())
            .collect();
        assert_eq!(left, ["a stays", "b stays", "c", "c stays"]);
    }

    /// RocksDB counts the end of a range of files as part of it; the contract does not.
    #[test]
    fn the_end_of_a_destroyed_range_stays_even_if_a_file_ends_there() {
        let dir = tempfile::tempdir().unwrap();
        let storage = RocksStorage::open(dir.path(), &RocksOptions::small(), &Arc::default()).unwrap();
        for commit_ts in [10, 20] {
            let mut writes = WriteBuffer::new();
            for key in ["b1", "b2", "c"] {
                writes.put(key.into(), commit_ts.to_string().into());
            }
            let prepared = storage.prepare(&writes, &LockedVersions::default()).unwrap();
            storage
                .apply(vec![prepared], commit_ts, ApplyHow::default())
                .unwrap();
        }
        Storage::flush(&storage).unwrap();
        // Files of the first level are never dropped whole.
        storage
            .versions
            .latest
            .compact(&KeyRange::all(), &CompactOptions::default())
            .unwrap();
        storage.destroy_range(&KeyRange::new("b", "c")).unwrap();
        let read = |key: &str, ts| {
            let mut value = None;
            storage
                .get_with(key.as_bytes(), ts, &mut |bytes| value = Some(bytes.to_vec()))
                .unwrap();
            value
        };
        assert_eq!((read("b1", kv::LATEST), read("b2", 15)), (None, None));
        assert_eq!(read("c", kv::LATEST), Some(b"20".to_vec()));
        assert_eq!(read("c", 15), Some(b"10".to_vec()));
    }

    #[test]
    fn timestamps_continue_above_the_last_commit_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(kv::ManualClock::new(5_000));
        let mut options = RocksOptions::small();
        options.embedded.clock = clock.clone();
        let mut last = 0;
        for ms in [5_000, 10, 7] {
            clock.set_ms(ms);
            let store = crate::open(dir.path(), options.clone()).unwrap();
            assert!(store.current_ts().unwrap() > last);
            let mut txn = store.begin(kv::TxnOptions::default()).unwrap();
            txn.put(b"key".to_vec(), b"value".to_vec()).unwrap();
            let commit_ts = txn.commit(kv::Durability::Os).unwrap();
            assert!(commit_ts > last);
            last = commit_ts;
        }
    }
}
