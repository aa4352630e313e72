//! The entries that rows have in new indexes, made and sorted by several threads.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use functions::TimeZone;
use kv::{KeyRange, Reader, Runs, Snapshot, Sorter, Store};
use parking_lot::Mutex;
use schema::duplicate::duplicate_entry;
use schema::layout::{IndexEntry, RowEncoder, TableLayout};
use schema::model::{Handle, Table};
use types::{Error, Result, SqlMode, Value};

use super::pace::{ENTRIES_PER_LOOK, Pace};

/// Makes the entries of rows.
pub(super) struct EntryMaker {
    /// Of the columns that the entries need.
    layout: TableLayout,
    encoder: RowEncoder,
    indexes: Vec<usize>,
}

impl EntryMaker {
    /// `indexes`: positions in the table's indexes. `mode`: virtual columns must fit.
    pub(super) fn new(table: &Table, indexes: &[usize], mode: Option<SqlMode>) -> Result<Self> {
        let mut layout = TableLayout::in_place(table, &columns_of_entries(table, indexes))?;
        if let Some(mode) = mode {
            layout.check_computed(&checked_columns(table, indexes), mode);
        }
        Ok(Self {
            layout,
            encoder: RowEncoder::new(table)?,
            indexes: indexes.to_vec(),
        })
    }

    /// Calls `take` with each entry of a row: the index's number among those that entries are made for, and
    /// the entry.
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
}

/// The columns that make the entries of indexes. Other virtual columns need not be computed, and may not have a value.
pub(crate) fn columns_of_entries(table: &Table, indexes: &[usize]) -> Vec<usize> {
    let mut columns = Vec::new();
    let mut add = |index: usize| columns.extend(table.indexes[index].parts.iter().map(|part| part.column));
    indexes.iter().for_each(|&index| add(index));
    if let Handle::Clustered { index } = table.handle {
        add(index);
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The columns of new indexes whose values must fit.
pub(crate) fn checked_columns(table: &Table, indexes: &[usize]) -> Vec<usize> {
    let indexes = indexes.iter().map(|&index| &table.indexes[index]);
    // The words of a text always fit.
    let parts = indexes
        .filter(|index| index.full_text.is_none())
        .flat_map(|index| &index.parts);
    parts.map(|part| part.column).collect()
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
    (indexes, mode): (&[usize], Option<SqlMode>),
    memory_each: usize,
    parts: &Mutex<Vec<KeyRange>>,
    pace: &Pace<'_>,
) -> Result<Vec<Runs>> {
    let maker = EntryMaker::new(table, indexes, mode)?;
    let mut sorters: Vec<Sorter> = indexes.iter().map(|_| Sorter::new(store, memory_each)).collect();
    while !pace.stop.load(Ordering::Relaxed) {
        let Some(part) = parts.lock().pop() else { break };
        let (mut rows, mut failed) = (0, None);
        snapshot.scan_once(&part, &mut |key, value| {
            let mut pushed = Ok(());
            let made = maker.entries(key, value, |number, entry| {
                if let Some(sorter) = sorters.get_mut(number).filter(|_| pushed.is_ok()) {
                    pushed = sorter.push(&entry.key, &entry.value);
                }
            });
            rows += 1;
            if rows % ENTRIES_PER_LOOK == 0 {
                scheduling::background::look();
                pace.rows.fetch_add(ENTRIES_PER_LOOK, Ordering::Relaxed);
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
        pace.rows.fetch_add(rows % ENTRIES_PER_LOOK, Ordering::Relaxed);
        if let Some(error) = failed {
            pace.stop.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
    let runs: kv::Result<Vec<Runs>> = sorters.into_iter().map(Sorter::finish).collect();
    Ok(runs?)
}
