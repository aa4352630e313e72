//! ABS, SIGN, CEILING, FLOOR, ROUND, TRUNCATE. Exact numbers round half away from zero, doubles to the even
//! neighbour.

use types::{Decimal, Result, SqlType, TypeKind, Value};

use crate::bind::arguments::{digits, double_with_decimals};
use crate::datum::Datum;
#[cfg(test)]
use crate::datum::{to_decimal, to_double};
use crate::eval::fold;
use crate::expr::{Binding, Call, FunctionDef};
use crate::registry::{Alias, Family, function};
use crate::{EvalContext, Expr};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "ceil",
        of: "ceiling",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("abs", 1, 1, resolve_abs, abs),
    function("sign", 1, 1, resolve_sign, sign).infallible(),
    function("ceiling", 1, 1, resolve_whole, |c, a| {
        whole(c, a, f64::ceil, Decimal::ceil)
    }),
    function("floor", 1, 1, resolve_whole, |c, a| {
        whole(c, a, f64::floor, Decimal::floor)
    }),
    function("round", 1, 2, |b| resolve_round(b, 1), |c, a| round(c, a, false)),
    function(
        "truncate",
        2,
        2,
        |b| resolve_round(b, 0),
        |c, a| round(c, a, true),
    ),
];

fn bigint(unsigned: bool) -> SqlType {
    SqlType {
        unsigned,
        length: 21,
        ..SqlType::BIGINT
    }
}

fn is_double(ty: &SqlType) -> bool {
    ty.is_float() || ty.kind == TypeKind::Null
}

fn resolve_abs(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.number_or_double(0);
    let ty = binding.ty(0);
    if is_double(&ty) {
        let decimals = if ty.is_float() { ty.decimals } else { 0 };
        return Ok(double_with_decimals(decimals));
    }
    if ty.is_decimal() {
        return Ok(ty);
    }
    Ok(SqlType {
        kind: TypeKind::BigInt,
        ..ty
    })
}

fn abs(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::Int(v)) => Value::Int(v.checked_abs().ok_or_else(|| call.out_of_range("BIGINT"))?),
        Some(Datum::Double(v)) => Value::Double(v.abs()),
        Some(Datum::Decimal(d)) => Value::Decimal(d.abs()),
        Some(other) => other.to_value(),
        None => Value::Null,
    })
}

fn resolve_sign(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.number(0);
    Ok(bigint(false))
}

fn sign(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::Int(match args.first() {
        Some(Datum::Int(v)) => v.signum(),
        Some(Datum::UInt(v)) => i64::from(*v > 0),
        Some(Datum::Decimal(d)) if d.is_zero() => 0,
        Some(Datum::Decimal(d)) => {
            if d.is_negative() {
                -1
            } else {
                1
            }
        }
        Some(Datum::Double(v)) => i64::from(*v > 0.0) - i64::from(*v < 0.0),
        _ => return Ok(Value::Null),
    }))
}

/// A decimal of up to this many digits becomes a BIGINT. A point counts as one of them.
const BIGINT_SAFE_DIGITS: u32 = 18;

fn resolve_whole(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.number_or_double(0);
    let ty = binding.ty(0);
    if is_double(&ty) {
        return Ok(SqlType::COMPUTED_DOUBLE);
    }
    if !ty.is_decimal() {
        return Ok(bigint(ty.unsigned));
    }
    let (digits, scale) = binding.args.first().map_or((1, 0), digits);
    // Rounding may add a digit.
    let digits = digits + u32::from(scale > 0);
    Ok(if digits <= BIGINT_SAFE_DIGITS {
        bigint(false)
    } else {
        SqlType::decimal(digits.min(65), 0)
    })
}

fn whole(
    call: &Call<'_>,
    args: &[Datum<'_>],
    doubles: fn(f64) -> f64,
    decimals: fn(&Decimal) -> Option<Decimal>,
) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::Double(v)) => Value::Double(doubles(*v)),
        Some(Datum::Decimal(d)) => {
            let rounded = decimals(d).ok_or_else(|| call.out_of_range("DECIMAL"))?;
            if call.ty.is_decimal() {
                Value::Decimal(rounded)
            } else {
                Value::Int(rounded.to_i64().ok_or_else(|| call.out_of_range("BIGINT"))?)
            }
        }
        Some(integer) => integer.to_value(),
        None => Value::Null,
    })
}

/// `extra`: digits that rounding may add before the point.
fn resolve_round(binding: &mut Binding<'_>, extra: u32) -> Result<SqlType> {
    binding.number_or_double(0);
    binding.integer_if_given(1);
    let ty = binding.ty(0);
    if is_double(&ty) {
        return Ok(SqlType::COMPUTED_DOUBLE);
    }
    if !ty.is_decimal() {
        return Ok(bigint(ty.unsigned));
    }
    let places = binding.args.get(1);
    let places = match places.map(|places| fold(places.clone(), &EvalContext::default())) {
        None => Some(0),
        Some(Expr::Literal {
            value: Value::Null, ..
        }) => Some(0),
        Some(Expr::Literal { value, .. }) => Some(value.as_i64().unwrap_or(i64::MAX)),
        // If the number of places is not constant, the type stays the same.
        Some(_) => None,
    };
    let Some(places) = places.filter(|p| *p < i64::from(ty.decimals)) else {
        return Ok(ty);
    };
    let scale = places.max(0) as u8;
    let whole = ty.length.saturating_sub(u32::from(ty.decimals));
    Ok(SqlType::decimal(
        (whole + u32::from(scale) + extra).clamp(1, 65),
        scale,
    ))
}

fn round(call: &Call<'_>, args: &[Datum<'_>], truncate: bool) -> Result<Value> {
    let Some(number) = args.first() else {
        return Ok(Value::Null);
    };
    let places = match args.get(1) {
        // More places than any number has, in either direction.
        Some(Datum::UInt(v)) => i64::try_from(*v).unwrap_or(i64::MAX).min(1000),
        Some(places) => places.int().clamp(-1000, 1000),
        None => 0,
    } as i32;
    Ok(match number {
        Datum::Double(v) => Value::Double(round_double(*v, places, truncate)),
        Datum::Decimal(d) => {
            // Hidden digits are not used: ROUND(4 / 3, 7) is 1.3333.
            let places = places.min(i32::from(call.ty.decimals));
            let rounded = if truncate {
                Some(d.truncate(places))
            } else {
                d.round(places)
            };
            Value::Decimal(rounded.ok_or_else(|| call.out_of_range("DECIMAL"))?)
        }
        Datum::Int(v) if places < 0 => {
            let magnitude = round_integer(v.unsigned_abs(), places, truncate);
            let signed = magnitude.map(|m| if *v < 0 { -i128::from(m) } else { i128::from(m) });
            let fitted = signed.and_then(|s| i64::try_from(s).ok());
            Value::Int(fitted.ok_or_else(|| call.out_of_range("BIGINT"))?)
        }
        Datum::UInt(v) if places < 0 => {
            let rounded = round_integer(*v, places, truncate);
            Value::UInt(rounded.ok_or_else(|| call.out_of_range("BIGINT UNSIGNED"))?)
        }
        whole => whole.to_value(),
    })
}

/// `None` if the rounded number has more than 64 bits.
fn round_integer(value: u64, places: i32, truncate: bool) -> Option<u64> {
    let Some(unit) = 10u64.checked_pow(places.unsigned_abs()) else {
        return Some(0);
    };
    let rest = value % unit;
    let cut = value - rest;
    if truncate || rest < unit / 2 {
        Some(cut)
    } else {
        cut.checked_add(unit)
    }
}

/// Rounds `value` to `places` digits after the point, or to zeros before it if negative. Halves go to even.
pub(crate) fn round_double(value: f64, places: i32, truncate: bool) -> f64 {
    let unit = power_of_ten(places.unsigned_abs());
    let (scaled, back): (f64, fn(f64, f64) -> f64) = if places < 0 {
        if unit.is_infinite() {
            return 0.0;
        }
        (value / unit, |v, u| v * u)
    } else {
        // The number has no digits that far after the point, or the product is not a number (zero times
        // infinity).
        if !(value * unit).is_finite() {
            return value;
        }
        (value * unit, |v, u| v / u)
    };
    let whole = if truncate {
        scaled.trunc()
    } else {
        scaled.round_ties_even()
    };
    // Dividing again may overflow, which MySQL prints as 0.
    let rounded = back(whole, unit);
    if rounded.is_finite() { rounded } else { 0.0 }
}

/// The double nearest to a power of ten. Repeated multiplication is exact only up to 10^22.
fn power_of_ten(exponent: u32) -> f64 {
    match exponent {
        0..=22 => 10f64.powi(exponent as i32),
        _ => format!("1e{exponent}").parse().unwrap_or(f64::INFINITY),
    }
}

/// The value and type that the tests compare: an exact number as DECIMAL, any other as DOUBLE.
#[cfg(test)]
fn shown(datum: &Datum<'_>) -> String {
    match datum {
        Datum::Double(_) => to_double(datum).to_string(),
        exact => to_decimal(exact).to_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_to_even() {
        let round = |v: f64, p: i32| shown(&Datum::Double(round_double(v, p, false)));
        assert_eq!(round(2.5, 0), "2");
        assert_eq!(round(3.5, 0), "4");
        assert_eq!(round(1.45, 1), "1.4");
        assert_eq!(round(5.0, -1), "0");
        assert_eq!(round(1e20, 400), "100000000000000000000");
        assert_eq!(round(0.0, 400), "0");
        assert_eq!(shown(&Datum::Double(round_double(-1.99, 1, true))), "-1.9");
    }

    #[test]
    fn integers_round_before_the_point() {
        assert_eq!(round_integer(15, -1, false), Some(20));
        assert_eq!(round_integer(25, -1, false), Some(30));
        assert_eq!(round_integer(123, -2, true), Some(100));
        assert_eq!(round_integer(15, -5, false), Some(0));
        assert_eq!(round_integer(u64::MAX, -1, false), None);
        assert_eq!(round_integer(u64::MAX, -30, false), Some(0));
    }
}
