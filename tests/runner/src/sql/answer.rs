//! A server's results, as the lines of a script.
//!
//! One line per row, `| a | b |`, the first with the columns' names. A value that could be mistaken for
//! something else is quoted, and bytes that are not text are in hexadecimal. Columns are not aligned, so a
//! changed value changes one line.

use mysql::consts::{ColumnFlags, ColumnType};
use mysql::{Column, Value};

/// Errors of which only number and SQLSTATE are compared: StemDB's texts differ in the position where parsing
/// stopped and in the names of unsupported features.
const CODE_ONLY: [u16; 2] = [1064, 1235];

/// One line for the type of a column, under `.types`. It is for expressions, where clients do not rely on
/// length and flags.
pub fn kind(column: &Column) -> String {
    let unsigned = if column.flags().contains(ColumnFlags::UNSIGNED_FLAG) {
        " unsigned"
    } else {
        ""
    };
    format!(
        "column {} {}{unsigned} decimals={}",
        text(&column.name_str()),
        type_name(column),
        column.decimals()
    )
}

fn type_name(column: &Column) -> String {
    format!("{:?}", column.column_type())
        .trim_start_matches("MYSQL_TYPE_")
        .to_ascii_lowercase()
}

/// One line for all the metadata of a column, under `.meta`.
pub fn meta(column: &Column) -> String {
    let flags = column.flags();
    let mut words = String::new();
    for (flag, word) in [
        (ColumnFlags::NOT_NULL_FLAG, "not_null"),
        (ColumnFlags::PRI_KEY_FLAG, "primary_key"),
        (ColumnFlags::UNIQUE_KEY_FLAG, "unique_key"),
        (ColumnFlags::MULTIPLE_KEY_FLAG, "multiple_key"),
        (ColumnFlags::PART_KEY_FLAG, "part_key"),
        (ColumnFlags::BLOB_FLAG, "blob"),
        (ColumnFlags::UNSIGNED_FLAG, "unsigned"),
        (ColumnFlags::ZEROFILL_FLAG, "zerofill"),
        (ColumnFlags::BINARY_FLAG, "binary"),
        (ColumnFlags::AUTO_INCREMENT_FLAG, "auto_increment"),
        (ColumnFlags::TIMESTAMP_FLAG, "timestamp"),
        (ColumnFlags::ON_UPDATE_NOW_FLAG, "on_update_now"),
        (ColumnFlags::NO_DEFAULT_VALUE_FLAG, "no_default"),
    ] {
        if flags.contains(flag) {
            words.push(' ');
            words.push_str(word);
        }
    }
    let place = if column.table_str().is_empty() {
        String::new()
    } else {
        format!(" from {}.{}", column.org_table_str(), column.org_name_str())
    };
    format!(
        "column {} {}({}) decimals={} collation={}{words}{place}",
        text(&column.name_str()),
        type_name(column),
        column.column_length(),
        column.decimals(),
        column.character_set(),
    )
}

pub fn header(columns: &[Column]) -> String {
    let names: Vec<_> = columns.iter().map(|c| text(&c.name_str())).collect();
    format!("| {} |", names.join(" | "))
}

pub fn row(columns: &[Column], values: &[Value]) -> String {
    let cells: Vec<_> = values.iter().zip(columns).map(|(v, c)| cell(c, v)).collect();
    format!("| {} |", cells.join(" | "))
}

/// The line of a statement without rows.
pub fn done(affected: u64, insert_id: Option<u64>, info: &str) -> String {
    let mut line = String::from("ok");
    if affected > 0 {
        line.push_str(&format!(", {affected} affected"));
    }
    if let Some(id) = insert_id.filter(|id| *id > 0) {
        line.push_str(&format!(", insert id {id}"));
    }
    if !info.is_empty() {
        line.push_str(&format!(", {info}"));
    }
    line
}

pub fn error(error: &mysql::Error, code_only: bool) -> String {
    let mysql::Error::MySqlError(e) = error else {
        return match error {
            mysql::Error::IoError(_) => "connection lost".to_string(),
            other => format!("client error: {other}"),
        };
    };
    if code_only || CODE_ONLY.contains(&e.code) {
        return format!("error {} ({})", e.code, e.state);
    }
    format!("error {} ({}): {}", e.code, e.state, escape(&e.message))
}

/// One line of SHOW WARNINGS.
pub fn warning(level: &str, code: u16, message: &str) -> String {
    format!("{} {code}: {}", level.to_ascii_lowercase(), escape(message))
}

fn cell(column: &Column, value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_string(),
        Value::Bytes(bytes) => bytes_cell(bytes),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) => number(f64::from(*v), v.to_string()),
        Value::Double(v) => number(*v, v.to_string()),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            if column.column_type() == ColumnType::MYSQL_TYPE_DATE {
                return date;
            }
            format!(
                "{date} {hour:02}:{minute:02}:{second:02}{}",
                fraction(*micros, column.decimals())
            )
        }
        Value::Time(negative, days, hours, minutes, seconds, micros) => format!(
            "{}{:02}:{minutes:02}:{seconds:02}{}",
            if *negative { "-" } else { "" },
            days * 24 + u32::from(*hours),
            fraction(*micros, column.decimals())
        ),
    }
}

/// A float of the binary protocol: `plain` unless that is too long to read.
fn number(value: f64, plain: String) -> String {
    let exponent = value != 0.0 && !(1e-5..1e15).contains(&value.abs());
    if exponent { format!("{value:e}") } else { plain }
}

fn fraction(micros: u32, decimals: u8) -> String {
    match usize::from(decimals) {
        0 => String::new(),
        digits => format!(".{}", &format!("{micros:06}")[..digits.min(6)]),
    }
}

fn bytes_cell(bytes: &[u8]) -> String {
    let shown = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    match std::str::from_utf8(bytes) {
        Ok(s) if s.chars().all(shown) => text(s),
        _ => {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            format!("x'{hex}'")
        }
    }
}

/// A string, without quotes if it cannot be mistaken for another value.
fn text(s: &str) -> String {
    let bare = !s.is_empty()
        && s != "NULL"
        && s.trim() == s
        && !s.starts_with(['\'', '"'])
        && !s.starts_with("x'")
        && !s.contains(['|', '\\', '\n', '\r', '\t']);
    if bare {
        return s.to_string();
    }
    format!("'{}'", escape(s))
}

fn escape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnType, decimals: u8) -> Column {
        Column::new(kind).with_decimals(decimals)
    }

    #[test]
    fn values_cannot_be_mistaken_for_each_other() {
        let c = column(ColumnType::MYSQL_TYPE_VAR_STRING, 0);
        let cells = |values: &[&[u8]]| -> Vec<String> {
            values
                .iter()
                .map(|v| cell(&c, &Value::Bytes(v.to_vec())))
                .collect()
        };
        assert_eq!(
            cells(&[
                b"a b",
                b"",
                b"NULL",
                b"a|b",
                b" a",
                b"\x00\xff",
                b"x'00'",
                "ä".as_bytes()
            ]),
            ["a b", "''", "'NULL'", "'a|b'", "' a'", "x'00ff'", "'x'00''", "ä"]
        );
        assert_eq!(cell(&c, &Value::NULL), "NULL");
    }

    #[test]
    fn binary_temporal_values_read_as_text_does() {
        let date = Value::Date(2024, 2, 29, 1, 2, 3, 450_000);
        assert_eq!(
            cell(&column(ColumnType::MYSQL_TYPE_DATETIME, 2), &date),
            "2024-02-29 01:02:03.45"
        );
        assert_eq!(cell(&column(ColumnType::MYSQL_TYPE_DATE, 0), &date), "2024-02-29");
        let time = Value::Time(true, 34, 22, 59, 59, 0);
        assert_eq!(cell(&column(ColumnType::MYSQL_TYPE_TIME, 0), &time), "-838:59:59");
    }

    #[test]
    fn an_answer_without_rows_says_only_what_there_is() {
        assert_eq!(done(0, None, ""), "ok");
        assert_eq!(
            done(2, Some(7), "Records: 2"),
            "ok, 2 affected, insert id 7, Records: 2"
        );
    }
}
