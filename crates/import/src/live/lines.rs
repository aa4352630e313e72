//! Rows of the source as lines of LOAD DATA, and the statement that reads them.

use std::io::Write;

use mysql::Value;

use crate::endpoint::quoted;
use crate::inventory::{Column, Table};

/// How a column is selected. The index of an ENUM says more than its name: there can be two empty names.
pub(super) fn as_read(column: &Column) -> String {
    let name = quoted(&column.name);
    match column.data_type.as_str() {
        "enum" | "set" | "bit" => format!("CAST({name} AS UNSIGNED)"),
        _ => name,
    }
}

/// LOAD DATA of the columns. A number is not the same as its text in some of them.
pub(super) fn statement(table: &Table, columns: &[&Column]) -> String {
    let (mut fields, mut sets) = (Vec::new(), Vec::new());
    for (position, column) in columns.iter().enumerate() {
        let name = quoted(&column.name);
        match column.data_type.as_str() {
            "enum" | "set" | "bit" | "year" => {
                fields.push(format!("@stemdb_{position}"));
                sets.push(format!("{name} = CAST(@stemdb_{position} AS UNSIGNED)"));
            }
            _ => fields.push(name),
        }
    }
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE 'stemdb-rows' INTO TABLE {} CHARACTER SET utf8mb4 \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        table.quoted(),
        fields.join(", ")
    );
    if !sets.is_empty() {
        sql += &format!(" SET {}", sets.join(", "));
    }
    sql
}

/// Adds a row as a line.
pub(super) fn push(lines: &mut Vec<u8>, row: &[Value], columns: &[&Column]) {
    for (position, (value, column)) in row.iter().zip(columns).enumerate() {
        if position > 0 {
            lines.push(b'\t');
        }
        push_field(lines, value, column);
    }
    lines.push(b'\n');
}

fn push_field(lines: &mut Vec<u8>, value: &Value, column: &Column) {
    let written = match value {
        Value::NULL => lines.write_all(b"\\N"),
        Value::Bytes(bytes) => {
            push_escaped(lines, bytes);
            Ok(())
        }
        Value::Int(number) => write!(lines, "{number}"),
        Value::UInt(number) => write!(lines, "{number}"),
        // The shortest text of the same DOUBLE: a FLOAT is read as one.
        Value::Float(number) => write!(lines, "{:e}", f64::from(*number)),
        Value::Double(number) => write!(lines, "{number:e}"),
        Value::Date(year, month, day, ..) if column.data_type == "date" => {
            write!(lines, "{year:04}-{month:02}-{day:02}")
        }
        Value::Date(year, month, day, hour, minute, second, micros) => write!(
            lines,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        )
        .and_then(|()| push_micros(lines, *micros)),
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => write!(
            lines,
            "{}{:02}:{minutes:02}:{seconds:02}",
            if *is_negative { "-" } else { "" },
            u64::from(*days) * 24 + u64::from(*hours)
        )
        .and_then(|()| push_micros(lines, *micros)),
    };
    debug_assert!(written.is_ok(), "a vector takes all bytes");
}

fn push_micros(lines: &mut Vec<u8>, micros: u32) -> std::io::Result<()> {
    match micros {
        0 => Ok(()),
        micros => write!(lines, ".{micros:06}"),
    }
}

fn push_escaped(lines: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some(at) = memchr::memchr3(b'\\', b'\t', b'\n', bytes) {
        let (plain, special) = bytes.split_at(at);
        lines.extend_from_slice(plain);
        lines.push(b'\\');
        // A tab and a line feed stand for themselves behind the escape character.
        lines.extend(special.first());
        bytes = special.get(1..).unwrap_or_default();
    }
    lines.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, data_type: &str) -> Column {
        Column {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            column_type: data_type.to_owned(),
            charset: None,
            is_generated: false,
        }
    }

    #[test]
    fn values_as_fields() {
        for (value, data_type, expected) in [
            (Value::NULL, "int", "\\N"),
            (
                Value::Bytes(b"a\tb\\c\nd\0'".to_vec()),
                "text",
                "a\\\tb\\\\c\\\nd\0'",
            ),
            (Value::Bytes(b"\\N".to_vec()), "text", "\\\\N"),
            (Value::Bytes(Vec::new()), "text", ""),
            (Value::Int(-5), "int", "-5"),
            (Value::UInt(u64::MAX), "bit", "18446744073709551615"),
            (Value::Float(1.1), "float", "1.100000023841858e0"),
            (Value::Double(-1e300), "double", "-1e300"),
            (Value::Date(0, 0, 0, 0, 0, 0, 0), "date", "0000-00-00"),
            (Value::Date(2020, 2, 31, 0, 0, 0, 0), "date", "2020-02-31"),
            (
                Value::Date(999, 1, 2, 3, 4, 5, 6),
                "datetime",
                "0999-01-02 03:04:05.000006",
            ),
            (Value::Time(true, 34, 22, 59, 59, 0), "time", "-838:59:59"),
            (Value::Time(false, 0, 0, 0, 0, 10_000), "time", "00:00:00.010000"),
        ] {
            let mut line = Vec::new();
            push(
                &mut line,
                std::slice::from_ref(&value),
                &[&column("c", data_type)],
            );
            assert_eq!(line, format!("{expected}\n").as_bytes(), "{value:?}");
        }
    }

    #[test]
    fn numbers_that_are_not_their_texts() {
        let columns = [column("a", "int"), column("e", "enum")];
        let table = Table {
            database: "d".to_owned(),
            name: "t".to_owned(),
            columns: columns.to_vec(),
            key: Vec::new(),
            create: String::new(),
            rows: 0,
            row_bytes: 0,
        };
        let sql = statement(&table, &columns.iter().collect::<Vec<_>>());
        assert!(
            sql.contains("FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES"),
            "{sql}"
        );
        assert!(
            sql.ends_with("(`a`, @stemdb_1) SET `e` = CAST(@stemdb_1 AS UNSIGNED)"),
            "{sql}"
        );
    }
}
