//! The expressions of a table's definition, bound: defaults, generated columns, CHECK constraints.
//!
//! `planner` binds them when a statement first names the table, and leaves them with the definition. In all
//! of them a column is its offset in [`crate::model::Table::columns`].

use std::sync::{Arc, OnceLock};

use functions::{EvalContext, Expr, Row};
use types::{Error, Result, Value, Warning, WarningLevel, errno};

use crate::partition::function::PartitionFunction;

#[derive(Debug, Clone, Default)]
pub struct BoundExpressions {
    /// Expressions of DEFAULT, in the order of the columns.
    pub defaults: Vec<ColumnExpression>,
    /// Those of generated columns, in the order of the columns: each needs only those before it.
    pub generated: Vec<ColumnExpression>,
    /// The conditions that are enforced.
    pub checks: Vec<BoundCheck>,
    pub partitions: Option<Arc<PartitionFunction>>,
}

/// An expression that gives a column its value.
#[derive(Debug, Clone)]
pub struct ColumnExpression {
    pub column: usize,
    pub value: Expr,
    /// Whether it turns a TIME into a point in time, which takes the date of the session.
    pub reads_date: bool,
    /// The columns whose default value it has, as a literal: `DEFAULT(column)`.
    pub defaults_of: Vec<usize>,
}

#[derive(Debug, Clone)]
pub struct BoundCheck {
    pub name: String,
    pub condition: Expr,
    /// The columns whose default value it has, as a literal: `DEFAULT(column)`.
    pub defaults_of: Vec<usize>,
}

impl BoundCheck {
    /// Whether a row, one value for each column of the table, satisfies the constraint. A condition that is
    /// NULL is satisfied. One that cannot be computed is not, and SHOW WARNINGS has the reason.
    ///
    /// # Errors
    /// 3819; errors about the statement or the server ([`is_of_server`]).
    pub fn test(&self, row: &[Value], eval: &EvalContext) -> Result<()> {
        match functions::eval_assigned(&self.condition, Row::Values(row), eval) {
            Ok((value, _)) if !matches!(value, Value::Int(0) | Value::UInt(0)) => return Ok(()),
            Ok(_) => {}
            Err(error) if is_of_server(error.code) => return Err(error),
            Err(error) => eval.warnings.push(Warning {
                level: WarningLevel::Error,
                code: error.code,
                message: error.message,
            }),
        }
        Err(Error::new(
            errno::ER_CHECK_CONSTRAINT_VIOLATED,
            format!("Check constraint '{}' is violated.", self.name),
        ))
    }
}

/// Whether an error of an expression is about the statement or the server, and not about the values.
fn is_of_server(code: u16) -> bool {
    matches!(
        code,
        errno::ER_UNKNOWN_ERROR
            | errno::ER_QUERY_INTERRUPTED
            | errno::ER_QUERY_TIMEOUT
            | errno::ER_MEMORY_EXCEEDED
    )
}

/// Holds a table's expressions once they are bound; `None` if it has none. It is not part of the definition:
/// the copy of a definition, which may be changed, starts without them. `table_expressions.rs` fills it.
#[derive(Debug, Default)]
pub struct BoundCell(OnceLock<Option<Arc<BoundExpressions>>>);

impl Clone for BoundCell {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for BoundCell {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl BoundCell {
    /// What has been bound, if it has been.
    pub(crate) fn get(&self) -> Option<Option<&Arc<BoundExpressions>>> {
        self.0.get().map(Option::as_ref)
    }

    /// Sets what has been bound, unless it is set already. Returns what is set.
    pub(crate) fn set_once(&self, bound: Option<Arc<BoundExpressions>>) -> Option<&Arc<BoundExpressions>> {
        self.0.get_or_init(|| bound).as_ref()
    }
}

impl BoundExpressions {
    /// The expression of a column's DEFAULT.
    pub fn default_of(&self, column: usize) -> Option<&Expr> {
        let found = self.defaults.iter().find(|default| default.column == column);
        found.map(|default| &default.value)
    }

    /// The generated columns that change when one of `changed` does, in the order of evaluation.
    pub fn generated_from(&self, changed: &[usize]) -> Vec<usize> {
        let mut affected = changed.to_vec();
        for generated in &self.generated {
            if !affected.contains(&generated.column) && reads_any(&generated.value, &affected) {
                affected.push(generated.column);
            }
        }
        affected.split_off(changed.len())
    }
}

/// Adds the columns that an expression reads.
pub fn add_columns(expr: &Expr, columns: &mut Vec<usize>) {
    expr.walk(&mut |expr| {
        if let Expr::Column { index, .. } = expr
            && !columns.contains(index)
        {
            columns.push(*index);
        }
    });
}

fn reads_any(expr: &Expr, columns: &[usize]) -> bool {
    let mut reads = false;
    expr.walk(&mut |expr| {
        if let Expr::Column { index, .. } = expr {
            reads |= columns.contains(index);
        }
    });
    reads
}
