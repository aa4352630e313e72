//! Parts of strings and their edges: SUBSTRING, LEFT, RIGHT, TRIM, LPAD, RPAD, INSERT.

use types::{Result, SqlType, Value};

use super::{byte_length, count_of, length, literal_count, literal_integer, slice, too_large, value_of};
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Alias, Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[
        Alias {
            name: "substr",
            of: "substring",
        },
        Alias {
            name: "mid",
            of: "substring",
        },
        Alias {
            name: "trim both",
            of: "trim",
        },
    ],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("substring", 2, 3, resolve_substring, substring).infallible(),
    function("left", 2, 2, resolve_left, left).infallible(),
    function("right", 2, 2, resolve_left, right).infallible(),
    function("trim", 1, 2, resolve_trim, |c, a| trim(c, a, true, true)).infallible(),
    function("trim leading", 1, 2, resolve_trim, |c, a| trim(c, a, true, false)).infallible(),
    function("trim trailing", 1, 2, resolve_trim, |c, a| {
        trim(c, a, false, true)
    })
    .infallible(),
    function("ltrim", 1, 1, resolve_trim, |c, a| trim(c, a, true, false)).infallible(),
    function("rtrim", 1, 1, resolve_trim, |c, a| trim(c, a, false, true)).infallible(),
    function("lpad", 3, 3, resolve_pad, |c, a| pad(c, a, true)).nullability(Nullability::Always),
    function("rpad", 3, 3, resolve_pad, |c, a| pad(c, a, false)).nullability(Nullability::Always),
    function("insert", 4, 4, resolve_insert, insert),
];

fn resolve_substring(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.integer(1);
    binding.integer_if_given(2);
    let mut length = binding.total_length(0..1);
    if let Some(Expr::Literal { value, .. }) = binding.args.get(1) {
        length = match value.as_i64() {
            Some(0) => 0,
            Some(start @ 1..) => length.saturating_sub(u32::try_from(start - 1).unwrap_or(u32::MAX)),
            Some(from_end) => {
                let rest = u32::try_from(from_end.unsigned_abs()).unwrap_or(u32::MAX);
                if rest > length { 0 } else { rest }
            }
            None => length,
        };
    }
    if binding.args.len() > 2 {
        length = length.min(literal_count(binding, 2).unwrap_or(u32::MAX));
    }
    Ok(binding.text_result(length, binding.ty(0).collation))
}

/// Positions count from 1, or from the end if negative. Position 0 does not exist.
fn substring(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, position, rest @ ..] = args else {
        return Ok(Value::Null);
    };
    let count = rest.first().map_or(usize::MAX, count_of);
    let position = position.int();
    let start = match position {
        0 => None,
        1.. => usize::try_from(position - 1).ok(),
        _ => length(text).checked_sub(usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let found = start.map_or(&b""[..], |start| slice(text, start, count));
    Ok(value_of(&call.ty, found.to_vec()))
}

fn resolve_left(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.integer(1);
    let length = binding
        .total_length(0..1)
        .min(literal_count(binding, 1).unwrap_or(u32::MAX));
    Ok(binding.text_result(length, binding.ty(0).collation))
}

fn left(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, count] = args else {
        return Ok(Value::Null);
    };
    Ok(value_of(&call.ty, slice(text, 0, count_of(count)).to_vec()))
}

fn right(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, count] = args else {
        return Ok(Value::Null);
    };
    let count = count_of(count);
    let start = length(text).saturating_sub(count);
    Ok(value_of(&call.ty, slice(text, start, count).to_vec()))
}

fn resolve_trim(binding: &mut Binding<'_>) -> Result<SqlType> {
    let collation = binding.texts_like(0, 1..binding.args.len())?;
    Ok(binding.text_result(binding.total_length(0..1), collation))
}

fn trim(call: &Call<'_>, args: &[Datum<'_>], leading: bool, trailing: bool) -> Result<Value> {
    let Some(text) = args.first() else {
        return Ok(Value::Null);
    };
    let remove = args.get(1).map_or(&b" "[..], |d| d.bytes());
    let mut rest = text.bytes();
    if !remove.is_empty() {
        while leading && let Some(shorter) = rest.strip_prefix(remove) {
            rest = shorter;
        }
        while trailing && let Some(shorter) = rest.strip_suffix(remove) {
            rest = shorter;
        }
    }
    Ok(value_of(&call.ty, rest.to_vec()))
}

fn resolve_pad(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(1);
    let collation = binding.texts_like(0, 2..3)?;
    // MySQL takes a negative length for a very large one here.
    let is_negative = binding
        .args
        .get(1)
        .and_then(literal_integer)
        .is_some_and(|count| count < 0);
    let length = literal_count(binding, 1).filter(|_| !is_negative);
    Ok(match length {
        Some(length) => binding.text_result(length, collation),
        None => binding.text_of_any_length(collation),
    })
}

fn pad(call: &Call<'_>, args: &[Datum<'_>], left: bool) -> Result<Value> {
    let [text, wanted, padding] = args else {
        return Ok(Value::Null);
    };
    let wanted = wanted.int();
    if wanted < 0 {
        return Ok(Value::Null);
    }
    let wanted = wanted as usize;
    if wanted > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    let have = length(text);
    if wanted <= have {
        return Ok(value_of(&call.ty, slice(text, 0, wanted).to_vec()));
    }
    let unit = length(padding);
    if unit == 0 {
        return Ok(value_of(&call.ty, Vec::new()));
    }
    let missing = wanted - have;
    // Each character that is missing may need as many bytes as the longest.
    let width = call.ty.collation.charset().max_bytes_per_char() as usize;
    if missing.saturating_mul(width).saturating_add(text.bytes().len()) > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    let mut fill = padding.bytes().repeat(missing / unit);
    fill.extend_from_slice(slice(padding, 0, missing % unit));
    let mut out = Vec::with_capacity(fill.len() + text.bytes().len());
    if left {
        out.extend_from_slice(&fill);
        out.extend_from_slice(text.bytes());
    } else {
        out.extend_from_slice(text.bytes());
        out.extend_from_slice(&fill);
    }
    if out.len() > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    Ok(value_of(&call.ty, out))
}

fn resolve_insert(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(1);
    binding.integer(2);
    let collation = binding.texts_like(0, 3..4)?;
    let length = binding
        .total_length(0..1)
        .saturating_add(binding.total_length(3..4));
    Ok(binding.text_result(length, collation))
}

/// `INSERT(text, position, count, new)`: a position outside the text leaves it unchanged. As in MySQL, the
/// position directly after the last character is outside only if characters are bytes.
fn insert(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, position, count, new] = args else {
        return Ok(Value::Null);
    };
    let total = length(text);
    let position = position.int();
    let start = usize::try_from(position.saturating_sub(1))
        .ok()
        .filter(|p| position > 0 && *p <= total && *p < byte_length(text, &call.ty));
    let Some(start) = start else {
        return Ok(value_of(&call.ty, text.bytes().to_vec()));
    };
    let count = usize::try_from(count.int())
        .unwrap_or(usize::MAX)
        .min(total - start);
    let mut out = slice(text, 0, start).to_vec();
    out.extend_from_slice(new.bytes());
    out.extend_from_slice(slice(text, start + count, usize::MAX));
    if out.len() > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    Ok(value_of(&call.ty, out))
}
