//! Values of the expressions of indexes: MySQL's errors and warnings about them name the index.

use functions::EvalContext;
use schema::functional_index::{in_index, index_of};
use schema::model::Table;
use types::{Result, Value};

/// What the expression of an index gave for a row, with its errors, and its warnings after the first `mark`, in terms of
/// the index.
pub(super) fn named(
    (table, column): (&Table, usize),
    computed: Result<Value>,
    row_number: u64,
    mark: u64,
    eval: &EvalContext,
) -> Result<Value> {
    if computed.is_ok() && eval.warnings.count() == mark {
        return computed;
    }
    let name = index_of(table, column);
    eval.warnings.change_since(mark, |warning| {
        if let Some(named) = in_index(warning.code, name, row_number) {
            (warning.code, warning.message) = (named.code, named.message);
        }
    });
    computed.map_err(|error| in_index(error.code, name, row_number).unwrap_or(error))
}
