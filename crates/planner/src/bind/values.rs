//! VALUES: rows written out, as a query.
//!
//! A column is made of the number of the row, which [`crate::build`] counts: the value that stands there.

use functions::Expr;
use types::{Error, Result, SqlType, errno};

use super::Binder;
use super::expr::Context;
use super::output::Item;
use super::scope::NoNames;
use crate::errno::{ER_VALUES_CANNOT_HAVE_DEFAULT, ER_VALUES_MUST_HAVE_COLUMNS};
use syntax::ast;

impl Binder<'_> {
    /// The columns of VALUES, `column_0` and so on, over the number of the row (a BIGINT, from 0).
    ///
    /// # Errors
    /// 1136 for rows of different lengths, 3942 for empty ones, 3943 for DEFAULT.
    pub fn items_of_values(&self, rows: &[Vec<Option<ast::Expr>>]) -> Result<Vec<Item>> {
        let width = rows.first().map_or(0, Vec::len);
        let context = Context::of(&NoNames);
        let mut columns: Vec<Vec<Expr>> = vec![vec![Expr::column(0, SqlType::BIGINT, false)]; width];
        for (position, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(wrong_count(position + 1));
            }
            if width == 0 {
                return Err(no_columns());
            }
            for (value, column) in row.iter().zip(&mut columns) {
                let value = value.as_ref().ok_or_else(default_value)?;
                column.push(self.scalar(value, &context)?);
            }
        }
        let item = |(position, values): (usize, Vec<Expr>)| {
            Ok(Item {
                expr: self.call(NTH, values)?,
                name: format!("column_{position}"),
                column: None,
            })
        };
        columns.into_iter().enumerate().map(item).collect()
    }
}

/// The function that answers with the argument at a position.
const NTH: &str = "nth of";

/// Error 1136.
fn wrong_count(row: usize) -> Error {
    Error::new(
        errno::ER_WRONG_VALUE_COUNT_ON_ROW,
        format!("Column count doesn't match value count at row {row}"),
    )
}

fn no_columns() -> Error {
    Error::new(
        ER_VALUES_MUST_HAVE_COLUMNS,
        "Each row of a VALUES clause must have at least one column, unless when used as source in an INSERT statement.",
    )
}

fn default_value() -> Error {
    Error::new(
        ER_VALUES_CANNOT_HAVE_DEFAULT,
        "A VALUES clause cannot use DEFAULT values, unless used as a source in an INSERT statement.",
    )
}
