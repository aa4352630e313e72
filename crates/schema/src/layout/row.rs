//! Selected columns of rows.

use codec::RowHandle;
use codec::row::{ColumnBuffer, RowShape};
use functions::TimeZone;
use types::{Result, SqlMode, SqlType, Value};

use super::computed::Computed;
use super::give::give_to;
use super::stored::{Place, column, place};
use super::stored_columns::StoredColumns;
use crate::model::Table;

/// Decodes selected columns of a table's rows. One object serves all executions of a plan.
#[derive(Debug, Clone)]
pub struct TableLayout {
    stored: StoredColumns,
    /// Set if virtual generated columns are among the selected ones: it then makes all of them.
    computed: Option<Box<Computed>>,
}

impl TableLayout {
    /// `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// 1105 for an offset the table does not have, or a default that is not of its column's type.
    pub fn new(table: &Table, columns: &[usize]) -> Result<Self> {
        let types = columns.iter().map(|&offset| Ok(column(table, offset)?.ty));
        let selected = columns.iter().copied().enumerate();
        Self::with_positions(table, types.collect::<Result<_>>()?, selected)
    }

    /// For rows with as many values as the table has columns: selected columns at their own offsets, NULL for
    /// all others.
    ///
    /// # Errors
    /// As [`TableLayout::new`].
    pub fn in_place(table: &Table, columns: &[usize]) -> Result<Self> {
        let types = table.columns.iter().map(|column| column.ty).collect();
        Self::with_positions(table, types, columns.iter().map(|&offset| (offset, offset)))
    }

    fn with_positions(
        table: &Table,
        types: Vec<SqlType>,
        selected: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Self> {
        let is_computed = |(_, offset): &(usize, usize)| matches!(place(table, *offset), Place::Computed);
        let (computed, stored): (Vec<_>, Vec<_>) = selected.partition(is_computed);
        let computed = match computed.is_empty() {
            true => None,
            false => Some(Box::new(Computed::new(table, &computed, &stored)?)),
        };
        Ok(Self {
            stored: StoredColumns::new(table, types, stored)?,
            computed,
        })
    }

    /// Refuses values of virtual columns that do not fit, as INSERT does in this mode. Otherwise reading takes the nearest
    /// value. `columns`: offsets.
    pub fn check_computed(&mut self, columns: &[usize], mode: SqlMode) {
        if let Some(computed) = &mut self.computed {
            computed.check(columns, mode);
        }
    }

    /// The type of each position.
    pub fn types(&self) -> &[SqlType] {
        self.stored.types()
    }

    /// Appends a row to the buffers, one for each selected column. After an error the buffers' lengths may
    /// differ. `shape`: of the rows before.
    pub(super) fn decode_row(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
        shape: &mut RowShape,
    ) -> Result<()> {
        if self.computed.is_some() {
            let values = self.decode_row_values(key, value, zone)?;
            let mut values = values.iter().enumerate();
            return values.try_for_each(|(position, value)| give_to(buffers, position, value));
        }
        self.stored.decode_row(key, value, zone, buffers, shape)
    }

    /// A row's selected columns as values, one for each position.
    pub fn decode_row_values(&self, key: &[u8], value: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        if let Some(computed) = &self.computed {
            let mut values = vec![Value::Null; self.types().len()];
            computed.fill(key, value, zone, &mut values)?;
            return Ok(values);
        }
        self.stored.decode_row_values(key, value, zone)
    }

    /// The handle in a row's key.
    pub fn handle_of_row_key(&self, key: &[u8]) -> Result<RowHandle> {
        self.stored.handle_of_row_key(key)
    }
}
