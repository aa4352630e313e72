//! Values as text.

use std::fmt::Write;

use mysql::Value;

use crate::inventory::Column;

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    /// In hexadecimal digits.
    Binary,
}

pub(super) fn kind(column: &Column) -> Kind {
    match column.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float" | "double" | "year"
        | "bit" => Kind::Number,
        "binary" | "varbinary" | "geometry" | "point" | "linestring" | "polygon" | "multipoint"
        | "multilinestring" | "multipolygon" | "geomcollection" | "geometrycollection" | "vector" => {
            Kind::Binary
        }
        name if name.ends_with("blob") => Kind::Binary,
        _ => Kind::Text,
    }
}

/// A value without quotes. `None` is NULL.
pub(super) fn text(value: &Value) -> Option<std::borrow::Cow<'_, [u8]>> {
    use std::borrow::Cow;
    Some(match value {
        Value::NULL => return None,
        Value::Bytes(bytes) => Cow::Borrowed(bytes.as_slice()),
        Value::Int(number) => Cow::Owned(number.to_string().into_bytes()),
        Value::UInt(number) => Cow::Owned(number.to_string().into_bytes()),
        Value::Float(number) => Cow::Owned(shortest(&format!("{number:?}"))),
        Value::Double(number) => Cow::Owned(shortest(&format!("{number:?}"))),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let mut text = format!("{year:04}-{month:02}-{day:02}");
            if (*hour, *minute, *second, *micros) != (0, 0, 0, 0) {
                let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
                fraction(*micros, &mut text);
            }
            Cow::Owned(text.into_bytes())
        }
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let hours = u32::from(*hours) + days * 24;
            let sign = if *is_negative { "-" } else { "" };
            let mut text = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}");
            fraction(*micros, &mut text);
            Cow::Owned(text.into_bytes())
        }
    })
}

/// A number as Rust prints it: shortest, exact. `1.0` is `1`.
fn shortest(text: &str) -> Vec<u8> {
    text.strip_suffix(".0").unwrap_or(text).as_bytes().to_vec()
}

fn fraction(micros: u32, text: &mut String) {
    if micros > 0 {
        let _ = write!(text, ".{micros:06}");
    }
}

pub(super) fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (value, expected) in [
            (Value::Double(0.1), "0.1"),
            (Value::Double(1e300), "1e300"),
            (Value::Float(1.0), "1"),
            (Value::Date(2020, 2, 31, 0, 0, 0, 0), "2020-02-31"),
            (Value::Date(0, 0, 0, 0, 0, 1, 500), "0000-00-00 00:00:01.000500"),
            (Value::Time(true, 34, 22, 59, 59, 0), "-838:59:59"),
        ] {
            assert_eq!(text(&value).unwrap(), expected.as_bytes());
        }
        assert_eq!(text(&Value::NULL), None);
    }
}
