//! From a plan's ranges of an index to the ranges of keys that an access path reads.
//!
//! Not here: the bytes of a key (`schema::layout`), reading ([`crate::operator::scan`]). If an index holds a
//! prefix of a column, ranges are wider than the values, and the scan's filter drops the other rows.

use functions::{EvalContext, eval_row};
use kv::KeyRange;
use planner::plan::{Range, RangeValue, evaluate};
use schema::layout::{KeyParts, Width};
use types::{Error, Result, Value};

/// The keys of `ranges`: in order and disjoint, so that a key is read once even if several ranges have it.
/// `row`: the values of the columns that the ranges name, if they name any.
pub(crate) fn of_keys(
    parts: &KeyParts,
    ranges: &[Range],
    row: &[Value],
    eval: &EvalContext,
) -> Result<Vec<KeyRange>> {
    if let [
        Range {
            prefix,
            lower: None,
            upper: None,
        },
    ] = ranges
    {
        return match prefix.as_slice() {
            [RangeValue::Words(..)] => evaluated(parts, ranges, row, eval),
            prefix => of_equal_parts(parts, prefix, row, eval),
        };
    }
    evaluated(parts, ranges, row, eval)
}

fn evaluated(parts: &KeyParts, ranges: &[Range], row: &[Value], eval: &EvalContext) -> Result<Vec<KeyRange>> {
    let ranges = evaluate(ranges, row, eval)?;
    let keys = ranges
        .iter()
        .map(|range| parts.range(range, eval.time_zone).map(KeyRange::from));
    keys.collect::<Result<Vec<_>>>().map(disjoint)
}

/// One range, all of whose bounds are equalities, as a lookup join has for each row.
fn of_equal_parts(
    parts: &KeyParts,
    prefix: &[RangeValue],
    row: &[Value],
    eval: &EvalContext,
) -> Result<Vec<KeyRange>> {
    let mut start = parts.begin(prefix.len());
    for (part, value) in prefix.iter().enumerate() {
        let value = match value {
            RangeValue::IsNull => Value::Null,
            RangeValue::NullSafe(expr) | RangeValue::Equal(expr) => eval_row(expr, row, eval)?,
            RangeValue::Words(..) => return Err(Error::internal("words are one part of several of a key")),
        };
        if value.is_null()
            && (parts.is_never_null() || matches!(prefix.get(part), Some(RangeValue::Equal(_))))
        {
            return Ok(Vec::new());
        }
        parts.append(part, &value, Width::Stored, eval.time_zone, &mut start)?;
    }
    let end = codec::prefix_next(&start);
    Ok(vec![KeyRange { start, end }])
}

/// Sorts ranges by key, drops empty ones and merges overlapping ones.
fn disjoint(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    let mut out: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.end.is_empty() => {}
            Some(last) if range.start <= last.end => {
                if range.end.is_empty() || range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => out.push(range),
        }
    }
    out
}

/// Whether one of `ranges`, which are disjoint and in key order, has `key`.
pub(crate) fn contain(ranges: &[KeyRange], key: &[u8]) -> bool {
    let after = ranges.partition_point(|range| range.start.as_slice() <= key);
    match after.checked_sub(1).and_then(|i| ranges.get(i)) {
        Some(range) => range.contains(key),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use functions::Expr;
    use planner::plan::{RangeBound, RangeBoundValue, RangeValue};
    use types::SqlType;

    use super::*;

    fn r(start: &str, end: &str) -> KeyRange {
        KeyRange::new(start, end)
    }

    #[test]
    fn overlapping_ranges_become_one() {
        let ranges = vec![
            r("m", "p"),
            r("a", "c"),
            r("b", "d"),
            r("d", "e"),
            r("x", "x"),
            r("n", "o"),
        ];
        assert_eq!(disjoint(ranges), vec![r("a", "e"), r("m", "p")]);
        assert_eq!(
            disjoint(vec![r("c", "d"), r("b", ""), r("a", "b")]),
            vec![r("a", "")]
        );
    }

    #[test]
    fn a_key_is_found_among_many_ranges() {
        let ranges = disjoint(vec![r("b", "c"), r("e", "f"), r("h", "")]);
        for (key, inside) in [
            ("a", false),
            ("b", true),
            ("bz", true),
            ("c", false),
            ("e", true),
            ("z", true),
        ] {
            assert_eq!(contain(&ranges, key.as_bytes()), inside, "{key}");
        }
    }

    #[test]
    fn null_makes_comparisons_empty_and_nothing_else() {
        let eval = EvalContext::default();
        let null = || Expr::literal(Value::Null, SqlType::BIGINT);
        let one = || Expr::literal(Value::Int(1), SqlType::BIGINT);
        let bound = |expr| {
            Some(RangeBound {
                value: RangeBoundValue::Value(expr),
                inclusive: true,
            })
        };
        let range = |prefix, lower, upper| Range { prefix, lower, upper };
        let empty = [
            range(vec![RangeValue::Equal(null())], None, None),
            range(vec![], bound(null()), None),
            range(vec![], bound(one()), bound(null())),
        ];
        assert!(evaluate(&empty, &[], &eval).unwrap().is_empty());
        let full = [
            range(
                vec![RangeValue::NullSafe(null()), RangeValue::IsNull],
                None,
                bound(one()),
            ),
            range(vec![], bound(one()), None),
        ];
        let values = evaluate(&full, &[], &eval).unwrap();
        assert_eq!(values[0].prefix, [Value::Null, Value::Null]);
        assert_eq!(values[0].upper.as_ref().unwrap().value, Value::Int(1));
        assert_eq!(values[1].lower.as_ref().unwrap().value, Value::Int(1));
    }
}
