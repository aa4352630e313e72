//! The keys by which parents and children are found, made once for a plan.

use std::sync::Arc;

use functions::TimeZone;
use planner::foreign_key::{ForeignKeyPlan, KeyedTable, ParentIndex};
use schema::foreign_key::KeyIndex;
use schema::layout::{IndexLayout, KeyParts, TableLayout, ValueRange};
use schema::model::Table;
use types::{Error, Result, Value};

use crate::dml::table_codec::TableCodec;

/// In the order of the plan's tables.
#[derive(Debug)]
pub(super) struct ForeignKeyLayout {
    pub tables: Vec<TableKeys>,
}

#[derive(Debug)]
pub(super) struct TableKeys {
    pub codec: Arc<TableCodec>,
    /// In the order of the table's keys in the plan; `None` for a parent that does not exist.
    pub parents: Vec<Option<Finder>>,
    pub children: Vec<Finder>,
}

/// Finds rows by the leading columns of an index.
#[derive(Debug)]
pub(super) struct Finder {
    parts: KeyParts,
    /// `None`: the primary key.
    entries: Option<IndexLayout>,
    /// The columns of the index, as a row of the table has them.
    columns: Vec<usize>,
    row: TableLayout,
}

impl ForeignKeyLayout {
    pub fn of(plan: &ForeignKeyPlan) -> Result<Self> {
        let tables = plan.tables.iter().map(|keyed| TableKeys::of(plan, keyed));
        Ok(Self {
            tables: tables.collect::<Result<_>>()?,
        })
    }

    pub fn table(&self, position: usize) -> Result<&TableKeys> {
        self.tables.get(position).ok_or_else(no_such_table)
    }
}

/// A position that the plan does not have.
pub(super) fn no_such_table() -> Error {
    Error::internal("a foreign key of a table that is not in the plan")
}

impl TableKeys {
    fn of(plan: &ForeignKeyPlan, keyed: &KeyedTable) -> Result<Self> {
        let parents = keyed.parents.iter().map(|key| match &key.parent {
            Some(ParentIndex {
                table,
                columns,
                index,
                ..
            }) => Finder::new(table, *index, columns).map(Some),
            None => Ok(None),
        });
        let children = keyed.children.iter().map(|key| {
            let child = plan.tables.get(key.child).ok_or_else(no_such_table)?;
            Finder::new(&child.table, key.index, &key.columns)
        });
        Ok(Self {
            codec: TableCodec::of(&keyed.table)?,
            parents: parents.collect::<Result<_>>()?,
            children: children.collect::<Result<_>>()?,
        })
    }
}

impl Finder {
    fn new(table: &Table, index: KeyIndex, columns: &[usize]) -> Result<Self> {
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let (parts, entries) = match index {
            KeyIndex::Primary => (KeyParts::primary(table)?, None),
            KeyIndex::Secondary(at) => (
                KeyParts::index(table, at)?,
                Some(IndexLayout::new(table, at, &[])?),
            ),
        };
        Ok(Self {
            parts,
            entries,
            columns: columns.to_vec(),
            row: TableLayout::new(table, &all)?,
        })
    }

    /// The key that begins every entry with these values.
    pub fn prefix(&self, values: &[Value], zone: TimeZone) -> Result<Vec<u8>> {
        self.parts.key(values, zone)
    }

    /// The prefix of a row's own entry.
    pub fn prefix_of(&self, row: &[Value], zone: TimeZone) -> Result<Option<Vec<u8>>> {
        match picked(row, &self.columns) {
            Some(values) => self.prefix(&values, zone).map(Some),
            None => Ok(None),
        }
    }

    pub fn range(&self, values: Vec<Value>, zone: TimeZone) -> Result<kv::KeyRange> {
        let range = ValueRange {
            prefix: values,
            ..ValueRange::default()
        };
        Ok(self.parts.range(&range, zone)?.into())
    }

    /// The key of the row that an entry belongs to.
    pub fn row_key(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        match &self.entries {
            None => Ok(key.to_vec()),
            Some(entries) => entries.row_key(key, value),
        }
    }

    pub fn decode(&self, key: &[u8], value: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        self.row.decode_row_values(key, value, zone)
    }
}

/// The values of some columns; `None` if one is NULL: such a row refers to nothing (MATCH SIMPLE), and
/// nothing refers to it.
pub(super) fn picked(row: &[Value], columns: &[usize]) -> Option<Vec<Value>> {
    columns
        .iter()
        .map(|&column| row.get(column).filter(|value| !value.is_null()).cloned())
        .collect()
}
