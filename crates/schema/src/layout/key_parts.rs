//! The parts of a key, one by one, and ranges of keys.

use std::ops::Range;

use codec::key;
use functions::TimeZone;
use types::{Error, Result, SqlType, Value, collation};

use super::prefix_range;
use super::stored::{clustered_parts, column, index_at, is_cut};
use super::zone::to_stored;
use crate::model::{Handle, IndexPart, Table};

/// How much of a value goes into a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// As much as the index has: a prefix for `col(n)`.
    Stored,
    /// All of it, for comparisons. If a part is a prefix, no key in the store is equal.
    Whole,
}

/// The parts of the primary key or of an index.
#[derive(Debug, Clone)]
pub struct KeyParts {
    start: Vec<u8>,
    /// One part, its value without a flag.
    integer: bool,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    column: usize,
    ty: SqlType,
    nullable: bool,
    /// Entries sort by it in descending order.
    descending: bool,
    /// Characters, or bytes for binary columns.
    cut: Option<u32>,
}

/// A range in which the leading parts are equal to values and the next part is bounded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueRange {
    /// Of the parts' types. NULL means IS NULL.
    pub prefix: Vec<Value>,
    /// If there is only an upper bound, NULLs are not in the range.
    pub lower: Option<ValueBound>,
    pub upper: Option<ValueBound>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ValueBound {
    pub value: Value,
    pub inclusive: bool,
}

impl KeyParts {
    /// The primary key; no parts for a hidden handle.
    pub fn primary(table: &Table) -> Result<Self> {
        let start = key::row_prefix(table.physical_id());
        match table.handle {
            Handle::Integer { column } => Self::new(table, start, true, &[IndexPart::whole(column)]),
            Handle::Clustered { .. } => Self::new(table, start, false, clustered_parts(table)),
            Handle::Hidden => Self::new(table, start, true, &[]),
        }
    }

    /// An index, by its position in [`Table::indexes`]; the clustered one is the primary key.
    pub fn index(table: &Table, position: usize) -> Result<Self> {
        if matches!(table.handle, Handle::Clustered { index } if index == position) {
            return Self::primary(table);
        }
        let index = index_at(table, position)?;
        Self::new(
            table,
            key::index_prefix(table.physical_id(), index.id),
            false,
            &index.parts,
        )
    }

    /// Columns in this order, without a prefix: for comparisons.
    pub fn of_columns(table: &Table, columns: &[usize]) -> Result<Self> {
        let parts: Vec<IndexPart> = columns.iter().map(|&column| IndexPart::whole(column)).collect();
        Self::new(table, Vec::new(), false, &parts)
    }

    fn new(table: &Table, start: Vec<u8>, integer: bool, parts: &[IndexPart]) -> Result<Self> {
        let part = |part: &IndexPart| {
            let column = column(table, part.column)?;
            Ok(Part {
                column: part.column,
                ty: column.key_type(),
                nullable: column.nullable,
                descending: part.stored_descending,
                cut: part.prefix.filter(|_| is_cut(table, part)),
            })
        };
        let parts = parts.iter().map(part).collect::<Result<_>>()?;
        Ok(Self {
            start,
            integer,
            parts,
        })
    }

    /// The prefix of every key.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// How many parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether no part is ever NULL, because they are one integer handle.
    pub fn is_never_null(&self) -> bool {
        self.integer
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The column's offset.
    pub fn column(&self, part: usize) -> Option<usize> {
        self.parts.get(part).map(|p| p.column)
    }

    pub fn ty(&self, part: usize) -> Option<&SqlType> {
        self.parts.get(part).map(|p| &p.ty)
    }

    /// Whether the part has only a prefix of its column's values.
    pub fn is_prefix_part(&self, part: usize) -> bool {
        self.parts.get(part).is_some_and(|p| p.cut.is_some())
    }

    pub fn has_prefix_parts(&self) -> bool {
        self.parts.iter().any(|p| p.cut.is_some())
    }

    /// Whether NULL can be in the part.
    pub fn is_nullable(&self, part: usize) -> bool {
        self.parts.get(part).is_some_and(|p| p.nullable)
    }

    /// Appends one part of a key. The value is of the part's type, or NULL.
    ///
    /// # Errors
    /// 1105 for NULL in an integer handle, and for a value of another type.
    pub fn append(
        &self,
        part: usize,
        value: &Value,
        width: Width,
        zone: TimeZone,
        key: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(part) = self.parts.get(part) else {
            return Err(Error::internal("a key has fewer parts than its range"));
        };
        if self.integer {
            codec::memcomparable::encode_i64(integer_handle(value)?, key);
            return Ok(());
        }
        let cut = part.cut.filter(|_| width == Width::Stored);
        let start = key.len();
        append_part(value, &part.ty, cut, zone, key)?;
        if part.descending {
            codec::datum::descending::invert(key, start);
        }
        Ok(())
    }

    /// How many bytes of a key its first `parts` parts take, with what every key begins with.
    ///
    /// # Errors
    /// 1105 for a damaged key.
    pub fn leading_bytes(&self, key: &[u8], parts: usize) -> Result<usize> {
        if self.integer {
            return Ok(key.len());
        }
        let mut rest = key.get(self.start.len()..).unwrap_or_default();
        for part in self.parts.iter().take(parts) {
            match part.descending {
                true => codec::datum::descending::split(&mut rest)?,
                false => codec::datum::split(&mut rest)?,
            };
        }
        Ok(key.len() - rest.len())
    }

    /// The prefix of every key, with capacity for `values` numbers.
    /// The beginning of a key, with room for so many values.
    pub fn begin(&self, values: usize) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.start.len() + values * (1 + size_of::<i64>()));
        key.extend_from_slice(&self.start);
        key
    }

    /// A key with all parts, or as many as there are values.
    pub fn key(&self, values: &[Value], zone: TimeZone) -> Result<Vec<u8>> {
        let mut key = self.begin(values.len());
        for (part, value) in values.iter().enumerate() {
            self.append(part, value, Width::Stored, zone, &mut key)?;
        }
        Ok(key)
    }

    /// The key that at most one row or entry has: all parts given, none NULL. `None` if one is.
    pub fn point(&self, values: &[Value], zone: TimeZone) -> Result<Option<Vec<u8>>> {
        if values.iter().any(Value::is_null) {
            return Ok(None);
        }
        self.key(values, zone).map(Some)
    }

    /// The keys of a range. If a part is a prefix, other keys may be among them: the caller must compare the
    /// rows again.
    pub fn range(&self, range: &ValueRange, zone: TimeZone) -> Result<Range<Vec<u8>>> {
        let mut prefix = self.begin(range.prefix.len() + 1);
        for (part, value) in range.prefix.iter().enumerate() {
            if self.integer && value.is_null() {
                return Ok(nothing());
            }
            self.append(part, value, Width::Stored, zone, &mut prefix)?;
        }
        let bounded = range.prefix.len();
        let cuts = self.is_prefix_part(bounded);
        let whole = prefix_range(prefix.clone());
        let null_lower = ValueBound {
            value: Value::Null,
            inclusive: false,
        };
        let lower = match &range.lower {
            None if range.upper.is_some() => Some(&null_lower),
            lower => lower.as_ref(),
        };
        // A lower bound after the NULLs is needed only if the part can be NULL.
        let lower = lower.filter(|b| !b.value.is_null() || (self.is_nullable(bounded) && !self.integer));
        if range.upper.as_ref().is_some_and(|bound| bound.value.is_null()) && self.integer {
            return Ok(nothing());
        }
        let upper = range.upper.as_ref();
        let descending = self.parts.get(bounded).is_some_and(|part| part.descending);
        let (first, last) = match descending {
            false => (lower, upper),
            true => (upper, lower),
        };
        let edge = |bound: &ValueBound| {
            let mut key = Vec::with_capacity(prefix.capacity());
            key.extend_from_slice(&prefix);
            self.append(bounded, &bound.value, Width::Stored, zone, &mut key)?;
            // NULL is never cut.
            let inclusive = bound.inclusive || (cuts && !bound.value.is_null());
            Ok::<_, Error>((key, inclusive))
        };
        let start = match first.map(edge).transpose()? {
            None => whole.start,
            Some((key, true)) => key,
            Some((key, false)) => codec::prefix_next(&key),
        };
        let end = match last.map(edge).transpose()? {
            None => whole.end,
            Some((key, true)) => codec::prefix_next(&key),
            Some((key, false)) => key,
        };
        Ok(start..end)
    }
}

/// A range without keys.
fn nothing() -> Range<Vec<u8>> {
    vec![0]..vec![0]
}

/// A row's integer handle.
///
/// # Errors
/// 1105 for anything else. BIGINT UNSIGNED does not fit, so a primary key of that type is never an integer
/// handle.
pub(super) fn integer_handle(value: &Value) -> Result<i64> {
    value
        .as_i64()
        .ok_or_else(|| Error::internal(format!("{value:?} as an integer handle")))
}

/// Appends the encoding of one part of a key.
pub(super) fn append_part(
    value: &Value,
    ty: &SqlType,
    cut: Option<u32>,
    zone: TimeZone,
    key: &mut Vec<u8>,
) -> Result<()> {
    let mut converted = Value::Null;
    let stored = to_stored(value, ty, zone, &mut converted)?;
    match cut {
        Some(cut) => codec::datum::encode(&cut_value(stored, cut), ty, key)?,
        None => codec::datum::encode(stored, ty, key)?,
    }
    Ok(())
}

/// The first characters of text, the first bytes of binary data; every other value whole.
pub(super) fn cut_value(value: &Value, length: u32) -> Value {
    let length = length as usize;
    match value {
        Value::String(text) => Value::from(collation::first_characters(text, length)),
        Value::Bytes(bytes) => Value::Bytes(bytes.get(..length).unwrap_or(bytes).to_vec()),
        value => value.clone(),
    }
}
