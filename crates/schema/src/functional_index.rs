//! Errors of the expressions of indexes: MySQL's name the index, and not the hidden column.

use types::{Error, errno};

use crate::model::Table;

/// The name of the index that a hidden column belongs to.
pub fn index_of(table: &Table, column: usize) -> &str {
    let mut indexes = table.indexes.iter();
    let index = indexes.find(|index| index.parts.iter().any(|part| part.column == column));
    index.map_or("", |index| &index.name)
}

/// The error about an index in the place of one about a value; `None` if there is no such error.
pub fn in_index(code: u16, index: &str, row: u64) -> Option<Error> {
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
