//! Bytes that compare as JSON values do: [`super::order::compare`] in a form that can be hashed and
//! sorted.
//!
//! A tag for the type, in MySQL's order. Then: numbers as two doubles ([`Number`]);
//! strings escaped and terminated; objects as their length, keys and values; arrays as their values and an
//! end mark.

use types::json::{JsonRef, JsonView};

use super::order::{Number, rank};

/// Ends an array. It is below every tag, so that a prefix of an array comes before the longer array.
const END: u8 = 0;

/// The tag of all binary data in ORDER BY. It is above every rank.
const BINARY: u8 = 0xff;

/// [`write_value`] for ORDER BY. MySQL sorts arrays and objects only by their lengths, and binary data by the
/// field types first.
pub(crate) fn write_order(json: JsonRef<'_>, out: &mut Vec<u8>) {
    let view = json.view();
    let length = match view {
        JsonView::Array(items) => items.len(),
        JsonView::Object(members) => members.len(),
        JsonView::Opaque(ty, bytes) => {
            out.extend_from_slice(&[BINARY, ty]);
            return write_bytes(bytes, out);
        }
        _ => return write_value(json, out),
    };
    out.push(rank(&view));
    write_length(length, out);
}

/// Appends the key of a value.
pub(crate) fn write_value(json: JsonRef<'_>, out: &mut Vec<u8>) {
    let view = json.view();
    out.push(rank(&view));
    match view {
        JsonView::Null => {}
        JsonView::Bool(value) => out.push(u8::from(value)),
        JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_) => {
            if let Some(number) = Number::of(&view) {
                write_double(number.nearest, out);
                write_double(number.rest, out);
            }
        }
        JsonView::String(text) => write_bytes(text.as_bytes(), out),
        JsonView::Date(v) | JsonView::DateTime(v) | JsonView::Timestamp(v) => {
            out.extend_from_slice(&v.pack().to_be_bytes());
        }
        JsonView::Time(v) => out.extend_from_slice(&(v.0 as u64 ^ 1 << 63).to_be_bytes()),
        JsonView::Opaque(ty, bytes) => {
            out.push(ty);
            write_bytes(bytes, out);
        }
        JsonView::Object(members) => {
            write_length(members.len(), out);
            for key in members.keys() {
                write_length(key.len(), out);
                out.extend_from_slice(key.as_bytes());
            }
            members.values().for_each(|value| write_value(value, out));
        }
        JsonView::Array(items) => {
            items.iter().for_each(|item| write_value(item, out));
            out.push(END);
        }
    }
}

fn write_double(value: f64, out: &mut Vec<u8>) {
    let bits = (value + 0.0).to_bits();
    let negative = bits >> 63 == 1;
    let ordered = if negative { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Escaped and terminated, so that no value's bytes are a prefix of another's.
fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use types::json::JsonBinary;

    use super::*;
    use crate::json::order::compare;

    const ASCENDING: &[&str] = &[
        "null",
        "-1e300",
        "-9223372036854775808",
        "-9007199254740993",
        "-9007199254740992",
        "-3",
        "-0.5",
        "0",
        "1e-300",
        "1",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "1e300",
        r#""""#,
        r#""\u0000""#,
        r#""\u0000x""#,
        r#""A""#,
        r#""a""#,
        r#""a ""#,
        r#""ab""#,
        "{}",
        r#"{"a": 1}"#,
        r#"{"a": 2}"#,
        r#"{"b": 1}"#,
        r#"{"bb": 0}"#,
        r#"{"a": 1, "b": 0}"#,
        "[]",
        "[null]",
        "[1]",
        "[1, 2]",
        "[2]",
        "[[]]",
        "[[1]]",
        "false",
        "true",
    ];

    fn key(text: &str) -> Vec<u8> {
        let mut key = Vec::new();
        write_value(JsonBinary::parse(text.as_bytes()).unwrap().root(), &mut key);
        key
    }

    #[test]
    fn keys_compare_as_values_do() {
        let json = |text: &str| JsonBinary::parse(text.as_bytes()).unwrap();
        for a in ASCENDING {
            for b in ASCENDING {
                assert_eq!(
                    key(a).cmp(&key(b)),
                    compare(json(a).root(), json(b).root()),
                    "{a} and {b}"
                );
            }
        }
        for pair in ASCENDING.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{} and {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn numbers_are_equal_whatever_their_types() {
        for (a, b) in [
            ("1", "1.0"),
            ("0", "-0.0"),
            ("9007199254740992", "9007199254740992.0"),
            ("[1]", "[1.0]"),
        ] {
            assert_eq!(key(a), key(b), "{a} and {b}");
        }
    }

    #[test]
    fn orders_see_the_lengths_of_arrays() {
        let order = |text: &str| {
            let mut key = Vec::new();
            write_order(JsonBinary::parse(text.as_bytes()).unwrap().root(), &mut key);
            key
        };
        assert_eq!(order("[1]"), order("[2]"));
        assert!(order("[2]") < order("[1, 2]"));
        assert!(order("1.5") < order("\"a\"") && order("[1, 2]") < order("true"));
    }
}
