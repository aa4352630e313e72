//! Roots, powers, logarithms and trigonometry: DOUBLE in, DOUBLE out.

use types::{Result, SqlType, Value, errno};

use crate::datum::Datum;
use crate::datum::to_double;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Alias, Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "power",
        of: "pow",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    one("sqrt", |c, a| partial(c, a, |x| (x >= 0.0).then(|| x.sqrt()))),
    one("exp", |c, a| total(c, a, f64::exp)),
    one("sin", |c, a| total(c, a, f64::sin)),
    one("cos", |c, a| total(c, a, f64::cos)),
    one("tan", |c, a| total(c, a, f64::tan)),
    one("cot", |c, a| total(c, a, |x| 1.0 / x.tan())),
    one("asin", |c, a| {
        partial(c, a, |x| (-1.0..=1.0).contains(&x).then(|| x.asin()))
    }),
    one("acos", |c, a| {
        partial(c, a, |x| (-1.0..=1.0).contains(&x).then(|| x.acos()))
    }),
    one("degrees", |c, a| {
        total(c, a, |x| x * (180.0 / std::f64::consts::PI))
    })
    .nullability(Nullability::AnyArgument),
    one("radians", |c, a| total(c, a, f64::to_radians)).nullability(Nullability::AnyArgument),
    one("ln", |c, a| logarithm(c, a, f64::ln)),
    one("log2", |c, a| logarithm(c, a, f64::log2)),
    one("log10", |c, a| logarithm(c, a, f64::log10)),
    function("log", 1, 2, resolve, log).nullability(Nullability::Always),
    function("atan", 1, 2, resolve, atan).nullability(Nullability::Always),
    function("atan2", 1, 2, resolve, atan).nullability(Nullability::Always),
    function("pow", 2, 2, resolve, pow).nullability(Nullability::Always),
    function("pi", 0, 0, resolve_pi, |_, _| {
        Ok(Value::Double(std::f64::consts::PI))
    })
    .nullability(Nullability::Never)
    .infallible(),
];

const fn one(name: &'static str, eval: crate::expr::ScalarFn) -> FunctionDef {
    function(name, 1, 1, resolve, eval).nullability(Nullability::Always)
}

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    for i in 0..binding.args.len() {
        binding.double(i);
    }
    Ok(SqlType::COMPUTED_DOUBLE)
}

/// PI() prints six digits, although its value has all of them.
fn resolve_pi(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType {
        length: 8,
        decimals: 6,
        ..SqlType::DOUBLE
    })
}

fn first(args: &[Datum<'_>]) -> f64 {
    args.first().map_or(0.0, to_double)
}

/// The number, or error 1690 if it is not finite.
fn finite(call: &Call<'_>, value: f64) -> Result<Value> {
    if value.is_finite() {
        Ok(Value::Double(value))
    } else {
        Err(call.out_of_range("DOUBLE"))
    }
}

fn total(call: &Call<'_>, args: &[Datum<'_>], compute: fn(f64) -> f64) -> Result<Value> {
    finite(call, compute(first(args)))
}

/// NULL where the function is not defined.
fn partial(call: &Call<'_>, args: &[Datum<'_>], compute: fn(f64) -> Option<f64>) -> Result<Value> {
    match compute(first(args)) {
        Some(value) => finite(call, value),
        None => Ok(Value::Null),
    }
}

/// Warning 3020, an error in strict DML.
fn invalid_logarithm(call: &Call<'_>) -> Result<Value> {
    call.ctx.conversion_lost(
        errno::ER_INVALID_ARGUMENT_FOR_LOGARITHM,
        "Invalid argument for logarithm",
    )?;
    Ok(Value::Null)
}

fn logarithm(call: &Call<'_>, args: &[Datum<'_>], compute: fn(f64) -> f64) -> Result<Value> {
    let x = first(args);
    if x <= 0.0 {
        invalid_logarithm(call)
    } else {
        finite(call, compute(x))
    }
}

/// `LOG(x)`, `LOG(base, x)`.
fn log(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [base, x] = args else {
        return logarithm(call, args, f64::ln);
    };
    let (base, x) = (to_double(base), to_double(x));
    if base <= 0.0 || base == 1.0 || x <= 0.0 {
        return invalid_logarithm(call);
    }
    finite(call, x.ln() / base.ln())
}

fn atan(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    match args {
        [y, x] => finite(call, to_double(y).atan2(to_double(x))),
        _ => total(call, args, f64::atan),
    }
}

fn pow(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [base, exponent] = args else {
        return Ok(Value::Null);
    };
    finite(call, to_double(base).powf(to_double(exponent)))
}
