//! The hot path: one row by its complete primary key or a unique key, from the store's bytes to the bytes of a packet with
//! no values, arrays or operators in between.
//!
//! Answers are the same to the byte as those of [`crate::query()`], which everything else goes through.

use std::sync::Arc;

use catalog::layout::{IndexLayout, KeyColumns, KeyParts, Place, column_source, place, to_local};
use catalog::model::Table;
use codec::row::{CellValue, ColumnSource, RowView};
use functions::{EvalContext, Expr, TimeZone, eval_value};
use kv::Reader;
use planner::plan::{Access, QueryPlan, Rel, TableScan};
use types::{Result, Value};
use wire::row::{RawValue, RowEncoder};

/// A query that gives one row or none: `SELECT columns FROM t WHERE key = ?`.
#[derive(Debug)]
pub struct PointSelect {
    table: Arc<Table>,
    key: Vec<Expr>,
    parts: KeyParts,
    /// By a unique index, and not by the primary key.
    lookup: Option<IndexLayout>,
    columns: Vec<Source>,
    /// Whether a column comes from the row's value: an index's entry and the row's key do not hold all of them.
    needs_row: bool,
    /// The columns that are read from the parts of a clustered key, in the order of these.
    key_columns: KeyColumns,
}

/// Where a column of the result comes from.
#[derive(Debug)]
enum Source {
    /// The row's value.
    Row(ColumnSource),
    /// The integer that is the row's key.
    Handle { unsigned: bool },
    /// One of [`PointSelect::key_columns`].
    Key(usize),
}

impl PointSelect {
    /// `None`: not such a query.
    pub fn compile(plan: &QueryPlan) -> Option<Self> {
        if plan.locking.is_some() {
            return None;
        }
        let (scan, positions) = match &plan.root {
            Rel::Scan(scan) => (scan, (0..scan.columns.len()).collect()),
            Rel::Project { input, exprs } => match &**input {
                Rel::Scan(scan) => (scan, column_positions(exprs)?),
                _ => return None,
            },
            _ => return None,
        };
        Self::of_scan(scan, &positions)
    }

    fn of_scan(scan: &TableScan, positions: &[usize]) -> Option<Self> {
        if scan.filter.is_some() || scan.as_of.is_some() || scan.table.is_virtual() {
            return None;
        }
        let table = &scan.table;
        let (keys, parts, lookup) = match &scan.access {
            Access::PrimaryPoints { keys } => (keys, KeyParts::primary(table).ok()?, None),
            Access::UniquePoints { index, keys } => {
                let lookup = IndexLayout::new(table, *index, &[]).ok()?;
                (keys, KeyParts::index(table, *index).ok()?, Some(lookup))
            }
            _ => return None,
        };
        let [key] = keys.as_slice() else {
            return None;
        };
        let offsets = positions.iter().map(|&at| scan.columns.get(at).copied());
        let offsets = offsets.collect::<Option<Vec<usize>>>()?;
        let mut key_parts: Vec<usize> = offsets.iter().filter_map(|&c| key_part(table, c)).collect();
        key_parts.sort_unstable();
        key_parts.dedup();
        let columns = offsets
            .iter()
            .map(|&offset| Source::of(table, offset, &key_parts));
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let wanted: Vec<(usize, usize)> = key_parts
            .iter()
            .enumerate()
            .map(|(at, &part)| (part, at))
            .collect();
        Some(Self {
            key_columns: KeyColumns::new(table, &table.primary_parts(), &wanted).ok()?,
            needs_row: columns.iter().any(|c| matches!(c, Source::Row(_))),
            table: Arc::clone(table),
            key: key.clone(),
            parts,
            lookup,
            columns,
        })
    }

    /// Whether the store is read in one call, so that [`kv::Store::latest`] will do for a snapshot.
    pub fn reads_one_moment(&self) -> bool {
        self.lookup.is_none() || !self.needs_row
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Looks the row up and appends its packet's payload to `out`; false if there is none. `encoder` is made of the
    /// plan's result columns.
    ///
    /// # Errors
    /// What the key's expressions fail with, and failures of the store. `out` may then hold part of a row.
    pub fn run(
        &self,
        reader: &dyn Reader,
        eval: &EvalContext,
        encoder: &RowEncoder,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let values = self.key.iter().map(|e| eval_value(e, eval));
        let values = values.collect::<Result<Vec<Value>>>()?;
        let Some(mut key) = self.parts.point(&values, eval.time_zone)? else {
            return Ok(false);
        };
        if let Some(lookup) = &self.lookup {
            let mut handle = None;
            let found = reader.get_with(&key, &mut |value| handle = Some(lookup.handle(&key, value)))?;
            match (found, handle) {
                (true, Some(handle)) => key = codec::key::row_key(self.table.id, &handle?),
                _ => return Ok(false),
            }
            if !self.needs_row {
                return self
                    .write(&key, None, eval.time_zone, encoder, out)
                    .map(|()| true);
            }
        }
        let mut result = Ok(());
        let found = reader.get_with(&key, &mut |value| {
            result = self.write(&key, Some(value), eval.time_zone, encoder, out);
        })?;
        result?;
        if !found && self.lookup.is_some() {
            return Err(types::Error::internal(
                "an index entry has no row; ADMIN CHECK TABLE says more",
            ));
        }
        Ok(found)
    }

    fn write(
        &self,
        key: &[u8],
        value: Option<&[u8]>,
        zone: TimeZone,
        encoder: &RowEncoder,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let row = value.map(RowView::parse).transpose()?;
        let key_values = self.key_values(key, zone)?;
        let mut raw = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            raw.push(column.read(key, &key_values, row.as_ref(), zone)?);
        }
        encoder.raw(&raw, out);
        Ok(())
    }
}

impl PointSelect {
    /// The values of the columns that are parts of the key.
    fn key_values(&self, key: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        if !self.key_columns.is_empty() {
            let parts = codec::key::handle_bytes(key)?;
            self.key_columns.read(parts, zone, |_, value| {
                values.push(value);
                Ok(())
            })?;
        }
        Ok(values)
    }
}

/// The part of a row's key that is the column's value.
fn key_part(table: &Table, offset: usize) -> Option<usize> {
    match place(table, offset) {
        Place::HandlePart(part) => Some(part),
        Place::IntegerHandle | Place::Row => None,
    }
}

fn column_positions(exprs: &[Expr]) -> Option<Vec<usize>> {
    let position = |expr: &Expr| match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    };
    exprs.iter().map(position).collect()
}

impl Source {
    /// `key_parts`: those that are read, ascending.
    fn of(table: &Table, offset: usize, key_parts: &[usize]) -> Option<Self> {
        let column = table.columns.get(offset)?;
        Some(match place(table, offset) {
            Place::IntegerHandle => Self::Handle {
                unsigned: column.ty.unsigned,
            },
            Place::HandlePart(part) => Self::Key(key_parts.binary_search(&part).ok()?),
            Place::Row => Self::Row(column_source(column).ok()?),
        })
    }

    fn read<'a>(
        &'a self,
        key: &[u8],
        key_values: &'a [Value],
        row: Option<&RowView<'a>>,
        zone: TimeZone,
    ) -> Result<RawValue<'a>> {
        match self {
            Self::Handle { unsigned } => {
                let handle = codec::key::int_handle(key)?;
                Ok(match u64::try_from(handle) {
                    Ok(handle) if *unsigned => RawValue::UInt(handle),
                    _ => RawValue::Int(handle),
                })
            }
            Self::Key(position) => Ok(key_values.get(*position).map_or(RawValue::Null, RawValue::from)),
            Self::Row(source) => {
                let Some(row) = row else {
                    return Err(types::Error::internal("a column of a row that was not read"));
                };
                Ok(raw(source.read(row, |packed| to_local(packed, zone))?))
            }
        }
    }
}

fn raw(value: CellValue<'_>) -> RawValue<'_> {
    match value {
        CellValue::Null => RawValue::Null,
        CellValue::Int(v) => RawValue::Int(v),
        CellValue::UInt(v) => RawValue::UInt(v),
        CellValue::Double(v) => RawValue::Double(v),
        CellValue::Decimal(v) => RawValue::Decimal(v),
        CellValue::Text(bytes) | CellValue::Bytes(bytes) => RawValue::Bytes(bytes),
    }
}
