//! Rows or index entries as Arrow arrays.

use std::sync::Arc;

use arrow::array::ArrayRef;
use codec::row::{ColumnBuffer, RowShape};
use functions::TimeZone;
use types::{Result, SqlType};

use super::index::IndexLayout;
use super::row::TableLayout;
use crate::model::Table;

/// Space is reserved for this many rows if their number is unknown.
const ROWS_AHEAD: usize = 64;

/// Decodes selected columns of many rows, or of many index entries, into one array for each column.
#[derive(Debug)]
pub struct Decoder {
    layout: DecoderLayout,
    zone: TimeZone,
    buffers: Vec<ColumnBuffer>,
    /// What the last row had, of rows.
    shape: RowShape,
    rows: usize,
    /// How many rows the last batch had, which is the estimate for the next.
    expected_rows: usize,
}

/// Where the columns are that a [`Decoder`] reads. One object serves all executions of a plan.
#[derive(Debug, Clone)]
pub struct DecoderLayout(Arc<Source>);

#[derive(Debug)]
enum Source {
    Rows(TableLayout),
    Entries(IndexLayout),
}

impl DecoderLayout {
    /// Of rows. `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// As [`TableLayout::new`].
    pub fn of_rows(table: &Table, columns: &[usize]) -> Result<Self> {
        Ok(Self(Arc::new(Source::Rows(TableLayout::new(table, columns)?))))
    }

    /// Of the entries of the index at a position in [`Table::indexes`].
    ///
    /// # Errors
    /// As [`IndexLayout::new`].
    pub fn of_entries(table: &Table, index: usize, columns: &[usize]) -> Result<Self> {
        Ok(Self(Arc::new(Source::Entries(IndexLayout::new(
            table, index, columns,
        )?))))
    }

    fn types(&self) -> &[SqlType] {
        match &*self.0 {
            Source::Rows(layout) => layout.types(),
            Source::Entries(layout) => layout.types(),
        }
    }
}

impl Decoder {
    /// [`DecoderLayout::of_rows`], for one decoder.
    ///
    /// # Errors
    /// As [`TableLayout::new`].
    pub fn of_rows(table: &Table, columns: &[usize], zone: TimeZone) -> Result<Self> {
        DecoderLayout::of_rows(table, columns).map(|layout| Self::new(layout, zone))
    }

    pub fn new(layout: DecoderLayout, zone: TimeZone) -> Self {
        Self {
            buffers: layout.types().iter().map(ColumnBuffer::new).collect(),
            layout,
            zone,
            shape: RowShape::default(),
            rows: 0,
            expected_rows: 0,
        }
    }

    /// Adds a stored pair. After an error, all pairs so far are lost.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // Not for a single row. With the second, more are likely, and the first one shows how long they are.
        if self.rows == 1 {
            let rows = self.expected_rows.max(ROWS_AHEAD);
            self.buffers.iter_mut().for_each(|buffer| buffer.reserve(rows));
        }
        match &*self.layout.0 {
            Source::Rows(layout) => {
                layout.decode_row(key, value, self.zone, &mut self.buffers, &mut self.shape)?;
            }
            Source::Entries(layout) => layout.decode_entry(key, value, self.zone, &mut self.buffers)?,
        }
        self.rows += 1;
        Ok(())
    }

    /// The number of pairs so far, also if no column is selected.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The arrays; the decoder is empty again.
    ///
    /// # Errors
    /// 1034 for damaged text.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.expected_rows = std::mem::take(&mut self.rows);
        self.buffers.iter_mut().map(ColumnBuffer::finish).collect()
    }
}
