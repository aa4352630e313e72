//! Superseded versions on disk: what live snapshots need and the history has no memory for.
//!
//! They are stored in a RocksDB of their own, without a log, because no snapshot survives a restart. It
//! exists only while there are such versions. It cannot be the RocksDB of `latest`: a RocksDB that recycles
//! its log files refuses writes without a log.

use super::SupersededVersion;
use crate::failure::{from_open, from_rocksdb};
use crate::layout::{TS_BYTES, Version, damaged, leading_ts, push_escaped, push_history_key, push_version};
use kv::{KeyRange, Result, Timestamp};
use parking_lot::RwLock;
use rocksdb::compaction_filter::Decision;
use rocksdb::properties::{ESTIMATE_NUM_KEYS, TOTAL_SST_FILES_SIZE};
use rocksdb::{
    BottommostLevelCompaction, CompactOptions, DB, DBCompactionStyle, DBCompressionType, LogLevel, Options,
    WriteBatch, WriteOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// In the store's directory.
const DIRECTORY: &str = "history";

const WRITE_BUFFER_BYTES: usize = 16 << 20;

/// Spilled versions, if there are any.
pub(crate) struct Spill {
    dir: PathBuf,
    files: RwLock<Option<Arc<Files>>>,
    /// Directories made so far. An old directory is removed only when its last reader is done.
    directories: AtomicU64,
    safe_point: Arc<AtomicU64>,
}

/// Versions to be written together.
#[derive(Default)]
pub(super) struct Batch {
    batch: WriteBatch,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Batch {
    /// Versions, and bytes of them without the last one, in a batch: commits wait while they are gathered.
    pub const LIMITS: (usize, usize) = (256, 128 << 10);

    pub fn add(&mut self, version: &SupersededVersion<'_>) {
        self.key.clear();
        push_history_key(&mut self.key, version.key, version.commit_ts);
        self.value.clear();
        let stored = Version {
            ts: version.superseded_ts,
            value: version.value,
        };
        push_version(&mut self.value, stored);
        self.batch.put(&self.key, &self.value);
    }

    pub fn bytes(&self) -> usize {
        self.batch.size_in_bytes()
    }
}

/// A RocksDB in a directory that is removed when this is dropped.
struct Files {
    db: Option<DB>,
    dir: PathBuf,
    /// Versions that compactions have dropped.
    dropped: Arc<AtomicU64>,
}

impl Drop for Files {
    fn drop(&mut self) {
        drop(self.db.take());
        remove(&self.dir);
    }
}

fn remove(dir: &Path) {
    if let Err(error) = std::fs::remove_dir_all(dir)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(dir = %dir.display(), %error, "a directory of superseded versions that are no longer needed cannot be removed");
    }
}

impl Files {
    fn open(dir: PathBuf, safe_point: &Arc<AtomicU64>) -> Result<Self> {
        // The versions still in memory need no file when it is closed. This comes first, because the call
        // returns a copy of the options.
        let mut options = Options::default()
            .get_options_from_string("avoid_flush_during_shutdown=true")
            .map_err(|error| from_rocksdb(&error))?;
        options.create_if_missing(true);
        options.set_write_buffer_size(WRITE_BUFFER_BYTES);
        options.set_compression_type(DBCompressionType::Lz4);
        // Versions are written once, hardly ever read, and dropped all together. So compactions should
        // rewrite them as rarely as possible.
        options.set_compaction_style(DBCompactionStyle::Universal);
        options.set_level_zero_file_num_compaction_trigger(8);
        options.set_log_level(LogLevel::Warn);
        // Commits make room here: on a full disk they fail, until no snapshot needs the versions any longer.
        crate::full_disk::fails_writes(&mut options, true);
        let dropped = Arc::<AtomicU64>::default();
        let (counter, safe_point) = (Arc::clone(&dropped), Arc::clone(safe_point));
        options.set_compaction_filter("superseded", move |_level, _key, value| match leading_ts(value) {
            Some((superseded_ts, _)) if superseded_ts <= safe_point.load(Ordering::Relaxed) => {
                counter.fetch_add(1, Ordering::Relaxed);
                Decision::Remove
            }
            _ => Decision::Keep,
        });
        let db = DB::open(&options, &dir).map_err(|error| from_open(&error, &dir))?;
        Ok(Self {
            db: Some(db),
            dir,
            dropped,
        })
    }

    fn write(&self, batch: WriteBatch) -> Result<()> {
        let mut unlogged = WriteOptions::default();
        unlogged.disable_wal(true);
        let written = self.db.as_ref().map(|db| db.write_opt(batch, &unlogged));
        written.transpose().map_err(|error| from_rocksdb(&error))?;
        Ok(())
    }

    /// Applies the compaction filter to all versions, and returns how many it dropped.
    fn compact(&self) -> Result<u64> {
        let Some(db) = &self.db else { return Ok(0) };
        let before = self.dropped.load(Ordering::Relaxed);
        db.flush().map_err(|error| from_rocksdb(&error))?;
        let mut compact = CompactOptions::default();
        compact.set_exclusive_manual_compaction(false);
        compact.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compact);
        Ok(self.dropped.load(Ordering::Relaxed).saturating_sub(before))
    }

    fn property(&self, name: &std::ffi::CStr) -> u64 {
        let db = self.db.as_ref();
        db.and_then(|db| db.property_int_value(name).ok().flatten())
            .unwrap_or(0)
    }
}

impl Spill {
    /// For the store in `dir`. Removes what an earlier process has left there.
    pub fn new(dir: &Path, safe_point: &Arc<AtomicU64>) -> Self {
        let dir = dir.join(DIRECTORY);
        remove(&dir);
        Self {
            dir,
            files: RwLock::default(),
            directories: AtomicU64::new(0),
            safe_point: Arc::clone(safe_point),
        }
    }

    fn files(&self) -> Option<Arc<Files>> {
        self.files.read().clone()
    }

    fn files_or_new(&self) -> Result<Arc<Files>> {
        if let Some(files) = self.files() {
            return Ok(files);
        }
        let dir = self
            .dir
            .join(self.directories.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&dir)
            .map_err(|error| kv::Error::Io(format!("cannot create {}: {error}", dir.display())))?;
        // After an error, the next collection tries again, in another directory.
        let files = Files::open(dir.clone(), &self.safe_point).inspect_err(|_| remove(&dir))?;
        let files = Arc::new(files);
        *self.files.write() = Some(Arc::clone(&files));
        Ok(files)
    }

    pub(super) fn write(&self, batch: Batch) -> Result<()> {
        self.files_or_new()?.write(batch.batch)
    }

    /// Removes all versions once their last reader is done, and returns about how many there were.
    pub fn remove_all(&self) -> u64 {
        let files = self.files.write().take();
        files.map_or(0, |files| files.property(ESTIMATE_NUM_KEYS))
    }

    /// Drops what no reader at or above the safe point sees, and returns how many versions that were.
    pub fn compact(&self) -> Result<u64> {
        self.files().map_or(Ok(0), |files| files.compact())
    }

    /// Calls `found` with the newest version of `key` committed at or before `ts`: the commit's timestamp,
    /// and the version, whose own timestamp says when it was superseded.
    pub fn with<T>(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: impl FnOnce(Timestamp, Version) -> T,
    ) -> Result<Option<T>> {
        let files = self.files();
        let Some(db) = files.as_ref().and_then(|files| files.db.as_ref()) else {
            return Ok(None);
        };
        let mut target = Vec::new();
        push_history_key(&mut target, key, ts);
        let mut iterator = db.raw_iterator();
        iterator.seek(&target);
        let Some((stored_key, stored)) = iterator.item() else {
            iterator.status().map_err(|error| from_rocksdb(&error))?;
            return Ok(None);
        };
        let Some((escaped, complement)) = stored_key.split_last_chunk::<TS_BYTES>() else {
            return Err(damaged("a superseded version's key", stored_key));
        };
        if Some(escaped) != target.get(..target.len() - TS_BYTES) {
            return Ok(None);
        }
        let commit_ts = !Timestamp::from_be_bytes(*complement);
        Ok(Some(found(commit_ts, Version::parse(stored)?)))
    }

    /// Removes all versions of a range, which has an end.
    pub fn destroy(&self, range: &KeyRange) -> Result<()> {
        let Some(files) = self.files() else {
            return Ok(());
        };
        let escaped = |key: &[u8]| {
            let mut out = Vec::new();
            push_escaped(&mut out, key);
            out
        };
        let mut batch = WriteBatch::default();
        batch.delete_range(escaped(&range.start), escaped(&range.end));
        files.write(batch)
    }

    /// About how many versions there are, and bytes of files.
    pub fn size(&self) -> (u64, u64) {
        self.files().map_or((0, 0), |files| {
            (
                files.property(ESTIMATE_NUM_KEYS),
                files.property(TOTAL_SST_FILES_SIZE),
            )
        })
    }
}
