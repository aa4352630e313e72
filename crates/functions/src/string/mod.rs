//! String functions.
//!
//! - [`basic`]: CONCAT, lengths, case; [`letter_case`]: which letters have another case.
//! - [`parts`]: SUBSTRING, LEFT, TRIM, LPAD, INSERT and others.
//! - [`search`]: LOCATE, REPLACE, FIELD, FIND_IN_SET, SUBSTRING_INDEX, STRCMP.
//! - [`encode`]: HEX, CHAR, ORD, base 64, QUOTE.
//! - [`weight_string`] has WEIGHT_STRING, [`number_weight`] its weights of numbers and times.
//! - [`hash`], [`compress`], [`uuid`], [`network`], [`number`] (FORMAT, SOUNDEX, sets).
//! - [`char_padding`]: CHAR columns under PAD_CHAR_TO_FULL_LENGTH.
//! - [`ill_formed`]: literals whose bytes are not text.
//! - [`collation`]: COLLATE, CONVERT ... USING, BINARY, CHARSET(), COERCIBILITY().
//!
//! A position or length counts characters of text and bytes of binary data. Source: manual 12.8 "String
//! Functions and Operators".

pub(crate) mod aes;
pub(crate) mod basic;
pub(crate) mod block_cipher;
pub(crate) mod char_padding;
pub(crate) mod collation;
pub(crate) mod compress;
pub(crate) mod encode;
pub(crate) mod hash;
pub(crate) mod ill_formed;
mod letter_case;
pub(crate) mod network;
pub(crate) mod number;
mod number_weight;
pub(crate) mod parts;
pub(crate) mod search;
pub(crate) mod uuid;
pub(crate) mod weight_string;

use types::{Result, SqlType, Value};

use crate::Expr;
use crate::cast::number_text::parse_integer;
use crate::datum::Datum;
use crate::expr::Call;

/// The value of a text or binary type from its bytes. For a text type they must be valid UTF-8.
pub(crate) fn value_of(ty: &SqlType, bytes: Vec<u8>) -> Value {
    if ty.is_binary() {
        return Value::Bytes(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(e) => Value::String(String::from_utf8_lossy(e.as_bytes()).into_owned()),
    }
}

/// How many characters (bytes of binary data) a value has.
pub(crate) fn length(datum: &Datum<'_>) -> usize {
    match datum {
        Datum::String(text) if text.is_ascii() => text.len(),
        Datum::String(text) => text.chars().count(),
        other => other.bytes().len(),
    }
}

/// How many bytes a value has in its type's character set.
pub(crate) fn byte_length(datum: &Datum<'_>, ty: &SqlType) -> usize {
    match datum {
        Datum::String(text) => crate::charset::encoded_len(text, ty.collation.charset()),
        other => other.bytes().len(),
    }
}

/// The byte offset of the character at `index`; the length if there are fewer.
pub(crate) fn offset(datum: &Datum<'_>, index: usize) -> usize {
    match datum {
        Datum::String(text) if !text.is_ascii() => {
            text.char_indices().nth(index).map_or(text.len(), |(i, _)| i)
        }
        other => index.min(other.bytes().len()),
    }
}

/// `count` characters from the character `start` (from 0) on.
pub(crate) fn slice<'a>(datum: &Datum<'a>, start: usize, count: usize) -> &'a [u8] {
    let from = offset(datum, start);
    let to = offset(datum, start.saturating_add(count));
    datum.bytes().get(from..to).unwrap_or_default()
}

/// Warning 1301 and NULL, for a result that would not fit a packet. In strict DML an error.
pub(crate) fn too_large(call: &Call<'_>) -> Result<Value> {
    let limit = call.ctx.max_allowed_packet;
    call.ctx.conversion_lost(
        1301,
        format!(
            "Result of {}() was larger than max_allowed_packet ({limit}) - truncated",
            call.def.name
        ),
    )?;
    Ok(Value::Null)
}

/// An integer argument as a count: negative is 0.
pub(crate) fn count_of(datum: &Datum<'_>) -> usize {
    usize::try_from(datum.int().max(0)).unwrap_or(usize::MAX)
}

/// The value of an argument as a count if it is a literal. The result's length can be computed from it.
pub(crate) fn literal_count(call: &crate::expr::Binding<'_>, index: usize) -> Option<u32> {
    let count = literal_integer(call.args.get(index)?)?.max(0);
    Some(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The integer that a literal is converted to.
pub(crate) fn literal_integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Cast { input, ty, .. } if ty.is_integer() => literal_integer(input),
        Expr::Literal { value, .. } => match value {
            Value::Decimal(number) => {
                let beyond = if number.is_negative() { i64::MIN } else { i64::MAX };
                Some(number.round(0).and_then(|whole| whole.to_i64()).unwrap_or(beyond))
            }
            Value::String(text) => Some(parse_integer(text.as_bytes()).bits() as i64),
            value => value.as_i64(),
        },
        _ => None,
    }
}
