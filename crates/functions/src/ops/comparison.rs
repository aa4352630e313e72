//! `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=` of values that [`crate::bind::compare`] has made comparable.

use std::cmp::Ordering;

use types::{Collation, Decimal, Result, SqlType, TypeKind, Value};

use crate::bind::compare::resolve;
use crate::datum::Datum;
use crate::eval::Call;
use crate::registry::{Alias, Family, FunctionDef, Nullability, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias { name: "!=", of: "<>" }],
};

static FUNCTIONS: &[FunctionDef] = &[
    comparison("=", |c, a| check(c, a, Ordering::is_eq)),
    comparison("<>", |c, a| check(c, a, Ordering::is_ne)),
    comparison("<", |c, a| check(c, a, Ordering::is_lt)),
    comparison("<=", |c, a| check(c, a, Ordering::is_le)),
    comparison(">", |c, a| check(c, a, Ordering::is_gt)),
    comparison(">=", |c, a| check(c, a, Ordering::is_ge)),
    function("<=>", 2, 2, resolve, null_safe_equal)
        .sees_null()
        .nullability(Nullability::Never)
        .infallible(),
];

const fn comparison(name: &'static str, eval: crate::registry::ScalarFn) -> FunctionDef {
    function(name, 2, 2, resolve, eval)
        .infallible()
        .vector(super::comparison_vector::compare)
}

fn check(call: &Call<'_>, args: &[Datum<'_>], holds: fn(Ordering) -> bool) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let ordering = compare(a, b, &call.arg_type(0), &call.arg_type(1));
    Ok(super::logic::value_of(ordering.map(holds)))
}

fn null_safe_equal(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let equal = match compare(a, b, &call.arg_type(0), &call.arg_type(1)) {
        Some(ordering) => ordering.is_eq(),
        None => a.is_null() && b.is_null(),
    };
    Ok(Value::Int(i64::from(equal)))
}

/// Compares two values of types that are comparable as they are; strings under the first one's collation.
/// `None` if one of them is NULL.
pub(crate) fn compare(a: &Datum<'_>, b: &Datum<'_>, ta: &SqlType, tb: &SqlType) -> Option<Ordering> {
    if ta.kind == TypeKind::Json || tb.kind == TypeKind::Json {
        return crate::json::compare(a, ta, b, tb);
    }
    compare_same(a, b, ta.collation)
}

/// Compares two values of one class: numbers, points in time, times, or strings under `collation`.
pub(crate) fn compare_same(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<Ordering> {
    use Datum::*;
    Some(match (a, b) {
        (Null, _) | (_, Null) => return None,
        (Int(a), Int(b)) => a.cmp(b),
        (UInt(a), UInt(b)) => a.cmp(b),
        (Int(a), UInt(b)) => u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b)),
        (UInt(a), Int(b)) => u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b)),
        (Double(a), Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Double(a), b) if is_number(b) => a.partial_cmp(&to_double(b)).unwrap_or(Ordering::Equal),
        (a, Double(b)) if is_number(a) => to_double(a).partial_cmp(b).unwrap_or(Ordering::Equal),
        (Decimal(a), Decimal(b)) => a.cmp(b),
        (Decimal(a), b) if is_number(b) => a.cmp(&to_decimal(b)),
        (a, Decimal(b)) if is_number(a) => to_decimal(a).cmp(b),
        (String(a), String(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        // Binary data, or text that met it; numbers never get here.
        (a, b) => a.bytes().cmp(b.bytes()),
    })
}

fn is_number(datum: &Datum<'_>) -> bool {
    matches!(
        datum,
        Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Decimal(_)
    )
}

/// A number as a double.
pub(crate) fn to_double(datum: &Datum<'_>) -> f64 {
    match datum {
        Datum::Decimal(d) => d.to_f64(),
        other => other.double(),
    }
}

/// An integer or decimal as a decimal.
pub(crate) fn to_decimal(datum: &Datum<'_>) -> Decimal {
    match datum {
        Datum::Int(v) => Decimal::from_i64(*v),
        Datum::UInt(v) => Decimal::from_u64(*v),
        Datum::Decimal(d) => *d,
        Datum::Double(v) => Decimal::from_f64(*v).unwrap_or(Decimal::ZERO),
        _ => Decimal::ZERO,
    }
}
