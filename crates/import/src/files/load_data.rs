//! The LOAD DATA statement that reads the records of a part.

use super::arguments::Arguments;
use super::records::Format;
use super::writer::PART;
use crate::endpoint::{literal, quoted};

/// `columns`: names and variables in the order of the fields; `None`: all of the table. `sets`: what is
/// computed.
pub(super) fn statement(
    database: Option<&str>,
    table: &str,
    format: &Format,
    columns: Option<&[String]>,
    sets: &[String],
) -> String {
    let table = match database {
        Some(database) => format!("{}.{}", quoted(database), quoted(table)),
        None => quoted(table),
    };
    let character = |byte: Option<u8>| byte.map_or_else(|| "''".to_owned(), |byte| bytes(&[byte]));
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE '{PART}' INTO TABLE {table} CHARACTER SET {} FIELDS TERMINATED BY {}",
        format.charset,
        bytes(&format.fields_terminated)
    );
    if let Some(enclosed) = format.enclosed {
        sql += &format!(" OPTIONALLY ENCLOSED BY {}", character(Some(enclosed)));
    }
    sql += &format!(" ESCAPED BY {} LINES", character(format.escaped));
    if !format.lines_starting.is_empty() {
        sql += &format!(" STARTING BY {}", bytes(&format.lines_starting));
    }
    sql += &format!(" TERMINATED BY {}", bytes(&format.lines_terminated));
    if let Some(columns) = columns {
        sql += &format!(" ({})", columns.join(", "));
    }
    if !sets.is_empty() {
        sql += &format!(" SET {}", sets.join(", "));
    }
    sql
}

/// Fields with the text of --null become NULL: they go through variables.
pub(super) fn with_null(columns: Vec<String>, null: &str) -> (Vec<String>, Vec<String>) {
    let mut fields = Vec::new();
    let mut sets = Vec::new();
    for (position, column) in columns.into_iter().enumerate() {
        if column.starts_with('@') {
            fields.push(column);
            continue;
        }
        let variable = format!("@stemdb_{position}");
        sets.push(format!("{column} = NULLIF({variable}, {})", literal(null)));
        fields.push(variable);
    }
    (fields, sets)
}

/// The list of --columns.
pub(super) fn listed(arguments: &Arguments) -> Option<Vec<String>> {
    let list = arguments.columns.as_ref()?;
    Some(list.split(',').map(|name| field(name.trim())).collect())
}

/// A variable as it is, or a name in quotes.
pub(super) fn field(name: &str) -> String {
    match name.starts_with('@') || name.starts_with('`') {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => literal(text),
        Err(_) => format!(
            "x'{}'",
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        ),
    }
}
