//! Strings as codes and codes as strings: HEX, ASCII, CHAR, base 64, QUOTE.

use types::{Charset, Collation, Error, Result, SqlType, Value, base64, errno};

use super::{slice, value_of};
use crate::Expr;
use crate::bind::arguments::{bytes_of, hex_as_number};
use crate::cast::text::invalid;
use crate::charset;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, MANY, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("hex", 1, 1, resolve_hex, hex),
    function("unhex", 1, 1, resolve_unhex, unhex).nullability(Nullability::Always),
    function("ascii", 1, 1, resolve_code, ascii).infallible(),
    function("ord", 1, 1, resolve_code, ord).infallible(),
    function("char", 2, MANY, resolve_char, char_of)
        .sees_null()
        .nullability(Nullability::Always),
    function("to_base64", 1, 1, resolve_to_base64, to_base64),
    function("from_base64", 1, 1, resolve_from_base64, from_base64).nullability(Nullability::Always),
    function("quote", 1, 1, resolve_quote, quote)
        .sees_null()
        .nullability(Nullability::Always)
        .infallible(),
];

fn resolve_hex(binding: &mut Binding<'_>) -> Result<SqlType> {
    let ty = binding.ty(0);
    let length = if ty.is_numeric() {
        if !ty.is_integer() {
            binding.integer(0);
        }
        16
    } else {
        binding.text(0);
        bytes_of(binding.total_length(0..1), &ty).saturating_mul(2)
    };
    Ok(binding.text_result(length, binding.env.collation))
}

/// The bytes of a text in its own character set.
pub(super) fn encoded<'a>(call: &Call<'_>, datum: &Datum<'a>) -> std::borrow::Cow<'a, [u8]> {
    match datum {
        Datum::String(text) => charset::encode(text, call.arg_type(0).collation.charset()),
        other => other.bytes().into(),
    }
}

pub(crate) fn hex_digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(*b)]).collect()
}

fn hex(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::String(match args.first() {
        Some(Datum::Int(v)) => format!("{v:X}"),
        Some(Datum::UInt(v)) => format!("{v:X}"),
        Some(text) => hex_digits(&encoded(call, text)),
        None => return Ok(Value::Null),
    }))
}

fn resolve_unhex(binding: &mut Binding<'_>) -> Result<SqlType> {
    let written = binding.ty(0);
    binding.text(0);
    let bytes = bytes_of(binding.total_length(0..1), &written);
    Ok(binding.text_result(bytes.div_ceil(2), Collation::Binary))
}

fn unhex(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(text) = args.first() else {
        return Ok(Value::Null);
    };
    match decode_hex(text.bytes()) {
        Some(bytes) => Ok(Value::Bytes(bytes)),
        None => {
            wrong_argument(call, "string")?;
            Ok(Value::Null)
        }
    }
}

/// Warning 1411, with the first argument as it is written. `kind` is what the function takes.
pub(crate) fn wrong_argument(call: &Call<'_>, kind: &str) -> Result<()> {
    call.ctx.conversion_lost(
        errno::ER_WRONG_VALUE_FOR_TYPE,
        format!(
            "Incorrect {kind} value: '{}' for function {}",
            call.argument_text(0),
            call.def.name
        ),
    )
}

/// If the number of digits is odd, a zero is put before them.
pub(super) fn decode_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    let (first, pairs) = text.split_at(text.len() % 2);
    let mut out = Vec::with_capacity(text.len().div_ceil(2));
    if let Some(odd) = first.first() {
        out.push(digit(odd)?);
    }
    for pair in pairs.chunks_exact(2) {
        let [high, low] = pair else { return None };
        out.push(digit(high)? << 4 | digit(low)?);
    }
    Some(out)
}

fn resolve_code(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    let length = if binding.name == "ascii" { 3 } else { 21 };
    Ok(SqlType {
        length,
        ..SqlType::BIGINT
    })
}

fn ascii(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let first = args.first().map_or(&b""[..], |d| slice(d, 0, 1));
    let byte = match args.first() {
        Some(Datum::String(_)) => {
            let text = std::str::from_utf8(first).unwrap_or_default();
            charset::encode(text, call.arg_type(0).collation.charset())
                .first()
                .copied()
        }
        _ => first.first().copied(),
    };
    Ok(Value::Int(byte.map_or(0, i64::from)))
}

/// The bytes of the first character as one number.
fn ord(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let first = args.first().map_or(&b""[..], |d| slice(d, 0, 1));
    let text = std::str::from_utf8(first).unwrap_or_default();
    let bytes = match args.first() {
        Some(Datum::String(_)) => charset::encode(text, call.arg_type(0).collation.charset()),
        _ => first.into(),
    };
    Ok(Value::Int(
        bytes.iter().fold(0, |code, b| code << 8 | i64::from(*b)),
    ))
}

/// `CHAR(n, ... USING charset)`. The last argument is the name of the character set, by default `binary`.
fn resolve_char(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = binding.keyword(binding.args.len().saturating_sub(1))?.to_owned();
    binding.args.pop();
    let charset = Charset::from_name(&name).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        )
    })?;
    let collation = charset.default_collation();
    for arg in &mut binding.args {
        let expr = std::mem::replace(arg, Expr::null());
        *arg = hex_as_number(expr, &SqlType::BIGINT);
    }
    for i in 0..binding.args.len() {
        binding.integer(i);
    }
    let length = (binding.args.len() as u32).saturating_mul(4);
    Ok(binding.text_result(length, collation))
}

fn char_of(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let mut bytes = Vec::with_capacity(args.len());
    // Each number becomes as many characters as it needs.
    let least = call.ty.collation.charset().min_bytes_per_char();
    for arg in args.iter().filter(|a| !a.is_null()) {
        let code = match arg {
            Datum::Int(v) => *v as u32,
            Datum::UInt(v) => *v as u32,
            _ => 0,
        };
        let all = code.to_be_bytes();
        let skip = all.iter().take(3).take_while(|b| **b == 0).count();
        let length = (all.len() - skip).next_multiple_of(least);
        bytes.extend(all.iter().skip(all.len() - length));
    }
    if call.ty.is_binary() {
        return Ok(Value::Bytes(bytes));
    }
    let charset = call.ty.collation.charset();
    match charset::decode(&bytes, charset) {
        Some(text) => Ok(Value::String(text)),
        None => Ok(invalid(&bytes, charset, call.ctx)?.map_or(Value::Null, Value::String)),
    }
}

fn resolve_to_base64(binding: &mut Binding<'_>) -> Result<SqlType> {
    let ty = binding.ty(0);
    binding.text(0);
    let bytes = bytes_of(binding.total_length(0..1), &ty);
    let encoded = bytes.div_ceil(3).saturating_mul(4);
    Ok(binding.text_result(encoded.saturating_add(encoded / 76), binding.env.collation))
}

/// The result has lines of 76 characters.
fn to_base64(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let encoded = base64::encode_lines(&encoded(call, datum));
    if encoded.len() > call.ctx.max_allowed_packet {
        return super::too_large(call);
    }
    Ok(Value::String(encoded))
}

fn resolve_from_base64(binding: &mut Binding<'_>) -> Result<SqlType> {
    let written = binding.ty(0);
    binding.text(0);
    let length = bytes_of(binding.total_length(0..1), &written).saturating_mul(3) / 4;
    Ok(binding.text_result(length, Collation::Binary))
}

fn from_base64(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let decoded = args.first().and_then(|d| base64::decode(d.bytes()));
    Ok(decoded.map_or(Value::Null, Value::Bytes))
}

fn resolve_quote(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    let length = binding.total_length(0..1).saturating_mul(2).saturating_add(2);
    let ty = binding.ty(0);
    let collation = if ty.is_string() {
        ty.collation
    } else {
        binding.env.collation
    };
    Ok(binding.text_result(length, collation))
}

fn quote(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first().filter(|d| !d.is_null()) else {
        return Ok(value_of(&call.ty, b"NULL".to_vec()));
    };
    let mut out = vec![b'\''];
    for byte in datum.bytes() {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0 => out.extend_from_slice(b"\\0"),
            0x1a => out.extend_from_slice(b"\\Z"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    Ok(value_of(&call.ty, out))
}
