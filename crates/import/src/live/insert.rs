//! Rows as INSERTs, several in a statement.

use mysql::Value;

use crate::Result;
use crate::endpoint::{Client, quoted};
use crate::inventory::{Column, Table};

/// The largest number of rows, parameters and bytes of one INSERT.
const STATEMENT_ROWS: usize = 512;
const STATEMENT_PARAMETERS: usize = 32_000;
const STATEMENT_BYTES: usize = 1 << 20;

/// Rows on their way to the target.
pub(super) struct Inserter<'a> {
    pub(super) target: &'a mut Client,
    head: String,
    row: String,
    columns: usize,
    most_rows: usize,
    values: Vec<Value>,
    rows: usize,
    bytes: usize,
    pub(super) transaction_bytes: usize,
}

impl<'a> Inserter<'a> {
    pub(super) fn new(target: &'a mut Client, table: &Table, columns: &[&Column]) -> Self {
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        Self {
            target,
            head: format!("INSERT INTO {} ({}) VALUES ", table.quoted(), names.join(", ")),
            row: format!("({})", vec!["?"; columns.len()].join(",")),
            columns: columns.len(),
            most_rows: (STATEMENT_PARAMETERS / columns.len().max(1)).clamp(1, STATEMENT_ROWS),
            values: Vec::new(),
            rows: 0,
            bytes: 0,
            transaction_bytes: 0,
        }
    }

    pub(super) fn add(&mut self, row: Vec<Value>) -> Result<()> {
        let bytes: usize = row.iter().map(Value::bin_len).map(|length| length as usize).sum();
        if self.rows > 0 && (self.rows == self.most_rows || self.bytes + bytes > STATEMENT_BYTES) {
            self.flush()?;
        }
        self.values.extend(row);
        self.rows += 1;
        self.bytes += bytes;
        self.transaction_bytes += bytes;
        Ok(())
    }

    /// Sends the rows. Statements have powers of two of rows, or the most, so that few are prepared.
    pub(super) fn flush(&mut self) -> Result<()> {
        let mut values = std::mem::take(&mut self.values).into_iter();
        while self.rows > 0 {
            let rows = match self.rows == self.most_rows {
                true => self.rows,
                false => 1 << self.rows.ilog2(),
            };
            let sql = format!("{}{}", self.head, vec![self.row.as_str(); rows].join(","));
            let statement = self.target.prepare(&sql)?;
            let values: Vec<Value> = values.by_ref().take(rows * self.columns).collect();
            self.target.execute(&statement, &sql, values)?;
            self.rows -= rows;
        }
        self.bytes = 0;
        Ok(())
    }
}
