//! Values of the expressions of indexes: MySQL's errors and warnings about them name the index.

use functions::EvalContext;
use schema::model::Table;
use types::{Error, Result, Value, errno};

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
    let mut indexes = table.indexes.iter();
    let index = indexes.find(|index| index.parts.iter().any(|part| part.column == column));
    let name = index.map_or("", |index| &index.name);
    eval.warnings.change_since(mark, |warning| {
        if let Some(named) = of_index(warning.code, name, row_number) {
            (warning.code, warning.message) = (named.code, named.message);
        }
    });
    computed.map_err(|error| of_index(error.code, name, row_number).unwrap_or(error))
}

/// The error about an index in the place of one about a value; `None` if there is no such error.
fn of_index(code: u16, index: &str, row: u64) -> Option<Error> {
    let (code, what) = match code {
        errno::ER_DATA_TOO_LONG => {
            let message = format!("Data too long for functional index '{index}'.");
            return Some(Error::new(errno::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG, message));
        }
        errno::ER_WARN_DATA_OUT_OF_RANGE => (
            errno::ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX,
            "Value is out of range",
        ),
        errno::ER_TRUNCATED_WRONG_VALUE
        | errno::WARN_DATA_TRUNCATED
        | errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD => {
            (errno::ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX, "Data truncated")
        }
        _ => return None,
    };
    let message = format!("{what} for functional index '{index}' at row {row}");
    Some(Error::new(code, message))
}
