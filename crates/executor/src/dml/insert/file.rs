//! The rows of LOAD DATA.
//!
//! Source: manual 13.2.9, "LOAD DATA Statement", and MySQL 8.0.33's answers.

use std::borrow::Cow;

use functions::{EvalContext, Strictness, assign, eval_assigned};
use kv::Transaction;
use planner::plan::{AssignedSubqueries, FieldTarget, FileRows};
use schema::model::{Column, Default};
use types::{Charset, Error, Result, SqlType, TypeKind, Value, errno};
use wire::column_type::announced_length;

use super::bulk::{Ahead, Place};
use super::rows::{FileBatch, NewRow, NewRows, RowMaker, no_column};
use super::{ImageMaker, Insert, Writer};
use crate::batch::{BATCH_BYTES, BATCH_ROWS};
use crate::context::ExecContext;
use crate::dml::assign::source_of;
use crate::dml::defaults::{self, implicit};
use crate::dml::image::Row;
use crate::dml::warn;
use crate::field_reader::FieldReader;
use crate::memory::Memory;
use crate::operator::row_query::RowQuery;

const ER_WARN_TOO_FEW_RECORDS: u16 = 1261;
const ER_WARN_TOO_MANY_RECORDS: u16 = 1262;
const ER_WARN_NULL_TO_NOTNULL: u16 = 1263;

impl Insert<'_> {
    /// Writes the rows of the file.
    pub(super) fn write_file(
        &mut self,
        file: &FileRows,
        memory: &Memory<'_>,
        txn: &mut Transaction,
        maker: &ImageMaker<'_>,
    ) -> Result<()> {
        let Some(input) = self.ctx.file else {
            return Err(Error::internal("LOAD DATA without a file"));
        };
        input.with_reader(&mut |reader| {
            let mut ahead = Ahead::new(input.bulk_bytes(), maker, memory);
            let queries: Vec<_> = file
                .subqueries
                .iter()
                .map(|assigned| LineQuery::new(assigned, memory))
                .collect();
            // Subqueries read in the transaction, which a bulk load has none of.
            let place = match self.may_fill(maker) && queries.is_empty() {
                true => Place::take(
                    self.table,
                    input.table_is_locked(),
                    (&mut ahead, reader),
                    self.ctx,
                )?,
                false => None,
            };
            let mut batches = |rows: &mut RowMaker<'_>, txn: Option<&mut Transaction>| {
                ahead.forget_taken(reader);
                rows.of_file(
                    (file, reader),
                    LineQueries {
                        queries: &queries,
                        txn,
                    },
                    memory,
                )
            };
            if let Some(place) = place {
                let mut batches = |rows: &mut RowMaker<'_>| batches(rows, None);
                return self.fill(&place, &mut batches, memory, maker, txn.start_ts());
            }
            let mut writer = Writer::new(txn, maker, self.ctx);
            loop {
                let new = batches(&mut self.rows, Some(writer.txn));
                let (is_last, held) = (new.is_last, new.held);
                self.write(new.rows, &mut writer).map_err(with_advice)?;
                memory.shrink_to(held);
                if is_last {
                    return Ok(());
                }
            }
        })
    }
}

/// A file that one transaction cannot hold: says what to do.
fn with_advice(error: Error) -> Error {
    match error.code {
        errno::ER_TXN_TOO_LARGE | errno::ER_MEMORY_EXCEEDED => Error::new(
            error.code,
            format!(
                "{}; the rows of this file are written in one transaction: load it in pieces, or outside of a transaction \
                 and without REPLACE into a table that can be loaded in bulk (docs/compatibility.md, LOAD DATA)",
                error.message
            ),
        ),
        _ => error,
    }
}

/// The bytes of a batch's fields. Those of one line alone may be many.
struct Counted<'m, 'e> {
    memory: &'m Memory<'e>,
    bytes: usize,
    /// Of those, what the memory knows nothing of yet.
    more: usize,
}

/// So many bytes are counted at a time.
const COUNTED_BYTES: usize = 64 << 10;

impl Counted<'_, '_> {
    fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        self.more += bytes;
        match self.more < COUNTED_BYTES {
            true => Ok(()),
            false => self.memory.grow(std::mem::take(&mut self.more)),
        }
    }
}

/// The subqueries of an assignment of SET.
struct LineQuery<'q> {
    /// The assignment's position in the list.
    assignment: usize,
    query: RowQuery<'q>,
}

impl<'q> LineQuery<'q> {
    /// Nothing is remembered from one line for the next: variables that a line sets have other values then.
    fn new(assigned: &'q AssignedSubqueries, memory: &'q Memory<'q>) -> Self {
        Self {
            assignment: assigned.assignment,
            query: RowQuery::anew(&assigned.query, memory),
        }
    }
}

/// The subqueries of SET, and the transaction that they read in.
struct LineQueries<'l, 'q, 't> {
    queries: &'l [LineQuery<'q>],
    txn: Option<&'t mut Transaction>,
}

impl LineQueries<'_, '_, '_> {
    /// The values of an assignment's subqueries for a row.
    fn values(&mut self, assignment: usize, row: &[Value], ctx: &ExecContext<'_>) -> Result<Vec<Value>> {
        let of_it = self.queries.iter().find(|query| query.assignment == assignment);
        match (of_it, &mut self.txn) {
            (None, _) => Ok(Vec::new()),
            (Some(of_it), Some(txn)) => of_it.query.run(row, txn, ctx),
            (Some(_), None) => Err(Error::internal("a subquery without a transaction")),
        }
    }
}

/// A line of the file that is being made a row of.
struct Line<'f> {
    row: Row,
    number: u64,
    file: &'f FileRows,
}

impl RowMaker<'_> {
    /// The next rows of the file.
    fn of_file(
        &mut self,
        (file, reader): (&FileRows, &mut FieldReader<'_>),
        mut queries: LineQueries<'_, '_, '_>,
        memory: &Memory<'_>,
    ) -> FileBatch {
        let eval = self.ctx.eval;
        let warned = eval.warnings.count();
        let mut batch = FileBatch {
            rows: NewRows {
                rows: Vec::new(),
                failed: None,
                warned,
            },
            is_last: false,
            held: memory.used_bytes(),
        };
        let mut bytes = Counted {
            memory,
            bytes: 0,
            more: 0,
        };
        while batch.rows.rows.len() < BATCH_ROWS && bytes.bytes < BATCH_BYTES {
            let mut is_used = false;
            match self.of_line((file, reader), &mut queries, &mut bytes) {
                Ok(Some(row)) => {
                    is_used = row.is_some();
                    batch.rows.rows.extend(row);
                }
                Ok(None) => batch.is_last = true,
                Err(error) => {
                    batch.rows.failed = Some(error);
                    batch.is_last = true;
                }
            }
            if batch.is_last {
                break;
            }
            match next_line(reader, is_used, eval) {
                Ok(true) => {}
                Ok(false) => {
                    batch.is_last = true;
                    break;
                }
                Err(error) => {
                    batch.rows.failed = Some(error);
                    batch.is_last = true;
                    break;
                }
            }
        }
        batch
    }

    /// The row of the next line. Outer `None`: the file is over. Inner `None`: the row is left out.
    fn of_line(
        &mut self,
        (file, reader): (&FileRows, &mut FieldReader<'_>),
        queries: &mut LineQueries<'_, '_, '_>,
        bytes: &mut Counted<'_, '_>,
    ) -> Result<Option<Option<NewRow>>> {
        let mut line = Line {
            row: self.template.row.clone(),
            number: reader.rows + 1,
            file,
        };
        let is_there = match file.format.has_fixed_rows() {
            true => self.read_fixed(&mut line, reader, bytes)?,
            false => self.read_separated(&mut line, reader, bytes)?,
        };
        if !is_there {
            return Ok(None);
        }
        if reader.ignored > 0 {
            reader.ignored -= 1;
            return Ok(Some(None));
        }
        reader.rows += 1;
        self.row_number = line.number;
        self.assign_set(&mut line, queries, bytes)?;
        self.fill_nulls(&mut line)?;
        let made = self.with_id(line.row, None)?;
        if made.is_none() {
            // As MySQL counts them, the next line has the number of one that a CHECK has left out.
            reader.rows -= 1;
        }
        Ok(Some(made))
    }

    /// `false`: there is no further line.
    fn read_separated(
        &self,
        line: &mut Line<'_>,
        reader: &mut FieldReader<'_>,
        bytes: &mut Counted<'_, '_>,
    ) -> Result<bool> {
        let file = line.file;
        for (position, target) in file.fields.iter().enumerate() {
            if !reader.read_field()? {
                if position == 0 {
                    return Ok(false);
                }
                if reader.ignored == 0 {
                    self.without_fields(line, position)?;
                }
                break;
            }
            if reader.ignored > 0 {
                continue;
            }
            bytes.add(reader.field().len() + size_of::<Value>())?;
            let field = (!reader.is_null()).then(|| reader.field());
            self.store(line, target, field)?;
        }
        Ok(true)
    }

    /// A line whose fields have the widths of their columns.
    fn read_fixed(
        &self,
        line: &mut Line<'_>,
        reader: &mut FieldReader<'_>,
        bytes: &mut Counted<'_, '_>,
    ) -> Result<bool> {
        let file = line.file;
        let width = |target: &FieldTarget| match target {
            FieldTarget::Column(column) => self.table.columns.get(*column),
            FieldTarget::Variable(_) | FieldTarget::Nowhere => None,
        };
        let widths: Vec<usize> = file
            .fields
            .iter()
            .map(|target| width(target).map_or(0, |column| announced_length(&column.ty, None) as usize))
            .collect();
        let all = widths
            .iter()
            .fold(0_usize, |all, width| all.saturating_add(*width));
        if !reader.read_fixed_line(all)? {
            return Ok(false);
        }
        if reader.ignored > 0 {
            return Ok(true);
        }
        let mut rest = reader.field();
        bytes.add(rest.len() + size_of::<Value>() * widths.len())?;
        for (position, (target, width)) in file.fields.iter().zip(&widths).enumerate() {
            if rest.is_empty() {
                self.without_rest(line, position)?;
                break;
            }
            let (field, behind) = rest.split_at((*width).min(rest.len()));
            self.store(line, target, Some(field))?;
            rest = behind;
        }
        Ok(true)
    }

    /// A line of fixed widths ends before the field at `position`: columns keep their defaults, but for NULL.
    fn without_rest(&self, line: &mut Line<'_>, position: usize) -> Result<()> {
        for target in line.file.fields.get(position..).unwrap_or_default() {
            if let FieldTarget::Column(offset) = target
                && let (Some(column), Some(cell)) =
                    (self.table.columns.get(*offset), line.row.get_mut(*offset))
                && cell.is_null()
                && !column.makes_ids()
            {
                *cell = implicit(&column.ty);
            }
            self.too_few(line.number)?;
        }
        Ok(())
    }

    /// Error or warning 1261.
    fn too_few(&self, row: u64) -> Result<()> {
        let message = format!("Row {row} doesn't contain data for all columns");
        self.ctx.eval.conversion_lost(ER_WARN_TOO_FEW_RECORDS, message)
    }

    /// Stores a field; `None` is NULL.
    fn store(&self, line: &mut Line<'_>, target: &FieldTarget, field: Option<&[u8]>) -> Result<()> {
        let charset = line.file.charset;
        match target {
            FieldTarget::Nowhere => Ok(()),
            FieldTarget::Variable(name) => {
                let value = match field.map(|bytes| text_of(bytes, charset)) {
                    None => Value::Null,
                    Some(text) => text?.0,
                };
                self.ctx.eval.state.assign(name.clone(), value);
                Ok(())
            }
            FieldTarget::Column(offset) => {
                let column = self.table.columns.get(*offset);
                let column = column.ok_or_else(|| no_column(self.table, *offset))?;
                let value = match field {
                    None => Value::Null,
                    Some(bytes) => {
                        let target = self.target(column);
                        let label = target.label();
                        let (to, row, eval) = (&column.ty, line.number, self.ctx.eval);
                        match decoded(bytes, charset, column) {
                            Some(text) => assign::text(&text, &TEXT, to, &label, row, eval)?,
                            None => {
                                let (value, from) = value_of(bytes, charset, column)?;
                                assign::value(value, &from, to, &*label, row, eval)?
                            }
                        }
                    }
                };
                if let Some(cell) = line.row.get_mut(*offset) {
                    *cell = value;
                }
                Ok(())
            }
        }
    }

    /// The line ends before the field at `position`: columns without a field become 0 or empty, unless their
    /// default is NULL, and variables NULL.
    fn without_fields(&self, line: &mut Line<'_>, position: usize) -> Result<()> {
        let file = line.file;
        for target in file.fields.get(position..).unwrap_or_default() {
            match target {
                FieldTarget::Variable(name) => self.ctx.eval.state.assign(name.clone(), Value::Null),
                FieldTarget::Column(offset) => {
                    let column = self.table.columns.get(*offset);
                    let column = column.ok_or_else(|| no_column(self.table, *offset))?;
                    if let Some(cell) = line.row.get_mut(*offset) {
                        *cell = of_missing_field(column, self.ctx.eval);
                    }
                    self.too_few(line.number)?;
                }
                FieldTarget::Nowhere => self.too_few(line.number)?,
            }
        }
        Ok(())
    }

    fn assign_set(
        &self,
        line: &mut Line<'_>,
        queries: &mut LineQueries<'_, '_, '_>,
        bytes: &mut Counted<'_, '_>,
    ) -> Result<()> {
        let width = line.row.len();
        for (position, assignment) in line.file.assignments.iter().enumerate() {
            let values = queries.values(position, &line.row, self.ctx)?;
            line.row.extend(values);
            let offset = assignment.column;
            let column = self.table.columns.get(offset);
            let column = column.ok_or_else(|| no_column(self.table, offset))?;
            let value = match &assignment.value {
                Some(expr) => {
                    let (value, from) =
                        eval_assigned(expr, functions::Row::Values(&line.row), self.ctx.eval)?;
                    self.converted(value, &from, source_of(expr, &from), column)?
                }
                None => self.default_of(offset, &line.row)?,
            };
            bytes.add(value.size_bytes())?;
            if let Some(cell) = line.row.get_mut(offset) {
                *cell = value;
            }
        }
        line.row.truncate(width);
        Ok(())
    }

    /// The fields that are NULL in NOT NULL columns: error 1263, or the implicit default.
    fn fill_nulls(&self, line: &mut Line<'_>) -> Result<()> {
        for target in &line.file.fields {
            let FieldTarget::Column(offset) = target else {
                continue;
            };
            let (Some(column), Some(cell)) = (self.table.columns.get(*offset), line.row.get_mut(*offset))
            else {
                return Err(no_column(self.table, *offset));
            };
            if !cell.is_null() || column.nullable || column.makes_ids() {
                continue;
            }
            if column.ty.kind == TypeKind::Timestamp {
                *cell = defaults::now(&column.ty, self.ctx.eval);
                continue;
            }
            let message = format!(
                "Column set to default value; NULL supplied to NOT NULL column '{}' at row {}",
                column.name, line.number
            );
            if self.ctx.eval.strictness == Strictness::Error {
                return Err(Error::new(ER_WARN_NULL_TO_NOTNULL, message));
            }
            warn(self.ctx.eval, ER_WARN_NULL_TO_NOTNULL, message);
            *cell = defaults::for_null(&column.ty);
        }
        Ok(())
    }
}

/// Goes to the next line. What the line before has too much is an error, or a warning, if that line is used.
fn next_line(reader: &mut FieldReader<'_>, is_used: bool, eval: &EvalContext) -> Result<bool> {
    let is_there = reader.next_line()?;
    if is_there && is_used && reader.is_truncated {
        let row = reader.rows;
        eval.conversion_lost(
            ER_WARN_TOO_MANY_RECORDS,
            format!("Row {row} was truncated; it contained more data than there were input columns"),
        )?;
    }
    Ok(is_there)
}

fn of_missing_field(column: &Column, eval: &EvalContext) -> Value {
    let is_null = match column.default {
        Default::Null => true,
        Default::None | Default::Expression(_) => column.nullable,
        _ => false,
    };
    match column.ty.kind {
        _ if is_null => Value::Null,
        TypeKind::Timestamp if !column.nullable => defaults::now(&column.ty, eval),
        _ => implicit(&column.ty),
    }
}

/// The type of a field that is text.
const TEXT: SqlType = SqlType::varchar(u32::MAX, types::Collation::DEFAULT);

fn is_raw(charset: Charset, column: &Column) -> bool {
    column.ty.is_binary() || column.ty.kind == TypeKind::Bit || charset == Charset::Binary
}

/// A field as text; `None` if its bytes are not text.
fn decoded<'b>(bytes: &'b [u8], charset: Charset, column: &Column) -> Option<Cow<'b, str>> {
    match is_raw(charset, column) {
        true => None,
        // One look at the bytes instead of two.
        false if charset == Charset::Utf8mb4 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        false => charset.decode(bytes),
    }
}

/// A field as the value of a column, and the type that it has.
fn value_of(bytes: &[u8], charset: Charset, column: &Column) -> Result<(Value, SqlType)> {
    if is_raw(charset, column) {
        let ty = SqlType::varchar(u32::MAX, types::Collation::Binary);
        return Ok((Value::Bytes(bytes.to_vec()), ty));
    }
    text_of(bytes, charset)
}

/// A field as text; as bytes if it is not well formed.
///
/// # Errors
/// 1300 if no character of the file's character set begins as one in the field does.
fn text_of(bytes: &[u8], charset: Charset) -> Result<(Value, SqlType)> {
    let collation = charset.default_collation();
    if let Some(text) = charset.decode(bytes) {
        return Ok((Value::String(text.into_owned()), TEXT));
    }
    let valid = charset.valid_len(bytes);
    let is_no_lead = |byte: &u8| match charset {
        Charset::Utf8mb4 => matches!(byte, 0x80..=0xc1 | 0xf5..),
        Charset::Utf8mb3 => matches!(byte, 0x80..=0xc1 | 0xf0..),
        _ => false,
    };
    if bytes.get(valid).is_some_and(is_no_lead) {
        let before = String::from_utf8_lossy(bytes.get(..valid).unwrap_or_default());
        return Err(Error::new(
            errno::ER_INVALID_CHARACTER_STRING,
            format!("Invalid {} character string: '{before}'", charset.name()),
        ));
    }
    Ok((
        Value::Bytes(bytes.to_vec()),
        SqlType::varchar(u32::MAX, collation),
    ))
}
