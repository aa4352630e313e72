//! MySQL's binary JSON (`sql/json_binary.h` documents it) as the text that MySQL shows of it.

use std::fmt::Write;

use super::bytes::{Bytes, Malformed, Result};
use super::packed::{decimal, packed_date_time};

/// MySQL's limit of nesting.
const DEEPEST: usize = 100;

pub(super) fn text(document: &[u8]) -> Result<String> {
    let mut out = String::new();
    // Broken offsets can make a small document say the same thing again and again. A true one has at most
    // some 25 characters for a byte.
    let longest = document.len().saturating_mul(64);
    match document.split_first() {
        // A form that UPDATE IGNORE can leave behind: MySQL reads it as null.
        None => out.push_str("null"),
        Some((kind, value)) => write_value(*kind, value, &mut out, 0, longest)?,
    }
    Ok(out)
}

fn write_value(kind: u8, value: &[u8], out: &mut String, depth: usize, longest: usize) -> Result<()> {
    if depth > DEEPEST || out.len() > longest {
        return Err(Malformed::new("JSON that is nested too deeply, or in a circle"));
    }
    let mut bytes = Bytes::new(value);
    match kind {
        0..=3 => container(kind, value, out, depth, longest)?,
        4 => out.push_str(literal(bytes.byte()?)?),
        5 => put(out, bytes.int(2)?),
        6 => put(out, bytes.uint(2)?),
        7 => put(out, bytes.int(4)?),
        8 => put(out, bytes.uint(4)?),
        9 => put(out, bytes.int(8)?),
        10 => put(out, bytes.uint(8)?),
        11 => {
            // Rust writes the shortest digits that read back the same, and `.0` after whole numbers.
            let _ = write!(out, "{:?}", f64::from_bits(bytes.uint(8)?));
        }
        12 => {
            let length = variable_length(&mut bytes)?;
            write_string(&String::from_utf8_lossy(bytes.take(length)?), out);
        }
        15 => opaque(&mut bytes, out)?,
        other => return Err(Malformed::new(format!("JSON of the type {other}"))),
    }
    Ok(())
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

fn literal(number: u8) -> Result<&'static str> {
    match number {
        0 => Ok("null"),
        1 => Ok("true"),
        2 => Ok("false"),
        other => Err(Malformed::new(format!("a JSON literal {other}"))),
    }
}

/// An object (0, 1) or an array (2, 3); odd ones have offsets of four bytes instead of two. Offsets count
/// from the container's first byte.
fn container(kind: u8, value: &[u8], out: &mut String, depth: usize, longest: usize) -> Result<()> {
    let offset = if kind.is_multiple_of(2) { 2 } else { 4 };
    let is_object = kind < 2;
    let mut head = Bytes::new(value);
    let count = head.uint(offset)? as usize;
    head.uint(offset)?;
    let mut keys = Bytes::new(match is_object {
        true => head.take(count.saturating_mul(offset + 2))?,
        false => &[],
    });
    out.push(if is_object { '{' } else { '[' });
    for position in 0..count {
        if position > 0 {
            out.push_str(", ");
        }
        if is_object {
            let (start, length) = (keys.uint(offset)? as usize, keys.uint(2)? as usize);
            write_string(
                &String::from_utf8_lossy(Bytes::new(from(value, start)?).take(length)?),
                out,
            );
            out.push_str(": ");
        }
        let kind = head.byte()?;
        let entry = head.take(offset)?;
        // Small values lie in the entry itself.
        let is_inlined = matches!(kind, 4..=6) || offset == 4 && matches!(kind, 7 | 8);
        match is_inlined {
            true => write_value(kind, entry, out, depth + 1, longest)?,
            false => {
                let start = Bytes::new(entry).uint(offset)? as usize;
                write_value(kind, from(value, start)?, out, depth + 1, longest)?;
            }
        }
    }
    out.push(if is_object { '}' } else { ']' });
    Ok(())
}

fn from(value: &[u8], start: usize) -> Result<&[u8]> {
    value
        .get(start..)
        .ok_or_else(|| Malformed::new("JSON with an offset behind its end"))
}

/// Seven bits in each byte, low bits first.
fn variable_length(bytes: &mut Bytes<'_>) -> Result<usize> {
    let mut length = 0;
    for shift in (0..35).step_by(7) {
        let byte = bytes.byte()?;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(length);
        }
    }
    Err(Malformed::new("JSON with a length of more than five bytes"))
}

/// A value of a type that JSON has not: a field type, then its bytes.
fn opaque(bytes: &mut Bytes<'_>, out: &mut String) -> Result<()> {
    let kind = bytes.byte()?;
    let length = variable_length(bytes)?;
    let mut value = Bytes::new(bytes.take(length)?);
    match kind {
        246 => {
            let (precision, scale) = (usize::from(value.byte()?), usize::from(value.byte()?));
            out.push_str(&decimal(&mut value, precision, scale)?);
        }
        7 | 10 | 12 => {
            let packed = value.uint(8)?;
            let micros = (packed & 0xff_ffff) as u32;
            if let mysql::Value::Date(year, month, day, hour, minute, second, micros) =
                packed_date_time(packed >> 24, micros)
            {
                let _ = write!(out, "\"{year:04}-{month:02}-{day:02}");
                if kind != 10 {
                    let _ = write!(out, " {hour:02}:{minute:02}:{second:02}.{micros:06}");
                }
                out.push('"');
            }
        }
        11 => {
            let packed = value.int(8)?;
            let sign = if packed < 0 { "-" } else { "" };
            let packed = packed.unsigned_abs();
            let (clock, micros) = (packed >> 24, packed & 0xff_ffff);
            let (hour, minute, second) = (clock >> 12 & 0x3ff, clock >> 6 & 63, clock & 63);
            let _ = write!(out, "\"{sign}{hour:02}:{minute:02}:{second:02}.{micros:06}\"");
        }
        other => {
            let _ = write!(out, "\"base64:type{other}:");
            base64(value.rest(), out);
            out.push('"');
        }
    }
    Ok(())
}

fn base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for position in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * position) & 63) as usize];
            out.push(if position > group.len() {
                '='
            } else {
                char::from(digit)
            });
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
