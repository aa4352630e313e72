//! `& | ^ ~ << >>` and BIT_COUNT: on 64 unsigned bits, or on binary strings of equal length.
//!
//! Source: manual 12.13 "Bit Functions and Operators".

use types::{Collation, Error, Result, SqlType, TypeKind, Value};

use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("&", 2, 2, resolve_pair, |c, a| combine(c, a, |x, y| x & y)),
    function("|", 2, 2, resolve_pair, |c, a| combine(c, a, |x, y| x | y)),
    function("^", 2, 2, resolve_pair, |c, a| combine(c, a, |x, y| x ^ y)),
    function("~", 1, 1, resolve_first, invert),
    function("<<", 2, 2, resolve_first, |_, a| shift(a, true)),
    function(">>", 2, 2, resolve_first, |_, a| shift(a, false)),
    function("bit_count", 1, 1, resolve_count, count),
];

/// Whether an argument is a binary string. A hexadecimal literal counts as a number, unless the other
/// argument is a binary string.
pub fn is_binary(expr: &Expr) -> bool {
    // The type of a hexadecimal literal is unsigned.
    let ty = expr.ty();
    ty.is_binary() && !(matches!(expr, Expr::Literal { .. }) && ty.unsigned)
}

/// The type that a value which is not an integer is converted to.
pub(crate) fn as_unsigned(from: &SqlType) -> Option<SqlType> {
    if from.is_integer() {
        return None;
    }
    // Text is converted through a double or an integer, depending on its form. MySQL reads it as an integer.
    Some(if from.is_string() {
        SqlType::BIGINT_UNSIGNED
    } else {
        SqlType::BIGINT
    })
}

fn unsigned(binding: &mut Binding<'_>, index: usize) {
    if let Some(target) = as_unsigned(&binding.ty(index)) {
        binding.cast(index, target);
    }
}

fn resolve_pair(binding: &mut Binding<'_>) -> Result<SqlType> {
    let or_null = |arg: &Expr| arg.ty().is_binary() || arg.ty().kind == TypeKind::Null;
    if binding.args.iter().any(is_binary) && binding.args.iter().all(or_null) {
        let length = binding.ty(0).length.max(binding.ty(1).length);
        return Ok(SqlType::varchar(length, Collation::Binary));
    }
    unsigned(binding, 0);
    unsigned(binding, 1);
    Ok(result())
}

fn resolve_first(binding: &mut Binding<'_>) -> Result<SqlType> {
    if binding.args.len() > 1 {
        unsigned(binding, 1);
    }
    if binding.args.first().is_some_and(is_binary) {
        return Ok(binding.ty(0));
    }
    unsigned(binding, 0);
    Ok(result())
}

fn resolve_count(binding: &mut Binding<'_>) -> Result<SqlType> {
    if !binding.args.first().is_some_and(is_binary) {
        unsigned(binding, 0);
    }
    Ok(SqlType {
        length: 21,
        ..SqlType::BIGINT
    })
}

pub(crate) fn result() -> SqlType {
    SqlType {
        length: 21,
        ..SqlType::BIGINT_UNSIGNED
    }
}

pub(crate) fn bits(datum: &Datum<'_>) -> u64 {
    match datum {
        Datum::Int(v) => *v as u64,
        Datum::UInt(v) => *v,
        _ => 0,
    }
}

fn combine(call: &Call<'_>, args: &[Datum<'_>], operation: fn(u64, u64) -> u64) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let (Datum::Bytes(x), Datum::Bytes(y)) = (a, b) else {
        return Ok(Value::UInt(operation(bits(a), bits(b))));
    };
    if x.len() != y.len() {
        let message = "Binary operands of bitwise operators must be of equal length";
        return Err(Error::new(3513, message));
    }
    let _ = call;
    let bytes = x
        .iter()
        .zip(*y)
        .map(|(a, b)| operation(u64::from(*a), u64::from(*b)) as u8);
    Ok(Value::Bytes(bytes.collect()))
}

fn invert(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::Bytes(bytes)) => Value::Bytes(bytes.iter().map(|b| !b).collect()),
        Some(number) => Value::UInt(!bits(number)),
        None => Value::Null,
    })
}

fn shift(args: &[Datum<'_>], left: bool) -> Result<Value> {
    let [value, by] = args else { return Ok(Value::Null) };
    let by = bits(by);
    Ok(match value {
        Datum::Bytes(bytes) => Value::Bytes(shift_bytes(bytes, by, left)),
        number if by > 63 => {
            let _ = number;
            Value::UInt(0)
        }
        number if left => Value::UInt(bits(number) << by),
        number => Value::UInt(bits(number) >> by),
    })
}

fn shift_bytes(bytes: &[u8], by: u64, left: bool) -> Vec<u8> {
    let mut out = vec![0u8; bytes.len()];
    let Some(by) = usize::try_from(by).ok().filter(|by| by / 8 < bytes.len()) else {
        return out;
    };
    let (whole, part) = (by / 8, by % 8);
    let len = bytes.len();
    let byte = |i: Option<usize>| i.and_then(|i| bytes.get(i)).map_or(0, |b| u16::from(*b));
    for (i, slot) in out.iter_mut().enumerate() {
        let both = if left {
            byte(i.checked_add(whole).filter(|i| *i < len)) << 8 | byte(i.checked_add(whole + 1))
        } else {
            byte(i.checked_sub(whole + 1)) << 8 | byte(i.checked_sub(whole))
        };
        *slot = if left {
            (both << part >> 8) as u8
        } else {
            (both >> part) as u8
        };
    }
    out
}

fn count(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::Bytes(bytes)) => Value::Int(bytes.iter().map(|b| i64::from(b.count_ones())).sum()),
        Some(number) => Value::Int(i64::from(bits(number).count_ones())),
        None => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_shift_across_their_borders() {
        assert_eq!(shift_bytes(&[0x12, 0x34], 4, true), [0x23, 0x40]);
        assert_eq!(shift_bytes(&[0x12, 0x34], 4, false), [0x01, 0x23]);
        assert_eq!(shift_bytes(&[0x12, 0x34], 8, true), [0x34, 0x00]);
        assert_eq!(shift_bytes(&[0x12, 0x34], 12, false), [0x00, 0x01]);
        assert_eq!(shift_bytes(&[0x12, 0x34], 16, true), [0, 0]);
        assert_eq!(shift_bytes(&[0x12, 0x34], 0, true), [0x12, 0x34]);
    }
}
