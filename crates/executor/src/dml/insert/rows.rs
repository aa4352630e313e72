//! The rows of an INSERT: given values, defaults, and AUTO_INCREMENT ids.

use std::borrow::Cow;

use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, eval_assigned};
use kv::Timestamp;
use planner::plan::{InsertPlan, QueryPlan};
use schema::model::{Column, IndexPart, Table};
use types::array::ColumnView;
use types::{Error, Result, SqlType, Value};

use super::null_rule;
use crate::context::ExecContext;
use crate::dml::assign::{NullRule, NullsTold, Target};
use crate::dml::auto_increment::AutoIncrement;
use crate::dml::defaults::{self, ColumnDefault, implicit};
use crate::dml::image::Row;
use crate::dml::table_codec::TableCodec;

pub(super) struct NewRow {
    pub values: Row,
    /// The id made for the row.
    pub generated: Option<u64>,
    /// How many warnings there were when it was made.
    pub warned: u64,
}

/// Rows in the order of the statement.
pub(super) struct NewRows {
    pub rows: Vec<NewRow>,
    /// Why the row after them could not be made.
    pub failed: Option<Error>,
    /// How many warnings there were before the first was made.
    pub warned: u64,
}

impl NewRows {
    /// The rows before the first failure.
    fn of(made: impl Iterator<Item = Result<NewRow>>, eval: &EvalContext) -> Self {
        let warned = eval.warnings.count();
        let mut failed = None;
        let rows = made
            .map_while(|row| row.map_err(|error| failed = Some(error)).ok())
            .collect();
        Self { rows, failed, warned }
    }
}

/// A row of defaults.
#[derive(Clone)]
pub(super) struct Template {
    row: Row,
    /// Columns that are neither given nor have a default.
    missing: Vec<usize>,
}

impl Template {
    pub fn of(plan: &InsertPlan, codec: &TableCodec, eval: &EvalContext) -> Result<Self> {
        Self::make(plan, |i, column| match codec.constant_default(i) {
            Some(default) => Ok(ColumnDefault::Value(default.clone())),
            None => defaults::of(column, eval),
        })
    }

    /// `None`: it is another in other sessions, or at other times.
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
        let mut missing = Vec::new();
        for (i, column) in columns.iter().enumerate() {
            let is_given = plan.columns.contains(&i);
            row.push(match default(i, column)? {
                ColumnDefault::Value(value) => value,
                ColumnDefault::Generated if !is_given => Value::Null,
                ColumnDefault::Generated => implicit(&column.ty),
                ColumnDefault::Missing => {
                    missing.extend((!is_given).then_some(i));
                    defaults::for_want(column)
                }
            });
        }
        Ok(Self { row, missing })
    }
}

pub(super) struct RowMaker<'p> {
    table: &'p Table,
    /// Columns that values are given for.
    targets: &'p [usize],
    ctx: &'p ExecContext<'p>,
    template: Cow<'p, Template>,
    /// What is missing is told once, when the first row's values are known to be good.
    told_missing: bool,
    ids: Option<AutoIncrement<'p>>,
    nulls: NullRule<'p>,
    pub told: NullsTold,
    row_number: u64,
}

impl<'p> RowMaker<'p> {
    pub fn new(
        plan: &'p InsertPlan,
        template: Cow<'p, Template>,
        start_ts: Timestamp,
        ctx: &'p ExecContext<'p>,
    ) -> Self {
        Self {
            table: &plan.table,
            targets: &plan.columns,
            ctx,
            template,
            told_missing: false,
            ids: AutoIncrement::of(&plan.table, start_ts, ctx),
            nulls: null_rule(plan, ctx),
            told: NullsTold::default(),
            row_number: 0,
        }
    }

    /// Rows of VALUES. `rows_left`: how many there are still, these included.
    pub fn of_values(&mut self, rows: &[Vec<Option<Expr>>], rows_left: usize) -> NewRows {
        let eval = self.ctx.eval;
        let made = rows.iter().enumerate();
        let made = made.map(|(i, row)| self.of_expressions(row, rows_left - i));
        NewRows::of(made, eval)
    }

    fn of_expressions(&mut self, values: &[Option<Expr>], rows_left: usize) -> Result<NewRow> {
        self.row_number += 1;
        let mut row = self.template.row.clone();
        for (&target, value) in self.targets.iter().zip(values) {
            let Some(column) = self.table.columns.get(target) else {
                return Err(no_column(self.table, target));
            };
            let value = match value {
                // Expressions see the columns further left.
                Some(expr) => {
                    let (value, from) = eval_assigned(expr, functions::Row::Values(&row), self.ctx.eval)?;
                    self.converted(value, &from, column)?
                }
                None => self.default_of(column)?,
            };
            if let Some(slot) = row.get_mut(target) {
                *slot = value;
            }
        }
        self.with_id(row, rows_left)
    }

    /// The rows of a query's batch.
    pub fn of_batch(&mut self, batch: &RecordBatch, query: &QueryPlan) -> NewRows {
        let sources = batch.columns().iter().zip(&query.columns);
        let columns: Vec<_> = sources
            .map(|(array, source)| (ColumnView::new(array, &source.ty), source.ty))
            .collect();
        let rows = batch.num_rows();
        let eval = self.ctx.eval;
        let made = (0..rows).map(|row| {
            let values = columns.iter().map(|(view, ty)| Ok((view.value(row), *ty)));
            self.of_query(values, rows - row)
        });
        NewRows::of(made, eval)
    }

    /// Rows of what a query computes of a batch at last.
    pub fn of_projected(&mut self, batch: &RecordBatch, exprs: &[Expr]) -> NewRows {
        let eval = self.ctx.eval;
        let rows = batch.num_rows();
        let made = (0..rows).map(|row| {
            let value = |expr| eval_assigned(expr, functions::Row::Batch(batch, row), eval);
            self.of_query(exprs.iter().map(value), rows - row)
        });
        NewRows::of(made, eval)
    }

    fn of_query(
        &mut self,
        values: impl Iterator<Item = Result<(Value, SqlType)>>,
        rows_left: usize,
    ) -> Result<NewRow> {
        self.row_number += 1;
        let mut made = self.template.row.clone();
        for (&target, value) in self.targets.iter().zip(values) {
            let Some(column) = self.table.columns.get(target) else {
                return Err(no_column(self.table, target));
            };
            let (value, from) = value?;
            let value = self.converted(value, &from, column)?;
            if let Some(slot) = made.get_mut(target) {
                *slot = value;
            }
        }
        self.with_id(made, rows_left)
    }

    /// The AUTO_INCREMENT or AUTO_RANDOM column's value.
    pub fn id_of<'r>(&self, row: &'r [Value]) -> Option<&'r Value> {
        row.get(self.ids.as_ref()?.column)
    }

    /// Whether a row's id was made for it, is not the last there is, and is all of a key.
    pub fn has_made_key(&self, row: &NewRow, key: &[IndexPart]) -> bool {
        match (&self.ids, row.generated, key) {
            (Some(ids), Some(id), [part]) => part.column == ids.column && ids.can_skip(id),
            _ => false,
        }
    }

    /// Makes a new id for a row whose own is taken.
    ///
    /// # Errors
    /// 1467 when there is none left; those of the store.
    pub fn give_another_id(&mut self, row: &mut NewRow) -> Result<()> {
        let Some(ids) = &self.ids else { return Ok(()) };
        let (id, value) = ids.generate_alone(self.ctx)?;
        if let Some(slot) = row.values.get_mut(ids.column) {
            *slot = value;
        }
        row.generated = Some(id);
        Ok(())
    }

    /// A row got this id in another way than by being inserted.
    pub fn note_id(&mut self, id: &Value) {
        if let Some(ids) = &mut self.ids {
            ids.note(id);
        }
    }

    /// To be called once all rows are written.
    pub fn finish(&mut self) -> Result<()> {
        match &mut self.ids {
            Some(ids) => ids.report_explicit(self.ctx),
            None => Ok(()),
        }
    }

    fn converted(&self, value: Value, from: &SqlType, column: &Column) -> Result<Value> {
        // A NULL for the AUTO_INCREMENT or AUTO_RANDOM column asks for an id, and is none.
        if value.is_null() && column.makes_ids() {
            return Ok(value);
        }
        let target = Target {
            table: self.table,
            column,
            nulls: self.nulls.once(&self.told),
            eval: self.ctx.eval,
        };
        target.value(value, from, self.row_number)
    }

    fn default_of(&self, column: &Column) -> Result<Value> {
        Ok(match defaults::given(column, self.ctx.eval)? {
            ColumnDefault::Value(value) => value,
            ColumnDefault::Generated | ColumnDefault::Missing => Value::Null,
        })
    }

    fn with_id(&mut self, mut values: Row, rows_left: usize) -> Result<NewRow> {
        if !std::mem::replace(&mut self.told_missing, true) {
            let missing = self.template.missing.iter();
            for column in missing.filter_map(|&column| self.table.columns.get(column)) {
                defaults::given(column, self.ctx.eval)?;
            }
        }
        let mut generated = None;
        if let Some(ids) = &mut self.ids
            && let Some(slot) = values.get_mut(ids.column)
        {
            if ids.asks_for_id(slot) {
                let (id, value) = ids.generate(rows_left, self.ctx)?;
                *slot = value;
                generated = Some(id);
            } else {
                ids.check_explicit(self.ctx)?;
                ids.note(slot);
            }
        }
        Ok(NewRow {
            values,
            generated,
            warned: self.ctx.eval.warnings.count(),
        })
    }
}

#[cold]
fn no_column(table: &Table, offset: usize) -> Error {
    Error::internal(format!("table {} has no column {offset}", table.name))
}
