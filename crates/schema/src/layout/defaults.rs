//! Defaults as values: for INSERT, and for rows that are older than their columns.

use functions::{EvalContext, TimeZone};
use types::{Collation, Error, Result, SqlType, TypeKind, Value};

use super::zone::from_stored;
use crate::model::Column;

/// The value of a default's text ([`crate::model::Default::Literal`], [`Column::original_default`]), a
/// TIMESTAMP in `zone`.
///
/// # Errors
/// 1105 if the text is not of the column's type: it was checked when the column was defined.
pub fn default_value(column: &Column, text: &str, zone: TimeZone) -> Result<Value> {
    Ok(from_stored(stored_default(column, text)?, &column.ty, zone))
}

/// The same with a TIMESTAMP in UTC, as rows have it.
pub(super) fn stored_default(column: &Column, text: &str) -> Result<Value> {
    let ty = &column.ty;
    if ty.is_binary() {
        return binary_default(text).map(Value::Bytes);
    }
    if ty.kind == TypeKind::Bit {
        return bit_default(text).map(Value::UInt);
    }
    if ty.is_string() {
        return Ok(Value::from(text));
    }
    let from = SqlType::varchar(text.len() as u32, Collation::DEFAULT);
    // Its time zone is UTC, as the text's, and its sql_mode refuses nothing that is in the catalog already.
    let context = EvalContext {
        sql_mode: types::SqlMode {
            no_zero_date: false,
            no_zero_in_date: false,
            allow_invalid_dates: true,
            ..types::SqlMode::default()
        },
        ..EvalContext::default()
    };
    functions::assign::value(Value::from(text), &from, ty, &column.name, 1, &context)
        .map_err(|e| Error::internal(format!("default of column '{}': {e}", column.name)))
}

/// What rows without the column have for it, a TIMESTAMP in UTC.
///
/// # Errors
/// As [`default_value`].
pub fn original_default(column: &Column) -> Result<Value> {
    match &column.original_default {
        Some(text) => stored_default(column, text),
        None => Ok(Value::Null),
    }
}

/// `b'101'`.
fn bit_default(text: &str) -> Result<u64> {
    let digits = text
        .strip_prefix("b'")
        .and_then(|digits| digits.strip_suffix('\''));
    digits
        .and_then(|digits| u64::from_str_radix(digits, 2).ok())
        .ok_or_else(|| Error::internal(format!("the default of a BIT is stored as '{text}'")))
}

/// `0x` and hexadecimal digits.
fn binary_default(text: &str) -> Result<Vec<u8>> {
    let malformed = || Error::internal(format!("a binary default is stored as '{text}'"));
    let digits = text.strip_prefix("0x").ok_or_else(malformed)?.as_bytes();
    if digits.len() % 2 != 0 {
        return Err(malformed());
    }
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    digits
        .chunks_exact(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<_>>()
        .ok_or_else(malformed)
}
