//! From ranges of column values to the partitions that may have such rows.
//!
//! The ranges are those of an index on the columns that a level depends on, in the level's order.

use std::collections::BTreeSet;

use functions::{EvalContext, Expr, TimeZone};
use types::temporal::DateTime;
use types::{Result, SqlType, TypeKind, Value};

use super::function::{Level, LevelKind, PartitionFunction, is_no_partition, number, range_of};
use crate::layout::{KeyParts, ValueBound, ValueRange};

/// At most this many values of an integer column are tried one by one, as in MySQL (MAX_RANGE_TO_WALK).
const WALKED_VALUES: i128 = 32;

/// Which partitions of a level may have rows; `None`: all.
type Parts = Option<BTreeSet<usize>>;

impl PartitionFunction {
    /// The leaves that may have rows in one of the ranges of each level; `None` in place of ranges: all.
    ///
    /// # Errors
    /// Those of the partitioning expressions.
    pub fn prune(
        &self,
        top: Option<&[ValueRange]>,
        sub: Option<&[ValueRange]>,
        eval: &EvalContext,
    ) -> Result<BTreeSet<usize>> {
        let tops = self.top.prune(top, eval)?;
        let Some(level) = &self.sub else {
            return Ok(tops);
        };
        let subs = level.prune(sub, eval)?;
        let leaves = tops
            .iter()
            .flat_map(|top| subs.iter().map(move |sub| top * level.count + sub));
        Ok(leaves.collect())
    }
}

impl Level {
    fn prune(&self, ranges: Option<&[ValueRange]>, eval: &EvalContext) -> Result<BTreeSet<usize>> {
        let all = || (0..self.count).collect();
        let Some(ranges) = ranges else {
            return Ok(all());
        };
        let mut parts = BTreeSet::new();
        for range in ranges {
            match self.of_range(range, eval)? {
                Some(found) => parts.extend(found),
                None => return Ok(all()),
            }
        }
        Ok(parts)
    }

    fn of_range(&self, range: &ValueRange, eval: &EvalContext) -> Result<Parts> {
        match &self.kind {
            LevelKind::RangeColumns { parts, ends } => range_columns(parts, ends, range),
            LevelKind::ListColumns { parts, values } => list_columns(parts, values, range),
            _ if range.prefix.len() == self.columns.len() => self.of_values(&range.prefix, eval),
            LevelKind::Range { expr, .. } | LevelKind::List { expr, .. } if self.columns.len() == 1 => {
                match monotonic(expr) {
                    Some(_) => self.of_interval(expr, range, eval),
                    None => self.of_walk(range, eval),
                }
            }
            _ => self.of_walk(range, eval),
        }
    }

    /// The partition of rows with these values.
    fn of_values(&self, values: &[Value], eval: &EvalContext) -> Result<Parts> {
        match self.locate(&self.row(values), eval) {
            Ok(at) => Ok(Some(BTreeSet::from([at]))),
            Err(error) if is_no_partition(&error) => Ok(Some(BTreeSet::new())),
            // No stored row can have such values.
            Err(_) => Ok(None),
        }
    }

    /// A row with these values of the level's columns.
    fn row(&self, values: &[Value]) -> Vec<Value> {
        let width = self.columns.iter().max().map_or(0, |last| last + 1);
        let mut row = vec![Value::Null; width];
        for (&column, value) in self.columns.iter().zip(values) {
            row[column] = value.clone();
        }
        row
    }

    /// A range of one column whose function never decreases.
    fn of_interval(&self, expr: &Expr, range: &ValueRange, eval: &EvalContext) -> Result<Parts> {
        let Some(kind) = monotonic(expr) else {
            return Ok(None);
        };
        let has_nulls = range.lower.is_none() && range.upper.is_none();
        let end = |bound: &Option<ValueBound>, upper: bool| -> Result<Option<i128>> {
            match bound {
                Some(bound) if !bound.value.is_null() => {
                    let value = match bound.inclusive {
                        true => bound.value.clone(),
                        false => next_to(&bound.value, &kind.column, upper),
                    };
                    number(expr, &self.row(&[value]), eval)
                }
                _ => Ok(None),
            }
        };
        let (lower, upper) = (end(&range.lower, false)?, end(&range.upper, true)?);
        if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
            return Ok(Some(BTreeSet::new()));
        }
        // A function of a date that is not a real one is NULL.
        let with_null = has_nulls || kind.makes_nulls;
        Ok(Some(match &self.kind {
            LevelKind::Range { ends, .. } => {
                let first = lower.map_or(Some(0), |lower| range_of(ends, Some(lower)));
                let last = upper.map_or(Some(ends.len() - 1), |upper| {
                    range_of(ends, Some(upper)).or(Some(ends.len() - 1))
                });
                let mut parts: BTreeSet<usize> = match first.zip(last) {
                    Some((first, last)) => (first..=last).collect(),
                    None => BTreeSet::new(),
                };
                parts.extend(with_null.then_some(0));
                parts
            }
            LevelKind::List { values, null, .. } => {
                let is_in = |value: i128| {
                    lower.is_none_or(|lower| lower <= value) && upper.is_none_or(|upper| value <= upper)
                };
                let found = values.iter().filter(|(value, _)| is_in(**value));
                let mut parts: BTreeSet<usize> = found.map(|(_, at)| *at).collect();
                parts.extend(null.filter(|_| with_null));
                parts
            }
            _ => return Ok(None),
        }))
    }

    /// A short range of one integer column, value by value.
    fn of_walk(&self, range: &ValueRange, eval: &EvalContext) -> Result<Parts> {
        let integer = |bound: &Option<ValueBound>, upper: bool| -> Option<i128> {
            let bound = bound.as_ref()?;
            let value = match &bound.value {
                Value::Int(value) => i128::from(*value),
                Value::UInt(value) => i128::from(*value),
                _ => return None,
            };
            Some(match (bound.inclusive, upper) {
                (true, _) => value,
                (false, true) => value - 1,
                (false, false) => value + 1,
            })
        };
        let is_integer = match &self.kind {
            LevelKind::Key { types, .. } => types.first().is_some_and(SqlType::is_integer),
            LevelKind::Hash { expr, .. } | LevelKind::Range { expr, .. } | LevelKind::List { expr, .. } => {
                column_type(expr).is_some_and(|ty| ty.is_integer())
            }
            _ => false,
        };
        let ends = integer(&range.lower, false).zip(integer(&range.upper, true));
        let Some((lower, upper)) = ends.filter(|_| is_integer && self.columns.len() == 1) else {
            return Ok(None);
        };
        if upper - lower > WALKED_VALUES {
            return Ok(None);
        }
        let is_unsigned = matches!(range.lower.as_ref().map(|b| &b.value), Some(Value::UInt(_)));
        let mut parts = BTreeSet::new();
        for value in lower..=upper {
            let value = match is_unsigned {
                true => u64::try_from(value).map(Value::UInt).ok(),
                false => i64::try_from(value).map(Value::Int).ok(),
            };
            let Some(value) = value else { continue };
            match self.of_values(&[value], eval)? {
                Some(found) => parts.extend(found),
                None => return Ok(None),
            }
        }
        Ok(Some(parts))
    }
}

fn range_columns(parts: &KeyParts, ends: &[Vec<u8>], range: &ValueRange) -> Result<Parts> {
    let keys = parts.range(range, TimeZone::UTC)?;
    // A row whose leading columns are equal to a bound's may be on either side of it.
    let first = ends.partition_point(|end| *end <= keys.start);
    let last = match keys.end.is_empty() {
        true => ends.len(),
        false => ends.partition_point(|end| *end < keys.end),
    };
    Ok(Some((first..(last + 1).min(ends.len())).collect()))
}

fn list_columns(parts: &KeyParts, values: &[(Vec<u8>, usize)], range: &ValueRange) -> Result<Parts> {
    let keys = parts.range(range, TimeZone::UTC)?;
    let is_in = |key: &Vec<u8>| keys.contains(key) || (keys.end.is_empty() && keys.start <= *key);
    let found = values.iter().filter(|(key, _)| is_in(key));
    Ok(Some(found.map(|(_, at)| *at).collect()))
}

/// A function of one column that never decreases.
struct Monotonic {
    column: SqlType,
    /// It is NULL for some values that are not.
    makes_nulls: bool,
}

fn monotonic(expr: &Expr) -> Option<Monotonic> {
    match expr {
        Expr::Column { ty, .. } => Some(Monotonic {
            column: *ty,
            makes_nulls: false,
        }),
        Expr::Cast {
            input,
            implicit: true,
            ..
        } => monotonic(input),
        Expr::Call { function, args, .. } => {
            let makes_nulls = match function.name() {
                "year" | "unix_timestamp" => false,
                "to_days" | "to_seconds" => true,
                _ => return None,
            };
            match args.as_slice() {
                [only] => Some(Monotonic {
                    makes_nulls,
                    ..monotonic(only)?
                }),
                _ => None,
            }
        }
        _ => None,
    }
}

fn column_type(expr: &Expr) -> Option<SqlType> {
    let mut found = None;
    expr.walk(&mut |expr| {
        if let Expr::Column { ty, .. } = expr {
            found = Some(*ty);
        }
    });
    found
}

/// The value before an exclusive upper end, or after a lower one; the end itself if there is none.
fn next_to(value: &Value, ty: &SqlType, before: bool) -> Value {
    let step = if before { -1 } else { 1 };
    match value {
        Value::Int(number) if ty.is_integer() => Value::Int(number.saturating_add(step)),
        Value::UInt(number) if ty.is_integer() => Value::UInt(number.saturating_add_signed(step)),
        Value::UInt(packed) if ty.is_datetime() => {
            let at = DateTime::unpack(*packed);
            let moved = match ty.kind {
                _ if !at.is_valid() || at.has_zero_in_date() => None,
                TypeKind::Date => at.add_days(step),
                _ => at.add_us(step * 1_000_000 / 10i64.pow(u32::from(ty.decimals.min(6)))),
            };
            Value::UInt(moved.unwrap_or(at).pack())
        }
        other => other.clone(),
    }
}
