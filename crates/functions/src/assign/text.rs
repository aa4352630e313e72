//! Values for string, binary and JSON columns.

use std::borrow::Cow;

use types::number_narrow::write_f64_within;
use types::{Charset, Error, Result, SqlType, TypeKind, Value, errno};

use super::Target;
use crate::charset;
use crate::datum::Datum;

/// A quick check for most values: text that a VARCHAR or CHAR stores unchanged. `Some(false)`: a CHAR's
/// trailing spaces must be removed first. `None`: the value needs the complete check.
pub(super) fn fits_as_it_is(value: &Value, to: &SqlType) -> Option<bool> {
    match value {
        Value::String(text) => text_fits_as_it_is(text, to),
        _ => None,
    }
}

pub(super) fn text_fits_as_it_is(text: &str, to: &SqlType) -> Option<bool> {
    // If it has no more bytes than characters are allowed, it is not too long.
    let short = matches!(to.kind, TypeKind::VarChar | TypeKind::Char) && text.len() <= to.length as usize;
    let held = short
        && match to.collation.charset() {
            Charset::Utf8mb4 => true,
            charset => charset == Charset::Utf8mb3 && charset.has_all_of(text),
        };
    held.then(|| to.kind != TypeKind::Char || !text.ends_with(' '))
}

/// A CHAR's value without its trailing spaces.
pub(super) fn strip_char(value: Value) -> Result<Value> {
    Ok(match value {
        Value::String(mut text) => {
            text.truncate(text.trim_end_matches(' ').len());
            Value::String(text)
        }
        other => other,
    })
}

/// How many bytes a TEXT or BLOB can hold. The length of its type may be smaller.
fn byte_limit(ty: &SqlType) -> usize {
    let limit: u32 = match ty.kind {
        TypeKind::TinyText => 255,
        TypeKind::Text => 65_535,
        TypeKind::MediumText => 16_777_215,
        _ => u32::MAX,
    };
    limit as usize
}

pub(super) fn to_text(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    if target.to.is_binary() {
        return to_binary(target, value);
    }
    let charset = target.to.collation.charset();
    let text: Cow<'_, str> = match value {
        Datum::String(text) => charset::restrict(text, charset),
        Datum::Bytes(bytes) if !target.from.is_binary() => Cow::Owned(well_formed(target, bytes, charset)?),
        Datum::Bytes(bytes) => Cow::Owned(decode(target, bytes, charset)?),
        Datum::Double(number) if is_bounded(target.to) => Cow::Owned(double_text(target, number)?),
        other => Cow::Owned(target.shown(&other)),
    };
    let end = fitting_prefix(&text, target.to, charset);
    let is_wrong = match (value, &text) {
        (Datum::String(written), Cow::Owned(kept)) => {
            let chars = kept.get(..end).unwrap_or_default().chars().count();
            check_charset(target, written, chars, charset)?
        }
        _ => false,
    };
    let kept = if end < text.len() && !is_wrong {
        cut(target, &text, end)?
    } else {
        text.get(..end).unwrap_or_default()
    };
    let kept = if target.to.kind == TypeKind::Char {
        kept.trim_end_matches(' ')
    } else {
        kept
    };
    if kept.len() == text.len() {
        return Ok(Value::String(text.into_owned()));
    }
    Ok(Value::String(kept.to_owned()))
}

/// Whether the type has a maximum length of its own.
fn is_bounded(ty: &SqlType) -> bool {
    matches!(ty.kind, TypeKind::Char | TypeKind::VarChar)
}

/// A FLOAT or DOUBLE with as many digits as fit into the column, regardless of how many its own type shows.
fn double_text(target: &Target<'_>, number: f64) -> Result<String> {
    let mut text = Vec::new();
    if !write_f64_within(number, target.to.length as usize, &mut text) {
        too_long(target)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Checks that the column's character set has the characters of a text that the column keeps. Error 1366 if not.
/// Whether it was reported: then the rest is left out without another warning.
fn check_charset(target: &Target<'_>, text: &str, chars: usize, charset: Charset) -> Result<bool> {
    let Some((from, _)) = text.char_indices().take(chars).find(|(_, c)| !charset.has(*c)) else {
        return Ok(false);
    };
    let wrong = text.get(from..).unwrap_or_default();
    incorrect_string(target, &charset::encode(wrong, target.from.collation.charset()))?;
    Ok(true)
}

/// Converts binary data to text. If it is not valid text: 1366, and the value is the part before the first
/// wrong byte.
fn decode(target: &Target<'_>, bytes: &[u8], charset: Charset) -> Result<String> {
    if let Some(text) = charset::decode(bytes, charset) {
        return Ok(text);
    }
    let bytes = &charset.whole_characters(bytes);
    let (text, valid) = charset.decode_prefix(bytes);
    incorrect_string(target, bytes.get(valid..).unwrap_or_default())?;
    Ok(text.into_owned())
}

/// The stored part of a text that is not well formed. If the text is of the column's character set, the part
/// before the first wrong byte. Otherwise a `?` replaces each wrong byte, up to an incomplete character at
/// the end.
///
/// Reports 1366, or 1406 if an incomplete character at the end is the only fault.
fn well_formed(target: &Target<'_>, bytes: &[u8], charset: Charset) -> Result<String> {
    let from = target.from.collation.charset();
    let mut text = String::new();
    let mut rest = bytes;
    let mut wrong: Option<&[u8]> = None;
    loop {
        let (valid, length) = from.decode_prefix(rest);
        let ill = rest.get(length..).unwrap_or_default();
        text.push_str(&valid);
        let stops = ill.is_empty() || charset == from || from.is_incomplete(ill);
        if charset == from || !stops {
            wrong = wrong.or(Some(ill));
        }
        match ill {
            [_, behind @ ..] if !stops => {
                text.push('?');
                rest = behind;
            }
            _ => {
                rest = ill;
                break;
            }
        }
    }
    match wrong {
        Some(wrong) => incorrect_string(target, wrong)?,
        None if !rest.is_empty() => too_long(target)?,
        None => {}
    }
    Ok(charset::restrict(&text, charset).into_owned())
}

/// 1366. `from`: the bytes from the first wrong one on.
fn incorrect_string(target: &Target<'_>, from: &[u8]) -> Result<()> {
    let what = charset::incorrect_string(from, target.from.collation.charset());
    target.lost(errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, target.at_row(&what))
}

/// How many bytes of `text` fit into the column.
fn fitting_prefix(text: &str, to: &SqlType, charset: Charset) -> usize {
    if is_bounded(to) {
        let limit = to.length as usize;
        if text.len() <= limit {
            return text.len();
        }
        return text.char_indices().nth(limit).map_or(text.len(), |(i, _)| i);
    }
    let limit = byte_limit(to);
    let is_short = charset.is_utf8() && text.len() <= limit;
    if is_short || charset::encoded_len(text, charset) <= limit {
        return text.len();
    }
    let mut used = 0;
    for (i, c) in text.char_indices() {
        used += charset.encoded_len(c.encode_utf8(&mut [0; 4]));
        if used > limit {
            return i;
        }
    }
    text.len()
}

/// The part of a text that fits. If only white space is lost, there is no error; for VARCHAR a note.
fn cut<'a>(target: &Target<'_>, text: &'a str, end: usize) -> Result<&'a str> {
    let (kept, lost) = text.split_at(end);
    if is_white_space(target, lost) {
        if target.to.kind != TypeKind::Char {
            target.note_truncated()?;
        }
    } else {
        too_long(target)?;
    }
    Ok(kept)
}

/// Whether a text is white space in the column's character set. MySQL looks at its bytes before it converts them:
/// a no-break space, or any in a character set of wider units, counts only if the text has the column's own one.
fn is_white_space(target: &Target<'_>, text: &str) -> bool {
    let charset = target.to.collation.charset();
    let is_converted = target.from.collation.charset() != charset;
    if charset.min_bytes_per_char() > 1 {
        return !is_converted && text.bytes().all(|b| b == b' ');
    }
    let has_no_break_space = !is_converted && has_no_break_space(charset);
    text.chars().all(|c| match c {
        ' ' | '\t'..='\r' => true,
        '\u{a0}' => has_no_break_space,
        _ => false,
    })
}

/// Whether MySQL takes the no-break space of a character set for white space.
fn has_no_break_space(charset: Charset) -> bool {
    matches!(
        charset,
        Charset::Armscii8
            | Charset::Cp1250
            | Charset::Cp852
            | Charset::Cp866
            | Charset::Dec8
            | Charset::Geostd8
            | Charset::Greek
            | Charset::Hebrew
            | Charset::Keybcs2
            | Charset::Latin1
            | Charset::Latin2
            | Charset::Latin5
            | Charset::Latin7
    )
}

/// 1406 in strict mode, else warning 1265.
fn too_long(target: &Target<'_>) -> Result<()> {
    if target.is_strict() {
        return Err(Error::new(
            errno::ER_DATA_TOO_LONG,
            target.at_row("Data too long"),
        ));
    }
    target.truncated()
}

fn to_binary(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let mut bytes: Vec<u8> = match value {
        Datum::Bytes(bytes) => bytes.to_vec(),
        Datum::String(text) => {
            let charset = if target.from.is_string() {
                target.from.collation.charset()
            } else {
                Charset::Utf8mb4
            };
            charset::encode(text, charset).into_owned()
        }
        Datum::Double(number) if is_bounded(target.to) => double_text(target, number)?.into_bytes(),
        other => target.shown(&other).into_bytes(),
    };
    let limit = if is_bounded(target.to) {
        target.to.length as usize
    } else {
        byte_limit(target.to)
    };
    if bytes.len() > limit {
        too_long(target)?;
        bytes.truncate(limit);
    }
    if target.to.kind == TypeKind::Char {
        bytes.resize(limit, 0);
    }
    Ok(Value::Bytes(bytes))
}

/// Text is parsed and normalised; errors 3140 and 3144, in every mode.
pub(super) fn to_json(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    match value {
        Datum::Json(json) => Ok(Value::Json(json.to_binary())),
        Datum::String(text) => {
            crate::json::convert::parse_for_column(text.as_bytes(), target.column).map(Value::Json)
        }
        Datum::Bytes(bytes) if !target.from.is_binary() => Err(Error::new(
            errno::ER_INVALID_JSON_TEXT,
            format!(
                "Invalid JSON text: \"Invalid encoding in string.\" at position {} in value for column '{}'.",
                target.from.collation.charset().valid_len(bytes),
                target.column
            ),
        )),
        Datum::Bytes(_) => Err(Error::new(
            errno::ER_INVALID_JSON_CHARSET,
            "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
        )),
        _ => Err(Error::new(
            errno::ER_INVALID_JSON_TEXT,
            format!(
                "Invalid JSON text: \"not a JSON text, may need CAST\" at position 0 in value for column '{}'.",
                target.column
            ),
        )),
    }
}
