//! What a snapshot shows of index entries, where a transaction has written rows that have changed since.
//!
//! A transaction writes to the newest version of a row, which its snapshot may not have. Then the snapshot's
//! entries lead to the row by values that it no longer has. Entries that the row had already are missing: a
//! transaction only writes those that it changes. So plain reads see the snapshot with other entries of such
//! rows, those of the version that was written over, and own writes over them. Nothing of it is committed.

use crate::buffer::WriteBuffer;
use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::error::Result;
use crate::merge;
use crate::reader::{KeyRange, Reader, Visit, VisitBatch};
use crate::snapshot::Snapshot;
use std::collections::BTreeMap;
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

#[derive(Debug, Default)]
pub(crate) struct Corrections {
    /// By the keys of the rows.
    rows: BTreeMap<Vec<u8>, RowEntries>,
    /// What they come to.
    entries: Arc<WriteBuffer>,
}

impl Corrections {
    pub fn add(&mut self, row: Vec<u8>, entries: RowEntries) {
        let all = Arc::make_mut(&mut self.entries);
        for key in &entries.seen {
            // An entry of a unique index may have moved to another of these rows.
            if !matches!(all.get(key), Some(Some(_))) {
                all.delete(key.clone());
            }
        }
        for (key, value) in &entries.newest {
            all.put(key.clone(), value.clone());
        }
        self.rows.insert(row, entries);
    }

    /// Forgets the rows that are no longer written.
    pub fn retain(&mut self, is_written: impl Fn(&[u8]) -> bool) {
        if self.rows.keys().all(|row| is_written(row)) {
            return;
        }
        self.entries = Arc::default();
        for (row, entries) in std::mem::take(&mut self.rows) {
            if is_written(&row) {
                self.add(row, entries);
            }
        }
    }

    pub fn entries(&self) -> &Arc<WriteBuffer> {
        &self.entries
    }

    /// Memory that it takes, roughly.
    pub fn size_bytes(&self) -> usize {
        self.entries.size_bytes().saturating_mul(2)
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
