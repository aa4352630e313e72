//! The rows of an INSERT: given values, defaults, and AUTO_INCREMENT ids.

use arrow::record_batch::RecordBatch;
use catalog::model::{Column, Table};
use functions::{Expr, eval_row};
use planner::plan::{InsertPlan, QueryPlan};
use types::array::ColumnView;
use types::{Error, Result, SqlType, Value};

use super::null_rule;
use crate::context::ExecContext;
use crate::dml::assign::{NullRule, Target};
use crate::dml::auto_increment::AutoIncrement;
use crate::dml::defaults::{self, ColumnDefault, implicit};
use crate::dml::image::{ImageMaker, Row};

pub(super) struct NewRow {
    pub values: Row,
    /// The id made for the row.
    pub generated: Option<u64>,
}

pub(super) struct RowMaker<'p> {
    table: &'p Table,
    /// Columns that values are given for.
    targets: &'p [usize],
    ctx: &'p ExecContext<'p>,
    /// A row of defaults.
    template: Row,
    ids: Option<AutoIncrement<'p>>,
    nulls: NullRule,
    row_number: u64,
}

impl<'p> RowMaker<'p> {
    /// Fails with 1364 for a column that is neither given nor has a default.
    pub fn new(plan: &'p InsertPlan, maker: &ImageMaker<'_>, ctx: &'p ExecContext<'p>) -> Result<Self> {
        let table: &Table = &plan.table;
        let template = table
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| match maker.constant_default(i) {
                Some(default) => Ok(default.clone()),
                None => template_value(column, plan.columns.contains(&i), ctx),
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            table,
            targets: &plan.columns,
            ctx,
            template,
            ids: AutoIncrement::of(table, ctx),
            nulls: null_rule(plan, ctx),
            row_number: 0,
        })
    }

    /// A row of VALUES. `rows_left`: how many there are still, this one included.
    pub fn of_values(&mut self, values: &[Option<Expr>], rows_left: usize) -> Result<NewRow> {
        self.row_number += 1;
        let mut row = self.template.clone();
        for (&target, value) in self.targets.iter().zip(values) {
            let Some(column) = self.table.columns.get(target) else {
                return Err(no_column(self.table, target));
            };
            let value = match value {
                // Expressions see the columns further left.
                Some(expr) => {
                    let value = eval_row(expr, &row, self.ctx.eval)?;
                    self.converted(value, &expr.ty(), column)?
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
    pub fn of_batch(&mut self, batch: &RecordBatch, query: &QueryPlan) -> Result<Vec<NewRow>> {
        let first = self.row_number + 1;
        let rows = batch.num_rows();
        let mut made: Vec<Row> = vec![self.template.clone(); rows];
        let sources = batch.columns().iter().zip(&query.columns);
        for (&target, (array, source)) in self.targets.iter().zip(sources) {
            let Some(column) = self.table.columns.get(target) else {
                return Err(no_column(self.table, target));
            };
            let view = ColumnView::new(array, &source.ty);
            for (row, made) in made.iter_mut().enumerate() {
                self.row_number = first + row as u64;
                let value = self.converted(view.value(row), &source.ty, column)?;
                if let Some(slot) = made.get_mut(target) {
                    *slot = value;
                }
            }
        }
        self.row_number = first + rows as u64 - 1;
        made.into_iter()
            .enumerate()
            .map(|(i, row)| self.with_id(row, rows - i))
            .collect()
    }

    /// The AUTO_INCREMENT column's value.
    pub fn id_of<'r>(&self, row: &'r [Value]) -> Option<&'r Value> {
        row.get(self.ids.as_ref()?.column)
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
            Some(ids) => ids.tell_catalog(self.ctx),
            None => Ok(()),
        }
    }

    fn converted(&self, value: Value, from: &SqlType, column: &Column) -> Result<Value> {
        // A NULL for the AUTO_INCREMENT column asks for an id, and is none.
        if value.is_null() && column.auto_increment {
            return Ok(value);
        }
        let target = Target {
            table: self.table,
            column,
            nulls: self.nulls,
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
        let mut generated = None;
        if let Some(ids) = &mut self.ids
            && let Some(slot) = values.get_mut(ids.column)
        {
            if ids.asks_for_id(slot) {
                let (id, value) = ids.generate(rows_left, self.ctx)?;
                *slot = value;
                generated = Some(id);
            } else {
                ids.note(slot);
            }
        }
        Ok(NewRow { values, generated })
    }
}

/// What a column holds before values are given.
fn template_value(column: &Column, given: bool, ctx: &ExecContext<'_>) -> Result<Value> {
    let default = if given {
        // Seen only by values that refer to a column further right.
        defaults::of(column, ctx.eval)?
    } else {
        defaults::given(column, ctx.eval)?
    };
    Ok(match default {
        ColumnDefault::Value(value) => value,
        ColumnDefault::Generated if !given => Value::Null,
        ColumnDefault::Generated | ColumnDefault::Missing => implicit(&column.ty),
    })
}

#[cold]
fn no_column(table: &Table, offset: usize) -> Error {
    Error::internal(format!("table {} has no column {offset}", table.name))
}
