//! Superseded versions that memory has not room enough for ([`crate::history`]): moving them to disk, reading them, and
//! dropping them.
//!
//! They lie in a RocksDB of their own, without a log: after a restart nobody needs them. It is there only while there are
//! any. (RocksDB that uses its old log files again writes nothing without a log, so it cannot be the one of `latest`.)

use crate::failure::{from_open, from_rocksdb};
use crate::layout::{TS_BYTES, Version, damaged, leading_ts, push_escaped, push_history_key, push_version};
use crate::storage::RocksStorage;
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

/// Where they are, in the store's directory.
const DIRECTORY: &str = "history";

const WRITE_BUFFER_BYTES: usize = 16 << 20;

/// Entries, and bytes of them but for the last one, written at a time: commits wait while they are gathered.
const BATCH_ENTRIES: usize = 256;
const BATCH_BYTES: usize = 128 << 10;

/// Where spilled versions lie, if there are any.
pub(crate) struct Spill {
    dir: PathBuf,
    files: RwLock<Option<Arc<Files>>>,
    /// Directories made so far: an old one goes only when its last reader is done.
    made: AtomicU64,
    safe_point: Arc<AtomicU64>,
}

/// A RocksDB, and its directory, which goes with it.
struct Files {
    db: Option<DB>,
    dir: PathBuf,
    /// Versions dropped while compacting.
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
        tracing::warn!(dir = %dir.display(), %error, "what is of no use any more takes space");
    }
}

impl Files {
    fn open(dir: PathBuf, safe_point: &Arc<AtomicU64>) -> Result<Self> {
        // What is still in memory is not worth a file when it is closed. First, since what it makes is another one's copy.
        let mut options = Options::default()
            .get_options_from_string("avoid_flush_during_shutdown=true")
            .map_err(|error| from_rocksdb(&error))?;
        options.create_if_missing(true);
        options.set_write_buffer_size(WRITE_BUFFER_BYTES);
        options.set_compression_type(DBCompressionType::Lz4);
        // Written once, hardly ever read, and dropped as a whole when it is old enough: what counts is how often it is
        // written again until then.
        options.set_compaction_style(DBCompactionStyle::Universal);
        options.set_level_zero_file_num_compaction_trigger(8);
        options.set_log_level(LogLevel::Warn);
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

    /// Passes all of it by the filter.
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
    /// For a store in `dir`, where it removes what an earlier process has left.
    pub fn new(dir: &Path, safe_point: &Arc<AtomicU64>) -> Self {
        let dir = dir.join(DIRECTORY);
        remove(&dir);
        Self {
            dir,
            files: RwLock::default(),
            made: AtomicU64::new(0),
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
            .join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&dir)
            .map_err(|error| kv::Error::Io(format!("cannot create {}: {error}", dir.display())))?;
        // Tried again soon, in another directory.
        let files = Files::open(dir.clone(), &self.safe_point).inspect_err(|_| remove(&dir))?;
        let files = Arc::new(files);
        *self.files.write() = Some(Arc::clone(&files));
        Ok(files)
    }

    /// Lends the newest version of `key` committed at or before `ts`: when it was committed, and when it was superseded as
    /// the version's timestamp.
    pub fn with<T>(
        &self,
        key: &[u8],
        ts: Timestamp,
        then: impl FnOnce(Timestamp, Version) -> T,
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
        Ok(Some(then(commit_ts, Version::parse(stored)?)))
    }

    /// Forgets a range, which has an end and is gone from `latest`.
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

    /// About how many versions, and bytes of files.
    pub fn size(&self) -> (u64, u64) {
        self.files().map_or((0, 0), |files| {
            (
                files.property(ESTIMATE_NUM_KEYS),
                files.property(TOTAL_SST_FILES_SIZE),
            )
        })
    }
}

impl RocksStorage {
    /// Moves the oldest versions out of memory until the rest is within its budget.
    pub(crate) fn spill(&self) -> Result<()> {
        while self.history.exceeds_budget(1) {
            let Some(newest_ts) = self.history.seal_oldest() else {
                break;
            };
            let (mut key, mut value) = (Vec::new(), Vec::new());
            let mut next = 0;
            loop {
                let mut batch = WriteBatch::default();
                let from = next;
                next = self
                    .history
                    .visit_oldest(from, (BATCH_ENTRIES, BATCH_BYTES), |entry| {
                        key.clear();
                        push_history_key(&mut key, entry.key, entry.commit_ts);
                        value.clear();
                        let version = Version {
                            ts: entry.superseded_ts,
                            value: entry.value,
                        };
                        push_version(&mut value, version);
                        batch.put(&key, &value);
                    });
                if next == from {
                    break;
                }
                self.space.check_now(batch.size_in_bytes())?;
                self.spill.files_or_new()?.write(batch)?;
            }
            self.history.spilled(newest_ts);
        }
        Ok(())
    }

    /// Drops what nobody at or above the safe point needs: all of it if nobody needs any, else, if it is to be
    /// `thorough`, what can be told by looking at each.
    pub(crate) fn collect_spilled(&self, safe_point: Timestamp, thorough: bool) -> Result<u64> {
        let Some(files) = self.spill.files() else {
            return Ok(0);
        };
        if self.history.spilled_ts() <= safe_point {
            let count = files.property(ESTIMATE_NUM_KEYS);
            *self.spill.files.write() = None;
            self.history.unspilled();
            return Ok(count);
        }
        if thorough { files.compact() } else { Ok(0) }
    }
}
