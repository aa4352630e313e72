//! Ranges as a whole: where to split them, and removing them. How large they are: [`crate::sizes`].

use crate::failure::from_rocksdb;
use crate::storage::RocksStorage;
use kv::{KeyRange, Result};
use rocksdb::CompactOptions;

/// Ranges smaller than that are not worth splitting.
const SPLIT_BYTES_MIN: u64 = 1 << 20;

/// Candidate keys measured in a range before its large pieces are looked at more closely.
const SAMPLES: u64 = 32;

/// How often a piece is looked at more closely. Each time, its keys have a longer common prefix.
const DEPTH_MAX: u32 = 8;

/// How many bytes behind the common prefix a candidate key varies.
const VARYING_BYTES: usize = 8;

/// Part of a range, up to the next piece.
struct Piece {
    start: Vec<u8>,
    bytes: u64,
}

impl RocksStorage {
    /// The first and the last key stored in a range.
    pub(crate) fn ends(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut iterator = self.latest.iterate(range)?;
        iterator.seek_to_first();
        let first = iterator.key().map(<[u8]>::to_vec);
        iterator.seek_to_last();
        let last = iterator.key().map(<[u8]>::to_vec);
        iterator.status().map_err(|error| from_rocksdb(&error))?;
        Ok(first.zip(last))
    }

    /// Measures pieces of the range and cuts between them where the sum says so.
    pub(crate) fn split(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        let total = self.range_bytes(range)?;
        if total < SPLIT_BYTES_MIN {
            return Ok(vec![range.clone()]);
        }
        let wanted = u64::try_from(parts)
            .unwrap_or(u64::MAX)
            .min(total / (SPLIT_BYTES_MIN / 2))
            .max(1);
        let mut pieces = Vec::new();
        // Pieces a good deal smaller than a part, so that it matters little on which side of a cut one falls.
        let target_bytes = self.measured_bytes(range)? / wanted / 8;
        self.measure(range, target_bytes, 0, &mut pieces)?;
        let total = pieces.iter().map(|piece| piece.bytes).sum::<u64>().max(1);
        let mut ranges = Vec::with_capacity(parts);
        let mut start = range.start.clone();
        let (mut before, mut cuts) = (0_u64, 0_u64);
        for piece in pieces {
            let due = before.saturating_mul(wanted) / total;
            if due > cuts && due < wanted && piece.start > start {
                cuts = due;
                ranges.push(KeyRange::new(
                    std::mem::replace(&mut start, piece.start.clone()),
                    piece.start,
                ));
            }
            before += piece.bytes;
        }
        ranges.push(KeyRange::new(start, range.end.clone()));
        Ok(ranges)
    }

    /// Appends pieces of the range, in order, none much larger than `target_bytes` if that can be had.
    fn measure(
        &self,
        range: &KeyRange,
        target_bytes: u64,
        depth: u32,
        pieces: &mut Vec<Piece>,
    ) -> Result<()> {
        let Some((first, last)) = self.ends(range)? else {
            return Ok(());
        };
        let mut bounds = vec![first.clone()];
        bounds.extend(spread(&first, &last, SAMPLES));
        bounds.push([last.as_slice(), &[0]].concat());
        let between: Vec<_> = bounds
            .windows(2)
            .filter_map(|pair| match pair {
                [start, end] => Some((start.as_slice(), end.as_slice())),
                _ => None,
            })
            .collect();
        for ((start, end), bytes) in between.iter().zip(self.sizes(&between)?) {
            if bytes > target_bytes && depth < DEPTH_MAX && between.len() > 1 {
                self.measure(&KeyRange::new(*start, *end), target_bytes, depth + 1, pieces)?;
            } else {
                let start = start.to_vec();
                pieces.push(Piece { start, bytes });
            }
        }
        Ok(())
    }

    /// Frees the space of what it removes as files are compacted, those within the range at once; all of it now, if space is short.
    pub(crate) fn destroy(&self, range: &KeyRange) -> Result<()> {
        let mut end = range.end.clone();
        if end.is_empty() {
            // No bound at all: up to behind the last key there is.
            end = vec![u8::MAX; self.longest_key_bytes()? + 1];
        }
        let part = KeyRange::new(range.start.as_slice(), end);
        let stored = self.ends(&part)?;
        let destroyed = self.latest.destroy(&part, stored.as_ref());
        self.history.destroy(&part);
        destroyed?;
        self.spill.destroy(&part)?;
        if self.space.is_short() {
            // What is in memory goes with its log.
            self.latest.flush()?;
            let mut compact = CompactOptions::default();
            compact.set_exclusive_manual_compaction(false);
            self.latest.compact(&part, &compact)?;
        }
        Ok(())
    }

    /// Of the last key, which an unbounded end has to be behind.
    fn longest_key_bytes(&self) -> Result<usize> {
        Ok(self
            .ends(&KeyRange::all())?
            .map_or(0, |(_, last)| last.len())
            .max(kv::Limits::default().key_bytes))
    }
}

/// At most `count` keys between two others, evenly spread by value: their common prefix, and bytes in between.
fn spread(first: &[u8], last: &[u8], count: u64) -> Vec<Vec<u8>> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; VARYING_BYTES];
        for (slot, byte) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *slot = *byte;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let step = (high.saturating_sub(low) / (count + 1)).max(1);
    let mut keys = Vec::new();
    let mut at = low;
    while let Some(next) = at.checked_add(step)
        && next < high
    {
        at = next;
        let mut key = first.get(..common).unwrap_or_default().to_vec();
        key.extend_from_slice(&at.to_be_bytes());
        keys.push(key);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RocksOptions;
    use kv::{KnownVersions, LATEST as NEWEST, Storage, WriteBuffer};

    /// RocksDB counts the end of a range of files as part of it; the contract does not.
    #[test]
    fn the_end_of_a_destroyed_range_stays_even_if_a_file_ends_there() {
        let dir = tempfile::tempdir().unwrap();
        let storage =
            RocksStorage::open(dir.path(), &RocksOptions::small(), &std::sync::Arc::default()).unwrap();
        for commit_ts in [10, 20] {
            let mut writes = WriteBuffer::new();
            for key in ["b1", "b2", "c"] {
                writes.put(key.into(), commit_ts.to_string().into());
            }
            let prepared = storage.prepare(&writes, &KnownVersions::default()).unwrap();
            storage
                .apply(vec![prepared], commit_ts, kv::ApplyHow::default())
                .unwrap();
        }
        Storage::flush(&storage).unwrap();
        // Files of the first level are never dropped whole.
        storage
            .latest
            .compact(&KeyRange::all(), &CompactOptions::default())
            .unwrap();
        storage.destroy(&KeyRange::new("b", "c")).unwrap();
        let read = |key: &str, ts| {
            let mut value = None;
            storage
                .get_with(key.as_bytes(), ts, &mut |bytes| value = Some(bytes.to_vec()))
                .unwrap();
            value
        };
        assert_eq!((read("b1", NEWEST), read("b2", 15)), (None, None));
        assert_eq!(read("c", NEWEST), Some(b"20".to_vec()));
        assert_eq!(read("c", 15), Some(b"10".to_vec()));
    }

    #[test]
    fn candidates_lie_in_order_between_the_ends() {
        for (first, last) in [
            (&b"t\0\0\x01"[..], &b"t\0\0\x09\x50"[..]),
            (b"a", b"b"),
            (b"", b"\xff\xff"),
            (b"prefix1", b"prefix1zzz"),
        ] {
            let keys = spread(first, last, 50);
            assert!(!keys.is_empty() && keys.len() <= 51, "{first:?}: {}", keys.len());
            assert!(keys.is_sorted());
            assert!(
                keys.iter()
                    .all(|key| key.as_slice() > first && key.as_slice() < last)
            );
        }
        assert!(spread(b"same", b"same", 50).is_empty());
    }
}
