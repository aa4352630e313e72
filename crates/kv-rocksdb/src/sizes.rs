//! About how many bytes ranges of `latest` take, in files and in the write buffers that are not files yet.
//!
//! Both have what rows were before, too; the write buffers, all of it. A small table that is written again and again would
//! seem large, but then it is in the row cache, whose pages are added up.

use crate::layout::LATEST;
use crate::storage::RocksStorage;
use kv::{Error, KeyRange, Result};
use librocksdb_sys as ffi;
use rocksdb::{AsColumnFamilyRef, AsRawPtr, properties};
use std::ffi::{CStr, c_char, c_int};

/// Entries looked at from each end of a range.
const SAMPLE_ENTRIES: usize = 32;

/// Behind all keys, for what is about right.
const BEHIND_ALL: &[u8] = &[u8::MAX; 16];

const IN_MEMORY: u8 = ffi::rocksdb_size_approximation_flags_include_memtable as u8;
const IN_FILES: u8 = ffi::rocksdb_size_approximation_flags_include_files as u8;

impl RocksStorage {
    /// About how many bytes a range takes.
    pub(crate) fn range_bytes(&self, range: &KeyRange) -> Result<u64> {
        if let Some(bytes) = self.cache.bytes_of(range) {
            return Ok(bytes);
        }
        let Some((first, mut last)) = self.ends(LATEST, range)? else {
            return Ok(0);
        };
        last.push(0);
        let size = |places| self.size(&first, &last, places);
        let in_memory = match size(IN_MEMORY)? {
            0 => 0,
            bytes => self.by_entries(range, bytes)?,
        };
        Ok(size(IN_FILES)?.saturating_add(in_memory))
    }

    /// RocksDB takes all entries of its write buffers for equally large, but rows are larger than entries of indexes. So
    /// what is counted by entries, if those at both ends of the range say that it has one kind.
    fn by_entries(&self, range: &KeyRange, bytes: u64) -> Result<u64> {
        let family = self.family(LATEST)?;
        let property = |name: &CStr| self.db.property_int_value_cf(family, name).ok().flatten();
        let all_entries = property(properties::NUM_ENTRIES_ACTIVE_MEM_TABLE)
            .unwrap_or(0)
            .saturating_add(property(properties::NUM_ENTRIES_IMM_MEM_TABLES).unwrap_or(0));
        let all_bytes = self.size(&[], BEHIND_ALL, IN_MEMORY)?.max(1);
        let (low, high) = (self.entry_bytes(range, false)?, self.entry_bytes(range, true)?);
        let is_one_kind = low.min(high) > low.max(high) / 2;
        if all_entries == 0 || !is_one_kind {
            return Ok(bytes);
        }
        let entries = bytes.saturating_mul(all_entries) / all_bytes;
        Ok(entries.saturating_mul(low.midpoint(high)))
    }

    /// The mean of the first entries of a range, or of the last.
    fn entry_bytes(&self, range: &KeyRange, reverse: bool) -> Result<u64> {
        let mut iterator = self.iterate(LATEST, range)?;
        if reverse {
            iterator.seek_to_last();
        } else {
            iterator.seek_to_first();
        }
        let (mut entries, mut bytes) = (0, 0);
        while entries < SAMPLE_ENTRIES
            && let Some((key, stored)) = iterator.item()
        {
            entries += 1;
            bytes += key.len() + stored.len();
            if reverse {
                iterator.prev();
            } else {
                iterator.next();
            }
        }
        Ok(u64::try_from(bytes / entries.max(1)).unwrap_or(u64::MAX))
    }

    fn size(&self, start: &[u8], end: &[u8], places: u8) -> Result<u64> {
        Ok(self.sizes_in(&[(start, end)], places)?.into_iter().sum())
    }

    /// By RocksDB's own reckoning, to be compared with those of parts of the range.
    pub(crate) fn measured_bytes(&self, range: &KeyRange) -> Result<u64> {
        let end = if range.end.is_empty() {
            BEHIND_ALL
        } else {
            &range.end
        };
        self.size(&range.start, end, IN_MEMORY | IN_FILES)
    }

    /// By RocksDB's own reckoning.
    pub(crate) fn sizes(&self, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
        self.sizes_in(ranges, IN_MEMORY | IN_FILES)
    }

    /// By RocksDB's C interface: that of the `rocksdb` crate looks into files only.
    #[expect(unsafe_code, reason = "calls of RocksDB's C interface")]
    fn sizes_in(&self, ranges: &[(&[u8], &[u8])], places: u8) -> Result<Vec<u64>> {
        let family = self.family(LATEST)?;
        let starts: Vec<*const c_char> = ranges.iter().map(|(start, _)| start.as_ptr().cast()).collect();
        let start_bytes: Vec<usize> = ranges.iter().map(|(start, _)| start.len()).collect();
        let ends: Vec<*const c_char> = ranges.iter().map(|(_, end)| end.as_ptr().cast()).collect();
        let end_bytes: Vec<usize> = ranges.iter().map(|(_, end)| end.len()).collect();
        let mut sizes = vec![0; ranges.len()];
        let mut error: *mut c_char = std::ptr::null_mut();
        let count = c_int::try_from(ranges.len())
            .map_err(|_| Error::Internal(format!("{} ranges to measure", ranges.len())))?;
        // SAFETY: `self` keeps database and family open. The arrays have `count` elements each; they, and the keys that they
        // point to, live until the call is over, which keeps none of them.
        unsafe {
            ffi::rocksdb_approximate_sizes_cf_with_flags(
                self.db.as_raw_ptr(),
                family.inner(),
                count,
                starts.as_ptr(),
                start_bytes.as_ptr(),
                ends.as_ptr(),
                end_bytes.as_ptr(),
                places,
                sizes.as_mut_ptr(),
                &raw mut error,
            );
        }
        if error.is_null() {
            return Ok(sizes);
        }
        // SAFETY: RocksDB leaves a C string here that is ours to free.
        let text = unsafe {
            let text = CStr::from_ptr(error).to_string_lossy().into_owned();
            ffi::rocksdb_free(error.cast());
            text
        };
        Err(Error::Io(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RocksOptions;
    use kv::{KnownVersions, Storage, WriteBuffer};

    const ROWS: u32 = 1_500;
    const ROW_BYTES: usize = 1_000;
    const ENTRIES: u32 = 10_000;

    fn commit(storage: &RocksStorage, commit_ts: u64, entries: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) {
        let mut writes = WriteBuffer::new();
        for (key, value) in entries {
            writes.put(key, value);
        }
        let prepared = storage.prepare(&writes, &KnownVersions::default()).unwrap();
        storage
            .apply(vec![prepared], commit_ts, kv::ApplyHow::default())
            .unwrap();
    }

    fn key(prefix: &str, n: u32) -> Vec<u8> {
        [prefix.as_bytes(), &n.to_be_bytes()].concat()
    }

    /// Large rows, and small entries of an index, without a file.
    fn fresh_rows() -> (tempfile::TempDir, RocksStorage) {
        let dir = tempfile::tempdir().unwrap();
        let storage =
            RocksStorage::open(dir.path(), &RocksOptions::small(), &std::sync::Arc::default()).unwrap();
        let rows = (0..ROWS).map(|n| (key("row", n), vec![7; ROW_BYTES]));
        commit(&storage, 10, rows);
        let entries = (0..ENTRIES).map(|n| (key("index", n), Vec::new()));
        commit(&storage, 20, entries);
        (dir, storage)
    }

    /// Factors of what RocksDB's skip list, which is random, may be wrong by.
    fn assert_about(found: u64, expected: u64) {
        assert!(
            found > expected / 3 && found < expected * 3,
            "{found} for {expected}"
        );
    }

    #[test]
    fn what_is_in_no_file_yet_counts() {
        let (_dir, storage) = fresh_rows();
        let rows = u64::from(ROWS) * ROW_BYTES as u64;
        for flush in [false, true] {
            if flush {
                Storage::flush(&storage).unwrap();
            }
            let bytes = |prefix: &str| storage.range_bytes(&KeyRange::prefix(prefix)).unwrap();
            assert_about(bytes("row"), rows);
            assert_about(bytes("index"), u64::from(ENTRIES) * 20);
            assert_about(bytes(""), rows);
            assert_eq!(bytes("nothing"), 0);
        }
    }

    #[test]
    fn what_rows_were_before_does_not_count_where_they_are_in_memory() {
        let (_dir, storage) = fresh_rows();
        let rows = |n: u32| (0..n).map(|n| (key("hot", n), vec![7; 100]));
        for commit_ts in 30..50 {
            commit(&storage, commit_ts, rows(500));
        }
        let range = KeyRange::prefix("hot");
        for _ in 0..2 {
            // Each loads some pages.
            let request = kv::ScanRequest {
                range: &range,
                ts: 50,
                reverse: false,
                interrupt: None,
            };
            let visit = &mut |_: &[u8], _: &[u8]| std::ops::ControlFlow::Continue(());
            storage.scan_range(request, visit).unwrap();
        }
        assert_eq!(storage.range_bytes(&range).unwrap(), 500 * (7 + 9 + 100));
    }

    #[test]
    fn what_is_in_no_file_yet_is_split() {
        let (_dir, storage) = fresh_rows();
        let range = KeyRange::prefix("row");
        let parts = storage.split(&range, 2).unwrap();
        let cut = parts[0].end.clone();
        assert_eq!(
            parts,
            [
                KeyRange::new(range.start.as_slice(), cut.as_slice()),
                KeyRange::new(cut.as_slice(), range.end.as_slice()),
            ]
        );
        assert!(
            cut > key("row", ROWS / 8) && cut < key("row", ROWS / 8 * 7),
            "{cut:?}"
        );
    }
}
