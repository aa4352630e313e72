//! About how many bytes the entries of ranges of `latest` have, in files (before compression) and in the
//! write buffers that are not files yet.
//!
//! Both include superseded states of rows; the write buffers, all of them. A small table that is often
//! updated would seem large by that, but it is in the row cache, whose pages are added up instead.

use super::Latest;
use super::measure::{IN_FILES, IN_MEMORY, measure, measure_one};
use crate::layout::LATEST;
use kv::{KeyRange, Result};
use rocksdb::properties;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Sums of what RocksDB knows of each of its files.
const FILE_PROPERTIES: &CStr = c"rocksdb.aggregated-table-properties";

/// Entries looked at from each end of a range.
const SAMPLE_ENTRIES: usize = 32;

/// After all keys but a few, which is exact enough here.
const AFTER_ALL: &[u8] = &[u8::MAX; 16];

/// About how many bytes a range takes.
pub(crate) fn approximate_bytes(latest: &Latest, range: &KeyRange) -> Result<u64> {
    if let Some(bytes) = latest.cache().bytes_of(range) {
        return Ok(bytes);
    }
    let Some((first, mut last)) = latest.first_and_last_key(range)? else {
        return Ok(0);
    };
    last.push(0);
    let in_memory = match measure_one(latest, &first, &last, IN_MEMORY)? {
        0 => 0,
        bytes => by_entries(latest, range, bytes)?,
    };
    let in_files = measure_one(latest, &first, &last, IN_FILES)?;
    Ok((in_files as f64 * latest.expansion.get(latest)) as u64 + in_memory)
}

/// How long the factor of [`Expansion`] is good for.
const EXPANSION_SECONDS: u64 = 10;

/// By how much entries are larger than the files that hold them, which are compressed. Cached: to find it
/// out, RocksDB asks all files.
pub(super) struct Expansion {
    since: Instant,
    /// Second in which it was asked last, counted from one, and the factor in hundredths.
    asked: AtomicU64,
    hundredths: AtomicU64,
}

impl Expansion {
    pub fn new() -> Self {
        Self {
            since: Instant::now(),
            asked: AtomicU64::new(0),
            hundredths: AtomicU64::new(100),
        }
    }

    fn get(&self, latest: &Latest) -> f64 {
        let now = self.since.elapsed().as_secs() + 1;
        let asked = self.asked.load(Ordering::Relaxed);
        if asked == 0 || now > asked + EXPANSION_SECONDS {
            self.asked.store(now, Ordering::Relaxed);
            if let Some(factor) = latest
                .text_property(LATEST, FILE_PROPERTIES)
                .as_deref()
                .and_then(expansion_of)
            {
                self.hundredths.store((factor * 100.0) as u64, Ordering::Relaxed);
            }
        }
        self.hundredths.load(Ordering::Relaxed) as f64 / 100.0
    }
}

/// The factor, by RocksDB's `aggregated-table-properties`. Source: `TableProperties::ToString`.
fn expansion_of(properties: &str) -> Option<f64> {
    let number = |name: &str| {
        let text = properties
            .split("; ")
            .find_map(|part| part.trim().strip_prefix(name))?;
        text.strip_prefix('=')?.trim().parse::<f64>().ok()
    };
    let stored = number("data block size")?;
    let raw = number("raw key size")? + number("raw value size")?;
    (stored > 0.0).then(|| (raw / stored).clamp(1.0, 20.0))
}

/// Corrects RocksDB's estimate for the write buffers, which takes all entries for equally large, while rows
/// are larger than index entries: counts the range's entries instead, if the samples from both ends suggest
/// that it has entries of one kind.
fn by_entries(latest: &Latest, range: &KeyRange, bytes: u64) -> Result<u64> {
    let property = |name: &CStr| latest.property(LATEST, name);
    let all_entries = property(properties::NUM_ENTRIES_ACTIVE_MEM_TABLE)
        .unwrap_or(0)
        .saturating_add(property(properties::NUM_ENTRIES_IMM_MEM_TABLES).unwrap_or(0));
    let all_bytes = measure_one(latest, &[], AFTER_ALL, IN_MEMORY)?.max(1);
    let (low, high) = (
        entry_bytes(latest, range, false)?,
        entry_bytes(latest, range, true)?,
    );
    let is_one_kind = low.min(high) > low.max(high) / 2;
    if all_entries == 0 || !is_one_kind {
        return Ok(bytes);
    }
    let entries = bytes.saturating_mul(all_entries) / all_bytes;
    Ok(entries.saturating_mul(low.midpoint(high)))
}

/// The mean size of the first entries of a range, or of the last.
fn entry_bytes(latest: &Latest, range: &KeyRange, reverse: bool) -> Result<u64> {
    let mut iterator = latest.iterate(range)?;
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

/// RocksDB's estimate for a range, to be compared with its estimates for parts of the range.
pub(super) fn measured_bytes(latest: &Latest, range: &KeyRange) -> Result<u64> {
    let end = if range.end.is_empty() {
        AFTER_ALL
    } else {
        &range.end
    };
    measure_one(latest, &range.start, end, IN_MEMORY | IN_FILES)
}

/// RocksDB's estimates for some ranges.
pub(super) fn measured_parts(latest: &Latest, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
    measure(latest, ranges, IN_MEMORY | IN_FILES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latest::split_range;
    use crate::{RocksOptions, RocksStorage};
    use kv::{LockedVersions, Storage, WriteBuffer};

    const ROWS: u32 = 1_500;
    const ROW_BYTES: usize = 1_000;
    const ENTRIES: u32 = 10_000;

    fn commit(storage: &RocksStorage, commit_ts: u64, entries: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) {
        let mut writes = WriteBuffer::new();
        for (key, value) in entries {
            writes.put(key, value);
        }
        let prepared = storage.prepare(&writes, &LockedVersions::default()).unwrap();
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
    fn the_factor_of_compression_is_read() {
        let text = "# data blocks=10; # entries=20; raw key size=300; raw average key size=15; raw value size=700; \
                    data block size=250; filter block size=0";
        assert_eq!(expansion_of(text), Some(4.0));
        assert_eq!(expansion_of(""), None);
    }

    #[test]
    fn what_is_in_no_file_yet_counts() {
        let (_dir, storage) = fresh_rows();
        let rows = u64::from(ROWS) * ROW_BYTES as u64;
        for flush in [false, true] {
            if flush {
                Storage::flush(&storage).unwrap();
            }
            let bytes = |prefix: &str| {
                approximate_bytes(&storage.versions.latest, &KeyRange::prefix(prefix)).unwrap()
            };
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
                fills_caches: true,
            };
            let visit = &mut |_: &[u8], _: &[u8]| std::ops::ControlFlow::Continue(());
            storage.scan(request, visit).unwrap();
        }
        assert_eq!(
            approximate_bytes(&storage.versions.latest, &range).unwrap(),
            500 * (7 + 9 + 100)
        );
    }

    #[test]
    fn what_is_in_no_file_yet_is_split() {
        let (_dir, storage) = fresh_rows();
        let range = KeyRange::prefix("row");
        let parts = split_range(&storage.versions.latest, &range, 2).unwrap();
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
