//! Rows or index entries as Arrow arrays.

use arrow::array::ArrayRef;
use codec::row::{ColumnBuffer, RowShape};
use functions::TimeZone;
use types::Result;

use super::index::IndexLayout;
use super::row::TableLayout;
use crate::model::Table;

/// Space is reserved for this many rows if their number is unknown.
const ROWS_AHEAD: usize = 64;

/// Decodes selected columns of many rows, or of many index entries, into one array for each column.
#[derive(Debug)]
pub struct Decoder {
    source: Source,
    zone: TimeZone,
    buffers: Vec<ColumnBuffer>,
    /// What the last row had, of rows.
    shape: RowShape,
    rows: usize,
    /// How many rows the last batch had, which is the estimate for the next.
    expected_rows: usize,
}

#[derive(Debug)]
enum Source {
    Rows(TableLayout),
    Entries(IndexLayout),
}

impl Decoder {
    /// Of rows. `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// As [`TableLayout::new`].
    pub fn of_rows(table: &Table, columns: &[usize], zone: TimeZone) -> Result<Self> {
        let layout = TableLayout::new(table, columns)?;
        let buffers = layout.types().iter().map(ColumnBuffer::new).collect();
        Ok(Self::new(Source::Rows(layout), buffers, zone))
    }

    /// Of the entries of the index at a position in [`Table::indexes`].
    ///
    /// # Errors
    /// As [`IndexLayout::new`].
    pub fn of_entries(table: &Table, index: usize, columns: &[usize], zone: TimeZone) -> Result<Self> {
        let layout = IndexLayout::new(table, index, columns)?;
        let buffers = layout.types().iter().map(ColumnBuffer::new).collect();
        Ok(Self::new(Source::Entries(layout), buffers, zone))
    }

    fn new(source: Source, buffers: Vec<ColumnBuffer>, zone: TimeZone) -> Self {
        Self {
            source,
            zone,
            buffers,
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
        match &self.source {
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
