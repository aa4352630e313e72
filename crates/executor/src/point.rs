//! The hot path: one row by its complete primary key or a unique key, from the store's bytes to the bytes of a packet with
//! no values, arrays or operators in between.
//!
//! Answers are the same to the byte as those of [`crate::query()`], which everything else goes through.

use std::sync::Arc;

use catalog::layout::{IndexLayout, KeyParts};
use catalog::model::{Handle, Table};
use codec::row::{Cell, RowView, cell};
use functions::{EvalContext, Expr, TimeZone, eval_value};
use kv::Reader;
use planner::plan::{Access, QueryPlan, Rel, TableScan};
use types::{Result, SqlType, TypeKind, Value};
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
    /// The types of the parts of a clustered key, as far as a column is read from them.
    key_types: Vec<SqlType>,
}

/// Where a column of the result comes from.
#[derive(Debug)]
enum Source {
    /// The row's value.
    Row {
        id: i64,
        form: Form,
        /// Of rows older than the column; a TIMESTAMP in UTC.
        default: Value,
    },
    /// The integer that is the row's key.
    Handle { unsigned: bool },
    /// A part of the row's key.
    Part(usize),
}

/// How a cell's bytes become a value.
#[derive(Debug, Clone, Copy)]
enum Form {
    Signed,
    Unsigned,
    Timestamp,
    Time,
    Double,
    Decimal,
    Bytes,
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
        let columns = positions
            .iter()
            .map(|&at| Source::of(table, *scan.columns.get(at)?))
            .collect::<Option<Vec<_>>>()?;
        let parts_read = columns.iter().filter_map(|column| match column {
            Source::Part(part) => Some(part + 1),
            Source::Row { .. } | Source::Handle { .. } => None,
        });
        let parts_read = parts_read.max().unwrap_or(0);
        let primary = table.primary_parts();
        let key_types = primary.iter().take(parts_read).filter_map(|part| {
            let column = table.columns.get(part.column)?;
            Some(column.ty)
        });
        Some(Self {
            key_types: key_types.collect(),
            needs_row: columns.iter().any(|c| matches!(c, Source::Row { .. })),
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
    /// The leading parts of a clustered key, none where no column is read from them.
    fn key_values(&self, key: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        if self.key_types.is_empty() {
            return Ok(Vec::new());
        }
        let mut rest = codec::key::handle_bytes(key)?;
        let mut values = Vec::with_capacity(self.key_types.len());
        for ty in &self.key_types {
            if !codec::datum::is_reversible(ty) {
                codec::datum::split(&mut rest)?;
                values.push(Value::Null);
                continue;
            }
            values.push(match codec::datum::decode(&mut rest, ty)? {
                Value::UInt(packed) if ty.kind == TypeKind::Timestamp => Value::UInt(local(packed, zone)),
                value => value,
            });
        }
        Ok(values)
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
    fn of(table: &Table, offset: usize) -> Option<Self> {
        let column = table.columns.get(offset)?;
        match table.handle {
            Handle::Integer { column: handle } if handle == offset => {
                return Some(Self::Handle {
                    unsigned: column.ty.unsigned,
                });
            }
            Handle::Clustered { .. } if codec::datum::is_reversible(&column.ty) => {
                let primary = KeyParts::primary(table).ok()?;
                let whole =
                    |&part: &usize| primary.column(part) == Some(offset) && !primary.is_prefix_part(part);
                if let Some(part) = (0..primary.len()).find(whole) {
                    return Some(Self::Part(part));
                }
            }
            Handle::Clustered { .. } | Handle::Integer { .. } | Handle::Hidden => {}
        }
        let default = match &column.original_default {
            // UTC, as rows have it.
            Some(text) => catalog::layout::default_value(column, text, TimeZone::UTC).ok()?,
            None => Value::Null,
        };
        Some(Self::Row {
            id: column.id,
            form: Form::of(&column.ty),
            default,
        })
    }

    fn read<'a>(
        &'a self,
        key: &[u8],
        key_values: &'a [Value],
        row: Option<&RowView<'a>>,
        zone: TimeZone,
    ) -> Result<RawValue<'a>> {
        let (id, form, default) = match self {
            Self::Handle { unsigned } => {
                let handle = codec::key::int_handle(key)?;
                return Ok(match u64::try_from(handle) {
                    Ok(handle) if *unsigned => RawValue::UInt(handle),
                    _ => RawValue::Int(handle),
                });
            }
            Self::Part(part) => return Ok(key_values.get(*part).map_or(RawValue::Null, RawValue::from)),
            Self::Row { id, form, default } => (*id, *form, default),
        };
        let Some(row) = row else {
            return Err(types::Error::internal("a column of a row that was not read"));
        };
        Ok(match row.get(id)? {
            Cell::Null => RawValue::Null,
            Cell::Bytes(bytes) => form.read(bytes, zone)?,
            Cell::Missing => match default {
                Value::UInt(packed) if matches!(form, Form::Timestamp) => {
                    RawValue::UInt(local(*packed, zone))
                }
                default => RawValue::from(default),
            },
        })
    }
}

impl Form {
    fn of(ty: &SqlType) -> Self {
        match ty.kind {
            TypeKind::Timestamp => Self::Timestamp,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Year => Self::Unsigned,
            TypeKind::Time => Self::Time,
            TypeKind::Float | TypeKind::Double => Self::Double,
            TypeKind::Decimal => Self::Decimal,
            _ if ty.is_integer() && ty.unsigned => Self::Unsigned,
            _ if ty.is_integer() => Self::Signed,
            _ => Self::Bytes,
        }
    }

    fn read(self, bytes: &[u8], zone: TimeZone) -> Result<RawValue<'_>> {
        Ok(match self {
            Self::Signed => RawValue::Int(cell::decode_signed(bytes)?),
            Self::Unsigned => RawValue::UInt(cell::decode_unsigned(bytes)?),
            Self::Timestamp => RawValue::UInt(local(cell::decode_unsigned(bytes)?, zone)),
            Self::Time => RawValue::Int(cell::decode_time(bytes)?),
            Self::Double => RawValue::Double(cell::decode_double(bytes)?),
            Self::Decimal => RawValue::Decimal(cell::decode_decimal(bytes)?),
            Self::Bytes => RawValue::Bytes(bytes),
        })
    }
}

/// A packed TIMESTAMP as the session sees it; the zero date is no instant and the same everywhere.
fn local(packed: u64, zone: TimeZone) -> u64 {
    if packed == 0 { 0 } else { zone.utc_to_local(packed) }
}
