//! Numbers in other bases: CONV, BIN, OCT.

use types::{Result, SqlType, TypeKind, Value};

use crate::Expr;
use crate::bind::arguments::hex_as_number;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("conv", 3, 3, resolve, conv).nullability(Nullability::Always),
    function("bin", 1, 1, resolve, |c, a| convert(c, a, 10, 2)).nullability(Nullability::Always),
    function("oct", 1, 1, resolve, |c, a| convert(c, a, 10, 8)).nullability(Nullability::Always),
];

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    // A hexadecimal or bit literal is a number, and so is a BIT. Its digits in base 10 are not read in another base.
    let was_text = binding.ty(0).is_string();
    if let Some(value) = binding.args.first_mut()
        && !matches!(value, Expr::Literal { value: Value::Bytes(bytes), .. } if bytes.is_empty())
    {
        let expr = std::mem::replace(value, Expr::null());
        *value = hex_as_number(expr, &SqlType::BIGINT_UNSIGNED);
    }
    if binding.ty(0).kind == TypeKind::Bit {
        binding.cast(0, SqlType::BIGINT_UNSIGNED);
    } else if !was_text || binding.ty(0).is_string() {
        binding.text(0);
    }
    binding.integer_if_given(1);
    binding.integer_if_given(2);
    Ok(SqlType::varchar(65, binding.env.collation))
}

fn conv(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [_, from, to] = args else {
        return Ok(Value::Null);
    };
    convert(call, args, from.int(), to.int())
}

/// A negative base means signed numbers.
fn convert(call: &Call<'_>, args: &[Datum<'_>], from: i64, to: i64) -> Result<Value> {
    let valid = |base: i64| (2..=36).contains(&base.unsigned_abs());
    if !valid(from) || !valid(to) {
        return Ok(Value::Null);
    }
    let written = |bits: u64| Value::String(write(bits, to.unsigned_abs() as u32, to < 0));
    let text = match args.first() {
        Some(Datum::UInt(bits)) => return Ok(written(*bits)),
        other => other.map_or(&b""[..], |text| text.bytes()),
    };
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let parsed = parse(text, from.unsigned_abs() as u32, from < 0);
    if !parsed.exact {
        let shown = crate::charset::shown(text);
        call.ctx.conversion_lost(
            types::errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect DECIMAL value: '{shown}'"),
        )?;
    }
    Ok(written(parsed.bits))
}

struct Parsed {
    bits: u64,
    /// There was at least one digit, and the number fits into 64 bits.
    exact: bool,
}

fn parse(text: &[u8], base: u32, signed: bool) -> Parsed {
    let rest = text.trim_ascii_start();
    let (negative, rest) = match rest {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let digits = rest.iter().map_while(|b| char::from(*b).to_digit(base));
    let limit = match (signed, negative) {
        (true, true) => 1u64 << 63,
        (true, false) => i64::MAX as u64,
        _ => u64::MAX,
    };
    let (mut value, mut exact, mut any) = (0u64, true, false);
    for digit in digits {
        any = true;
        let next = value
            .checked_mul(u64::from(base))
            .and_then(|v| v.checked_add(u64::from(digit)));
        match next.filter(|v| *v <= limit) {
            Some(next) if exact => value = next,
            _ => {
                value = limit;
                exact = false;
            }
        }
    }
    // An unsigned number that is too large becomes the largest one. If it is negative and decimal it becomes
    // 0, because MySQL reads decimal digits with a separate function.
    let bits = match negative {
        true if exact || signed => value.wrapping_neg(),
        true if base == 10 => 0,
        _ => value,
    };
    Parsed {
        bits,
        exact: exact && any,
    }
}

fn write(bits: u64, base: u32, signed: bool) -> String {
    let negative = signed && (bits as i64) < 0;
    let mut rest = if negative { bits.wrapping_neg() } else { bits };
    let mut digits = Vec::new();
    loop {
        let digit = (rest % u64::from(base)) as u32;
        digits.push(char::from_digit(digit, base).unwrap_or('0').to_ascii_uppercase());
        rest /= u64::from(base);
        if rest == 0 {
            break;
        }
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 answers CONV.
    #[test]
    fn conversions() {
        for (text, from, to, expected) in [
            ("a", 16, 2, "1010"),
            ("6E", 18, 8, "172"),
            ("-17", 10, -18, "-H"),
            ("zz", 36, 10, "1295"),
            ("xyz", 10, 16, "0"),
            ("18446744073709551616", 10, 16, "FFFFFFFFFFFFFFFF"),
            ("-1", 10, 16, "FFFFFFFFFFFFFFFF"),
            ("-29223372036854775809", 10, 16, "0"),
            ("-ffffffffffffffffff", 16, 10, "18446744073709551615"),
            ("-1", 10, -10, "-1"),
            ("12abc", 10, 10, "12"),
            ("7fffffffffffffff", 16, -10, "9223372036854775807"),
            ("ffffffffffffffff", 16, -10, "-1"),
            ("8", 8, 10, "0"),
        ] {
            let parsed = parse(text.as_bytes(), from, false);
            let to: i32 = to;
            assert_eq!(write(parsed.bits, to.unsigned_abs(), to < 0), expected, "{text}");
        }
    }
}
