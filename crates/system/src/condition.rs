//! Conditions of a query on names, which a table applies before it makes rows.

use functions::{EvalContext, Expr, eval_row_predicate};
use types::{Result, Value};

/// Conditions of a query, each on one column. They are also applied to the rows afterwards, so a table may
/// ignore any of them.
pub(crate) struct Conditions<'a> {
    /// By the offset of the column.
    by_column: Vec<(usize, &'a Expr)>,
    /// A row of the table, for the evaluation of a condition.
    width: usize,
    eval: &'a EvalContext,
}

impl<'a> Conditions<'a> {
    /// `conditions`: each reads one column of a table with `width` columns, and can be evaluated without an
    /// error or a warning.
    pub(crate) fn new(conditions: &'a [Expr], width: usize, eval: &'a EvalContext) -> Self {
        let by_column = conditions
            .iter()
            .filter_map(|condition| Some((column_of(condition)?, condition)))
            .collect();
        Self {
            by_column,
            width,
            eval,
        }
    }

    /// Whether a row can have `name` in a column.
    pub(crate) fn admit(&self, column: usize, name: &str) -> Result<bool> {
        let mut row = Vec::new();
        for (_, condition) in self.by_column.iter().filter(|(of, _)| *of == column) {
            if row.is_empty() {
                row = vec![Value::Null; self.width];
                row[column] = Value::String(name.to_owned());
            }
            if !eval_row_predicate(condition, &row, self.eval)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The only column that an expression reads.
fn column_of(expr: &Expr) -> Option<usize> {
    let mut found = None;
    let mut is_one = true;
    expr.walk(&mut |e| {
        if let Expr::Column { index, .. } = e {
            is_one &= found.is_none_or(|before| before == *index);
            found = Some(*index);
        }
    });
    found.filter(|_| is_one)
}
