//! What a row's other columns decide: expressions of DEFAULT, generated columns, CHECK constraints.

use functions::{EvalContext, Expr};
use schema::bound::{BoundCheck, ColumnExpression, add_columns};
use schema::layout::reading_context;
use schema::model::Table;
use types::{Error, Result, SqlMode, Value, errno};

use super::assign::{NullRule, Target};
use super::functional_index;
use super::image::Row;
use super::touched::Touched;
use crate::dml::warn;

/// What is computed for each row that a statement writes.
pub(super) struct Computed<'p> {
    table: &'p Table,
    generated: Vec<&'p ColumnExpression>,
    checks: Vec<&'p BoundCheck>,
}

impl<'p> Computed<'p> {
    /// For new rows: all of them.
    pub fn of_new_rows(table: &'p Table) -> Result<Option<Self>> {
        let Some(expressions) = table.expressions()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            table,
            generated: expressions.generated.iter().collect(),
            checks: expressions.checks.iter().collect(),
        }))
    }

    /// For rows in which the touched columns change; `None` if nothing depends on them.
    pub fn of_touched(table: &'p Table, touched: &Touched) -> Result<Option<Self>> {
        let Some(expressions) = table.expressions()? else {
            return Ok(None);
        };
        let generated = expressions.generated.iter();
        let is_affected = |check: &&BoundCheck| reads_any(&check.condition, &touched.columns);
        let computed = Self {
            table,
            generated: generated.filter(|g| touched.contains(g.column)).collect(),
            checks: expressions.checks.iter().filter(is_affected).collect(),
        };
        let is_empty = computed.generated.is_empty() && computed.checks.is_empty();
        Ok((!is_empty).then_some(computed))
    }

    /// The columns that are read.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        let generated = self.generated.iter().map(|generated| &generated.value);
        for expr in generated.chain(self.checks.iter().map(|check| &check.condition)) {
            add_columns(expr, &mut columns);
        }
        columns
    }

    /// Computes the generated columns that the default of a column reads. All others are computed after all
    /// defaults.
    pub fn generate_for_default(
        &self,
        column: usize,
        row: &mut Row,
        row_number: u64,
        eval: &EvalContext,
    ) -> Result<()> {
        let all = self.table.expressions()?;
        let default = all.and_then(|all| all.default_of(column));
        let generated: Vec<usize> = self.generated.iter().map(|generated| generated.column).collect();
        match default.is_some_and(|default| reads_any(default, &generated)) {
            true => self.generate(row, row_number, NullRule::of(eval), eval),
            false => Ok(()),
        }
    }

    /// Computes the generated columns of a row.
    pub fn generate(
        &self,
        row: &mut Row,
        row_number: u64,
        nulls: NullRule<'_>,
        eval: &EvalContext,
    ) -> Result<()> {
        let table = self.table;
        for generated in &self.generated {
            let Some(column) = table.columns.get(generated.column) else {
                return Err(Error::internal("a generated column that is not there"));
            };
            let target = Target {
                table,
                column,
                nulls,
                eval,
            };
            let mark = eval.warnings.count();
            let computed = target.expression(&generated.value, row, row_number);
            let mut value = match column.hidden {
                true => functional_index::named((table, generated.column), computed, row_number, mark, eval)?,
                false => computed?,
            };
            if column.is_virtual() && (generated.reads_date || eval.sql_mode != SqlMode::default()) {
                value = self.as_read(target, &generated.value, row)?;
            }
            if let Some(cell) = row.get_mut(generated.column) {
                *cell = value;
            }
        }
        Ok(())
    }

    /// A virtual column as it is read, which does not depend on the sql_mode: its value must be the same in
    /// all sessions. One that depends on the date is in no index.
    fn as_read(&self, target: Target<'_>, expr: &Expr, row: &Row) -> Result<Value> {
        let eval = &EvalContext {
            now_us: target.eval.now_us,
            ..reading_context(target.eval.time_zone)
        };
        let target = Target {
            nulls: NullRule::Warn,
            eval,
            ..target
        };
        target.expression(expr, row, 1)
    }

    /// Whether a row satisfies the CHECK constraints. With IGNORE, a row that does not leaves a warning.
    ///
    /// # Errors
    /// 3819 without IGNORE.
    pub fn admits(&self, row: &[Value], ignore: bool, eval: &EvalContext) -> Result<bool> {
        for check in &self.checks {
            match check.test(row, eval) {
                Ok(()) => {}
                Err(error) if ignore && error.code == errno::ER_CHECK_CONSTRAINT_VIOLATED => {
                    warn(eval, error.code, error.message);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

fn reads_any(expr: &Expr, columns: &[usize]) -> bool {
    let mut read = Vec::new();
    add_columns(expr, &mut read);
    read.iter().any(|column| columns.contains(column))
}
