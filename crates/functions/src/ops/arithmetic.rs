//! `+ - * / DIV %` and the unary minus.
//!
//! Source: manual 12.6.1 "Arithmetic Operators", 12.25.3 "Expression Handling", and MySQL 8.0.33's answers.

use types::{Decimal, Result, SqlType, TypeKind, Value, errno};

use super::arithmetic_vector;
use crate::Expr;
use crate::bind::arguments::{digits, double_with_decimals};
use crate::context::Strictness;
use crate::datum::Datum;
use crate::datum::{to_decimal, to_double};
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::quotient::quotient;
use crate::registry::{Alias, Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[
        Alias { name: "mod", of: "%" },
        Alias {
            name: "neg",
            of: "unary -",
        },
    ],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("+", 2, 2, resolve_sum, |c, a| {
        exact(c, a, |x, y| x.checked_add(y), Decimal::add, |x, y| x + y)
    })
    .vector(arithmetic_vector::evaluate),
    function("-", 2, 2, resolve_sum, |c, a| {
        exact(c, a, |x, y| x.checked_sub(y), Decimal::sub, |x, y| x - y)
    })
    .vector(arithmetic_vector::evaluate),
    function("*", 2, 2, resolve_product, |c, a| {
        exact(c, a, |x, y| x.checked_mul(y), Decimal::mul, |x, y| x * y)
    })
    .vector(arithmetic_vector::evaluate),
    function("/", 2, 2, resolve_quotient, divide)
        .vector(arithmetic_vector::evaluate)
        .nullability(Nullability::Always),
    function("div", 2, 2, resolve_integer_quotient, divide_integer).nullability(Nullability::Always),
    function("%", 2, 2, resolve_remainder, remainder).nullability(Nullability::Always),
    function("unary -", 1, 1, resolve_negation, negate),
    function(
        "unary +",
        1,
        1,
        |b| Ok(b.ty(0)),
        |_, a| Ok(a.first().map_or(Value::Null, |d| d.to_value())),
    )
    .infallible(),
];

fn numbers(binding: &mut Binding<'_>) -> (SqlType, SqlType) {
    binding.number(0);
    binding.number(1);
    (binding.ty(0), binding.ty(1))
}

/// The most digits that MySQL announces of an integer, though a BIGINT has fewer.
const DIGITS_MAX: u32 = 65;

/// The most digits of the result of DIV.
const QUOTIENT_DIGITS_MAX: u32 = 21;

/// An integer of so many digits, and a sign.
fn integer(digits: u32, unsigned: bool) -> SqlType {
    SqlType {
        unsigned,
        length: digits.min(DIGITS_MAX) + u32::from(!unsigned),
        ..SqlType::BIGINT
    }
}

/// The digits of an operand that is an integer: none of one whose only character would be a sign.
fn integer_digits(expr: &Expr) -> u32 {
    match expr {
        Expr::Literal { .. } => digits(expr).0,
        expr => {
            let ty = expr.ty();
            ty.length.saturating_sub(u32::from(!ty.unsigned))
        }
    }
}

/// The digits of the longer of two integers.
fn longer(binding: &Binding<'_>) -> u32 {
    binding.args.iter().map(integer_digits).max().unwrap_or_default()
}

/// Of two unsigned numbers it is unsigned, too.
fn decimal(whole: u32, scale: u32, unsigned: bool) -> SqlType {
    let scale = scale.min(u32::from(Decimal::MAX_SCALE));
    SqlType {
        unsigned,
        ..SqlType::decimal((whole + scale).clamp(1, 65), scale as u8)
    }
}

/// A double with as many digits as its operands, if these are fixed: `PI() * 2` prints six.
fn double(a: &SqlType, b: &SqlType) -> SqlType {
    double_with_decimals(a.decimals.max(b.decimals))
}

/// Floating point, and NULL, which MySQL types as DOUBLE.
fn inexact(ty: &SqlType) -> bool {
    ty.is_float() || ty.kind == TypeKind::Null
}

fn resolve_sum(binding: &mut Binding<'_>) -> Result<SqlType> {
    let (a, b) = numbers(binding);
    if inexact(&a) || inexact(&b) {
        return Ok(double(&a, &b));
    }
    let signed = binding.name == "-" && binding.env.sql_mode.no_unsigned_subtraction;
    if a.is_decimal() || b.is_decimal() {
        let ((wa, sa), (wb, sb)) = both_digits(binding);
        let unsigned = !signed && a.unsigned && b.unsigned;
        return Ok(decimal(wa.max(wb) + 1, u32::from(sa.max(sb)), unsigned));
    }
    let unsigned = !signed && (a.unsigned || b.unsigned);
    Ok(integer(longer(binding) + 1, unsigned))
}

fn resolve_product(binding: &mut Binding<'_>) -> Result<SqlType> {
    let (a, b) = numbers(binding);
    if inexact(&a) || inexact(&b) {
        return Ok(double(&a, &b));
    }
    if a.is_decimal() || b.is_decimal() {
        let ((wa, sa), (wb, sb)) = both_digits(binding);
        return Ok(decimal(
            wa + wb,
            u32::from(sa) + u32::from(sb),
            a.unsigned && b.unsigned,
        ));
    }
    let ((wa, _), (wb, _)) = both_digits(binding);
    let unsigned = a.unsigned || b.unsigned;
    Ok(integer(wa + wb, unsigned))
}

fn resolve_quotient(binding: &mut Binding<'_>) -> Result<SqlType> {
    let (a, b) = numbers(binding);
    if inexact(&a) || inexact(&b) {
        let ty = double(&a, &b);
        let decimals = ty.decimals + binding.env.div_precision_increment;
        return Ok(SqlType {
            decimals: decimals.min(SqlType::COMPUTED_DOUBLE.decimals),
            ..ty
        });
    }
    let ((wa, sa), (_, sb)) = both_digits(binding);
    let increment = u32::from(binding.env.div_precision_increment);
    let scale = (u32::from(sa) + increment).min(u32::from(Decimal::MAX_SCALE));
    let precision = (wa + u32::from(sa) + u32::from(sb) + increment).clamp(scale.max(1), 65);
    Ok(SqlType {
        unsigned: a.unsigned && b.unsigned,
        ..SqlType::decimal(precision, scale as u8)
    })
}

fn resolve_integer_quotient(binding: &mut Binding<'_>) -> Result<SqlType> {
    let (written, divisor) = (binding.ty(0), binding.ty(1));
    for i in 0..2 {
        // DIV reads text as a DECIMAL.
        if binding.ty(i).is_string() {
            binding.cast(i, SqlType::decimal(65, Decimal::MAX_SCALE));
        }
    }
    let (a, b) = numbers(binding);
    let whole = match written.is_string() {
        true => written.length.saturating_sub(fraction_of_divisor(&written)),
        false => binding.args.first().map_or((20, 0), digits).0,
    };
    let digits = whole.saturating_add(fraction_of_divisor(&divisor));
    Ok(integer(digits.min(QUOTIENT_DIGITS_MAX), a.unsigned || b.unsigned))
}

/// The digits after the point that a divisor may have: so much longer is the quotient.
fn fraction_of_divisor(ty: &SqlType) -> u32 {
    if ty.is_float() {
        return QUOTIENT_DIGITS_MAX;
    }
    match ty.is_string() {
        true => ty.length.min(u32::from(Decimal::MAX_SCALE)),
        false => u32::from(ty.decimals),
    }
}

fn resolve_remainder(binding: &mut Binding<'_>) -> Result<SqlType> {
    let (a, b) = numbers(binding);
    if inexact(&a) || inexact(&b) {
        return Ok(double(&a, &b));
    }
    if a.is_decimal() || b.is_decimal() {
        let ((wa, sa), (wb, sb)) = both_digits(binding);
        let (sa, sb) = (u32::from(sa), u32::from(sb));
        // The remainder has no more whole digits than either operand.
        let (precision, scale) = ((wa + sa).max(wb + sb), sa.max(sb));
        return Ok(decimal(
            precision.saturating_sub(scale),
            scale,
            a.unsigned && b.unsigned,
        ));
    }
    // A place for a sign is counted for unsigned numbers, too.
    Ok(SqlType {
        unsigned: a.unsigned,
        ..integer(longer(binding), false)
    })
}

fn resolve_negation(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.number_or_double(0);
    let ty = binding.ty(0);
    if inexact(&ty) {
        return Ok(double(&ty, &ty));
    }
    if ty.is_decimal() {
        return Ok(SqlType {
            unsigned: false,
            ..ty
        });
    }
    // The negation of a literal that is out of BIGINT's range is a DECIMAL.
    let literal = match binding.args.first() {
        Some(Expr::Literal { value, .. }) => match value {
            Value::UInt(v) => *v > 1 << 63,
            Value::Int(v) => *v == i64::MIN,
            _ => false,
        },
        _ => false,
    };
    Ok(if literal {
        SqlType::decimal(20, 0)
    } else {
        // One digit more than MySQL counts, for the negative of the least integer.
        integer(ty.length.min(NEGATED_DIGITS_MAX), false)
    })
}

/// The most digits of a negated integer.
const NEGATED_DIGITS_MAX: u32 = 20;

fn both_digits(binding: &Binding<'_>) -> ((u32, u8), (u32, u8)) {
    let of = |i: usize| binding.args.get(i).map_or((1, 0), digits);
    (of(0), of(1))
}

/// An integer of 64 bits of either sign.
fn wide(datum: &Datum<'_>) -> i128 {
    match datum {
        Datum::Int(v) => i128::from(*v),
        Datum::UInt(v) => i128::from(*v),
        Datum::Decimal(d) => d.to_i128().unwrap_or(0),
        _ => 0,
    }
}

/// The integer as the call's type, or error 1690.
fn fit(call: &Call<'_>, value: Option<i128>) -> Result<Value> {
    if call.ty.unsigned {
        match value.and_then(|v| u64::try_from(v).ok()) {
            Some(v) => Ok(Value::UInt(v)),
            None => Err(call.out_of_range("BIGINT UNSIGNED")),
        }
    } else {
        match value.and_then(|v| i64::try_from(v).ok()) {
            Some(v) => Ok(Value::Int(v)),
            None => Err(call.out_of_range("BIGINT")),
        }
    }
}

fn fit_double(call: &Call<'_>, value: f64) -> Result<Value> {
    if value.is_finite() {
        Ok(Value::Double(value))
    } else {
        Err(call.out_of_range("DOUBLE"))
    }
}

fn exact(
    call: &Call<'_>,
    args: &[Datum<'_>],
    integers: fn(i128, i128) -> Option<i128>,
    decimals: fn(&Decimal, &Decimal) -> Option<Decimal>,
    doubles: fn(f64, f64) -> f64,
) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    match call.ty.kind {
        TypeKind::Double => fit_double(call, doubles(to_double(a), to_double(b))),
        TypeKind::Decimal => match decimals(&to_decimal(a), &to_decimal(b)) {
            Some(d) if call.ty.unsigned && d.is_negative() => Err(call.out_of_range("DECIMAL UNSIGNED")),
            Some(d) => Ok(Value::Decimal(d)),
            None => Err(call.out_of_range("DECIMAL")),
        },
        _ => fit(call, integers(wide(a), wide(b))),
    }
}

/// NULL, with warning 1365: an error in strict DML.
pub(crate) fn division_by_zero(call: &Call<'_>) -> Result<Value> {
    if call.ctx.sql_mode.error_for_division_by_zero {
        let message = "Division by 0";
        match call.ctx.strictness {
            Strictness::Error => return Err(types::Error::new(errno::ER_DIVISION_BY_ZERO, message)),
            Strictness::Warn | Strictness::Ignore => call.ctx.warn(errno::ER_DIVISION_BY_ZERO, message)?,
        }
    }
    Ok(Value::Null)
}
fn divide(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    if call.ty.kind == TypeKind::Double {
        let divisor = to_double(b);
        if divisor == 0.0 {
            return division_by_zero(call);
        }
        return fit_double(call, to_double(a) / divisor);
    }
    let (a, b) = (to_decimal(a), to_decimal(b));
    if b.is_zero() {
        return division_by_zero(call);
    }
    match quotient(&a, &b, call.ctx.div_precision_increment) {
        Some(d) => Ok(Value::Decimal(d)),
        None => Err(call.out_of_range("DECIMAL")),
    }
}

/// A number as a DECIMAL. If it is too large, the largest one with its sign, and warning 1292, which shows its
/// digits.
fn clamped_decimal(call: &Call<'_>, datum: &Datum<'_>) -> Result<Decimal> {
    let number = match datum {
        Datum::Double(number) if number.abs() >= 1e65 => *number,
        datum => return Ok(to_decimal(datum)),
    };
    let text = format!("{number:e}");
    let digits = text.split('e').next().unwrap_or_default();
    call.ctx.conversion_lost(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!("Truncated incorrect DECIMAL value: '{digits}'"),
    )?;
    let max = Decimal::max_value(Decimal::MAX_DIGITS, 0);
    Ok(if number < 0.0 { max.neg() } else { max })
}

fn divide_integer(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let whole = |d: &Datum<'_>| matches!(d, Datum::Int(_) | Datum::UInt(_));
    if whole(a) && whole(b) {
        return match wide(b) {
            0 => division_by_zero(call),
            divisor => fit(call, Some(wide(a) / divisor)),
        };
    }
    let (a, b) = (clamped_decimal(call, a)?, clamped_decimal(call, b)?);
    if b.is_zero() {
        return division_by_zero(call);
    }
    fit(call, a.div_integer(&b).and_then(|d| d.to_i128()))
}

fn remainder(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    match call.ty.kind {
        TypeKind::Double => {
            let divisor = to_double(b);
            if divisor == 0.0 {
                division_by_zero(call)
            } else {
                Ok(Value::Double(to_double(a) % divisor))
            }
        }
        TypeKind::Decimal => {
            let (a, b) = (to_decimal(a), to_decimal(b));
            if b.is_zero() {
                return division_by_zero(call);
            }
            match a.rem(&b) {
                Some(d) => Ok(Value::Decimal(d)),
                None => Err(call.out_of_range("DECIMAL")),
            }
        }
        _ => match wide(b) {
            0 => division_by_zero(call),
            divisor => fit(call, Some(wide(a) % divisor)),
        },
    }
}

fn negate(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(a) = args.first() else {
        return Ok(Value::Null);
    };
    match call.ty.kind {
        TypeKind::Double => Ok(Value::Double(-to_double(a))),
        TypeKind::Decimal => Ok(Value::Decimal(to_decimal(a).neg())),
        _ => fit(call, wide(a).checked_neg()),
    }
}
