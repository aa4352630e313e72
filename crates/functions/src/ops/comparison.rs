//! `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=` of values that [`crate::bind::compare`] has made comparable.

use std::cmp::Ordering;

use types::{Result, Value};

use crate::bind::compare::resolve;
use crate::compare::compare;
use crate::datum::Datum;
use crate::expr::{Call, FunctionDef, Nullability};
use crate::registry::{Alias, Family, function};

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
        .takes_json()
        .sees_null()
        .nullability(Nullability::Never)
        .infallible(),
];

const fn comparison(name: &'static str, eval: crate::expr::ScalarFn) -> FunctionDef {
    function(name, 2, 2, resolve, eval)
        .takes_json()
        .infallible()
        .vector(super::comparison_vector::compare)
}

fn check(call: &Call<'_>, args: &[Datum<'_>], holds: fn(Ordering) -> bool) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let ordering = compare(a, b, &call.arg_type(0), &call.arg_type(1));
    Ok(crate::truth::value_of(ordering.map(holds)))
}

fn null_safe_equal(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let equal = match compare(a, b, &call.arg_type(0), &call.arg_type(1)) {
        Some(ordering) => ordering.is_eq(),
        None => a.is_null() && b.is_null(),
    };
    Ok(Value::Int(i64::from(equal)))
}
