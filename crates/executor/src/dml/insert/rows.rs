//! The rows of an INSERT: given values, defaults, and AUTO_INCREMENT ids.

use std::borrow::Cow;

use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, eval_assigned};
use kv::Timestamp;
use planner::plan::{InsertPlan, InsertSource, QueryPlan, Rel, ViewCheck};
use schema::model::{Column, IndexPart, Table};
use types::array::ColumnView;
use types::{Error, Result, SqlType, TypeKind, Value};

use crate::batch::{BATCH_BYTES, BATCH_ROWS};
use crate::context::ExecContext;
use crate::dml::assign::{NullRule, Target, WarnedNulls, source_of};
use crate::dml::auto_increment::AutoIncrement;
use crate::dml::computed::Computed;
use crate::dml::defaults::{self, ColumnDefault, implicit};
use crate::dml::image::Row;
use crate::dml::row_check;
use crate::dml::table_codec::TableCodec;

pub(super) struct NewRow {
    pub values: Row,
    /// What else the query gave for the row: ON DUPLICATE KEY UPDATE uses it.
    pub further: Vec<Value>,
    /// The id that was generated for the row.
    pub generated: Option<u64>,
    /// How many warnings there were when it was made.
    pub warned: u64,
}

/// Rows in the order of the statement.
pub(super) struct NewRows {
    pub rows: Vec<NewRow>,
    /// The error of the row after them.
    pub failed: Option<Error>,
    /// How many warnings there were before the first was made.
    pub warned: u64,
}

/// Rows of a file.
pub(super) struct FileBatch {
    pub rows: NewRows,
    pub is_last: bool,
    /// What the statement held in memory before it.
    pub held: usize,
}

impl NewRows {
    /// The rows before the first failure, without those that IGNORE leaves out.
    pub(super) fn of(made: impl Iterator<Item = Result<Option<NewRow>>>, eval: &EvalContext) -> Self {
        let warned = eval.warnings.count();
        let mut failed = None;
        let rows = made
            .map_while(|row| row.map_err(|error| failed = Some(error)).ok())
            .flatten()
            .collect();
        Self { rows, failed, warned }
    }
}

/// A row of defaults.
#[derive(Clone)]
pub(super) struct Template {
    pub(super) row: Row,
    /// Columns that are neither given nor have a default, or one that the mode may refuse: a zero date.
    missing: Vec<usize>,
    /// Columns that are not given and whose default is an expression.
    computed: Vec<usize>,
}

impl Template {
    pub fn of(plan: &InsertPlan, codec: &TableCodec, eval: &EvalContext) -> Result<Self> {
        Self::make(plan, |i, column| match codec.constant_default(i) {
            Some(default) => Ok(ColumnDefault::Value(default.clone())),
            None => defaults::of(column, eval),
        })
    }

    /// `None` if it depends on the session or the time.
    pub fn constant(plan: &InsertPlan, codec: &TableCodec) -> Option<Self> {
        let constant = |i, column: &Column| match codec.constant_default(i) {
            Some(default) => Some(ColumnDefault::Value(default.clone())),
            None => defaults::constant(column),
        };
        Self::make(plan, |i, column| constant(i, column).ok_or(())).ok()
    }

    fn make<E>(
        plan: &InsertPlan,
        default: impl Fn(usize, &Column) -> std::result::Result<ColumnDefault, E>,
    ) -> std::result::Result<Self, E> {
        let columns = &plan.table.columns;
        let mut row = Vec::with_capacity(columns.len());
        let (mut missing, mut computed) = (Vec::new(), Vec::new());
        for (i, column) in columns.iter().enumerate() {
            let is_given = plan.columns.contains(&i);
            row.push(match default(i, column)? {
                ColumnDefault::Value(value) => {
                    missing.extend((!is_given && defaults::is_doubtful_date(column, &value)).then_some(i));
                    value
                }
                ColumnDefault::Generated if !is_given => Value::Null,
                ColumnDefault::Generated => implicit(&column.ty),
                ColumnDefault::Expression => {
                    computed.extend((!is_given).then_some(i));
                    Value::Null
                }
                ColumnDefault::Missing => {
                    missing.extend((!is_given).then_some(i));
                    defaults::if_missing(column)
                }
            });
        }
        Ok(Self {
            row,
            missing,
            computed,
        })
    }
}

pub(super) struct RowMaker<'p> {
    pub(super) table: &'p Table,
    /// The columns that the statement gives values for.
    pub(super) targets: &'p [usize],
    pub(super) ctx: &'p ExecContext<'p>,
    pub(super) template: Cow<'p, Template>,
    /// Set if the table has generated columns or CHECK constraints.
    computed: Option<Computed<'p>>,
    check: Option<&'p ViewCheck>,
    ignore: bool,
    /// Missing defaults are reported once, after the first row's values have been converted without an error.
    reported_missing: bool,
    ids: Option<AutoIncrement<'p>>,
    nulls: NullRule<'p>,
    pub warned_nulls: WarnedNulls,
    pub(super) row_number: u64,
}

impl<'p> RowMaker<'p> {
    pub fn new(
        plan: &'p InsertPlan,
        template: Cow<'p, Template>,
        start_ts: Timestamp,
        ctx: &'p ExecContext<'p>,
    ) -> Result<Self> {
        let counts_refused = matches!(plan.source, InsertSource::Query(_) | InsertSource::File(_));
        Ok(Self {
            computed: Computed::of_new_rows(&plan.table)?,
            check: plan.check.as_ref(),
            ignore: plan.ignore,
            table: &plan.table,
            targets: &plan.columns,
            ctx,
            template,
            reported_missing: false,
            ids: AutoIncrement::of(&plan.table, counts_refused, start_ts, ctx),
            nulls: null_rule(plan, ctx),
            warned_nulls: WarnedNulls::default(),
            row_number: 0,
        })
    }

    /// The first of the rows of VALUES that are left, as many as make a batch; and how many they are.
    pub fn of_values(&mut self, rows: &[Vec<Option<Expr>>]) -> (NewRows, usize) {
        let eval = self.ctx.eval;
        let (mut count, mut bytes) = (0, 0);
        let made = rows.iter().take(BATCH_ROWS).enumerate();
        let made = made.map_while(|(i, row)| {
            if bytes > BATCH_BYTES {
                return None;
            }
            let made = self.of_expressions(row, rows.len() - i);
            count += 1;
            // A row alone need not be measured.
            if let (true, Ok(Some(row))) = (rows.len() > 1, &made) {
                bytes += row.values.iter().map(Value::size_bytes).sum::<usize>();
            }
            Some(made)
        });
        (NewRows::of(made, eval), count)
    }

    fn of_expressions(&mut self, values: &[Option<Expr>], rows_left: usize) -> Result<Option<NewRow>> {
        self.row_number += 1;
        let mut row = self.template.row.clone();
        let id = self.ids.as_ref().map(|ids| ids.column);
        let mut id_is_null = id.is_some_and(|id| !self.targets.contains(&id));
        // An expression sees 0 for an id that is generated later.
        let zero = |at: usize| self.table.columns.get(at).map(|column| implicit(&column.ty));
        if let Some((at, cell)) = id
            .filter(|_| id_is_null)
            .and_then(|at| Some((at, row.get_mut(at)?)))
        {
            *cell = zero(at).unwrap_or(Value::Null);
        }
        for (&target, value) in self.targets.iter().zip(values) {
            let Some(column) = self.table.columns.get(target) else {
                return Err(no_column(self.table, target));
            };
            let value = match value {
                // Expressions see the values of the columns before them.
                Some(expr) => {
                    let (value, from) = eval_assigned(expr, functions::Row::Values(&row), self.ctx.eval)?;
                    self.converted(value, &from, source_of(expr, &from), column)?
                }
                None => self.default_of(target, &row)?,
            };
            let is_id = id == Some(target) && value.is_null() && !column.nullable;
            id_is_null |= is_id;
            if let Some(cell) = row.get_mut(target) {
                *cell = match is_id {
                    true => implicit(&column.ty),
                    false => value,
                };
            }
        }
        if let Some(cell) = id.filter(|_| id_is_null).and_then(|id| row.get_mut(id)) {
            *cell = Value::Null;
        }
        self.with_id(row, Some(rows_left))
    }

    /// The rows of a query's batch.
    pub fn of_batch(&mut self, batch: &RecordBatch, query: &QueryPlan) -> NewRows {
        let sources = batch.columns().iter().zip(&query.columns);
        let columns: Vec<_> = sources
            .map(|(array, source)| (ColumnView::new(array, &source.ty), source))
            .collect();
        let rows = batch.num_rows();
        let eval = self.ctx.eval;
        let made = (0..rows).map(|row| {
            let values = columns.iter().enumerate().map(|(at, (view, source))| {
                let name = source_in(query, at, &source.ty);
                Ok((view.value(row), source.ty, name))
            });
            self.of_query(values)
        });
        NewRows::of(made, eval)
    }

    /// Rows of a query's last projection of a batch.
    pub fn of_projected(&mut self, batch: &RecordBatch, exprs: &[Expr], query: &QueryPlan) -> NewRows {
        let eval = self.ctx.eval;
        let rows = batch.num_rows();
        let made = (0..rows).map(|row| {
            let value = |(at, expr)| {
                let (value, ty) = eval_assigned(expr, functions::Row::Batch(batch, row), eval)?;
                Ok((value, ty, source_in(query, at, &ty)))
            };
            self.of_query(exprs.iter().enumerate().map(value))
        });
        NewRows::of(made, eval)
    }

    /// The row of the values of a query, each with its type and with what messages about JSON call it.
    fn of_query<'s>(
        &mut self,
        mut values: impl Iterator<Item = Result<(Value, SqlType, Option<&'s str>)>>,
    ) -> Result<Option<NewRow>> {
        self.row_number += 1;
        let mut made = self.template.row.clone();
        for (&target, value) in self.targets.iter().zip(values.by_ref()) {
            let Some(column) = self.table.columns.get(target) else {
                return Err(no_column(self.table, target));
            };
            let (value, from, source) = value?;
            let value = self.converted(value, &from, source, column)?;
            if let Some(cell) = made.get_mut(target) {
                *cell = value;
            }
        }
        let further = values
            .map(|value| value.map(|(value, ..)| value))
            .collect::<Result<_>>()?;
        let row = self.with_id(made, None)?;
        Ok(row.map(|row| NewRow { further, ..row }))
    }

    /// The AUTO_INCREMENT or AUTO_RANDOM column's value.
    pub fn id_of<'r>(&self, row: &'r [Value]) -> Option<&'r Value> {
        row.get(self.ids.as_ref()?.column)
    }

    /// Whether a row's id was generated, is not the last possible one, and is the whole key.
    pub fn has_made_key(&self, row: &NewRow, key: &[IndexPart]) -> bool {
        match (&self.ids, row.generated, key) {
            (Some(ids), Some(id), [part]) => part.column == ids.column && ids.can_skip(id),
            _ => false,
        }
    }

    /// Whether a row's id was generated, and is the first part of the key.
    pub fn has_made_part(&self, row: &NewRow, key: &[IndexPart]) -> bool {
        let id_column = self.ids.as_ref().map(|ids| ids.column);
        row.generated.is_some() && key.first().is_some_and(|part| Some(part.column) == id_column)
    }

    /// Generates a new id for a row whose id is in use.
    ///
    /// # Errors
    /// 1467 if there is none left; those of the store.
    pub fn give_another_id(&mut self, row: &mut NewRow) -> Result<()> {
        let Some(ids) = &self.ids else { return Ok(()) };
        let (id, value) = ids.generate_alone(self.ctx)?;
        if let Some(cell) = row.values.get_mut(ids.column) {
            ids.set(cell, value);
        }
        row.generated = Some(id);
        Ok(())
    }

    /// Gives the row the smallest id that was generated for an earlier row and is unused, as MySQL does.
    /// `true` if it has another id now.
    pub fn take_unused_id(&mut self, row: &mut NewRow) -> bool {
        let Some(ids) = &mut self.ids else { return false };
        let Some(generated) = row.generated else {
            if let Some(id) = row.values.get(ids.column) {
                ids.drop_unused_up_to(id);
            }
            return false;
        };
        let Some((id, value)) = ids.exchange(generated) else {
            return false;
        };
        if let Some(cell) = row.values.get_mut(ids.column) {
            ids.set(cell, value);
        }
        row.generated = Some(id);
        true
    }

    /// Keeps the id that was generated for a row which is not inserted.
    pub fn keep_unused_id(&mut self, row: &NewRow) {
        if let (Some(ids), Some(id)) = (&mut self.ids, row.generated) {
            ids.keep_unused(id);
        }
    }

    /// The statement fails at a row of a query, which is a duplicate.
    pub fn failed_at(&mut self, row: &NewRow) {
        if let (Some(ids), None) = (&mut self.ids, row.generated)
            && let Some(id) = row.values.get(ids.column)
        {
            ids.failed_at(id);
        }
    }

    /// Notes an id that a row got by an update.
    pub fn note_id(&mut self, id: &Value) {
        if let Some(ids) = &mut self.ids {
            ids.note(id);
            ids.wrote(id, false);
        }
    }

    /// Notes that a row has been written.
    pub fn wrote(&mut self, row: &NewRow) {
        if let Some(ids) = &mut self.ids
            && let Some(id) = row.values.get(ids.column)
        {
            ids.wrote(id, row.generated.is_some());
        }
    }

    /// Must be called after the last row has been written, or one could not be.
    pub fn finish(&mut self, has_failed: bool) -> Result<()> {
        match &mut self.ids {
            Some(ids) => ids.finish(has_failed, self.ctx),
            None => Ok(()),
        }
    }

    /// Must be called instead where the rows are not written one after the other.
    pub fn finish_at_once(&mut self) -> Result<()> {
        match &mut self.ids {
            Some(ids) => ids.finish_at_once(self.ctx),
            None => Ok(()),
        }
    }

    pub(super) fn converted(
        &self,
        value: Value,
        from: &SqlType,
        source: Option<&str>,
        column: &Column,
    ) -> Result<Value> {
        // NULL in the AUTO_INCREMENT or AUTO_RANDOM column stands for the next id.
        if value.is_null() && column.makes_ids() {
            return Ok(value);
        }
        self.target(column).value(value, from, source, self.row_number)
    }

    pub(super) fn target<'s>(&'s self, column: &'s Column) -> Target<'s> {
        Target {
            table: self.table,
            column,
            nulls: self.nulls.once(&self.warned_nulls),
            eval: self.ctx.eval,
        }
    }

    pub(super) fn default_of(&self, offset: usize, row: &Row) -> Result<Value> {
        let Some(column) = self.table.columns.get(offset) else {
            return Err(no_column(self.table, offset));
        };
        Ok(match defaults::given(column, self.ctx.eval)? {
            ColumnDefault::Value(value) => value,
            ColumnDefault::Expression => {
                self.target(column)
                    .default_expression(offset, row, self.row_number)?
            }
            ColumnDefault::Generated | ColumnDefault::Missing => Value::Null,
        })
    }

    /// Sets the columns that other columns of the row decide. `false` if the row is refused and ignored.
    fn complete(&self, row: &mut Row) -> Result<bool> {
        for &column in &self.template.computed {
            if let Some(computed) = &self.computed {
                computed.generate_for_default(column, row, self.row_number, self.ctx.eval)?;
            }
            let value = self.default_of(column, row)?;
            if let Some(cell) = row.get_mut(column) {
                *cell = value;
            }
        }
        let Some(computed) = &self.computed else {
            return Ok(true);
        };
        let (nulls, eval) = (self.nulls.once(&self.warned_nulls), self.ctx.eval);
        computed.generate(row, self.row_number, nulls, eval)?;
        row_check::admits_without_id(self.check, computed, row, self.ignore, eval)
    }

    /// The row with what the statement does not give. `None` if it is ignored.
    pub(super) fn with_id(&mut self, mut values: Row, rows_left: Option<usize>) -> Result<Option<NewRow>> {
        if !std::mem::replace(&mut self.reported_missing, true) {
            let missing = self.template.missing.iter();
            for column in missing.filter_map(|&column| self.table.columns.get(column)) {
                defaults::given(column, self.ctx.eval)?;
            }
        }
        if !self.complete(&mut values)? {
            return Ok(None);
        }
        let mut generated = None;
        if let Some(ids) = &mut self.ids
            && let Some(cell) = values.get_mut(ids.column)
        {
            if ids.asks_for_id(cell) {
                let (id, value) = ids.generate(self.row_number, rows_left, self.ctx)?;
                ids.set(cell, value);
                generated = Some(id);
            } else {
                ids.check_explicit(self.ctx)?;
                ids.note(cell);
            }
        }
        Ok(Some(NewRow {
            values,
            further: Vec::new(),
            generated,
            warned: self.ctx.eval.warnings.count(),
        }))
    }
}

/// What messages call a column of a query that has JSON: a JSON function keeps its name, and a column of a table, too.
fn source_in<'q>(query: &'q QueryPlan, at: usize, ty: &SqlType) -> Option<&'q str> {
    if ty.kind != TypeKind::Json {
        return None;
    }
    let name = query
        .columns
        .get(at)
        .map(|column| match column.original_name.as_str() {
            "" => column.name.as_str(),
            original => original,
        });
    let made = last_projection(&query.root).and_then(|exprs| source_of(exprs.get(at)?, ty));
    made.filter(|name| name.starts_with("json_") || *name == "cast_as_json")
        .or(name)
}

fn last_projection(root: &Rel) -> Option<&[Expr]> {
    match root {
        Rel::Project { exprs, .. } => Some(exprs),
        Rel::Limit { input, .. } | Rel::Measured { input, .. } => last_projection(input),
        _ => None,
    }
}

#[cold]
pub(super) fn no_column(table: &Table, offset: usize) -> Error {
    Error::internal(format!("table {} has no column {offset}", table.name))
}

/// How NULLs are treated: VALUES of one row fail; those of several rows only warn (outside strict mode).
fn null_rule<'p>(plan: &InsertPlan, ctx: &ExecContext<'_>) -> NullRule<'p> {
    match plan.given_rows {
        Some(1) if !plan.ignore => NullRule::Error,
        _ => NullRule::of(ctx.eval),
    }
}
