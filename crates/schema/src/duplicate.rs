//! Error 1062: a duplicate in a unique index.

use types::{Error, Value, errno};

use crate::model::{Index, IndexPart, Table};

/// `Duplicate entry '1-abc' for key 't.idx'`. `row` has a value for each of the table's columns.
pub fn duplicate_entry(table: &Table, index: &Index, row: &[Value]) -> Error {
    duplicate(table, &index.name, &index.parts, row)
}

/// The same for the primary key.
pub fn duplicate_primary(table: &Table, row: &[Value]) -> Error {
    duplicate(table, "PRIMARY", &table.primary_parts(), row)
}

fn duplicate(table: &Table, index: &str, parts: &[IndexPart], row: &[Value]) -> Error {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            let (Some(column), Some(value)) = (table.columns.get(part.column), row.get(part.column)) else {
                return String::new();
            };
            let text = match value {
                Value::Null => "NULL".to_owned(),
                value => value.display_text(&column.ty),
            };
            match part.prefix {
                Some(length) => text.chars().take(length as usize).collect(),
                None => text,
            }
        })
        .collect();
    duplicate_key(table, index, &parts.join("-"))
}

/// The same for an entry as text.
pub fn duplicate_key(table: &Table, index: &str, entry: &str) -> Error {
    /// MySQL cuts the entry at the length of its longest key.
    const LONGEST: usize = 3072;
    let entry: String = entry.chars().take(LONGEST).collect();
    Error::new(
        errno::ER_DUP_ENTRY,
        format!("Duplicate entry '{entry}' for key '{}.{index}'", table.name),
    )
}
