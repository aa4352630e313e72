//! Entries of new indexes for the rows of a page.
//!
//! Writers maintain the index by that time, so the later of the two writes the right entry. A duplicate in a
//! unique index is found as any writer finds it: by locking the entry's key and finding another row.

use std::collections::HashMap;

use functions::TimeZone;
use kv::{LockOptions, Reader, Transaction};
use schema::duplicate::duplicate_entry;
use schema::layout::{IndexEntry, IndexLayout, RowEncoder, TableLayout};
use schema::model::Table;
use types::{Result, SqlMode, Value};

use crate::page_work::{LockedRow, PageError, PageWork};
use crate::sorted::entries::{checked_columns, columns_of_entries};

pub(crate) struct IndexFiller<'a> {
    table: &'a Table,
    layout: TableLayout,
    encoder: RowEncoder,
    /// Positions in the table's indexes.
    indexes: Vec<usize>,
}

/// An entry to write.
struct NewEntry {
    index: usize,
    /// Position among the page's rows.
    row: usize,
    entry: IndexEntry,
}

impl<'a> IndexFiller<'a> {
    /// `new_indexes`: the ids of those to fill. The table's expressions must be bound. `mode`: virtual columns must fit.
    pub(crate) fn new(table: &'a Table, new_indexes: &[i64], mode: Option<SqlMode>) -> Result<Self> {
        let is_new = |&at: &usize| new_indexes.contains(&table.indexes[at].id);
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(is_new).collect();
        let mut layout = TableLayout::in_place(table, &columns_of_entries(table, &indexes))?;
        if let Some(mode) = mode {
            layout.check_computed(&checked_columns(table, &indexes), mode);
        }
        Ok(Self {
            table,
            layout,
            encoder: RowEncoder::new(table)?,
            indexes,
        })
    }
}

impl PageWork for IndexFiller<'_> {
    fn page(
        &mut self,
        txn: &mut Transaction,
        options: &LockOptions,
        page: &[LockedRow],
        _: u64,
    ) -> Result<(), PageError> {
        let mut values = Vec::new();
        let mut entries = Vec::new();
        for row in page {
            self.entries(&row.key, &row.value, &mut values, &mut entries)?;
        }
        self.check_unique(txn, options, &values, &entries)?;
        for NewEntry { entry, row, .. } in entries {
            match entry.distinct {
                true => txn.put(entry.key, entry.value)?,
                // The row's lock guards it: no other row can have this key.
                false => {
                    let guard = txn.guard(&page[row].key)?;
                    txn.put_guarded(guard, entry.key, entry.value)?;
                }
            }
        }
        Ok(())
    }
}

impl IndexFiller<'_> {
    /// Makes a row's entries.
    fn entries(
        &self,
        key: &[u8],
        value: &[u8],
        rows: &mut Vec<Vec<Value>>,
        entries: &mut Vec<NewEntry>,
    ) -> Result<()> {
        let row = self.layout.decode_row_values(key, value, TimeZone::UTC)?;
        let handle = self.layout.handle_of_row_key(key)?;
        for &index in &self.indexes {
            let row_number = rows.len();
            let take = |entry| {
                entries.push(NewEntry {
                    index,
                    row: row_number,
                    entry,
                });
            };
            self.encoder
                .index_entries_of(index, &row, (key, &handle), TimeZone::UTC, take)?;
        }
        rows.push(row);
        Ok(())
    }

    /// Locks the keys that must be unique, and fails if one belongs to another row.
    fn check_unique(
        &self,
        txn: &mut Transaction,
        options: &LockOptions,
        rows: &[Vec<Value>],
        entries: &[NewEntry],
    ) -> Result<(), PageError> {
        let distinct: Vec<&NewEntry> = entries.iter().filter(|e| e.entry.distinct).collect();
        if distinct.is_empty() {
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = distinct.iter().map(|e| e.entry.key.clone()).collect();
        let stored = txn.lock(&keys, options)?;
        let mut in_page: HashMap<&[u8], usize> = HashMap::new();
        for (new, stored) in distinct.iter().zip(stored) {
            let other = stored.into_value().filter(|value| *value != new.entry.value);
            let earlier = in_page.insert(&new.entry.key, new.row);
            if other.is_none() && earlier.is_none() {
                continue;
            }
            // MySQL reports the value of the row that had it first: an equal value may be written
            // differently.
            let first = match (earlier, other) {
                (Some(row), _) => Some(rows[row].clone()),
                (None, Some(value)) => self.row_of(txn, new.index, &new.entry.key, &value)?,
                (None, None) => None,
            };
            let row = first.unwrap_or_else(|| rows[new.row].clone());
            return Err(duplicate_entry(self.table, &self.table.indexes[new.index], &row).into());
        }
        Ok(())
    }

    /// The newest values of the row that an entry of a unique index belongs to.
    fn row_of(
        &self,
        txn: &Transaction,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Vec<Value>>, PageError> {
        let entries = IndexLayout::new(self.table, index, &[])?;
        let row_key = entries.row_key(key, value)?;
        match txn.current().get(&row_key)? {
            Some(row) => Ok(Some(self.layout.decode_row_values(
                &row_key,
                &row,
                TimeZone::UTC,
            )?)),
            None => Ok(None),
        }
    }
}
