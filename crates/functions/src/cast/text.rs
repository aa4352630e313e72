//! Conversions to text and to binary data.

use std::borrow::Cow;

use types::number_narrow::write_f64_within;
use types::{Charset, Error, Result, SqlType, TypeKind, Value, errno, shown_bytes};

use super::conversion::Conversion;
use crate::Expr;
use crate::charset;
use crate::context::EvalContext;
use crate::datum::Datum;

/// How long a number's text may be in an expression before it is written with an exponent: that of a FLOAT, of a
/// DOUBLE, and of a column of DOUBLE. Results that are sent to clients have no such limit.
const FLOAT_WIDTH: usize = 12;
const DOUBLE_WIDTH: usize = 22;
const DOUBLE_COLUMN_WIDTH: usize = 24;

/// The fraction of a moment that has none.
const NO_MICROSECONDS: &str = ".000000";

/// The `length` of a CHAR or BINARY without a length.
pub(crate) const UNLIMITED: u32 = u32::MAX;

pub(super) fn to_text(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    if is_too_long(conversion) {
        return too_large(conversion);
    }
    if conversion.to.is_binary() {
        to_binary(value, conversion)
    } else {
        to_characters(value, conversion)
    }
}

fn to_characters(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let to = &conversion.to;
    let target = to.collation.charset();
    let text = match value {
        Datum::String(text) => match charset::restrict(text, target) {
            Cow::Owned(_) if conversion.implicit => return Err(does_not_fit(text, conversion)),
            restricted => restricted.into_owned(),
        },
        Datum::Bytes(bytes) => match charset::decode(bytes, target) {
            Some(text) => text,
            None if conversion.implicit => return Err(cannot_convert(bytes, Charset::Binary, target)),
            None => match invalid(bytes, target, conversion.ctx)? {
                Some(text) => text,
                None => return Ok(Value::Null),
            },
        },
        other => text_of(other, conversion),
    };
    let limited = is_limited(conversion);
    if limited && text.len() > to.length as usize {
        let end = text.char_indices().nth(to.length as usize).map(|(i, _)| i);
        if let Some(end) = end {
            conversion.ctx.conversion_lost(
                errno::ER_TRUNCATED_WRONG_VALUE,
                format!("Truncated incorrect CHAR({}) value: '{text}'", to.length),
            )?;
            return Ok(Value::String(text.get(..end).unwrap_or_default().to_owned()));
        }
    }
    Ok(Value::String(text))
}

fn to_binary(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let to = &conversion.to;
    let mut bytes = match value {
        Datum::Bytes(bytes) => bytes.to_vec(),
        Datum::String(text) => {
            let source = if conversion.from.is_string() {
                conversion.from.collation.charset()
            } else {
                Charset::Utf8mb4
            };
            charset::encode(text, source).into_owned()
        }
        other => text_of(other, conversion).into_bytes(),
    };
    let limit = to.length as usize;
    if is_limited(conversion) && bytes.len() != limit {
        if bytes.len() > limit {
            let shown = shown_bytes(&bytes);
            conversion.ctx.conversion_lost(
                errno::ER_TRUNCATED_WRONG_VALUE,
                format!("Truncated incorrect BINARY({limit}) value: '{shown}'"),
            )?;
        }
        bytes.resize(limit, 0);
    }
    Ok(Value::Bytes(bytes))
}

/// Whether the type's length is one that no packet has room for.
fn is_too_long(conversion: &Conversion<'_>) -> bool {
    let to = &conversion.to;
    let has_length = !conversion.implicit && to.length != UNLIMITED && to.is_string();
    let length = match to.is_blob_or_text() {
        true => to.length / to.collation.charset().max_bytes_per_char(),
        false => to.length,
    };
    has_length && length as usize > conversion.ctx.max_allowed_packet
}

/// Warning 1301 and NULL. In strict DML an error.
fn too_large(conversion: &Conversion<'_>) -> Result<Value> {
    let name = match conversion.to.is_binary() {
        true => "cast_as_binary",
        false => "cast_as_char",
    };
    let limit = conversion.ctx.max_allowed_packet;
    conversion.ctx.conversion_lost(
        1301,
        format!("Result of {name}() was larger than max_allowed_packet ({limit}) - truncated"),
    )?;
    Ok(Value::Null)
}

/// Whether the type has a length. A length so large that the result is a TEXT is no limit in practice.
fn is_limited(conversion: &Conversion<'_>) -> bool {
    let to = &conversion.to;
    !conversion.implicit && to.length != UNLIMITED && matches!(to.kind, TypeKind::Char | TypeKind::VarChar)
}

/// The text of a value of another type. A parameter shows its own digits, because its type may have more
/// decimals; a moment does so only where the statement says CAST.
fn text_of(value: Datum<'_>, conversion: &Conversion<'_>) -> String {
    if let Expr::Param { .. } = conversion.input {
        if let Datum::Decimal(given) = value {
            return given.to_text();
        }
        if conversion.from.is_temporal() && !conversion.implicit {
            let text = text_within(&value.to_value(), &conversion.from, DOUBLE_WIDTH);
            return text
                .strip_suffix(NO_MICROSECONDS)
                .map(str::to_owned)
                .unwrap_or(text);
        }
    }
    let width = match conversion.input {
        Expr::Column { .. } | Expr::Outer { .. } => DOUBLE_COLUMN_WIDTH,
        _ => DOUBLE_WIDTH,
    };
    text_within(&value.to_value(), &conversion.from, width)
}

/// The text of a column's value that is not text, as expressions and ALTER TABLE see it.
pub fn shown_text(value: &Value, ty: &SqlType) -> String {
    text_within(value, ty, DOUBLE_COLUMN_WIDTH)
}

/// A DOUBLE's text within `double_width`, if its type does not fix the digits after the point; a FLOAT's likewise.
fn text_within(value: &Value, ty: &SqlType, double_width: usize) -> String {
    let text = value.display_text(ty);
    let width = match ty.kind {
        TypeKind::Float => FLOAT_WIDTH,
        TypeKind::Double => double_width,
        _ => return text,
    };
    if ty.decimals != SqlType::NOT_FIXED || text.len() <= width || !matches!(value, Value::Double(_)) {
        return text;
    }
    narrow_double(&text, width).unwrap_or(text)
}

/// The text of a FLOAT or DOUBLE within `width`.
fn narrow_double(text: &str, width: usize) -> Option<String> {
    let number: f64 = text.parse().ok()?;
    let mut narrow = Vec::new();
    let fits = write_f64_within(number, width, &mut narrow);
    String::from_utf8(narrow).ok().filter(|_| fits)
}

/// The error for a value whose characters do not exist in the target character set. 1267 for a constant:
/// literals are refused at binding, this is for parameters.
fn does_not_fit(text: &str, conversion: &Conversion<'_>) -> Error {
    let from = conversion.from.collation.charset();
    if !matches!(conversion.input, Expr::Param { .. }) {
        let bytes = charset::encode(text, from);
        return cannot_convert(&bytes, from, conversion.to.collation.charset());
    }
    Error::new(
        errno::ER_CANT_AGGREGATE_2COLLATIONS,
        format!(
            "Illegal mix of collations ({},IMPLICIT) and ({},COERCIBLE) for operation '='",
            conversion.to.collation.name(),
            conversion.from.collation.name()
        ),
    )
}

/// 3854.
pub(crate) fn cannot_convert(bytes: &[u8], from: Charset, to: Charset) -> Error {
    Error::new(
        errno::ER_CANNOT_CONVERT_STRING,
        cannot_convert_message(bytes, from, to),
    )
}

/// The message shows the first six bytes.
pub fn cannot_convert_message(bytes: &[u8], from: Charset, to: Charset) -> String {
    let shown = shown_bytes(bytes.get(..6).unwrap_or(bytes));
    let more = if bytes.len() > 6 { "..." } else { "" };
    format!(
        "Cannot convert string '{shown}{more}' from {} to {}",
        from.name(),
        to.name()
    )
}

/// Bytes that are not text in a character set: NULL, or in ASCII text with `?`. Warning 1300, in writes, too.
pub(crate) fn invalid(bytes: &[u8], target: Charset, ctx: &EvalContext) -> Result<Option<String>> {
    let bytes = &target.whole_characters(bytes);
    ctx.warn(errno::ER_INVALID_CHARACTER_STRING, target.invalid_message(bytes))?;
    let ascii = |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { '?' };
    Ok((target == Charset::Ascii).then(|| bytes.iter().map(ascii).collect()))
}
