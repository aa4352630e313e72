//! `latest`: the newest version of every key, in RocksDB and, of what is read, in memory as well ([`cache`]).
//!
//! [`Latest`] is the only way to either of them. The database and its column families are fields of its own, and what it lends (values,
//! iterators, sizes) cannot write. So all that changes `latest` is in [`mod@write`], where the cache hears of each change; what
//! is to change it in another way (files that are ingested, a store that is restored) has to be written there too.

pub(crate) mod cache;
mod records;
mod sizes;
mod write;

pub(crate) use sizes::{IN_FILES, IN_MEMORY};
pub use write::Prepared;

use crate::failure::from_rocksdb;
use crate::layout::{FAMILIES, LATEST};
use crate::log_ahead::LogAhead;
use crate::recovery::SyncMark;
use cache::RowCache;
use kv::{Error, KeyRange, Result};
use rocksdb::{
    ColumnFamily, CompactOptions, DB, DBPinnableSlice, DBRawIterator, FlushOptions, ReadOptions, WriteOptions,
};
use std::ffi::CStr;
use std::path::Path;
use write::Heads;

/// An open RocksDB, and the cache of its column family `latest`.
pub(crate) struct Latest {
    db: DB,
    cache: RowCache,
    log: LogAhead,
    synced: SyncMark,
    heads: Heads,
    /// Made once: each costs an allocation on the other side.
    read_options: ReadOptions,
    write_synced: WriteOptions,
    write_unsynced: WriteOptions,
}

impl Drop for Latest {
    /// Nothing is written any more.
    fn drop(&mut self) {
        match self.db.flush_wal(true) {
            Ok(()) => self.synced.note_closed(self.db.latest_sequence_number()),
            // The next start looks at more.
            Err(error) => tracing::debug!(%error, "the log was not synced"),
        }
    }
}

impl Latest {
    /// Of a database in `dir`, with a cache of about so many bytes at most.
    pub fn new(db: DB, dir: &Path, synced: SyncMark, row_cache_bytes: u64) -> Result<Self> {
        let mut write_synced = WriteOptions::default();
        write_synced.set_sync(true);
        Ok(Self {
            heads: Heads::of(&db)?,
            db,
            cache: RowCache::new(row_cache_bytes),
            log: LogAhead::new(dir),
            synced,
            read_options: ReadOptions::default(),
            write_synced,
            write_unsynced: WriteOptions::default(),
        })
    }

    /// To be read, and filled by what reads: only this module has the right to say what has changed.
    pub fn cache(&self) -> &RowCache {
        &self.cache
    }

    fn family(&self) -> Result<&ColumnFamily> {
        family_of(&self.db, LATEST)
    }

    /// What is stored under a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<DBPinnableSlice<'_>>> {
        self.db
            .get_pinned_cf_opt(self.family()?, key, &self.read_options)
            .map_err(|error| from_rocksdb(&error))
    }

    /// What is stored under each of some keys, by one call into RocksDB.
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

    /// What is stored in a range.
    pub fn iterate(&self, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        self.iterate_with(ReadOptions::default(), range)
    }

    /// The same, with an end of its own behind `collected` entries in a row that are gone and not compacted away yet.
    pub fn iterate_short_of(&self, range: &KeyRange, collected: u64) -> Result<DBRawIterator<'_>> {
        let mut options = ReadOptions::default();
        options.set_max_skippable_internal_keys(collected);
        self.iterate_with(options, range)
    }

    /// [`Latest::iterate`], of blocks that are not worth keeping in the cache.
    pub fn iterate_once(&self, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        self.iterate_with(options, range)
    }

    /// Compactions and flushes end, and none begins any more.
    pub fn stop_background_work(&self) {
        self.db.cancel_all_background_work(true);
    }

    fn iterate_with(&self, mut options: ReadOptions, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        options.set_iterate_lower_bound(range.start.as_slice());
        if !range.end.is_empty() {
            options.set_iterate_upper_bound(range.end.as_slice());
        }
        Ok(self.db.raw_iterator_cf_opt(self.family()?, options))
    }

    /// A figure of RocksDB's about one of its families.
    pub fn property(&self, family: &str, property: &CStr) -> Option<u64> {
        let family = family_of(&self.db, family).ok()?;
        self.db.property_int_value_cf(family, property).ok().flatten()
    }

    /// Brings the log to disk.
    pub fn sync_log(&self) -> Result<()> {
        // What is written meanwhile may or may not be in it.
        let written = self.db.latest_sequence_number();
        self.db.flush_wal(true).map_err(|error| from_rocksdb(&error))?;
        self.synced.note_synced(written);
        Ok(())
    }

    /// Writes out what is in write buffers, of all families: one log is theirs together.
    pub fn flush(&self) -> Result<()> {
        let written = self.db.latest_sequence_number();
        let mut options = FlushOptions::default();
        options.set_wait(true);
        for name in FAMILIES {
            self.db
                .flush_cf_opt(family_of(&self.db, name)?, &options)
                .map_err(|error| from_rocksdb(&error))?;
        }
        // While nobody writes: if nobody has since, the next start has no log to look at.
        self.log.write(0, || {
            self.synced.note_flushed(written);
            if self.db.latest_sequence_number() == written {
                self.synced.note_closed(written);
            }
        });
        Ok(())
    }

    /// Compacts a range, which changes nothing of what it holds but for deletions that nobody has to know of.
    pub fn compact(&self, range: &KeyRange, options: &CompactOptions) -> Result<()> {
        let bound = |key: &[u8]| (!key.is_empty()).then(|| key.to_vec());
        let (start, end) = (bound(&range.start), bound(&range.end));
        self.db.compact_range_cf_opt(self.family()?, start, end, options);
        Ok(())
    }

    /// For tests that have to break what this module keeps.
    #[cfg(test)]
    pub fn behind_its_back(&self) -> (&DB, &ColumnFamily) {
        (&self.db, self.family().unwrap())
    }
}

fn family_of<'a>(db: &'a DB, name: &str) -> Result<&'a ColumnFamily> {
    db.cf_handle(name)
        .ok_or_else(|| Error::Internal(format!("column family {name} is not open")))
}
