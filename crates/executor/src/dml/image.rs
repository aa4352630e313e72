//! What a row looks like in the store: its key and index entries, and its value.
//!
//! Not here: bytes (`schema::layout`), locks and writes ([`super::writer`]).

use arrow::record_batch::RecordBatch;
use functions::{EvalContext, TimeZone};
use schema::layout::{RowHandle, TableLayout};
use schema::model::{Handle, SchemaState, Table};
use schema::partition::function::{PartitionFunction, is_no_partition};
use types::array::ColumnView;
use types::{Error, Result, Value};

use super::shadow::Shadow;
use super::table_codec::TableCodec;

const ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET: u16 = 1748;

/// One value per column of the table, in the table's order, of the columns' types.
pub(super) type Row = Vec<Value>;

/// A row's key and its index entries, or those entries that a statement changes.
#[derive(Debug)]
pub(super) struct Image {
    pub key: Vec<u8>,
    /// In the order of the table's indexes. Of a multi-valued one there can be any number.
    pub entries: Vec<IndexEntry>,
}

impl Image {
    /// What it holds in memory, roughly.
    pub fn size_bytes(&self) -> usize {
        let entry = |entry: &IndexEntry| size_of::<IndexEntry>() + entry.key.len() + entry.value.len();
        self.key.len() + self.entries.iter().map(entry).sum::<usize>()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// Position in the table's indexes.
    pub index: usize,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// No other row may have the same key: the index is unique and no part is NULL.
    pub distinct: bool,
}

/// Which of a table's keys holds a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UniqueKey {
    Primary,
    Index(usize),
}

/// Makes images of a table's rows.
pub(super) struct ImageMaker<'p> {
    table: &'p Table,
    eval: &'p EvalContext,
    zone: TimeZone,
    codec: &'p TableCodec,
    /// `None`: all rows lie in one place.
    partitions: Option<Places<'p>>,
}

/// Where the rows of a table with partitions lie.
struct Places<'p> {
    function: &'p PartitionFunction,
    /// Positions of the partitions that the statement names; `None`: all.
    named: Option<&'p [usize]>,
}

impl<'p> ImageMaker<'p> {
    /// `named`: positions of the partitions that the statement names; `None`: all.
    pub fn new(
        table: &'p Table,
        codec: &'p TableCodec,
        named: Option<&'p [usize]>,
        eval: &'p EvalContext,
    ) -> Result<Self> {
        let function = table.partition_function()?;
        Ok(Self {
            table,
            eval,
            zone: eval.time_zone,
            codec,
            partitions: function.map(|function| Places { function, named }),
        })
    }

    /// All indexes that have entries of their own.
    pub fn secondary(&self) -> &[usize] {
        &self.codec.secondary
    }

    /// The image of a new row with its entries in `indexes`. `handle`: the row's, if it has been determined;
    /// otherwise the primary key determines it.
    ///
    /// # Errors
    /// 1526 if the row belongs in no partition, 1748 if it belongs in one that the statement does not name.
    pub fn image(&self, row: &[Value], handle: Option<&RowHandle>, indexes: &[usize]) -> Result<Image> {
        let mut image = self.image_anywhere(row, handle, indexes)?;
        if let Some(places) = &self.partitions {
            image.put_at(places.of(row, self.eval)?);
        }
        Ok(image)
    }

    /// The image of a row that lies, or will lie, where the row with the key `beside` does. Of `row`, only
    /// the parts of the keys are needed.
    pub fn image_beside(
        &self,
        beside: &[u8],
        row: &[Value],
        handle: Option<&RowHandle>,
        indexes: &[usize],
    ) -> Result<Image> {
        let mut image = self.image_anywhere(row, handle, indexes)?;
        if self.partitions.is_some() {
            image.put_at(codec::key::table_id(beside)?);
        }
        Ok(image)
    }

    fn image_anywhere(&self, row: &[Value], handle: Option<&RowHandle>, indexes: &[usize]) -> Result<Image> {
        let computed;
        let handle = match handle {
            Some(handle) => handle,
            None => {
                computed = self.codec.encoder.handle(row, self.zone)?;
                &computed
            }
        };
        let mut entries = Vec::with_capacity(indexes.len());
        for &index in indexes {
            let take = |entry: schema::layout::IndexEntry| {
                entries.push(IndexEntry {
                    index,
                    key: entry.key,
                    value: entry.value,
                    distinct: entry.distinct,
                });
            };
            self.codec
                .encoder
                .index_entries(index, row, handle, self.zone, take)?;
        }
        Ok(Image {
            key: self.codec.encoder.row_key(handle),
            entries,
        })
    }

    /// The stored value of a row.
    pub fn value(&self, row: &[Value]) -> Result<Vec<u8>> {
        self.codec.encoder.row_value(row, self.zone)
    }

    /// The stored value of a row that differs from `stored` in the columns `changed`. All other columns of
    /// `row` may be NULL. `None` if the value does not change, except for what keys hold.
    pub fn changed_value(&self, stored: &[u8], row: &[Value], changed: &[usize]) -> Result<Option<Vec<u8>>> {
        self.codec.encoder.changed_value(stored, row, changed, self.zone)
    }

    /// The values of a stored row.
    pub fn decode(&self, key: &[u8], value: &[u8]) -> Result<Row> {
        self.codec.layout.decode_row_values(key, value, self.zone)
    }

    /// Those values of a stored row that `layout` has.
    pub fn decode_some(&self, layout: &TableLayout, key: &[u8], value: &[u8]) -> Result<Row> {
        layout.decode_row_values(key, value, self.zone)
    }

    /// The key of the row with these values of the primary key's parts. `None` if one of them is NULL, or if
    /// such a row can be in no partition that the statement names.
    pub fn row_key(&self, values: &[Value]) -> Result<Option<Vec<u8>>> {
        let Some(mut key) = self.codec.key.point(values, self.zone)? else {
            return Ok(None);
        };
        let Some(places) = &self.partitions else {
            return Ok(Some(key));
        };
        let mut row = vec![Value::Null; self.table.columns.len()];
        for (part, value) in self.table.primary_parts().iter().zip(values) {
            row[part.column].clone_from(value);
        }
        match places.of(&row, self.eval) {
            Ok(place) => {
                codec::key::set_table_id(&mut key, place);
                Ok(Some(key))
            }
            Err(error) if is_misplaced(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What an ALTER TABLE makes of the rows at the moment.
    pub fn shadow(&self) -> Option<&'p Shadow> {
        self.codec.shadow.as_deref()
    }

    /// Whether rows have hidden handles, not determined by a primary key.
    pub fn hides_handles(&self) -> bool {
        matches!(self.table.handle, Handle::Hidden)
    }

    /// The handle that a row's key holds.
    pub fn handle(&self, key: &[u8]) -> Result<RowHandle> {
        self.codec.layout.handle_of_row_key(key)
    }

    /// Whether rows can have any number of entries in an index.
    pub fn has_multi_valued(&self) -> bool {
        self.codec.has_multi_valued
    }

    pub fn is_unique(&self, index: usize) -> bool {
        matches!(self.codec.unique.get(index), Some(Some(_)))
    }

    /// The key of the row that an entry of a unique index leads to.
    pub fn row_key_of_entry(&self, index: usize, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let Some(Some(layout)) = self.codec.unique.get(index) else {
            return Err(Error::internal(format!("index {index} is not unique")));
        };
        layout.row_key(key, value)
    }

    pub fn is_public(&self, index: usize) -> bool {
        let index = self.table.indexes.get(index);
        index.is_some_and(|i| i.state == SchemaState::Public)
    }

    /// Whether new entries of an index are written. From an index that is being dropped, or is in its first
    /// state, entries are only deleted.
    pub fn writes_entries(&self, index: usize) -> bool {
        let index = self.table.indexes.get(index);
        index.is_some_and(|i| i.state >= SchemaState::WriteOnly)
    }
}

impl Places<'_> {
    /// Where a row lies.
    fn of(&self, row: &[Value], eval: &EvalContext) -> Result<i64> {
        let leaf = self.function.locate(row, eval)?;
        if self.named.is_some_and(|named| !named.contains(&leaf)) {
            return Err(Error::new(
                ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET,
                "Found a row not matching the given partition set",
            ));
        }
        let place = self.function.ids.get(leaf).copied();
        place.ok_or_else(|| Error::internal("a partition without a place"))
    }
}

/// Whether an error says that a row has no partition, or none that the statement names. IGNORE makes it a
/// warning.
pub(super) fn is_misplaced(error: &Error) -> bool {
    is_no_partition(error) || error.code == ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET
}

impl Image {
    /// Puts the keys below another physical id.
    fn put_at(&mut self, place: i64) {
        let entries = self.entries.iter_mut().map(|entry| &mut entry.key);
        for key in entries.chain([&mut self.key]) {
            codec::key::set_table_id(key, place);
        }
    }
}

/// The rows of a batch. Its first columns are all of the table's; others may follow.
pub(super) fn rows_of(batch: &RecordBatch, table: &Table) -> Vec<Row> {
    let views: Vec<ColumnView<'_>> = batch
        .columns()
        .iter()
        .zip(&table.columns)
        .map(|(array, column)| ColumnView::new(array, &column.ty))
        .collect();
    (0..batch.num_rows())
        .map(|row| views.iter().map(|v| v.value(row)).collect())
        .collect()
}
