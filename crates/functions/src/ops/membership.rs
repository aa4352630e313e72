//! IN and BETWEEN, of values that [`crate::bind::compare`] has made comparable.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use types::{Collation, Result, Value};

use super::comparison::compare;
use super::comparison_vector;
use super::logic::value_of;
use crate::bind::compare::resolve_converted;
use crate::datum::{Cell, Datum};
use crate::eval::row::evaluate;
use crate::eval::{Call, ColumnarValue, Row};
use crate::registry::{Family, FunctionDef, MANY, function, lazy};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    lazy("in", 2, MANY, resolve_converted, is_in).vector(is_in_vector),
    function("between", 3, 3, resolve_converted, between)
        .sees_null()
        .infallible()
        .vector(between_vector),
];

/// Items after the first that is equal are not evaluated.
fn is_in<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let Some((needle, list)) = call.args.split_first() else {
        return Ok(Cell::NULL);
    };
    let ty = needle.ty();
    let needle = evaluate(needle, row, call.ctx)?;
    if needle.is_null() {
        return Ok(Cell::NULL);
    }
    let mut unknown = false;
    for item in list {
        let value = evaluate(item, row, call.ctx)?;
        match compare(&needle.datum(), &value.datum(), &ty, &item.ty()) {
            Some(Ordering::Equal) => return Ok(Value::Int(1).into()),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(value_of(if unknown { None } else { Some(false) }).into())
}

/// A column looked up in a set of constants.
fn is_in_vector(call: &Call<'_>, args: &[ColumnarValue], _rows: usize) -> Result<Option<ColumnarValue>> {
    let Some((ColumnarValue::Array(array), list)) = args.split_first() else {
        return Ok(None);
    };
    let mut constants = Vec::with_capacity(list.len());
    for item in list {
        let ColumnarValue::Scalar(value) = item else {
            return Ok(None);
        };
        constants.push(value);
    }
    let has_null = constants.iter().any(|v| v.is_null());
    let found = match array.data_type() {
        DataType::Int64 => {
            let Some(set) = integers(&constants) else {
                return Ok(None);
            };
            let values = array.as_primitive::<Int64Type>();
            BooleanBuffer::collect_bool(values.len(), |i| set.contains(&i128::from(values.value(i))))
        }
        DataType::UInt64 => {
            let Some(set) = integers(&constants) else {
                return Ok(None);
            };
            let values = array.as_primitive::<UInt64Type>();
            BooleanBuffer::collect_bool(values.len(), |i| set.contains(&i128::from(values.value(i))))
        }
        DataType::Utf8 => {
            let collation = call.arg_type(0).collation;
            let Some(set) = strings(&constants, collation) else {
                return Ok(None);
            };
            let values = array.as_string::<i32>();
            let mut key = Vec::new();
            BooleanBuffer::collect_bool(values.len(), |i| {
                key.clear();
                collation.sort_key(values.value(i).as_bytes(), &mut key);
                set.contains(key.as_slice())
            })
        }
        _ => return Ok(None),
    };
    // Not found among constants of which one is NULL: unknown.
    let nulls = if has_null {
        NullBuffer::union(array.nulls(), Some(&NullBuffer::new(found.clone())))
    } else {
        array.nulls().cloned()
    };
    Ok(Some(ColumnarValue::Array(Arc::new(BooleanArray::new(
        found, nulls,
    )))))
}

/// The integers among the constants; decimals that are none match no integer.
fn integers(constants: &[&Value]) -> Option<HashSet<i128>> {
    let mut set = HashSet::with_capacity(constants.len());
    for value in constants {
        match value {
            Value::Null => {}
            Value::Int(v) => {
                set.insert(i128::from(*v));
            }
            Value::UInt(v) => {
                set.insert(i128::from(*v));
            }
            Value::Decimal(d) => {
                if let Some(whole) = d.floor().filter(|f| f == d).and_then(|f| f.to_i128()) {
                    set.insert(whole);
                }
            }
            _ => return None,
        }
    }
    Some(set)
}

fn strings(constants: &[&Value], collation: Collation) -> Option<HashSet<Vec<u8>>> {
    let mut set = HashSet::with_capacity(constants.len());
    for value in constants {
        match value {
            Value::Null => {}
            Value::String(text) => {
                let mut key = Vec::new();
                collation.sort_key(text.as_bytes(), &mut key);
                set.insert(key);
            }
            _ => return None,
        }
    }
    Some(set)
}

fn between(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [value, low, high] = args else {
        return Ok(Value::Null);
    };
    let ty = call.arg_type(0);
    let above = compare(value, low, &ty, &call.arg_type(1)).map(Ordering::is_ge);
    let below = compare(value, high, &ty, &call.arg_type(2)).map(Ordering::is_le);
    let both = match (above, below) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    Ok(value_of(both))
}

/// Two comparisons at once.
fn between_vector(call: &Call<'_>, args: &[ColumnarValue], rows: usize) -> Result<Option<ColumnarValue>> {
    let [value, low, high] = args else {
        return Ok(None);
    };
    let above = comparison_vector::compare_as(">=", call, [value, low], [0, 1], rows)?;
    let below = comparison_vector::compare_as("<=", call, [value, high], [0, 2], rows)?;
    let (Some(above), Some(below)) = (above, below) else {
        return Ok(None);
    };
    let both = arrow::compute::and_kleene(&above, &below).map_err(crate::eval::branches::types_error)?;
    Ok(Some(ColumnarValue::Array(Arc::new(both))))
}
