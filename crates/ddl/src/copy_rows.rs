//! Copies the rows of a page to the shadow table, converted to the new definition.
//!
//! At that time, writers of the table already keep the shadow table up to date ([`schema::shadow`]). The page
//! has locked its rows, so no other transaction writes their shadow rows.

use std::collections::HashSet;

use cluster::ids::{IdAllocator, align};
use kv::{LockOptions, Reader, Transaction};
use schema::duplicate::{duplicate_entry, duplicate_primary};
use schema::layout::{RowHandle, ShadowLayout, ShadowRow};
use schema::model::{IndexPart, Table};
use schema::shadow::Conversion;
use types::{Error, Result, SqlType, Value, Warning, errno};

use crate::page_work::{LockedRow, PageError, PageWork};

/// How many warnings are kept: `max_error_count` is not larger.
const WARNINGS_MAX: usize = 65_535;

pub(crate) struct RowCopier<'a> {
    layout: ShadowLayout,
    ids: &'a IdAllocator,
    /// Set if rows get new ids in their order.
    next_id: Option<NextId>,
    /// The next id after the current page.
    next_id_after: Option<NextId>,
    warnings: Vec<Warning>,
    /// Those of a page that is not committed.
    page_warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Copy)]
struct NextId {
    /// The AUTO_INCREMENT column.
    column: usize,
    next: u64,
    /// Of `auto_increment_increment` and `auto_increment_offset`.
    steps: (u64, u64),
    /// NO_AUTO_VALUE_ON_ZERO: only NULL is replaced.
    keeps_zero: bool,
}

/// A row of the shadow table.
struct CopiedRow {
    values: Vec<Value>,
    row: ShadowRow,
    /// The key and value that store the handle of its shadow row.
    handle_entry: Option<(Vec<u8>, Vec<u8>)>,
    /// How many warnings the page has after this row.
    warned: usize,
}

impl<'a> RowCopier<'a> {
    /// The expressions of both definitions must be bound.
    pub(crate) fn new(
        base: &Table,
        target: &Table,
        conversion: &Conversion,
        ids: &'a IdAllocator,
    ) -> Result<Self> {
        let next_id = conversion.first_id.zip(target.auto_increment_column());
        let next_id = next_id.map(|(next, column)| NextId {
            column,
            next,
            steps: conversion.id_steps.unwrap_or((1, 1)),
            // A new column has no values to keep.
            keeps_zero: conversion.sql_mode.no_auto_value_on_zero
                && base.columns.iter().any(|c| c.id == target.columns[column].id),
        });
        Ok(Self {
            layout: ShadowLayout::new(base, target, conversion)?,
            ids,
            next_id,
            next_id_after: next_id,
            warnings: Vec::new(),
            page_warnings: Vec::new(),
        })
    }

    /// The warnings, with those of the page that has failed, up to the row that has.
    pub(crate) fn into_warnings(mut self) -> Vec<Warning> {
        self.take_warnings();
        self.keep_warnings();
        self.warnings
    }

    /// Returns how many warnings the page has.
    fn take_warnings(&mut self) -> usize {
        self.page_warnings.append(&mut self.layout.take_warnings().0);
        self.page_warnings.len()
    }

    fn keep_warnings(&mut self) {
        let room = WARNINGS_MAX.saturating_sub(self.warnings.len());
        self.warnings.extend(self.page_warnings.drain(..).take(room));
    }

    /// For each row of a page, what stores the handle of its shadow row if a writer has written that, where rows get new
    /// hidden ids.
    fn given_handles(
        &self,
        txn: &Transaction,
        page: &[LockedRow],
    ) -> Result<Vec<Option<Vec<u8>>>, PageError> {
        if !self.layout.gives_ids() {
            return Ok(vec![None; page.len()]);
        }
        let entries = page.iter().map(|row| self.layout.handle_entry_key(&row.key));
        let entries: Option<Vec<Vec<u8>>> = entries.collect::<Result<_>>()?;
        match entries {
            Some(entries) => Ok(txn.current().batch_get(&entries)?),
            None => Ok(vec![None; page.len()]),
        }
    }

    /// `given`: of [`RowCopier::given_handles`]. `None`: the row is left out.
    fn convert(
        &mut self,
        txn: &Transaction,
        (row, given): (&LockedRow, Option<Vec<u8>>),
        row_number: u64,
    ) -> Result<Option<CopiedRow>> {
        let mut values = self.layout.convert(&row.key, &row.value, row_number)?;
        let table = self.layout.table();
        match &mut self.next_id_after {
            Some(id) => id.give(&mut values, table, row_number)?,
            None => refuse_null_id(&values, table)?,
        }
        let handle = match (self.layout.handle(&values, &row.key)?, given) {
            (Some(handle), _) => handle,
            (None, Some(given)) => self.layout.handle_of_entry(&given)?,
            (None, None) => {
                let table = self.layout.table();
                let sequence = self.ids.allocate_row_ids(table, 1)?;
                RowHandle::Int(table.row_id_layout().id(txn.start_ts(), sequence) as i64)
            }
        };
        let handle_entry = match self.layout.handle_entry_key(&row.key)? {
            Some(key) => Some((key, self.layout.handle_entry_value(&handle)?)),
            None => None,
        };
        let row = match self.layout.row(&values, &handle) {
            Err(error) if self.layout.leaves_out(&error) => return Ok(None),
            row => row?,
        };
        Ok(Some(CopiedRow {
            row,
            values,
            handle_entry,
            warned: self.take_warnings(),
        }))
    }

    /// Locks the keys that must be unique, and fails if one of them belongs to another row.
    fn check_unique(
        &mut self,
        txn: &mut Transaction,
        options: &LockOptions,
        rows: &[CopiedRow],
    ) -> Result<(), PageError> {
        self.check_row_keys(txn, options, rows)?;
        let entries = rows.iter().enumerate().flat_map(|(at, copied)| {
            let entries = copied.row.entries.iter();
            entries
                .filter(|(_, e)| e.distinct)
                .map(move |(index, e)| (at, *index, e))
        });
        let entries: Vec<_> = entries.collect();
        if entries.is_empty() {
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = entries.iter().map(|(_, _, entry)| entry.key.clone()).collect();
        let stored = txn.lock(&keys, options)?;
        let mut in_page = HashSet::new();
        for ((row, index, entry), stored) in entries.iter().zip(stored) {
            let is_other = stored.into_value().is_some_and(|value| *value != *entry.value);
            if is_other || !in_page.insert(&entry.key) {
                self.page_warnings.truncate(rows[*row].warned);
                let table = self.layout.table();
                let duplicate = duplicate_entry(table, &table.indexes[*index], &rows[*row].values);
                let is_first = *index == 0 && table.primary_parts().is_empty();
                let parts = is_first.then_some(&*table.indexes[*index].parts);
                return Err(self.resequenced(duplicate, parts.unwrap_or_default()).into());
            }
        }
        Ok(())
    }

    /// The same check for the keys of the rows, if they differ from those of the table's rows.
    fn check_row_keys(
        &mut self,
        txn: &mut Transaction,
        options: &LockOptions,
        rows: &[CopiedRow],
    ) -> Result<(), PageError> {
        if rows.iter().all(|copied| copied.handle_entry.is_none()) {
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = rows.iter().map(|copied| copied.row.key.clone()).collect();
        let stored = txn.lock(&keys, options)?;
        let mut in_page = HashSet::new();
        for (copied, stored) in rows.iter().zip(stored) {
            let is_taken = match stored.into_value() {
                Some(_) => !self.is_own(txn, copied)?,
                None => false,
            };
            if is_taken || !in_page.insert(&copied.row.key) {
                self.page_warnings.truncate(copied.warned);
                let table = self.layout.table();
                let duplicate = duplicate_primary(table, &copied.values);
                return Err(self.resequenced(duplicate, &table.primary_parts()).into());
            }
        }
        Ok(())
    }

    /// MySQL's text for a duplicate in the first key (`parts`), if that begins with a column whose rows get ids.
    fn resequenced(&self, duplicate: Error, parts: &[IndexPart]) -> Error {
        let gets_ids = |part: &IndexPart| self.next_id.is_some_and(|id| id.column == part.column);
        match duplicate.message.strip_prefix("Duplicate entry") {
            Some(rest) if parts.first().is_some_and(gets_ids) => Error::new(
                duplicate.code,
                format!("ALTER TABLE causes auto_increment resequencing, resulting in duplicate entry{rest}"),
            ),
            _ => duplicate,
        }
    }

    /// Whether a writer has written the existing shadow row with this key for the same row.
    fn is_own(&self, txn: &Transaction, copied: &CopiedRow) -> Result<bool, PageError> {
        let Some((key, value)) = &copied.handle_entry else {
            return Ok(true);
        };
        Ok(txn.current().get(key)?.is_some_and(|stored| *stored == **value))
    }
}

impl PageWork for RowCopier<'_> {
    fn page(
        &mut self,
        txn: &mut Transaction,
        options: &LockOptions,
        page: &[LockedRow],
        rows_before: u64,
    ) -> Result<(), PageError> {
        self.next_id_after = self.next_id;
        // Discards the warnings of a page that was not committed.
        self.layout.take_warnings();
        self.page_warnings.clear();
        let given = self.given_handles(txn, page)?;
        let mut rows = Vec::with_capacity(page.len());
        let mut failed = Ok(());
        for (number, row) in (rows_before + 1..).zip(page.iter().zip(given)) {
            match self.convert(txn, row, number) {
                Ok(copied) => rows.extend(copied),
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            }
        }
        self.check_unique(txn, options, &rows)?;
        // A duplicate among the rows before comes first.
        failed?;
        for CopiedRow {
            row, handle_entry, ..
        } in rows
        {
            if let Some((key, value)) = handle_entry {
                txn.put(key, value)?;
            }
            let guard = txn.put_guard(row.key, row.value)?;
            for (_, entry) in row.entries {
                match entry.distinct {
                    true => txn.put(entry.key, entry.value)?,
                    false => txn.put_guarded(guard, entry.key, entry.value)?,
                }
            }
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.next_id = self.next_id_after;
        self.keep_warnings();
    }
}

impl NextId {
    /// Gives a row an id if it has none.
    fn give(&mut self, values: &mut [Value], table: &Table, row_number: u64) -> Result<()> {
        let column = &table.columns[self.column];
        let Some(value) = values.get_mut(self.column) else {
            return Ok(());
        };
        let is_zero = matches!(value, Value::Int(0) | Value::UInt(0)) || *value == Value::Double(0.0);
        if value.is_null() || is_zero && !self.keeps_zero {
            let context = functions::EvalContext::default();
            let (increment, offset) = self.steps;
            let next = align(self.next, increment, offset);
            if value.is_null() && column.nullable {
                // As in an INSERT: NULL stays, though an id is taken for it.
                self.next = next.saturating_add(1);
                return Ok(());
            }
            let (id, ty) = (Value::UInt(next), SqlType::BIGINT_UNSIGNED);
            *value = functions::assign::value(id, &ty, &column.ty, &column.name, row_number, &context)?;
        }
        self.next = self.next.max(crate::rows::as_id(value).saturating_add(1));
        Ok(())
    }
}

/// NULLs of an AUTO_INCREMENT column that could be NULL do not become ids.
///
/// # Errors
/// 1048.
fn refuse_null_id(values: &[Value], table: &Table) -> Result<()> {
    let Some(at) = table.auto_increment_column() else {
        return Ok(());
    };
    let column = &table.columns[at];
    if column.nullable || !values.get(at).is_some_and(Value::is_null) {
        return Ok(());
    }
    Err(Error::new(
        errno::ER_BAD_NULL_ERROR,
        format!("Column '{}' cannot be null", column.name),
    ))
}
