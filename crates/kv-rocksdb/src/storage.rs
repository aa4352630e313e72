//! Versions in RocksDB: opening the store, and who does what.
//!
//! Reads: [`crate::read`], [`crate::scan`], from memory where it can be: [`crate::latest::cache`]. Writes: [`crate::write`].
//! What they supersede: [`crate::history`]. Removal: [`crate::collect`]. Ranges as a whole: [`crate::ranges`], [`crate::sizes`].

use crate::failure::{from_open, from_rocksdb};
use crate::history::History;
use crate::latest::{Latest, Prepared};
use crate::layout::{FAMILIES_OF_1, FORMAT, FORMAT_KEY, LAST_COMMIT_KEY, damaged, leading_ts};
use crate::options::RocksOptions;
use crate::recovery::{self, Lock, SyncMark};
use crate::space::FreeSpace;
use crate::spill::Spill;
use kv::{
    ApplyError, ApplyHow, Damage, Error, Interrupt, KeyGuard, KeyRange, KnownVersions, Pressure, Result,
    ScanRequest, Seen, Storage, Timestamp, Visit, VisitVersions, WriteBuffer,
};
use rocksdb::{ColumnFamilyDescriptor, DB, Options, WriteOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An open RocksDB.
pub struct RocksStorage {
    pub(crate) dir: PathBuf,
    pub(crate) space: FreeSpace,
    pub(crate) latest: Latest,
    /// Each read that the row cache answers with RocksDB.
    pub(crate) compares: bool,
    pub(crate) history: History,
    pub(crate) spill: Spill,
    newest_commit_ts: Timestamp,
    /// Given back last of all.
    _lock: Lock,
}

impl RocksStorage {
    /// Opens or creates the store in `dir`. `safe_point` is what compactions go by; it starts where the store was left,
    /// since superseded versions do not outlive the process.
    pub fn open(dir: &Path, options: &RocksOptions, safe_point: &Arc<AtomicU64>) -> Result<Self> {
        std::fs::create_dir_all(dir)
            .map_err(|error| Error::Unavailable(format!("cannot create {}: {error}", dir.display())))?;
        let lock = Lock::take(dir)?;
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
        // RocksDB has written to tables what the logs held, and begun another log.
        let synced = recovery::newest_log(dir)
            .and_then(|log| SyncMark::begin(dir, log, db.latest_sequence_number()))
            .map_err(|error| Error::Unavailable(format!("cannot write to {}: {error}", dir.display())))?;
        let mut write_synced = WriteOptions::default();
        write_synced.set_sync(true);
        let newest_commit_ts = check_format(&db, dir, &write_synced)?;
        safe_point.fetch_max(newest_commit_ts, Ordering::SeqCst);
        for name in &obsolete {
            db.drop_cf(name).map_err(|error| from_rocksdb(&error))?;
        }
        Ok(Self {
            latest: Latest::new(db, dir, synced, options.row_cache_bytes)?,
            compares: options.compare_cached_reads,
            dir: dir.to_owned(),
            space: FreeSpace::new(dir, options.disk_reserve_bytes),
            history: History::new(options.history_bytes, newest_commit_ts),
            spill: Spill::new(dir, safe_point),
            newest_commit_ts,
            _lock: lock,
        })
    }
}

/// Refuses a store of an unknown format, marks a new one, and returns the newest commit's timestamp.
fn check_format(db: &DB, dir: &Path, synced: &WriteOptions) -> Result<Timestamp> {
    let get = |key| db.get(key).map_err(|error| from_rocksdb(&error));
    match get(FORMAT_KEY)?.as_deref() {
        None | Some([1]) => db
            .put_opt(FORMAT_KEY, [FORMAT], synced)
            .map_err(|error| from_rocksdb(&error))?,
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
        self.read_one(key, ts, found)
    }

    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>> {
        self.read_settled(key, ts, found)
    }

    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp> {
        self.read_commit_ts(key)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()> {
        self.read_batch(keys, ts, visit)
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        self.scan_range(request, visit)
    }

    fn prepare(&self, writes: &WriteBuffer, known: &KnownVersions) -> Result<Prepared> {
        self.prepare_writes(writes, known)
    }

    fn supersedes(&self, prepared: &Prepared) -> bool {
        prepared.supersedes()
    }

    fn apply(&self, group: Vec<Prepared>, commit_ts: Timestamp, how: ApplyHow) -> Result<(), ApplyError> {
        self.apply_group(group, commit_ts, how)
    }

    fn sync_log(&self) -> Result<()> {
        self.latest.sync_log()
    }

    fn collect(&self, safe_point: Timestamp, thorough: bool, guard: &mut dyn KeyGuard) -> Result<u64> {
        self.collect_garbage(safe_point, thorough, guard)
    }

    fn pressure(&self) -> Pressure {
        if !self.history.exceeds_budget(1) {
            Pressure::Low
        } else if !self.history.exceeds_budget(2) {
            Pressure::High
        } else {
            Pressure::TooHigh
        }
    }

    fn wanted_safe_point(&self) -> Timestamp {
        self.history.wanted_safe_point()
    }

    fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        self.split(range, parts)
    }

    fn approximate_bytes(&self, range: &KeyRange) -> Result<u64> {
        self.range_bytes(range)
    }

    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        self.destroy(range)
    }

    fn verify_cached(
        &self,
        range: &KeyRange,
        ts: Timestamp,
        interrupt: Option<&Interrupt>,
    ) -> Result<Vec<Damage>> {
        self.verify_pages(range, ts, interrupt)
    }

    fn flush(&self) -> Result<()> {
        self.latest.flush()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        self.figures()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{LATEST, META, Version, push_version};

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
            assert_eq!(
                storage
                    .latest
                    .behind_its_back()
                    .0
                    .get(FORMAT_KEY)
                    .unwrap()
                    .as_deref(),
                Some(&[FORMAT][..])
            );
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
    fn compaction_drops_deletions_that_nobody_has_to_know_of() {
        let dir = tempfile::tempdir().unwrap();
        let safe_point = Arc::<AtomicU64>::default();
        let storage = RocksStorage::open(dir.path(), &RocksOptions::small(), &safe_point).unwrap();
        for (key, commit_ts) in [("a", 10), ("b", 20), ("c", 30)] {
            let mut writes = WriteBuffer::new();
            writes.delete(key.into());
            writes.put(format!("{key} stays").into_bytes(), b"value".to_vec());
            let prepared = storage.prepare(&writes, &KnownVersions::default()).unwrap();
            storage
                .apply(vec![prepared], commit_ts, ApplyHow::default())
                .unwrap();
        }
        safe_point.store(20, Ordering::SeqCst);
        Storage::flush(&storage).unwrap();
        let mut compact = rocksdb::CompactOptions::default();
        compact.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        storage.latest.compact(&KeyRange::all(), &compact).unwrap();
        let (db, latest) = storage.latest.behind_its_back();
        let left: Vec<_> = db
            .iterator_cf(latest, rocksdb::IteratorMode::Start)
            .map(|entry| String::from_utf8(entry.unwrap().0.to_vec()).unwrap())
            .collect();
        assert_eq!(left, ["a stays", "b stays", "c", "c stays"]);
    }
}
