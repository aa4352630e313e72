//! AND, OR, XOR, NOT and the IS operators: three-valued logic.

use types::{Result, SqlType, Value};

use crate::bind::compare::resolve_logic;
use crate::datum::{Cell, Datum};
use crate::eval::row::evaluate;
use crate::expr::{Call, FunctionDef, Nullability};
use crate::input::{ColumnarValue, Row};
use crate::registry::{Alias, Family, MANY, function, lazy};
use crate::truth::{truth, value_of};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[
        Alias {
            name: "&&",
            of: "and",
        },
        Alias { name: "||", of: "or" },
        Alias { name: "!", of: "not" },
        Alias {
            name: "is_null",
            of: "is null",
        },
        Alias {
            name: "isnull",
            of: "is null",
        },
        Alias {
            name: "is_not_null",
            of: "is not null",
        },
        Alias {
            name: "is_true",
            of: "is true",
        },
        Alias {
            name: "is_not_true",
            of: "is not true",
        },
        Alias {
            name: "is_false",
            of: "is false",
        },
        Alias {
            name: "is_not_false",
            of: "is not false",
        },
        Alias {
            name: "is unknown",
            of: "is null",
        },
        Alias {
            name: "is not unknown",
            of: "is not null",
        },
        Alias {
            name: "is_unknown",
            of: "is null",
        },
        Alias {
            name: "is_not_unknown",
            of: "is not null",
        },
    ],
};

static FUNCTIONS: &[FunctionDef] = &[
    lazy("and", 1, MANY, resolve_logic, and),
    lazy("or", 1, MANY, resolve_logic, or),
    function("xor", 2, 2, resolve_logic, xor).infallible(),
    function("not", 1, 1, resolve_logic, not)
        .infallible()
        .vector(not_vector),
    // `planner` replaces it by a comparison once the table's keys are resolved.
    function(
        "grouping",
        1,
        MANY,
        |_| Ok(SqlType::BIGINT),
        |_, _| Ok(Value::Null),
    )
    .sees_null()
    .nullability(Nullability::Always),
    test("is null"),
    test("is not null"),
    test("is true"),
    test("is not true"),
    test("is false"),
    test("is not false"),
];

fn and<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let mut result = Some(true);
    for arg in call.args {
        match truth(&evaluate(arg, row, call.ctx)?.datum()) {
            Some(false) => return Ok(Value::Int(0).into()),
            Some(true) => {}
            None => result = None,
        }
    }
    Ok(value_of(result).into())
}

pub(super) fn or<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let mut result = Some(false);
    for arg in call.args {
        match truth(&evaluate(arg, row, call.ctx)?.datum()) {
            Some(true) => return Ok(Value::Int(1).into()),
            Some(false) => {}
            None => result = None,
        }
    }
    Ok(value_of(result).into())
}

fn xor(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    Ok(value_of(truth(a).zip(truth(b)).map(|(a, b)| a != b)))
}

fn not(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(value_of(args.first().and_then(truth).map(|t| !t)))
}

fn not_vector(_: &Call<'_>, args: &[ColumnarValue], _rows: usize) -> Result<Option<ColumnarValue>> {
    let [ColumnarValue::Array(array)] = args else {
        return Ok(None);
    };
    let truths = crate::eval::truths::truths(array)?;
    let negated = arrow::compute::not(&truths).map_err(crate::eval::truths::types_error)?;
    Ok(Some(ColumnarValue::Array(std::sync::Arc::new(negated))))
}

/// One of the IS operators. `is null` takes any value as it is; the truth tests take conditions.
const fn test(name: &'static str) -> FunctionDef {
    let resolve = match name.as_bytes() {
        [.., b'n', b'u', b'l', b'l'] => crate::bind::compare::resolve_converted,
        _ => resolve_logic,
    };
    function(name, 1, 1, resolve, is)
        .sees_null()
        .nullability(Nullability::Never)
        .infallible()
        .vector(is_vector)
}

fn is(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let datum = args.first().copied().unwrap_or(Datum::Null);
    Ok(value_of(Some(holds(call.def.name, &datum))))
}

fn holds(name: &str, datum: &Datum<'_>) -> bool {
    match name {
        "is null" => datum.is_null(),
        "is not null" => !datum.is_null(),
        "is true" => truth(datum) == Some(true),
        "is not true" => truth(datum) != Some(true),
        "is false" => truth(datum) == Some(false),
        _ => truth(datum) != Some(false),
    }
}

fn is_vector(call: &Call<'_>, args: &[ColumnarValue], _rows: usize) -> Result<Option<ColumnarValue>> {
    let [ColumnarValue::Array(array)] = args else {
        return Ok(None);
    };
    let found = match call.def.name {
        "is null" if *array.data_type() != arrow::datatypes::DataType::Null => {
            arrow::compute::is_null(array.as_ref())
        }
        "is not null" if *array.data_type() != arrow::datatypes::DataType::Null => {
            arrow::compute::is_not_null(array.as_ref())
        }
        _ => return Ok(None),
    };
    let found = found.map_err(crate::eval::truths::types_error)?;
    Ok(Some(ColumnarValue::Array(std::sync::Arc::new(found))))
}
