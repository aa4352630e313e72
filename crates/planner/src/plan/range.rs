//! Ranges with their values at run time.

use functions::full_text::{Key, keys_of};
use functions::{EvalContext, eval_row};
use schema::layout::{ValueBound, ValueRange};
use types::collation::like_range;
use types::{Error, Result, SqlType, Value};

use super::{Range, RangeBound, RangeBoundValue, RangeValue};

/// Evaluates ranges. Those that are empty because of a NULL are left out. `row`: the values of the columns
/// that they name, if they name any.
///
/// # Errors
/// Those of the expressions.
pub fn evaluate(ranges: &[Range], row: &[Value], eval: &EvalContext) -> Result<Vec<ValueRange>> {
    let mut evaluated = Vec::with_capacity(ranges.len());
    for range in ranges {
        match range.prefix.as_slice() {
            [RangeValue::Words(keys, ty)] => match eval_row(keys, row, eval)? {
                Value::Json(keys) => {
                    evaluated.extend(keys_of(keys.root()).into_iter().map(|key| of_key(key, ty)));
                }
                Value::String(prefix) => evaluated.push(of_key(Key::Prefix(&prefix), ty)),
                _ => {}
            },
            _ => evaluated.extend(evaluate_one(range, row, eval)?),
        }
    }
    Ok(evaluated)
}

/// The words that have a key.
fn of_key(key: Key<'_>, ty: &SqlType) -> ValueRange {
    match key {
        Key::Word(word) => ValueRange {
            prefix: vec![Value::from(word)],
            lower: None,
            upper: None,
        },
        Key::Prefix(prefix) => {
            let (low, high) = like_range(ty.collation, prefix, ty.length as usize);
            let bound = |text| {
                Some(ValueBound {
                    value: Value::String(text),
                    inclusive: true,
                })
            };
            ValueRange {
                prefix: Vec::new(),
                lower: bound(low),
                upper: bound(high),
            }
        }
    }
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
            RangeValue::Words(..) => return Err(Error::internal("words are one part of several of a key")),
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

#[cfg(test)]
mod tests {
    use functions::Expr;
    use types::Collation;
    use types::json::JsonBinary;

    use super::*;

    #[test]
    fn words_are_a_range_for_each_key() {
        let ty = SqlType::varchar(84, Collation::DEFAULT);
        let words = |value, of| Range {
            prefix: vec![RangeValue::Words(Expr::literal(value, of), ty)],
            lower: None,
            upper: None,
        };
        let evaluated =
            |value, of| evaluate(&[words(value, of)], &[], &EvalContext::default()).expect("a literal");
        let document = JsonBinary::parse(br#"[{"word": "apple"}, {"prefix": "ban"}]"#).expect("a document");
        let ranges = evaluated(Value::Json(document), SqlType::JSON);
        let [word, prefix] = ranges.as_slice() else {
            panic!("{ranges:?}");
        };
        assert_eq!(word.prefix, [Value::from("apple")]);
        assert!(prefix.prefix.is_empty() && prefix.lower.is_some() && prefix.upper.is_some());
        assert_eq!(evaluated(Value::from("ban"), ty).len(), 1);
        assert!(evaluated(Value::Null, SqlType::JSON).is_empty());
    }
}
