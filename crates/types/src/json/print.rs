//! The text of JSON values as MySQL prints it, with `", "` and `": "`, keys ordered by length and then by
//! bytes.

use super::view::{JsonRef, JsonView};
use super::{Json, JsonBinary, field_type};
use crate::{base64, number_text};

impl JsonRef<'_> {
    pub fn to_text(self) -> String {
        let mut out = Vec::new();
        self.write_text(&mut out);
        // Only text is written.
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the text.
    pub fn write_text(self, out: &mut Vec<u8>) {
        match self.view() {
            JsonView::String(text) => write_quoted(text, out),
            JsonView::Array(items) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    item.write_text(out);
                }
                out.push(b']');
            }
            JsonView::Object(members) => {
                out.push(b'{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    write_quoted(key, out);
                    out.extend_from_slice(b": ");
                    value.write_text(out);
                }
                out.push(b'}');
            }
            // Lines of base 64.
            JsonView::Opaque(..) => write_quoted(&self.to_unquoted(), out),
            JsonView::Date(_) | JsonView::DateTime(_) | JsonView::Timestamp(_) | JsonView::Time(_) => {
                out.push(b'"');
                self.write_unquoted(out);
                out.push(b'"');
            }
            _ => self.write_unquoted(out),
        }
    }

    /// The text that JSON_UNQUOTE and conversions return: without quotes for a string, a date or binary data.
    pub fn to_unquoted(self) -> String {
        let mut out = Vec::new();
        self.write_unquoted(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    fn write_unquoted(self, out: &mut Vec<u8>) {
        match self.view() {
            JsonView::Null => out.extend_from_slice(b"null"),
            JsonView::Bool(true) => out.extend_from_slice(b"true"),
            JsonView::Bool(false) => out.extend_from_slice(b"false"),
            JsonView::Int(v) => number_text::write_i64(v, out),
            JsonView::UInt(v) => number_text::write_u64(v, out),
            JsonView::Double(v) => write_double(v, out),
            JsonView::Decimal(v) => v.write_text(out),
            JsonView::String(text) => out.extend_from_slice(text.as_bytes()),
            JsonView::Date(v) => v.write_date(out),
            JsonView::DateTime(v) | JsonView::Timestamp(v) => v.write_datetime(6, out),
            JsonView::Time(v) => v.write_text(6, out),
            JsonView::Opaque(ty, bytes) => {
                out.extend_from_slice(b"base64:type");
                number_text::write_u64(u64::from(ty), out);
                out.push(b':');
                out.extend_from_slice(base64::encode_lines(bytes).as_bytes());
            }
            JsonView::Array(_) | JsonView::Object(_) => self.write_text(out),
        }
    }

    /// The result of `JSON_TYPE`.
    pub fn type_name(self) -> &'static str {
        match self.view() {
            JsonView::Null => "NULL",
            JsonView::Bool(_) => "BOOLEAN",
            JsonView::Int(_) => "INTEGER",
            JsonView::UInt(_) => "UNSIGNED INTEGER",
            JsonView::Double(_) => "DOUBLE",
            JsonView::Decimal(_) => "DECIMAL",
            JsonView::String(_) => "STRING",
            JsonView::Date(_) => "DATE",
            JsonView::DateTime(_) => "DATETIME",
            JsonView::Timestamp(_) => "TIMESTAMP",
            JsonView::Time(_) => "TIME",
            JsonView::Opaque(field_type::BIT, _) => "BIT",
            JsonView::Opaque(field_type::VARCHAR | field_type::TINY_BLOB..=field_type::STRING, _) => "BLOB",
            JsonView::Opaque(..) => "OPAQUE",
            JsonView::Array(_) => "ARRAY",
            JsonView::Object(_) => "OBJECT",
        }
    }
}

impl Json {
    /// The normalised text; `null` for a tree that is too deep for a document.
    pub fn to_text(&self) -> String {
        JsonBinary::new(self).map_or_else(|_| "null".to_owned(), |binary| binary.root().to_text())
    }
}

/// A double always prints as one: `1.0`, `1e20`.
fn write_double(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    number_text::write_f64(value, out);
    let digits = out.get(start..).unwrap_or_default();
    if digits.iter().all(|b| b.is_ascii_digit() || *b == b'-') {
        out.extend_from_slice(b".0");
    }
}

/// Appends a quoted and escaped string.
pub fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control @ 0..0x20 => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}
