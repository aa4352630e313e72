//! Rows of a shadow table: their values from those of the table's rows, their keys and their index entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use codec::RowHandle;
use codec::index::IndexValue;
use functions::{EvalContext, Row, TimeZone};
use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use super::computed::reading_context;
use super::defaults::{default_value, stored_default};
use super::row::TableLayout;
use super::write::{IndexEntry, RowEncoder};
use super::zone::from_stored;
use crate::bound::{BoundCheck, BoundExpressions, ColumnExpression};
use crate::default_value::{implicit, now_text};
use crate::model::{Column, Default, Table};
use crate::partition::function::{PartitionFunction, is_no_partition};
use crate::shadow::{Conversion, ShadowHandles};

/// Makes the rows of a shadow table. One object serves all statements that use the same definition.
#[derive(Debug)]
pub struct ShadowLayout {
    /// Of all columns of the table.
    source: TableLayout,
    /// Of all columns of the shadow table.
    target: TableLayout,
    encoder: RowEncoder,
    table: Table,
    /// The table's expressions; the copy above has none bound.
    expressions: Option<Arc<BoundExpressions>>,
    columns: Vec<Source>,
    checks: BTreeSet<String>,
    /// See [`Conversion::validates`].
    validates: bool,
    /// The table's virtual columns, if they are validated.
    validated: Vec<(ColumnExpression, Column)>,
    handles: ShadowHandles,
    /// What the keys of the index begin with that leads from handles to those of shadow rows.
    handle_entries: Option<Vec<u8>>,
    /// Rows of several places may have the same handle.
    has_places: bool,
    /// Where shadow rows lie; `None`: all in one place.
    function: Option<Arc<PartitionFunction>>,
    drops_misplaced: bool,
    /// Places that the table keeps with their rows.
    kept: Vec<i64>,
    context: Context,
    zone: TimeZone,
}

/// Where the value of a column comes from.
#[derive(Debug)]
enum Source {
    /// A column of the table, of this type.
    Column(usize, SqlType),
    /// The same in all rows.
    Constant(Value),
    /// An expression of DEFAULT that reads other columns.
    Default,
    Generated,
}

struct Context(EvalContext);

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Context")
    }
}

/// A row of a shadow table as it is stored.
#[derive(Debug)]
pub struct ShadowRow {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// With the positions of their indexes.
    pub entries: Vec<(usize, IndexEntry)>,
}

impl ShadowLayout {
    /// The expressions of both definitions must be bound.
    ///
    /// # Errors
    /// 1105 if they are not, or the definition is damaged.
    pub fn new(base: &Table, target: &Table, conversion: &Conversion) -> Result<Self> {
        let expressions = target.expressions()?.cloned();
        let zone = conversion.zone();
        let columns = target.columns.iter().enumerate().map(|(at, column)| {
            if column.generated.is_some() {
                return Ok(Source::Generated);
            }
            if let Some(offset) = base.columns.iter().position(|before| before.id == column.id) {
                return Ok(Source::Column(offset, base.columns[offset].ty));
            }
            let computed = matches!(column.default, Default::Expression(_))
                && column.original_default.is_none()
                && expressions
                    .as_ref()
                    .is_some_and(|all| all.default_of(at).is_some());
            if computed {
                return Ok(Source::Default);
            }
            Ok(Source::Constant(match &column.original_default {
                Some(text) => default_value(column, text, zone)?,
                None => Value::Null,
            }))
        });
        let columns = columns.collect::<Result<_>>()?;
        // All rows are new, so none is older than a column.
        let mut table = target.clone();
        for column in &mut table.columns {
            column.original_default = None;
        }
        if let Some(bound) = &expressions {
            table.bind_expressions(|_| Ok(BoundExpressions::clone(bound)))?;
        }
        let all = |table: &Table| (0..table.columns.len()).collect::<Vec<_>>();
        let mut kept = target.physical_ids();
        let places = base.physical_ids();
        kept.retain(|place| places.contains(place));
        Ok(Self {
            kept,
            function: target.partition_function()?.cloned(),
            drops_misplaced: conversion.drops_misplaced,
            has_places: base.partitioning.is_some(),
            handle_entries: conversion.handle_entries(target.id),
            source: TableLayout::new(base, &all(base))?,
            target: TableLayout::new(&table, &all(&table))?,
            encoder: RowEncoder::new(&table)?,
            columns,
            checks: conversion.checks.iter().cloned().collect(),
            validates: conversion.validates,
            validated: match conversion.validates {
                true => virtual_columns(base)?,
                false => Vec::new(),
            },
            handles: conversion.handles,
            context: Context(conversion.context()),
            zone,
            expressions,
            table,
        })
    }

    /// The shadow table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The warnings of all conversions, and their number, since the last call.
    pub fn take_warnings(&self) -> (Vec<types::Warning>, u64) {
        self.context.0.warnings.take()
    }

    /// The values of a shadow row, from a stored row of the table. `row_number` is for errors.
    ///
    /// # Errors
    /// MySQL's for values that do not fit the new definition.
    pub fn convert(&self, key: &[u8], value: &[u8], row_number: u64) -> Result<Vec<Value>> {
        let mut before = self.source.decode_row_values(key, value, self.zone)?;
        for (made, column) in &self.validated {
            let value = computed(made, column, &before, row_number, &self.context.0)?;
            if value.is_null() && !column.nullable {
                self.refuse_null(column)?;
            }
        }
        let mut row = vec![Value::Null; self.columns.len()];
        let mut waiting = false;
        for (at, source) in self.columns.iter().enumerate() {
            match source {
                Source::Column(offset, from) => {
                    let value = before
                        .get_mut(*offset)
                        .map_or(Value::Null, |value| std::mem::replace(value, Value::Null));
                    row[at] = self.assign(at, value, from, row_number)?;
                }
                Source::Constant(value) => row[at].clone_from(value),
                Source::Default | Source::Generated => waiting = true,
            }
        }
        if waiting {
            self.compute(&mut row, row_number)?;
        }
        self.test(&row)?;
        Ok(row)
    }

    /// A value for the column at an offset.
    fn assign(&self, at: usize, value: Value, from: &SqlType, row_number: u64) -> Result<Value> {
        let column = &self.table.columns[at];
        let eval = &self.context.0;
        let label = match column.ty.kind {
            TypeKind::Json => format!("{}.{}", self.table.name, column.name),
            _ => String::new(),
        };
        let label = if label.is_empty() { &column.name } else { &label };
        let as_text = !value.is_null() && is_copied_as_text(from, &column.ty);
        let (value, from) = match as_text {
            true => (Value::String(functions::shown_text(&value, from)), &COPIED),
            false => (value, from),
        };
        let (value, from) = match !value.is_null() && is_copied_as_integer(from, &column.ty) {
            true if from.kind == TypeKind::Json => {
                let to = &SqlType::BIGINT;
                let number = match functions::copied_json_integer(&value, &column.name, row_number, eval)? {
                    Some(number) => number,
                    None => functions::assign::value(value, from, to, label, row_number, eval)?,
                };
                (number, to)
            }
            true => {
                warn_of_double(&value, from, &SqlType::BIGINT, eval)?;
                (functions::copied_integer(&value, from, eval)?, &SqlType::BIGINT)
            }
            false => (value, from),
        };
        let reads_decimal = !value.is_null() && from.is_string() && column.ty.is_decimal();
        let number = match reads_decimal {
            true => functions::copied_decimal(&value, from, eval)?,
            false => None,
        };
        let of_text;
        let (value, from) = match number {
            Some(number) => {
                of_text = SqlType::decimal(65, number.scale);
                (Value::Decimal(number), &of_text)
            }
            None => (value, from),
        };
        let value = match *from == column.ty {
            true => value,
            false if is_copied_as_it_is(from, &column.ty) && is_too_long(&value, &column.ty) => {
                self.truncated(column, row_number)?;
                first_characters(value, column.ty.length)
            }
            false => {
                warn_of_double(&value, from, &column.ty, eval)?;
                functions::assign::value(value, from, &column.ty, label, row_number, eval)?
            }
        };
        if !value.is_null() || column.nullable {
            return Ok(value);
        }
        // An AUTO_INCREMENT column gets its value later.
        if column.auto_increment {
            return Ok(Value::Null);
        }
        // MySQL's ALGORITHM=COPY takes the time of the statement.
        if column.ty.kind == TypeKind::Timestamp && self.validates {
            let context = &self.context.0;
            let now = now_text(&column.ty, context.now_us, &context.time_zone);
            return default_value(column, &now, self.zone);
        }
        // Only MySQL's ALGORITHM=COPY tells which value it is.
        if self.context.0.sql_mode.strict && !self.validates {
            return Err(Error::new(
                errno::ER_INVALID_USE_OF_NULL,
                "Invalid use of NULL value",
            ));
        }
        self.truncated(column, row_number)?;
        self.for_null(column)
    }

    /// Warning 1265, which is an error in strict mode.
    fn truncated(&self, column: &Column, row_number: u64) -> Result<()> {
        let message = format!("Data truncated for column '{}' at row {row_number}", column.name);
        if self.context.0.sql_mode.strict {
            return Err(Error::new(errno::WARN_DATA_TRUNCATED, message));
        }
        let warnings = &self.context.0.warnings;
        warnings.push(types::Warning::warning(errno::WARN_DATA_TRUNCATED, message));
        Ok(())
    }

    /// What a NOT NULL column takes for NULL.
    fn for_null(&self, column: &Column) -> Result<Value> {
        match column.ty.kind {
            TypeKind::Enum(_) => Ok(Value::UInt(0)),
            _ => {
                let stored = stored_default(column, &implicit(&column.ty))?;
                Ok(from_stored(stored, &column.ty, self.zone))
            }
        }
    }

    /// Defaults that read other columns, then generated columns from left to right.
    fn compute(&self, row: &mut [Value], row_number: u64) -> Result<()> {
        let Some(expressions) = &self.expressions else {
            return Err(Error::internal("a computed column without an expression"));
        };
        let read = reading_context(self.zone);
        let defaults = expressions.defaults.iter();
        let new =
            defaults.filter(|default| matches!(self.columns.get(default.column), Some(Source::Default)));
        for made in new.chain(&expressions.generated) {
            let column = &self.table.columns[made.column];
            let is_read = column.is_virtual() && (column.hidden || !self.validates);
            let context = if is_read { &read } else { &self.context.0 };
            let value = computed(made, column, row, row_number, context)?;
            row[made.column] = match value.is_null() && !column.nullable {
                false => value,
                true if is_read => self.for_null(column)?,
                true => {
                    self.refuse_null(column)?;
                    self.for_null(column)?
                }
            };
        }
        Ok(())
    }

    /// Error 1048 in strict mode.
    fn refuse_null(&self, column: &Column) -> Result<()> {
        match self.context.0.sql_mode.strict {
            false => Ok(()),
            true => Err(Error::new(
                errno::ER_BAD_NULL_ERROR,
                format!("Column '{}' cannot be null", column.name),
            )),
        }
    }

    fn test(&self, row: &[Value]) -> Result<()> {
        let Some(expressions) = self.expressions.as_ref().filter(|_| !self.checks.is_empty()) else {
            return Ok(());
        };
        let tested = |check: &&BoundCheck| self.checks.contains(&check.name);
        let mut checks = expressions.checks.iter().filter(tested);
        checks.try_for_each(|check| check.test(row, &self.context.0))
    }

    /// Whether the table's row with this key has a shadow row. Not if it stays where it is.
    pub fn has_shadow(&self, base_key: &[u8]) -> Result<bool> {
        Ok(self.kept.is_empty() || !self.kept.contains(&codec::key::table_id(base_key)?))
    }

    /// Whether it depends on a row's values where it lies.
    pub fn is_partitioned(&self) -> bool {
        self.function.is_some()
    }

    /// Where the shadow row with these values lies.
    ///
    /// # Errors
    /// 1526 if no partition takes it.
    fn place(&self, row: &[Value]) -> Result<Option<i64>> {
        let place = |function: &Arc<PartitionFunction>| function.place(row, &self.context.0);
        self.function.as_ref().map(place).transpose()
    }

    /// Whether an error says that the row is one that is left out.
    pub fn leaves_out(&self, error: &Error) -> bool {
        self.drops_misplaced && is_no_partition(error)
    }

    /// Whether rows get new hidden ids.
    pub fn gives_ids(&self) -> bool {
        matches!(self.handles, ShadowHandles::NewIds { .. })
    }

    /// The handle of the shadow row with these values, if the values or the table's row determine it. Otherwise it is a
    /// new hidden id, unless [`ShadowLayout::handle_entry_key`] has one already.
    pub fn handle(&self, row: &[Value], base_key: &[u8]) -> Result<Option<RowHandle>> {
        match self.handles {
            ShadowHandles::Same => self.source.handle_of_row_key(base_key).map(Some),
            ShadowHandles::ByKey { .. } => self.encoder.handle(row, self.zone).map(Some),
            ShadowHandles::NewIds { .. } | ShadowHandles::New => Ok(None),
        }
    }

    /// The key of the shadow row of a table's row. `stored`: the row, needed if [`Self::is_partitioned`]. `None`
    /// if it has no shadow row, because it cannot be converted.
    pub fn row_key(
        &self,
        handle: &RowHandle,
        base_key: &[u8],
        stored: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let mut key = self.encoder.row_key(handle);
        if self.is_partitioned() {
            let Some(stored) = stored else {
                return Ok(None);
            };
            let row = self.convert(base_key, stored, 1);
            self.take_warnings();
            match row.and_then(|row| self.place(&row)) {
                Ok(Some(place)) => codec::key::set_table_id(&mut key, place),
                Ok(None) => {}
                // What made the ALTER TABLE fail, or will, has also kept the row from being copied.
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    /// The handle in the key of a shadow row.
    pub fn handle_of_row_key(&self, key: &[u8]) -> Result<RowHandle> {
        self.target.handle_of_row_key(key)
    }

    /// The shadow row with these values.
    ///
    /// # Errors
    /// 1526 if no partition takes it.
    pub fn row(&self, row: &[Value], handle: &RowHandle) -> Result<ShadowRow> {
        let place = self.place(row)?;
        let mut key = self.encoder.row_key(handle);
        if let Some(place) = place {
            codec::key::set_table_id(&mut key, place);
        }
        Ok(ShadowRow {
            key,
            value: self.encoder.row_value(row, self.zone)?,
            entries: self.entries(row, handle, place)?,
        })
    }

    fn entries(
        &self,
        row: &[Value],
        handle: &RowHandle,
        place: Option<i64>,
    ) -> Result<Vec<(usize, IndexEntry)>> {
        let mut entries = Vec::new();
        for at in self.encoder.entry_indexes() {
            let take = |mut entry: IndexEntry| {
                if let Some(place) = place {
                    codec::key::set_table_id(&mut entry.key, place);
                }
                entries.push((at, entry));
            };
            self.encoder.index_entries(at, row, handle, self.zone, take)?;
        }
        Ok(entries)
    }

    /// The entries of a stored shadow row.
    pub fn stored_entries(&self, key: &[u8], value: &[u8]) -> Result<Vec<(usize, IndexEntry)>> {
        let row = self.target.decode_row_values(key, value, self.zone)?;
        let place = self
            .is_partitioned()
            .then(|| codec::key::table_id(key))
            .transpose()?;
        self.entries(&row, &self.target.handle_of_row_key(key)?, place)
    }

    /// Where the handle of the shadow row of a table's row is stored; `None` if both have the same.
    pub fn handle_entry_key(&self, base_key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(prefix) = &self.handle_entries else {
            return Ok(None);
        };
        let mut key = prefix.clone();
        key.extend_from_slice(match self.has_places {
            true => base_key,
            false => codec::key::handle_bytes(base_key)?,
        });
        Ok(Some(key))
    }

    /// The value under [`ShadowLayout::handle_entry_key`].
    pub fn handle_entry_value(&self, handle: &RowHandle) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        codec::index::encode_value(handle, true, None, &mut value)?;
        Ok(value)
    }

    /// The handle in [`ShadowLayout::handle_entry_value`].
    pub fn handle_of_entry(&self, value: &[u8]) -> Result<RowHandle> {
        match IndexValue::parse(value)?.handle {
            Some(handle) => Ok(handle.to_owned()),
            None => Err(Error::internal("a shadow row without a handle")),
        }
    }
}

/// The value that an expression gives a column.
fn computed(
    made: &ColumnExpression,
    column: &Column,
    row: &[Value],
    row_number: u64,
    context: &EvalContext,
) -> Result<Value> {
    let (value, from) = functions::eval_assigned(&made.value, Row::Values(row), context)?;
    functions::assign::value(value, &from, &column.ty, &column.name, row_number, context)
}

/// The virtual columns of a table, without those of indexes on expressions.
fn virtual_columns(table: &Table) -> Result<Vec<(ColumnExpression, Column)>> {
    let Some(expressions) = table.expressions()? else {
        return Ok(Vec::new());
    };
    let with_column = |made: &ColumnExpression| {
        let column = table.columns.get(made.column)?;
        (column.is_virtual() && !column.hidden).then(|| (made.clone(), column.clone()))
    };
    Ok(expressions.generated.iter().filter_map(with_column).collect())
}

/// The type of a number or a point in time that is copied as text.
const COPIED: SqlType = SqlType::varchar(255, Collation::DEFAULT);

/// Where ALTER TABLE, unlike INSERT, converts the text of a value that is not a text: the leading zeros of a
/// number, the digits that a FLOAT or DOUBLE shows, members that are named like a number, dates; and JSON, to it and from
/// it.
fn is_copied_as_text(from: &SqlType, to: &SqlType) -> bool {
    match from.kind {
        TypeKind::Json => to.is_temporal() || to.is_integer() && to.kind != TypeKind::Bit || to.is_float(),
        TypeKind::Bit => false,
        _ if from.is_string() || from.has_members() => false,
        _ if to.kind == TypeKind::Json || to.has_members() => true,
        TypeKind::Year => false,
        _ if to.is_temporal() => from.is_numeric(),
        _ => to.is_string() && (from.zerofill || from.is_float()),
    }
}

/// Where it converts the integer: the number in a text, of which INSERT takes the bytes; all digits of a
/// date, of which INSERT takes the year; and the integer nearest to a DOUBLE or a DECIMAL. A DECIMAL is a signed BIGINT
/// first for every integer type.
fn is_copied_as_integer(from: &SqlType, to: &SqlType) -> bool {
    match to.kind {
        TypeKind::Bit => {
            let is_number = from.is_float() || from.is_decimal();
            from.is_string() || from.kind == TypeKind::Json || is_number || from.is_temporal()
        }
        TypeKind::Year => from.is_float() || from.is_decimal() || from.is_temporal(),
        _ => from.is_decimal() && to.is_integer(),
    }
}

/// MySQL copies from VARCHAR to VARCHAR by a function of its own, for which blanks at the end are like other characters,
/// if both have as many bytes for the length; and from CHAR to CHAR.
fn is_copied_as_it_is(from: &SqlType, to: &SqlType) -> bool {
    let is_long = |ty: &SqlType| ty.max_bytes() > 255;
    let is_alike = match (from.kind, to.kind) {
        (TypeKind::VarChar, TypeKind::VarChar) => is_long(from) == is_long(to),
        (TypeKind::Char, TypeKind::Char) => true,
        _ => false,
    };
    is_alike && from.collation == to.collation
}

/// Whether a text has more characters than its new type.
fn is_too_long(value: &Value, to: &SqlType) -> bool {
    let most = to.length as usize;
    match value {
        Value::String(text) => text.len() > most && text.chars().count() > most,
        Value::Bytes(bytes) => bytes.len() > most,
        _ => false,
    }
}

fn first_characters(value: Value, most: u32) -> Value {
    let most = most as usize;
    match value {
        Value::String(text) => Value::String(text.chars().take(most).collect()),
        Value::Bytes(mut bytes) => {
            bytes.truncate(most);
            Value::Bytes(bytes)
        }
        other => other,
    }
}

/// MySQL reads a DOUBLE as an integer first, and warns if it is not in the range of BIGINT.
fn warn_of_double(value: &Value, from: &SqlType, to: &SqlType, eval: &EvalContext) -> Result<()> {
    let Value::Double(double) = value else {
        return Ok(());
    };
    let is_read = from.kind == TypeKind::Double && to.is_integer();
    if !is_read || double.abs() < i64::MAX as f64 {
        return Ok(());
    }
    let message = format!(
        "Truncated incorrect INTEGER value: '{}'",
        value.display_text(from)
    );
    if eval.sql_mode.strict {
        return Err(Error::new(errno::ER_TRUNCATED_WRONG_VALUE, message));
    }
    let warning = types::Warning::warning(errno::ER_TRUNCATED_WRONG_VALUE, message);
    eval.warnings.push(warning);
    Ok(())
}
