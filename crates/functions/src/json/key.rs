//! Bytes that compare as JSON values do: [`super::value::Json::compare`] in a form that can be hashed and
//! sorted.
//!
//! A tag for the type, in MySQL's order. Then: numbers as the nearest double and the difference from it;
//! strings escaped and terminated; objects as their length, keys and values; arrays as their values and an
//! end mark.

use super::parse;
use super::value::Json;

/// Ends an array: below every tag, so that an array's beginning comes before it.
const END: u8 = 0;
const NULL: u8 = 1;
const NUMBER: u8 = 2;
const STRING: u8 = 3;
const OBJECT: u8 = 4;
const ARRAY: u8 = 5;
const BOOL: u8 = 6;

/// Appends the key of a JSON text. The text was checked when it was made; any other text counts as null.
pub(crate) fn write_value(text: &[u8], out: &mut Vec<u8>) {
    write(&parse::parse(text).unwrap_or(Json::Null), out);
}

/// The same for ORDER BY. MySQL sorts arrays and objects only by their lengths.
pub(crate) fn write_order(text: &[u8], out: &mut Vec<u8>) {
    match parse::parse(text).unwrap_or(Json::Null) {
        Json::Array(items) => {
            out.push(ARRAY);
            write_length(items.len(), out);
        }
        Json::Object(members) => {
            out.push(OBJECT);
            write_length(members.len(), out);
        }
        scalar => write(&scalar, out),
    }
}

fn write(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(NULL),
        Json::Bool(value) => out.extend_from_slice(&[BOOL, u8::from(*value)]),
        Json::Int(v) => write_integer(i128::from(*v), out),
        Json::UInt(v) => write_integer(i128::from(*v), out),
        Json::Double(v) => write_number(*v, 0, out),
        // No text has a DECIMAL: only SQL values that are being put into a document are DECIMALs.
        Json::Decimal(d) => write_number(d.to_f64(), 0, out),
        Json::String(text) => {
            out.push(STRING);
            for &byte in text.as_bytes() {
                out.push(byte);
                if byte == 0 {
                    out.push(0xff);
                }
            }
            out.extend_from_slice(&[0, 0]);
        }
        Json::Object(members) => {
            out.push(OBJECT);
            write_length(members.len(), out);
            for (key, _) in members {
                write_length(key.len(), out);
                out.extend_from_slice(key.as_bytes());
            }
            members.iter().for_each(|(_, value)| write(value, out));
        }
        Json::Array(items) => {
            out.push(ARRAY);
            items.iter().for_each(|item| write(item, out));
            out.push(END);
        }
    }
}

fn write_integer(value: i128, out: &mut Vec<u8>) {
    let nearest = value as f64;
    // Integers have 64 bits, doubles 53: the difference has at most 11.
    write_number(nearest, (value - nearest as i128) as i16, out);
}

/// `nearest + rest`.
fn write_number(nearest: f64, rest: i16, out: &mut Vec<u8>) {
    let bits = (nearest + 0.0).to_bits();
    let negative = bits >> 63 == 1;
    let ordered = if negative { !bits } else { bits | 1 << 63 };
    out.push(NUMBER);
    out.extend_from_slice(&ordered.to_be_bytes());
    out.extend_from_slice(&(rest as u16 ^ 0x8000).to_be_bytes());
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

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
        write_value(text.as_bytes(), &mut key);
        key
    }

    #[test]
    fn keys_compare_as_values_do() {
        let json = |text: &str| parse::parse(text.as_bytes()).unwrap();
        for a in ASCENDING {
            for b in ASCENDING {
                assert_eq!(key(a).cmp(&key(b)), json(a).compare(&json(b)), "{a} and {b}");
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
            write_order(text.as_bytes(), &mut key);
            key
        };
        assert_eq!(order("[1]"), order("[2]"));
        assert!(order("[2]") < order("[1, 2]"));
        assert!(order("1.5") < order("\"a\"") && order("[1, 2]") < order("true"));
    }
}
