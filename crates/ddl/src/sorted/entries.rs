//! The entries that rows have in new indexes: made and sorted by several threads, and merged.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use functions::TimeZone;
use kv::{KeyRange, Merge, Reader, Runs, Snapshot, Sorter, Store};
use parking_lot::Mutex;
use schema::duplicate::duplicate_entry;
use schema::layout::{IndexEntry, IndexLayout, RowEncoder, TableLayout};
use schema::model::{Handle, Table};
use types::{Error, Result, Value};

use super::pace::Pace;

/// Rows between two looks at whether to stop.
const ROWS_PER_LOOK: u64 = 1_024;

/// Makes the entries of rows.
pub(super) struct EntryMaker<'a> {
    table: &'a Table,
    /// Of the columns that the entries need.
    layout: TableLayout,
    encoder: RowEncoder,
    indexes: Vec<usize>,
}

impl<'a> EntryMaker<'a> {
    /// `indexes`: positions in the table's indexes.
    pub(super) fn new(table: &'a Table, indexes: &[usize]) -> Result<Self> {
        let mut columns = Vec::new();
        let mut add =
            |index: usize| columns.extend(table.indexes[index].parts.iter().map(|part| part.column));
        indexes.iter().for_each(|&index| add(index));
        if let Handle::Clustered { index } = table.handle {
            add(index);
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(Self {
            table,
            layout: TableLayout::in_place(table, &columns)?,
            encoder: RowEncoder::new(table)?,
            indexes: indexes.to_vec(),
        })
    }

    /// Calls `take` with each entry of a row: the index's number among those that entries are made for, and the
    /// entry.
    pub(super) fn entries(
        &self,
        key: &[u8],
        value: &[u8],
        mut take: impl FnMut(usize, IndexEntry),
    ) -> Result<()> {
        let row = self.layout.decode_row_values(key, value, TimeZone::UTC)?;
        let handle = self.layout.handle_of_row_key(key)?;
        for (number, &index) in self.indexes.iter().enumerate() {
            self.encoder
                .index_entries_of(index, &row, (key, &handle), TimeZone::UTC, |entry| {
                    take(number, entry)
                })?;
        }
        Ok(())
    }

    /// Error 1062 for two entries of one key, with the values of the row that comes first: equal values may be
    /// written differently.
    pub(super) fn duplicate(&self, snapshot: &Snapshot, entries: &Merged) -> Error {
        let of_first = || {
            let layout = IndexLayout::new(self.table, self.indexes[0], &[])?;
            let (key, value) = entries.current();
            let first = layout
                .row_key(key, value)?
                .min(layout.row_key(key, &entries.last_value)?);
            duplicate_of(self.table, self.indexes[0], snapshot, &first)
        };
        of_first().unwrap_or_else(|error| error)
    }
}

/// Error 1062 with the values of a row.
pub(super) fn duplicate_of(
    table: &Table,
    index: usize,
    reader: &dyn Reader,
    row_key: &[u8],
) -> Result<Error> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let layout = TableLayout::new(table, &all)?;
    let row: Vec<Value> = match reader.get(row_key)? {
        Some(value) => layout.decode_row_values(row_key, &value, TimeZone::UTC)?,
        None => vec![Value::Null; all.len()],
    };
    Ok(duplicate_entry(table, &table.indexes[index], &row))
}

/// Takes parts of the rows as long as there are any, and sorts their entries, for each index.
pub(super) fn sort_entries(
    (store, snapshot): (&Store, &Snapshot),
    table: &Table,
    indexes: &[usize],
    memory_each: usize,
    parts: &Mutex<Vec<KeyRange>>,
    pace: &Pace<'_>,
) -> Result<Vec<Runs>> {
    let maker = EntryMaker::new(table, indexes)?;
    let mut sorters: Vec<Sorter> = indexes.iter().map(|_| Sorter::new(store, memory_each)).collect();
    while !pace.stop.load(Ordering::Relaxed) {
        let Some(part) = parts.lock().pop() else { break };
        let (mut rows, mut failed) = (0, None);
        snapshot.scan(&part, false, &mut |key, value| {
            let mut pushed = Ok(());
            let made = maker.entries(key, value, |number, entry| {
                if let Some(sorter) = sorters.get_mut(number).filter(|_| pushed.is_ok()) {
                    pushed = sorter.push(&entry.key, &entry.value);
                }
            });
            rows += 1;
            if rows % ROWS_PER_LOOK == 0 {
                pace.rows.fetch_add(ROWS_PER_LOOK, Ordering::Relaxed);
                if pace.stop.load(Ordering::Relaxed) {
                    return ControlFlow::Break(());
                }
            }
            match made.and(pushed.map_err(Error::from)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        pace.rows.fetch_add(rows % ROWS_PER_LOOK, Ordering::Relaxed);
        if let Some(error) = failed {
            pace.stop.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
    Ok(sorters.into_iter().map(Sorter::finish).collect())
}

/// The entries of an index in the order of their keys.
pub(super) struct Merged {
    merge: Merge,
    /// Whether an entry is the only one with its key.
    unique: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    last_key: Vec<u8>,
    last_value: Vec<u8>,
    /// The current entry is beyond the range of the last call.
    is_waiting: bool,
    count: u64,
}

impl Merged {
    pub(super) fn new(merge: Merge, unique: bool) -> Self {
        Self {
            merge,
            unique,
            key: Vec::new(),
            value: Vec::new(),
            last_key: Vec::new(),
            last_value: Vec::new(),
            is_waiting: false,
            count: 0,
        }
    }

    /// Goes to the next entry, if it is within `range`, which is not before that of the last call.
    pub(super) fn advance_within(&mut self, range: &KeyRange, pace: &Pace<'_>) -> Result<bool> {
        if !std::mem::take(&mut self.is_waiting) {
            std::mem::swap(&mut self.key, &mut self.last_key);
            std::mem::swap(&mut self.value, &mut self.last_value);
            self.key.clear();
            self.value.clear();
            let Some((key, value)) = self.merge.next()? else {
                return Ok(false);
            };
            self.key.extend_from_slice(key);
            self.value.extend_from_slice(value);
            self.count += 1;
            if self.count.is_multiple_of(ROWS_PER_LOOK) {
                pace.look(false)?;
            }
        }
        self.is_waiting = !range.contains(&self.key);
        Ok(!self.is_waiting)
    }

    pub(super) fn current(&self) -> (&[u8], &[u8]) {
        (&self.key, &self.value)
    }

    pub(super) fn is_duplicate(&self) -> bool {
        self.unique && self.key == self.last_key
    }
}
