//! The errors and notes of [`crate::alter_plan`], with MySQL's texts.

use schema::definition::AlterChange;
use schema::model::{Column, ForeignKey, Table};
use types::{Error, TypeKind, Warning, errno};

/// MySQL's notes about actions that do nothing.
pub(crate) fn notes(table: &Table, changes: &[AlterChange]) -> Vec<Warning> {
    let note = |change: &AlterChange| match change {
        AlterChange::Keys => Some(Warning::note(
            1031,
            format!(
                "Table storage engine for '{}' doesn't have this option",
                table.name
            ),
        )),
        AlterChange::OrderBy => Some(Warning::warning(
            errno::ER_UNKNOWN_ERROR,
            format!(
                "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                table.name
            ),
        )),
        _ => None,
    };
    changes.iter().filter_map(note).collect()
}

/// ORDER BY where it would decide the order of the rows.
pub(crate) fn no_order() -> Error {
    Error::not_supported(
        "ALTER TABLE ... ORDER BY of a table without a primary key",
        "add a primary key with these columns",
    )
}

/// Error 1176.
pub(crate) fn no_key(name: &str, table: &Table) -> Error {
    Error::new(
        1176,
        format!("Key '{name}' doesn't exist in table '{}'", table.name),
    )
}

/// Error 1828: the key's own column.
pub(crate) fn own_column_needed(column: &str, key: &ForeignKey) -> Error {
    Error::new(
        1828,
        format!(
            "Cannot drop column '{column}': needed in a foreign key constraint '{}'",
            key.name
        ),
    )
}

/// Error 1091.
pub(crate) fn cannot_drop(name: &str) -> Error {
    Error::new(
        errno::ER_CANT_DROP_FIELD_OR_KEY,
        format!("Can't DROP '{name}'; check that column/key exists"),
    )
}

/// Error 1054.
pub(crate) fn unknown_column(name: &str, table: &Table) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{name}' in '{}'", table.name),
    )
}

/// Error 1072.
pub(crate) fn no_key_column(name: &str) -> Error {
    Error::new(
        errno::ER_KEY_COLUMN_DOES_NOT_EXITS,
        format!("Key column '{name}' doesn't exist in table"),
    )
}

/// Error 1090.
pub(crate) fn all_columns_dropped() -> Error {
    Error::new(
        errno::ER_CANT_REMOVE_ALL_FIELDS,
        "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
    )
}

/// Error 3940.
pub(crate) fn no_constraint(name: &str) -> Error {
    Error::new(3940, format!("Constraint '{name}' does not exist."))
}

/// Error 1280.
pub(crate) fn wrong_index_name(name: &str) -> Error {
    Error::new(
        errno::ER_WRONG_NAME_FOR_INDEX,
        format!("Incorrect index name '{name}'"),
    )
}

/// Error 3522.
pub(crate) fn primary_invisible() -> Error {
    Error::new(3522, "A primary key index cannot be invisible")
}

/// Error 1068.
pub(crate) fn several_primary_keys() -> Error {
    Error::new(errno::ER_MULTIPLE_PRI_KEY, "Multiple primary key defined")
}

/// Error 1292 for the value that existing rows get in a new column of dates.
pub(crate) fn zero_date(column: &Column) -> Error {
    let value = match column.ty.kind {
        TypeKind::Date => "date value: '0000-00-00'",
        _ => "datetime value: '0000-00-00 00:00:00'",
    };
    Error::new(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!("Incorrect {value} for column '{}' at row 1", column.name),
    )
}
