//! ADMIN CHECK TABLE: checks at one snapshot that every row has exactly its index entries, that every entry
//! has its row, and that the store's cache in memory equals the data on disk.
//!
//! Rows are read in pages. For each row, its entries are computed, looked up, and compared byte by byte.
//! Different rows have different entries. So if an index has as many entries as were computed, it has no
//! others. If it has more, it is read, too, to find the entry without a row. Memory is bounded by a page.
//! Foreign keys are checked separately, because rows may have lost their parents while `foreign_key_checks`
//! was 0.

use std::ops::{ControlFlow, Range};

use functions::{EvalContext, TimeZone};
use kv::{Interrupt, KeyRange, Reader, Snapshot, Store};
use schema::layout::{IndexEntry, IndexLayout, RowEncoder, RowHandle, TableLayout};
use schema::model::{Schema, SchemaState, Table};
use types::{Error, Result, Value, errno};

use crate::change::ranges;
use crate::foreign_key_rows::find_orphan;

const PAGE_ROWS: usize = 256;

/// The amount of checked data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub rows: u64,
    /// The number of entries in all indexes.
    pub entries: u64,
}

struct Checker<'a> {
    store: &'a Store,
    table: &'a Table,
    snapshot: Snapshot,
    layout: TableLayout,
    encoder: RowEncoder,
    /// Positions of the indexes to check. Indexes that are being built are not complete yet.
    indexes: Vec<usize>,
    interrupt: &'a Interrupt,
}

struct DecodedRow {
    key: Vec<u8>,
    values: Vec<Value>,
    handle: RowHandle,
}

/// Checks a table at a new snapshot.
///
/// # Errors
/// 8003 at the first inconsistency, with table, index and handle, or with table and key for a difference
/// between memory and disk. 1317 if interrupted; those of the store.
pub fn check_table(store: &Store, table: &Table, interrupt: &Interrupt) -> Result<CheckReport> {
    check_table_at(store.snapshot_now()?, store, table, interrupt)
}

/// Checks a table at the current schema and a new snapshot.
///
/// # Errors
/// Those of [`check_table`].
pub fn check_table_at(
    snapshot: Snapshot,
    store: &Store,
    table: &Table,
    interrupt: &Interrupt,
) -> Result<CheckReport> {
    planner::expressions(table)?;
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let encoder = RowEncoder::new(table)?;
    let checker = Checker {
        store,
        table,
        snapshot,
        layout: TableLayout::new(table, &all)?,
        indexes: encoder
            .entry_indexes()
            .filter(|&at| table.indexes[at].state == SchemaState::Public)
            .collect(),
        encoder,
        interrupt,
    };
    checker.check_memory()?;
    checker.run()
}

/// Checks that every row that refers to another table has a row there.
///
/// # Errors
/// 8003 for a row without a parent, with table, foreign key and the row's key. 1317 if interrupted; those of
/// the store.
pub fn check_references(store: &Store, schema: &Schema, table: &Table, interrupt: &Interrupt) -> Result<()> {
    if table.foreign_keys.is_empty() {
        return Ok(());
    }
    let snapshot = store.snapshot_now()?;
    for key in &table.foreign_keys {
        if let Some(row) = find_orphan(&snapshot, schema, table, key, &mut 0, interrupt)? {
            return Err(Error::new(
                errno::ER_ADMIN_CHECK_TABLE,
                format!(
                    "data inconsistency in table: {}.{}, foreign key: {}, row: {}, it has no row in {}.{}",
                    table.database,
                    table.name,
                    key.name,
                    hex(&row),
                    key.parent.database,
                    key.parent.name
                ),
            ));
        }
    }
    Ok(())
}

impl Checker<'_> {
    fn check_memory(&self) -> Result<()> {
        let indexes = (0..self.table.indexes.len()).flat_map(|index| self.table.index_ranges(index));
        for range in ranges(self.table.row_ranges().into_iter().chain(indexes).collect()) {
            let found = self.store.verify_cached(&range, Some(self.interrupt))?;
            let Some(first) = found.first() else { continue };
            let more = match found.len() {
                1 => String::new(),
                count => format!(" (and {} more keys)", count - 1),
            };
            return Err(Error::new(
                errno::ER_ADMIN_CHECK_TABLE,
                format!("data inconsistency in table: {}, {first}{more}", self.name()),
            ));
        }
        Ok(())
    }

    fn run(&self) -> Result<CheckReport> {
        let (rows, expected) = self.check_rows()?;
        let mut report = CheckReport { rows, entries: 0 };
        for (&index, expected) in self.indexes.iter().zip(expected) {
            let mut entries = 0;
            for range in ranges(self.table.index_ranges(index)) {
                entries += self.count(&range)?;
            }
            if entries != expected {
                self.find_extra(index)?;
                return Err(self.inconsistent(
                    index,
                    "all",
                    &format!("{entries} index entries, {expected} of {} rows", report.rows),
                ));
            }
            report.entries += entries;
        }
        Ok(report)
    }

    /// Checks all rows. Returns their number, and how many entries they have in each index.
    fn check_rows(&self) -> Result<(u64, Vec<u64>)> {
        let mut rows = 0;
        let mut entries = vec![0; self.indexes.len()];
        self.pages(self.table.row_ranges(), |page| {
            let decoded = page
                .iter()
                .map(|(key, value)| self.read(key, value))
                .collect::<Result<Vec<_>>>()?;
            decoded.iter().try_for_each(|row| self.check_place(row))?;
            for (&index, entries) in self.indexes.iter().zip(&mut entries) {
                *entries += self.check_entries(index, &decoded)?;
            }
            rows += page.len() as u64;
            Ok(())
        })?;
        Ok((rows, entries))
    }

    /// Returns how many entries the rows have.
    fn check_entries(&self, index: usize, rows: &[DecodedRow]) -> Result<u64> {
        let mut expected = Vec::with_capacity(rows.len());
        for row in rows {
            self.entries(index, row, |entry| expected.push((entry, &row.handle)))?;
        }
        let keys: Vec<Vec<u8>> = expected.iter().map(|(entry, _)| entry.key.clone()).collect();
        let stored = self.snapshot.batch_get(&keys)?;
        for ((entry, handle), stored) in expected.iter().zip(stored) {
            match stored {
                Some(value) if value == entry.value => {}
                Some(value) => {
                    let found = format!("index value {} != {}", hex(&value), hex(&entry.value));
                    return Err(self.inconsistent(index, &show(handle), &found));
                }
                None => return Err(self.inconsistent(index, &show(handle), "the row has no index entry")),
            }
        }
        Ok(expected.len() as u64)
    }

    fn entries(&self, index: usize, row: &DecodedRow, take: impl FnMut(IndexEntry)) -> Result<()> {
        let place = (row.key.as_slice(), &row.handle);
        self.encoder
            .index_entries_of(index, &row.values, place, TimeZone::UTC, take)
    }

    /// Checks that a row is in its partition.
    fn check_place(&self, row: &DecodedRow) -> Result<()> {
        let Some(function) = self.table.partition_function()? else {
            return Ok(());
        };
        let place = function.place(&row.values, &EvalContext::default());
        if place.ok() == codec::key::table_id(&row.key).ok() {
            return Ok(());
        }
        Err(Error::new(
            errno::ER_ADMIN_CHECK_TABLE,
            format!(
                "data inconsistency in table: {}, handle: {}, the row lies in another partition than its own",
                self.name(),
                show(&row.handle)
            ),
        ))
    }

    fn read(&self, key: &[u8], value: &[u8]) -> Result<DecodedRow> {
        let row = self.layout.decode_row_values(key, value, TimeZone::UTC);
        match (row, self.layout.handle_of_row_key(key)) {
            (Ok(values), Ok(handle)) => Ok(DecodedRow {
                key: key.to_vec(),
                values,
                handle,
            }),
            (Err(problem), _) | (_, Err(problem)) => Err(Error::new(
                errno::ER_ADMIN_CHECK_TABLE,
                format!(
                    "data inconsistency in table: {}, a row cannot be read ({}), key {}",
                    self.name(),
                    problem.message,
                    hex(key)
                ),
            )),
        }
    }

    /// Finds an entry that belongs to no row, and fails with it.
    fn find_extra(&self, index: usize) -> Result<()> {
        let layout = IndexLayout::new(self.table, index, &[])?;
        self.pages(self.table.index_ranges(index), |page| {
            let mut row_keys = Vec::with_capacity(page.len());
            for (key, value) in page {
                let row = layout.row_key(key, value).map_err(|e| {
                    let found = format!("an index entry cannot be read ({}), key {}", e.message, hex(key));
                    self.inconsistent(index, "unknown", &found)
                })?;
                row_keys.push(row);
            }
            let rows = self.snapshot.batch_get(&row_keys)?;
            for ((key, _), (row_key, row)) in page.iter().zip(row_keys.iter().zip(rows)) {
                let mut found = false;
                if let Some(value) = row {
                    let row = self.read(row_key, &value)?;
                    self.entries(index, &row, |entry| found |= entry.key == *key)?;
                }
                if !found {
                    let handle = self.layout.handle_of_row_key(row_key)?;
                    return Err(self.inconsistent(index, &show(&handle), "the index entry has no row"));
                }
            }
            Ok(())
        })
    }

    fn count(&self, range: &KeyRange) -> Result<u64> {
        let mut count = 0u64;
        self.snapshot.scan(range, false, &mut |_, _| {
            count += 1;
            if count.is_multiple_of(PAGE_ROWS as u64) && self.interrupt.is_raised() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        self.interrupt.check()?;
        Ok(count)
    }

    /// Calls `each` with all pairs of some ranges, a page at a time.
    fn pages(
        &self,
        all: Vec<Range<Vec<u8>>>,
        mut each: impl FnMut(&[(Vec<u8>, Vec<u8>)]) -> Result<()>,
    ) -> Result<()> {
        for mut range in ranges(all) {
            loop {
                self.interrupt.check()?;
                let page = self.snapshot.scan_page(&range, PAGE_ROWS, false)?;
                let Some((last, _)) = page.last() else {
                    break;
                };
                range.start.clone_from(last);
                range.start.push(0);
                each(&page)?;
            }
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("{}.{}", self.table.database, self.table.name)
    }

    fn inconsistent(&self, index: usize, handle: &str, what: &str) -> Error {
        let index = self.table.indexes.get(index).map_or("", |i| i.name.as_str());
        Error::new(
            errno::ER_ADMIN_CHECK_TABLE,
            format!(
                "data inconsistency in table: {}, index: {index}, handle: {handle}, {what}",
                self.name()
            ),
        )
    }
}

fn show(handle: &RowHandle) -> String {
    match handle {
        RowHandle::Int(id) => id.to_string(),
        RowHandle::Common(bytes) => hex(bytes),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold("0x".to_owned(), |text, b| format!("{text}{b:02x}"))
}

#[cfg(test)]
mod tests;
