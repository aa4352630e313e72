//! CONCAT, CONCAT_WS, lengths, case, REPEAT, SPACE, REVERSE.

use types::{Charset, Result, SqlType, Value};

use super::letter_case::{Case, in_case};
use super::{count_of, length, literal_count, too_large, value_of};
use crate::bind::arguments::longest_text;
use crate::charset::encoded_len;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Alias, Family, MANY, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[
        Alias {
            name: "octet_length",
            of: "length",
        },
        Alias {
            name: "character_length",
            of: "char_length",
        },
        Alias {
            name: "lcase",
            of: "lower",
        },
        Alias {
            name: "ucase",
            of: "upper",
        },
    ],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("concat", 1, MANY, resolve_concat, concat),
    function("concat_ws", 2, MANY, resolve_concat_ws, concat_ws)
        .sees_null()
        .nullability(Nullability::Always),
    function("length", 1, 1, resolve_length, |c, a| {
        Ok(Value::Int(bytes_of(c, a) as i64))
    })
    .infallible(),
    function("bit_length", 1, 1, resolve_length, |c, a| {
        Ok(Value::Int(bytes_of(c, a) as i64 * 8))
    })
    .infallible(),
    function("char_length", 1, 1, resolve_length, |_, a| {
        Ok(Value::Int(a.first().map_or(0, length) as i64))
    })
    .infallible(),
    function("lower", 1, 1, resolve_same, |c, a| change_case(c, a, Case::Lower)).infallible(),
    function("upper", 1, 1, resolve_same, |c, a| change_case(c, a, Case::Upper)).infallible(),
    function("reverse", 1, 1, resolve_same, reverse).infallible(),
    function("repeat", 2, 2, resolve_repeat, repeat).nullability(Nullability::Always),
    function("space", 1, 1, resolve_space, space).nullability(Nullability::Always),
];

fn resolve_concat(binding: &mut Binding<'_>) -> Result<SqlType> {
    let all = 0..binding.args.len();
    let collation = binding.texts(all.clone())?;
    Ok(binding.text_result(binding.total_length(all), collation))
}

fn resolve_concat_ws(binding: &mut Binding<'_>) -> Result<SqlType> {
    let count = binding.args.len();
    let collation = binding.texts(0..count)?;
    let separators = binding
        .total_length(0..1)
        .saturating_mul(count.saturating_sub(2) as u32);
    let length = binding.total_length(1..count).saturating_add(separators);
    Ok(binding.text_result(length, collation))
}

fn resolve_length(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType {
        length: 10,
        ..SqlType::BIGINT
    })
}

pub(super) fn resolve_same(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    let ty = binding.ty(0);
    Ok(binding.text_result(binding.total_length(0..1), ty.collation))
}

fn concat(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let total: usize = args.iter().map(|a| a.bytes().len()).sum();
    if total > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    let mut out = Vec::with_capacity(total);
    args.iter().for_each(|a| out.extend_from_slice(a.bytes()));
    Ok(value_of(&call.ty, out))
}

fn concat_ws(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((separator, parts)) = args.split_first().filter(|(s, _)| !s.is_null()) else {
        return Ok(Value::Null);
    };
    let mut out = Vec::new();
    for (i, part) in parts.iter().filter(|p| !p.is_null()).enumerate() {
        if i > 0 {
            out.extend_from_slice(separator.bytes());
        }
        out.extend_from_slice(part.bytes());
        if out.len() > call.ctx.max_allowed_packet {
            return too_large(call);
        }
    }
    Ok(value_of(&call.ty, out))
}

/// Bytes in the argument's own character set.
fn bytes_of(call: &Call<'_>, args: &[Datum<'_>]) -> usize {
    match args.first() {
        Some(Datum::String(text)) => {
            let charset = call.arg_type(0).collation.charset();
            encoded_len(
                text,
                if charset == Charset::Binary {
                    Charset::Utf8mb4
                } else {
                    charset
                },
            )
        }
        Some(other) => other.bytes().len(),
        None => 0,
    }
}

fn change_case(call: &Call<'_>, args: &[Datum<'_>], case: Case) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::String(text)) => Value::String(in_case(text, call.ty.collation, case)),
        // Binary data has no letters.
        Some(other) => value_of(&call.ty, other.bytes().to_vec()),
        None => Value::Null,
    })
}

fn reverse(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::String(text)) => Value::String(text.chars().rev().collect()),
        Some(other) => value_of(&call.ty, other.bytes().iter().rev().copied().collect()),
        None => Value::Null,
    })
}

fn resolve_repeat(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.integer(1);
    let collation = binding.ty(0).collation;
    let Some(times) = literal_count(binding, 1) else {
        return Ok(binding.text_of_any_length(collation));
    };
    let length = binding.total_length(0..1).saturating_mul(times);
    Ok(binding.text_result(length.min(longest_text(collation)), collation))
}

fn repeat(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, times] = args else {
        return Ok(Value::Null);
    };
    let times = count_of(times);
    match text.bytes().len().checked_mul(times) {
        Some(total) if total <= call.ctx.max_allowed_packet => {
            Ok(value_of(&call.ty, text.bytes().repeat(times)))
        }
        _ => too_large(call),
    }
}

fn resolve_space(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    let collation = binding.env.collation;
    Ok(match literal_count(binding, 0) {
        Some(count) => binding.text_result(count.min(longest_text(collation)), collation),
        None => binding.text_of_any_length(collation),
    })
}

fn space(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let count = args.first().map_or(0, count_of);
    if count > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    Ok(value_of(&call.ty, vec![b' '; count]))
}
