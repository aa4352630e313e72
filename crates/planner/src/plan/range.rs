//! Ranges with their values at run time.

use functions::{EvalContext, eval_row};
use schema::layout::{ValueBound, ValueRange};
use types::{Result, Value};

use super::{Range, RangeBound, RangeBoundValue, RangeValue};

/// Evaluates ranges. Those that are empty because of a NULL are left out. `row`: the values of the columns
/// that they name, if they name any.
///
/// # Errors
/// Those of the expressions.
pub fn evaluate(ranges: &[Range], row: &[Value], eval: &EvalContext) -> Result<Vec<ValueRange>> {
    ranges
        .iter()
        .filter_map(|range| evaluate_one(range, row, eval).transpose())
        .collect()
}

fn evaluate_one(range: &Range, row: &[Value], eval: &EvalContext) -> Result<Option<ValueRange>> {
    let mut prefix = Vec::with_capacity(range.prefix.len());
    for value in &range.prefix {
        match value {
            RangeValue::IsNull => prefix.push(Value::Null),
            RangeValue::NullSafe(expr) => prefix.push(eval_row(expr, row, eval)?),
            RangeValue::Equal(expr) => match eval_row(expr, row, eval)? {
                Value::Null => return Ok(None),
                value => prefix.push(value),
            },
        }
    }
    let (Some(lower), Some(upper)) = (
        evaluate_end(range.lower.as_ref(), row, eval)?,
        evaluate_end(range.upper.as_ref(), row, eval)?,
    ) else {
        return Ok(None);
    };
    Ok(Some(ValueRange { prefix, lower, upper }))
}

/// The outer `None`: the range is empty, since the bound is NULL at run time.
fn evaluate_end(
    bound: Option<&RangeBound>,
    row: &[Value],
    eval: &EvalContext,
) -> Result<Option<Option<ValueBound>>> {
    let Some(bound) = bound else {
        return Ok(Some(None));
    };
    let value = match &bound.value {
        RangeBoundValue::Null => Value::Null,
        RangeBoundValue::Value(expr) => match eval_row(expr, row, eval)? {
            Value::Null => return Ok(None),
            value => value,
        },
    };
    Ok(Some(Some(ValueBound {
        value,
        inclusive: bound.inclusive,
    })))
}
