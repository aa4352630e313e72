//! `latest`: the newest version of every key, in RocksDB, and of keys that are read also in memory
//! ([`cache`]).
//!
//! [`Latest`] is the only way to both. The database and its column families are its private fields, and what
//! it returns (values, iterators, sizes) cannot write. So each change of `latest` goes through a method here,
//! which also changes the cache. Other ways to change it (a restored store) have to be added here, too.
//!
//! Not here: superseded versions ([`crate::superseded`]), and what a reader of a timestamp sees
//! ([`crate::versions`]).

mod batch;
pub(crate) mod cache;
pub(crate) mod deletions;
mod gap;
mod load;
mod measure;
mod records;
mod sizes;
mod split;
mod stall;

pub use batch::Prepared;
pub(crate) use batch::{Group, PutHeads};
pub(crate) use gap::allow_cuts;
pub(crate) use load::{PageLoads, load_page_around};
use sizes::Expansion;
pub(crate) use sizes::approximate_bytes;
pub(crate) use split::split_range;
use stall::StallLimits;

use crate::failure::from_rocksdb;
use crate::layout::{FAMILIES, LATEST, Version};
use crate::log::Log;
use cache::RowCache;
use deletions::{ExpiredDeletion, ExpiredDeletions};
use kv::{ApplyError, Error, KeyRange, Result, SortedFile, Timestamp, Watches};
use rocksdb::{
    ColumnFamily, CompactOptions, DB, DBPinnableSlice, DBRawIterator, ErrorKind, FlushOptions,
    IngestExternalFileOptions, ReadOptions, WriteBatch,
};
use std::ffi::CStr;

/// An open RocksDB, the cache of its column family `latest`, and the deletions that are to be removed from
/// it.
pub(crate) struct Latest {
    db: DB,
    cache: RowCache,
    log: Log,
    put_heads: PutHeads,
    expired: ExpiredDeletions,
    watches: Watches,
    expansion: Expansion,
    stall: StallLimits,
    /// Made once: each costs an allocation in RocksDB.
    read_options: ReadOptions,
}

impl Drop for Latest {
    fn drop(&mut self) {
        self.log.close(&self.db);
    }
}

impl Latest {
    /// Of a database whose newest commit is of `newest_ts`, with a cache of at most about `row_cache_bytes`.
    pub fn new(db: DB, log: Log, row_cache_bytes: u64, newest_ts: Timestamp) -> Result<Self> {
        Ok(Self {
            put_heads: PutHeads::of(&db)?,
            db,
            cache: RowCache::new(row_cache_bytes),
            log,
            expired: ExpiredDeletions::new(newest_ts),
            watches: Watches::default(),
            expansion: Expansion::new(),
            stall: StallLimits::default(),
            read_options: ReadOptions::default(),
        })
    }

    /// To read, and to fill with what has been read: only this module may say what has changed.
    pub fn cache(&self) -> &RowCache {
        &self.cache
    }

    /// The deletions that can be removed.
    pub fn expired(&self) -> &ExpiredDeletions {
        &self.expired
    }

    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// For [`Prepared::push`] and [`Group::new`].
    pub fn put_heads(&self) -> &PutHeads {
        &self.put_heads
    }

    fn family(&self) -> Result<&ColumnFamily> {
        family_of(&self.db, LATEST)
    }

    /// The stored version of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<DBPinnableSlice<'_>>> {
        self.db
            .get_pinned_cf_opt(self.family()?, key, &self.read_options)
            .map_err(|error| from_rocksdb(&error))
    }

    /// The stored version of each key, by one call into RocksDB.
    pub fn get_many<'a, K: AsRef<[u8]> + ?Sized + 'a>(
        &self,
        keys: impl IntoIterator<Item = &'a K>,
        are_sorted: bool,
    ) -> Result<impl Iterator<Item = Result<Option<DBPinnableSlice<'_>>>>> {
        let all = self
            .db
            .batched_multi_get_cf_opt(self.family()?, keys, are_sorted, &self.read_options);
        Ok(all
            .into_iter()
            .map(|stored| stored.map_err(|error| from_rocksdb(&error))))
    }

    /// Iterates over the stored versions of a range.
    pub fn iterate(&self, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        self.iterate_with(ReadOptions::default(), range)
    }

    /// [`Latest::iterate`] that ends as incomplete after so many entries in a row that are removed and not
    /// compacted away yet.
    pub fn iterate_past(&self, range: &KeyRange, removed_max: u64) -> Result<DBRawIterator<'_>> {
        let mut options = ReadOptions::default();
        options.set_max_skippable_internal_keys(removed_max);
        self.iterate_with(options, range)
    }

    /// [`Latest::iterate`] that keeps no blocks in the block cache.
    pub fn iterate_once(&self, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        self.iterate_for(range, false)
    }

    /// [`Latest::iterate`]; `fills_blocks`: it keeps blocks in the block cache.
    pub fn iterate_for(&self, range: &KeyRange, fills_blocks: bool) -> Result<DBRawIterator<'_>> {
        let mut options = ReadOptions::default();
        options.fill_cache(fills_blocks);
        self.iterate_with(options, range)
    }

    fn iterate_with(&self, mut options: ReadOptions, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        options.set_iterate_lower_bound(range.start.as_slice());
        if !range.end.is_empty() {
            options.set_iterate_upper_bound(range.end.as_slice());
        }
        Ok(self.db.raw_iterator_cf_opt(self.family()?, options))
    }

    /// The first and the last key stored in a range.
    pub fn first_and_last_key(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut iterator = self.iterate(range)?;
        iterator.seek_to_first();
        let first = iterator.key().map(<[u8]>::to_vec);
        iterator.seek_to_last();
        let last = iterator.key().map(<[u8]>::to_vec);
        iterator.status().map_err(|error| from_rocksdb(&error))?;
        Ok(first.zip(last))
    }

    /// An integer property of RocksDB's for one of its column families.
    pub fn property(&self, family: &str, property: &CStr) -> Option<u64> {
        let family = family_of(&self.db, family).ok()?;
        self.db.property_int_value_cf(family, property).ok().flatten()
    }

    /// A property of RocksDB's that is a text.
    fn text_property(&self, family: &str, property: &CStr) -> Option<String> {
        let family = family_of(&self.db, family).ok()?;
        self.db.property_value_cf(family, property).ok().flatten()
    }

    /// Commits a group, which readers must not see yet: RocksDB first, then the cache. One call at a time.
    /// After an error the group may be in RocksDB or not, now or after a restart.
    pub fn commit(&self, group: Group, sync: bool) -> Result<()> {
        let Group { members, batch } = group;
        if let Err(error) = self.write(batch, sync) {
            self.cache.forget(&KeyRange::all());
            return Err(error);
        }
        self.cache.update(members.iter().flat_map(Prepared::newest));
        let newest = members.iter().flat_map(Prepared::newest);
        self.watches.note(newest.map(|(key, _)| key));
        Ok(())
    }

    /// Removes newest versions that are deletions, that no snapshot needs, and whose keys are locked. Keys
    /// that have another newest version by now stay. The cache does not need to know: it treats such a
    /// deletion and an absent key alike.
    pub fn remove_deletions<'a>(&self, deletions: impl Iterator<Item = &'a ExpiredDeletion>) -> Result<u64> {
        let latest = self.family()?;
        let mut batch = WriteBatch::default();
        for (deleted_ts, key) in deletions {
            let stored = self.get(key)?;
            let newest = stored.as_deref().map(Version::parse).transpose()?;
            if newest.is_some_and(|newest| newest.value.is_none() && newest.ts == *deleted_ts) {
                batch.delete_cf(latest, key);
            }
        }
        let removed = batch.len();
        if removed > 0 {
            self.write(batch, false)?;
        }
        Ok(u64::try_from(removed).unwrap_or(u64::MAX))
    }

    /// Removes all of a range, which has an end. Drops whole files first, which frees their space at once,
    /// then covers the rest with a range deletion, which frees it as files are compacted.
    pub fn destroy(&self, range: &KeyRange) -> Result<()> {
        let destroyed = self.destroy_stored(range);
        // After an error, too: some of the range may have been removed.
        self.cache.forget(range);
        destroyed
    }

    fn destroy_stored(&self, range: &KeyRange) -> Result<()> {
        let family = self.family()?;
        // RocksDB takes the end of a range of files as part of it, so the range of files ends at the last key
        // inside.
        if let Some((first, last)) = self.first_and_last_key(range)? {
            self.db
                .delete_file_in_range_cf(family, first, last)
                .map_err(|error| from_rocksdb(&error))?;
        }
        let mut batch = WriteBatch::default();
        batch.delete_range_cf(family, &range.start, &range.end);
        self.write(batch, true)
    }

    /// Adds files to a range that nothing reads or writes meanwhile, all at one moment: after it they are on
    /// disk, and what they hold replaces what was under its keys. Other commits wait while a write buffer is
    /// written to a file, so most of it is written before.
    ///
    /// # Errors
    /// What fails before the files are handed over is definite. Later, RocksDB writes to its manifest that they are
    /// part of it, and whether an entry that could not be written or synced is on the disk shows the next start.
    pub fn ingest(&self, range: &KeyRange, files: &[SortedFile]) -> Result<(), ApplyError> {
        let definite = ApplyError::NotApplied;
        if self.first_and_last_key(range).map_err(definite)?.is_none()
            && let Err(error) = gap::make_gap(self, range)
        {
            // A compaction may be at work on it. The files go to another level.
            tracing::info!(%error, "no gap in the lowest level for the files of a load");
        }
        self.flush().map_err(definite)?;
        self.raise_stall_limits(files.len());
        let ingested = self.log.between_logs(&self.db, || {
            self.flush_families().map_err(definite)?;
            let mut options = IngestExternalFileOptions::default();
            options.set_move_files(true);
            // RocksDB's own snapshots, which nothing here uses.
            options.set_snapshot_consistency(false);
            let files = files.iter().map(SortedFile::path).collect();
            let family = self.family().map_err(definite)?;
            self.db
                .ingest_external_file_cf_opts(family, &options, files)
                .map_err(|error| match error.kind() {
                    // It has looked at the files, and has written nothing.
                    ErrorKind::InvalidArgument | ErrorKind::NotSupported | ErrorKind::ShutdownInProgress => {
                        ApplyError::NotApplied(from_rocksdb(&error))
                    }
                    _ => ApplyError::Unknown(from_rocksdb(&error)),
                })
        });
        // After an error, too: the files may be there.
        self.cache.forget(range);
        ingested
    }

    fn write(&self, batch: WriteBatch, sync: bool) -> Result<()> {
        self.log
            .write(&self.db, batch, sync)
            .map_err(|error| from_rocksdb(&error))
    }

    /// Syncs the log.
    pub fn sync_log(&self) -> Result<()> {
        self.log.sync(&self.db).map_err(|error| from_rocksdb(&error))
    }

    /// Writes the write buffers of all column families to files. All of them, because they share one log.
    pub fn flush(&self) -> Result<()> {
        let written = self.db.latest_sequence_number();
        self.flush_families()?;
        self.log.note_flushed(&self.db, written);
        Ok(())
    }

    fn flush_families(&self) -> Result<()> {
        let mut options = FlushOptions::default();
        options.set_wait(true);
        for name in FAMILIES {
            self.db
                .flush_cf_opt(family_of(&self.db, name)?, &options)
                .map_err(|error| from_rocksdb(&error))?;
        }
        Ok(())
    }

    /// Compacts a range. That changes nothing of what it holds but for deletions that no snapshot needs.
    pub fn compact(&self, range: &KeyRange, options: &CompactOptions) -> Result<()> {
        let bound = |key: &[u8]| (!key.is_empty()).then(|| key.to_vec());
        let (start, end) = (bound(&range.start), bound(&range.end));
        self.db.compact_range_cf_opt(self.family()?, start, end, options);
        Ok(())
    }

    /// Waits for running compactions and flushes, and lets no other begin.
    pub fn stop_background_work(&self) {
        self.db.cancel_all_background_work(true);
    }

    /// The database itself, for tests that change it without the cache.
    #[cfg(test)]
    pub fn raw(&self) -> (&DB, &ColumnFamily) {
        (&self.db, self.family().unwrap())
    }
}

fn family_of<'a>(db: &'a DB, name: &str) -> Result<&'a ColumnFamily> {
    db.cf_handle(name)
        .ok_or_else(|| Error::Internal(format!("column family {name} is not open")))
}
