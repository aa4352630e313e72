//! Which columns a store reads of rows or of index entries, and where the scan's columns are among them.
//!
//! In an index scan, a store requires all parts of the index, in order, and then the handle, whichever
//! columns are wanted (`tidb_query_executors/src/index_scan_executor.rs`). It cuts a key by the flags of its
//! values, and decodes only what an expression needs. Under an integer handle, an entry with text has all of
//! its columns in a restored row, so any text can be read. Under other handles, TiDB restores text in another
//! way than our entries do (`docs/format.md`), so text that a key does not give back is not read there.

use planner::plan::{Access, TableScan};
use schema::layout::{EntryPlace, Place, original_default, place, place_in_entry};
use schema::model::{Handle, Index, Table};
use types::{SqlType, TypeKind, Value};

use crate::expression::order_at;
use crate::form::{Form, datum};
use crate::tipb::{self, exec_type};

/// The id that stands for a hidden handle.
const HIDDEN_HANDLE: i64 = -1;

/// The columns that a store reads.
pub struct ScanColumns<'a> {
    scan: &'a TableScan,
    /// The index whose entries are read, by its position.
    index: Option<usize>,
    infos: Vec<tipb::ColumnInfo>,
    /// Where each column of the scan is among them.
    places: Vec<usize>,
}

impl<'a> ScanColumns<'a> {
    /// `None`: stores do not read them, or not in this order.
    pub fn of(scan: &'a TableScan) -> Option<Self> {
        match scan.access {
            Access::Full { reverse: false } | Access::PrimaryRanges { reverse: false, .. } => {
                Self::of_rows(scan)
            }
            Access::IndexRanges {
                index,
                reverse: false,
                covering: true,
                ..
            } => Self::of_entries(scan, index),
            _ => None,
        }
    }

    fn of_rows(scan: &'a TableScan) -> Option<Self> {
        let table = &scan.table;
        let infos = scan.columns.iter().map(|&column| row_info(table, column));
        let mut infos: Vec<_> = infos.collect::<Option<_>>()?;
        let places = (0..infos.len()).collect();
        if infos.is_empty() {
            // A store determines the number of rows of a batch from its first column.
            let first = table.primary_parts().first().map(|part| part.column);
            infos.push(first.map_or_else(|| Some(hidden_handle()), |column| row_info(table, column))?);
        }
        Some(Self {
            scan,
            index: None,
            infos,
            places,
        })
    }

    fn of_entries(scan: &'a TableScan, index: usize) -> Option<Self> {
        let table = &scan.table;
        let parts = &table.indexes.get(index)?.parts;
        let has_elements = |column: usize| table.columns.get(column).is_none_or(|c| c.elements.is_some());
        // Inverted bytes have no flags, and an element of an array is not the value of its column.
        if parts
            .iter()
            .any(|part| part.stored_descending || has_elements(part.column))
        {
            return None;
        }
        let handle = match table.handle {
            Handle::Clustered { .. } => table.primary_parts(),
            Handle::Integer { .. } | Handle::Hidden => Vec::new(),
        };
        let infos = parts
            .iter()
            .chain(&handle)
            .map(|part| key_info(table, part.column));
        let mut infos: Vec<_> = infos.collect::<Option<_>>()?;
        match table.handle {
            Handle::Clustered { .. } => {}
            Handle::Integer { column } => infos.push(tipb::ColumnInfo {
                pk_handle: Some(true),
                ..key_info(table, column)?
            }),
            Handle::Hidden => infos.push(hidden_handle()),
        }
        let places = scan.columns.iter();
        let places = places.map(|&column| place_of_entry(table, index, column));
        Some(Self {
            scan,
            index: Some(index),
            infos,
            places: places.collect::<Option<_>>()?,
        })
    }

    /// The position of each column of the scan among those that the store reads.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The columns whose order is the scan's order. The store reads them, too.
    pub fn order(&mut self) -> Option<Vec<tipb::Expr>> {
        let table = &self.scan.table;
        let Some(index) = self.index else {
            return self.order_of_rows();
        };
        let own = &table.indexes.get(index)?.parts;
        let mut order = Vec::new();
        for part in own.iter().chain(&table.primary_parts()) {
            let place = place_of_entry(table, index, part.column)?;
            order.push(order_at(place, &table.columns.get(part.column)?.ty)?);
        }
        if matches!(table.handle, Handle::Hidden) {
            order.push(order_at(own.len(), &SqlType::BIGINT)?);
        }
        Some(order)
    }

    fn order_of_rows(&mut self) -> Option<Vec<tipb::Expr>> {
        let table = &self.scan.table;
        if let Handle::Hidden = table.handle {
            self.infos.push(hidden_handle());
            return Some(vec![order_at(self.infos.len() - 1, &SqlType::BIGINT)?]);
        }
        let mut order = Vec::new();
        for part in table.primary_parts() {
            let ty = table.columns.get(part.column)?.ty;
            if part.prefix.is_some() {
                return None;
            }
            let at = match self.scan.columns.iter().position(|&column| column == part.column) {
                Some(at) => at,
                None => {
                    self.infos.push(row_info(table, part.column)?);
                    self.infos.len() - 1
                }
            };
            order.push(order_at(at, &ty)?);
        }
        Some(order)
    }

    pub fn into_executor(self) -> tipb::Executor {
        let table = &self.scan.table;
        let table_id = Some(table.physical_id());
        let key = handle_columns(table);
        let index: Option<&Index> = self.index.and_then(|index| table.indexes.get(index));
        match index {
            Some(index) => tipb::Executor {
                tp: Some(exec_type::INDEX_SCAN),
                idx_scan: Some(tipb::IndexScan {
                    table_id,
                    index_id: Some(index.id),
                    columns: self.infos,
                    desc: Some(false),
                    primary_column_ids: key.ids,
                }),
                ..Default::default()
            },
            None => tipb::Executor {
                tp: Some(exec_type::TABLE_SCAN),
                tbl_scan: Some(tipb::TableScan {
                    table_id,
                    columns: self.infos,
                    desc: Some(false),
                    primary_column_ids: key.ids,
                    primary_prefix_column_ids: key.not_whole,
                }),
                ..Default::default()
            },
        }
    }
}

/// The position at which a store has a column of an index's entry.
fn place_of_entry(table: &Table, index: usize, column: usize) -> Option<usize> {
    let parts = &table.indexes.get(index)?.parts;
    // In a key it has the flag of a duration, which a store does not decode as an integer.
    if table.columns.get(column)?.ty.kind == TypeKind::Time {
        return None;
    }
    let is_clustered = matches!(table.handle, Handle::Clustered { .. });
    match place_in_entry(table, index, column)? {
        EntryPlace::KeyPart(part) => Some(part),
        EntryPlace::IntegerHandle => Some(parts.len()),
        EntryPlace::HandlePart(part) => Some(parts.len() + part),
        EntryPlace::Restored if is_clustered => None,
        EntryPlace::Restored => parts.iter().position(|part| part.column == column),
    }
}

/// The ids of the columns whose encodings are a row's handle.
#[derive(Default)]
struct HandleColumns {
    ids: Vec<i64>,
    /// Those of columns of which the handle has only a prefix or a sort key. Without them, a store that reads
    /// no other columns does not look at the row.
    not_whole: Vec<i64>,
}

fn handle_columns(table: &Table) -> HandleColumns {
    let mut columns = HandleColumns::default();
    if !matches!(table.handle, Handle::Clustered { .. }) {
        return columns;
    }
    for part in table.primary_parts() {
        let Some(column) = table.columns.get(part.column) else {
            continue;
        };
        columns.ids.push(column.id);
        if !matches!(place(table, part.column), Place::HandlePart(_)) {
            columns.not_whole.push(column.id);
        }
    }
    columns
}

fn hidden_handle() -> tipb::ColumnInfo {
    tipb::ColumnInfo {
        column_id: Some(HIDDEN_HANDLE),
        pk_handle: Some(true),
        ..info(&SqlType::BIGINT, Form::Int)
    }
}

/// A part of an index's entry.
fn key_info(table: &Table, column: usize) -> Option<tipb::ColumnInfo> {
    let definition = table.columns.get(column)?;
    Some(tipb::ColumnInfo {
        column_id: Some(definition.id),
        ..info(&definition.ty, Form::of(&definition.ty)?)
    })
}

/// A column of a row.
fn row_info(table: &Table, column: usize) -> Option<tipb::ColumnInfo> {
    let definition = table.columns.get(column)?;
    let place = place(table, column);
    let default = match place {
        Place::Computed => return None,
        // As in an index's entry.
        Place::HandlePart(_) if definition.ty.kind == TypeKind::Time => return None,
        Place::IntegerHandle | Place::HandlePart(_) => None,
        Place::Row => match original_default(definition).ok()? {
            Value::Null => None,
            value => Some(datum(&value, &definition.ty)?),
        },
    };
    Some(tipb::ColumnInfo {
        default_val: default,
        pk_handle: Some(matches!(place, Place::IntegerHandle)),
        ..key_info(table, column)?
    })
}

/// Never NOT NULL: rows that are older than the column do not have it.
fn info(ty: &SqlType, form: Form) -> tipb::ColumnInfo {
    let field = form.field_type(ty);
    tipb::ColumnInfo {
        tp: field.tp,
        collation: field.collate,
        column_len: field.flen,
        decimal: field.decimal,
        flag: field.flag.and_then(|flag| i32::try_from(flag).ok()),
        ..Default::default()
    }
}
