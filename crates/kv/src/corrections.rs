//! What a snapshot shows of index entries, where a transaction has written rows that have changed since.
//!
//! A transaction writes to the newest version of a row, which its snapshot may not have. Then the snapshot's
//! entries lead to the row by values that it no longer has. Entries that the row had already are missing: a
//! transaction only writes those that it changes. So plain reads see the snapshot with other entries of such
//! rows, those of the version that was written over, and own writes over them. Nothing of it is committed.

use crate::buffer::{Savepoint, WriteBuffer};
use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::error::Result;
use crate::merge;
use crate::reader::{KeyRange, Reader, Visit, VisitBatch};
use crate::snapshot::Snapshot;
use std::sync::Arc;

/// The two versions of a row that has changed since the snapshot; `None`: there is no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    pub seen: Option<Vec<u8>>,
    pub newest: Option<Vec<u8>>,
}

/// The index entries of a row.
#[derive(Debug, Clone, Default)]
pub struct RowEntries {
    /// The keys of those that the snapshot has.
    pub seen: Vec<Vec<u8>>,
    /// Those of the newest version, with their values.
    pub newest: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Memory of a row beyond its key and its entries.
const ROW_OVERHEAD_BYTES: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Corrections {
    /// The keys of the rows in the order in which they were first written, each with what `entries` were before.
    rows: Vec<(Vec<u8>, Savepoint)>,
    row_bytes: usize,
    /// What they come to.
    entries: Arc<WriteBuffer>,
}

fn row_cost(row: &[u8]) -> usize {
    ROW_OVERHEAD_BYTES + row.len()
}

impl Corrections {
    /// The row is written next, for the first time.
    pub fn add(&mut self, row: Vec<u8>, entries: RowEntries) {
        let all = Arc::make_mut(&mut self.entries);
        let before = all.savepoint();
        for key in entries.seen {
            // An entry of a unique index may have moved to another of these rows.
            if !matches!(all.get(&key), Some(Some(_))) {
                all.delete(key);
            }
        }
        for (key, value) in entries.newest {
            all.put(key, value);
        }
        self.row_bytes += row_cost(&row);
        self.rows.push((row, before));
    }

    /// Forgets the rows that are no longer written. Writes are undone from the last one on, so these are the last.
    pub fn undo(&mut self, is_written: impl Fn(&[u8]) -> bool) {
        let mut before = None;
        while let Some((row, savepoint)) = self.rows.pop_if(|(row, _)| !is_written(row)) {
            self.row_bytes -= row_cost(&row);
            before = Some(savepoint);
        }
        if let Some(before) = before {
            let entries = Arc::make_mut(&mut self.entries);
            let is_open = entries.rollback_to(before) && entries.release(before);
            debug_assert!(is_open, "a savepoint of corrections that has ended");
        }
    }

    pub fn entries(&self) -> &Arc<WriteBuffer> {
        &self.entries
    }

    /// Memory that it takes, roughly.
    pub fn size_bytes(&self) -> usize {
        self.entries.size_bytes() + self.row_bytes
    }
}

/// A snapshot with other index entries.
pub(crate) struct Corrected<'a> {
    pub entries: &'a WriteBuffer,
    pub snapshot: &'a Snapshot,
}

impl Reader for Corrected<'_> {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        merge::get_with(self.entries, self.snapshot, key, found)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        merge::batch_get_with(self.entries, self.snapshot, keys, visit)
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        merge::scan(self.entries, self.snapshot, range, reverse, visit)
    }

    fn will_read(&self, keys: &[&[u8]]) {
        self.snapshot.will_read(keys);
    }

    fn coprocessor(&self, request: CoprocessorRequest) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        merge::coprocessor(self.entries, self.snapshot, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(seen: &str, newest: &str) -> RowEntries {
        RowEntries {
            seen: vec![seen.into()],
            newest: vec![(newest.into(), b"value".to_vec())],
        }
    }

    fn shown(corrections: &Corrections) -> Vec<String> {
        let name = |(key, value): (&[u8], Option<&[u8]>)| {
            let sign = if value.is_some() { '+' } else { '-' };
            format!("{sign}{}", String::from_utf8_lossy(key))
        };
        corrections.entries().iter().map(name).collect()
    }

    #[test]
    fn the_last_rows_are_undone() {
        let mut corrections = Corrections::default();
        corrections.add(b"1".to_vec(), entries("a", "b"));
        // An entry moves to another row.
        corrections.add(b"2".to_vec(), entries("b", "c"));
        corrections.add(b"3".to_vec(), entries("d", "a"));
        let view = Arc::clone(corrections.entries());
        assert_eq!(shown(&corrections), ["+a", "+b", "+c", "-d"]);
        corrections.undo(|row| row != b"3");
        assert_eq!(shown(&corrections), ["-a", "+b", "+c"]);
        corrections.undo(|_| true);
        assert_eq!(shown(&corrections), ["-a", "+b", "+c"]);
        corrections.add(b"4".to_vec(), entries("e", "f"));
        corrections.undo(|row| row == b"1");
        assert_eq!(shown(&corrections), ["-a", "+b"]);
        assert_eq!(view.len(), 4, "a view stays as it was");
        corrections.undo(|_| false);
        assert!(shown(&corrections).is_empty());
        assert_eq!(corrections.size_bytes(), 0);
    }

    #[test]
    fn each_row_counts() {
        let mut corrections = Corrections::default();
        let mut before = 0;
        for number in 0..100u8 {
            corrections.add(vec![number; 20], RowEntries::default());
            assert!(corrections.size_bytes() >= before + 20 + 2 * size_of::<Savepoint>());
            before = corrections.size_bytes();
        }
    }
}
