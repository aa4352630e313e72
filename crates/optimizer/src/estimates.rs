//! What is known about the tables of a statement, and the selectivities that follow from it.
//!
//! In this order: statistics of values (ANALYZE TABLE), the engine's estimate for a range of keys (MySQL's
//! index dives), and rules of thumb, which the callers have.

use std::sync::Arc;

use functions::{EvalContext, Expr, TimeZone};
use planner::plan::{Range, RangeBound, RangeBoundValue, RangeValue};
use schema::layout::{KeyParts, ValueBound, ValueRange};
use schema::model::{Handle, IndexPart, Table};
use schema::statistics::{Bound, ColumnStatistics, TableStatistics, sort_key};
use types::Value;

use crate::access::interval::Interval;
use crate::access::sarg;

/// The share of rows that satisfies a condition without statistics.
pub const UNKNOWN_CONDITION: f64 = 0.3;

/// The server's knowledge about tables.
pub trait Estimates {
    /// About how many rows a table has, by its id.
    fn rows(&self, table: i64) -> u64;

    /// What ANALYZE TABLE has found.
    fn statistics(&self, _table: i64) -> Option<Arc<TableStatistics>> {
        None
    }

    /// About how many keys of the store lie in a range; `None` if that is expensive to find out.
    fn keys_in(&self, _range: std::ops::Range<Vec<u8>>) -> Option<u64> {
        None
    }

    /// Whether the stores of a table compute what is sent down to them.
    fn has_coprocessor(&self, _table: i64) -> bool {
        false
    }

    /// The values of the statement's parameters in the one execution that the plan is made for; none of a plan
    /// that others share.
    fn parameters(&self) -> &[Value] {
        &[]
    }
}

/// Row counts alone.
pub struct RowCounts<F>(pub F);

impl<F: Fn(i64) -> u64> Estimates for RowCounts<F> {
    fn rows(&self, table: i64) -> u64 {
        (self.0)(table)
    }
}

/// Ranges whose shares are added up. The others are taken to be alike.
const RANGES_MAX: usize = 64;
/// Ranges that the engine is asked about.
const DIVES_MAX: usize = 8;
/// The share of values that a range with an end of unknown value has.
const UNKNOWN_RANGE: f64 = 0.1;

/// The shares of rows above a column's lower end and below its upper end.
struct Ends {
    column: usize,
    lower: f64,
    upper: f64,
}

/// One table of a statement.
#[derive(Clone)]
pub struct TableEstimate<'a> {
    table: &'a Table,
    pub rows: u64,
    statistics: Option<Arc<TableStatistics>>,
    source: &'a dyn Estimates,
}

impl<'a> TableEstimate<'a> {
    pub fn new(table: &'a Table, source: &'a dyn Estimates) -> Self {
        let estimate = source.rows(table.id);
        let statistics = source.statistics(table.id);
        Self {
            rows: statistics
                .as_ref()
                .map_or(estimate, |statistics| statistics.rows_now(estimate)),
            statistics,
            table,
            source,
        }
    }

    /// What ANALYZE TABLE has found.
    pub fn statistics(&self) -> Option<&Arc<TableStatistics>> {
        self.statistics.as_ref()
    }

    /// Whether its values have been looked at.
    pub fn is_analyzed(&self) -> bool {
        self.statistics.is_some()
    }

    /// The share of rows that satisfies a condition on one column, over the table's columns by offset.
    pub fn share_of(&self, condition: &Expr) -> Option<f64> {
        if let Expr::Call { function, args, .. } = condition
            && self.is_analyzed()
            && matches!(function.0.name, "or" | "and")
        {
            let shares = args
                .iter()
                .map(|arg| self.share_of(arg).unwrap_or(UNKNOWN_CONDITION));
            return Some(match function.0.name {
                "or" => shares.sum::<f64>().min(1.0),
                _ => shares.product(),
            });
        }
        if let Expr::Call { function, args, .. } = condition
            && let ("<>", [left, right]) = (function.0.name, args.as_slice())
        {
            let equal =
                functions::bind::call("=", vec![left.clone(), right.clone()], &Default::default()).ok()?;
            return Some(1.0 - self.share_of(&equal)?);
        }
        let sarg = sarg::of(condition, self.table)?;
        let column = self.column(sarg.column)?;
        let params = self.source.parameters();
        let share = |interval: &Interval| match interval {
            Interval::Point(value) => share_of_value(column, value, params),
            Interval::Between { lower, upper } => {
                share_of_bounds(column, lower.as_ref(), upper.as_ref(), params)
            }
        };
        Some(sum(&sarg.intervals, share).min(1.0))
    }

    /// The share of rows that satisfies those of some conditions of which something is known, and how many the others
    /// are. A column's lower and its upper end are taken together.
    pub fn share_of_all(&self, conditions: &[Expr]) -> (f64, usize) {
        let (mut known, mut unknown) = (1.0, 0);
        let mut ends: Vec<Ends> = Vec::new();
        for condition in conditions {
            let Some(share) = self.share_of(condition) else {
                unknown += 1;
                continue;
            };
            let Some((column, is_lower)) = self.open_end(condition) else {
                known *= share;
                continue;
            };
            let at = ends
                .iter()
                .position(|ends| ends.column == column)
                .unwrap_or_else(|| {
                    ends.push(Ends {
                        column,
                        lower: 1.0,
                        upper: 1.0,
                    });
                    ends.len() - 1
                });
            let end = match is_lower {
                true => &mut ends[at].lower,
                false => &mut ends[at].upper,
            };
            *end = end.min(share);
        }
        let least = 1.0 / self.rows.max(1) as f64;
        for Ends { column, lower, upper } in ends {
            let values = 1.0 - self.column(column).map_or(0.0, |column| column.nulls);
            known *= match lower.max(upper) < 1.0 {
                true => (lower + upper - values).max(least),
                false => lower * upper,
            };
        }
        (known, unknown)
    }

    /// The column of which a condition gives one end, and whether that is the lower one.
    fn open_end(&self, condition: &Expr) -> Option<(usize, bool)> {
        let sarg = sarg::of(condition, self.table)?;
        match sarg.intervals.as_slice() {
            [Interval::Between { lower, upper }] if lower.is_some() != upper.is_some() => {
                Some((sarg.column, lower.is_some()))
            }
            _ => None,
        }
    }

    /// Rows in ranges of an index, by its position; `None`: of the primary key. `dives`: the engine may be
    /// asked.
    pub fn rows_in(&self, index: Option<usize>, ranges: &[Range], dives: bool) -> Option<f64> {
        let parts = match index {
            Some(index) => self.table.indexes.get(index)?.parts.clone(),
            None => self.table.primary_parts(),
        };
        let rows = self.rows as f64;
        let shares: Option<Vec<f64>> = ranges
            .iter()
            .take(RANGES_MAX)
            .map(|range| self.share_of_range(index, &parts, range))
            .collect();
        match shares {
            Some(shares) if !shares.is_empty() => {
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                Some((mean * ranges.len() as f64).min(1.0) * rows)
            }
            _ if dives => self.dive(index, ranges),
            _ => None,
        }
    }

    /// Rows with one value in each of the first `parts` parts of an index, whichever values these are.
    pub fn rows_per_key(&self, index: Option<usize>, parts: usize) -> Option<f64> {
        let distinct = self.distinct_of_parts(index, parts)?;
        Some(self.rows as f64 / distinct.max(1) as f64)
    }

    /// How many different values a column has, by its offset.
    pub fn distinct(&self, column: usize) -> Option<f64> {
        Some(self.column(column)?.distinct.max(1) as f64)
    }

    fn column(&self, offset: usize) -> Option<&ColumnStatistics> {
        // Of arrays, statistics know the whole, and conditions are about the elements.
        let column = self
            .table
            .columns
            .get(offset)
            .filter(|column| column.elements.is_none())?;
        self.statistics.as_ref()?.column(column.id, &column.ty)
    }

    fn distinct_of_parts(&self, index: Option<usize>, parts: usize) -> Option<u64> {
        let id = match (index, self.table.handle) {
            (Some(index), _) | (None, Handle::Clustered { index }) => self.table.indexes.get(index)?.id,
            (None, Handle::Integer { .. }) => 0,
            (None, Handle::Hidden) => return None,
        };
        let index = self.statistics.as_ref()?.index(id)?;
        index.distinct.get(parts.checked_sub(1)?).copied()
    }

    fn share_of_range(&self, index: Option<usize>, parts: &[IndexPart], range: &Range) -> Option<f64> {
        let params = self.source.parameters();
        let mut share = 1.0;
        let mut least = 1.0_f64;
        let mut distinct = 1.0;
        for (part, value) in parts.iter().zip(&range.prefix) {
            let column = self.column(part.column)?;
            let of_value = share_of_value(column, value, params);
            share *= of_value;
            least = least.min(of_value);
            distinct *= 1.0 / column.share_of_any().max(f64::MIN_POSITIVE);
        }
        // Columns of one index often depend on each other: together they have fewer values than by
        // multiplication.
        if range.prefix.len() > 1
            && let Some(together) = self.distinct_of_parts(index, range.prefix.len())
        {
            share = (share * distinct / together.max(1) as f64).min(least);
        }
        if range.lower.is_some() || range.upper.is_some() {
            let column = self.column(parts.get(range.prefix.len())?.column)?;
            share *= share_of_bounds(column, range.lower.as_ref(), range.upper.as_ref(), params);
        }
        Some(share)
    }

    /// Asks the engine. All values must be known.
    fn dive(&self, index: Option<usize>, ranges: &[Range]) -> Option<f64> {
        let parts = match index {
            Some(index) => KeyParts::index(self.table, index),
            None => KeyParts::primary(self.table),
        };
        let parts = parts.ok()?;
        let mut found = 0;
        let asked = ranges.len().min(DIVES_MAX);
        for range in &ranges[..asked] {
            let keys = parts
                .range(&known_range(range, self.source.parameters())?, TimeZone::UTC)
                .ok()?;
            found += self.source.keys_in(keys)?;
        }
        Some((found as f64 * ranges.len() as f64 / asked.max(1) as f64).min(self.rows.max(1) as f64))
    }
}

fn sum(intervals: &[Interval], share: impl Fn(&Interval) -> f64) -> f64 {
    let taken = intervals.len().min(RANGES_MAX);
    let of_taken: f64 = intervals[..taken].iter().map(share).sum();
    of_taken * intervals.len() as f64 / taken.max(1) as f64
}

/// The value of an expression that has the same in every execution, or in that of these parameters. A date that is written as text may depend
/// on the session's modes: for an estimate it does not matter.
pub fn known_value(expr: &Expr, params: &[Value]) -> Option<Value> {
    if let Expr::Literal { value, .. } = expr {
        return Some(value.clone());
    }
    let mut is_known = functions::is_deterministic(expr);
    expr.walk(&mut |e| {
        is_known &= match e {
            Expr::Column { .. } | Expr::Outer { .. } => false,
            Expr::Param { index, .. } => *index < params.len(),
            _ => true,
        }
    });
    if !is_known {
        return None;
    }
    let context = EvalContext {
        params: params.to_vec(),
        ..EvalContext::default()
    };
    functions::eval_value(expr, &context).ok()
}

fn share_of_value(column: &ColumnStatistics, value: &RangeValue, params: &[Value]) -> f64 {
    let known = match value {
        RangeValue::IsNull => return column.nulls,
        RangeValue::Equal(expr) | RangeValue::NullSafe(expr) => known_value(expr, params),
        RangeValue::Words(..) => None,
    };
    match known.and_then(|value| sort_key(&value, &column.ty)) {
        Some(key) => column.share_equal(&key),
        None => column.share_of_any(),
    }
}

fn share_of_bounds(
    column: &ColumnStatistics,
    lower: Option<&RangeBound>,
    upper: Option<&RangeBound>,
    params: &[Value],
) -> f64 {
    let mut unknown = 1.0;
    let mut known = |bound: Option<&RangeBound>| match &bound?.value {
        RangeBoundValue::Null => None,
        RangeBoundValue::Value(expr) => {
            match known_value(expr, params).and_then(|value| sort_key(&value, &column.ty)) {
                Some(key) => Some(Bound {
                    key,
                    inclusive: bound?.inclusive,
                }),
                None => {
                    unknown = UNKNOWN_RANGE;
                    None
                }
            }
        }
    };
    let (lower, upper) = (known(lower), known(upper));
    unknown * column.share_between(lower.as_ref(), upper.as_ref())
}

/// A range all of whose values are literals.
fn known_range(range: &Range, params: &[Value]) -> Option<ValueRange> {
    let value = |value: &RangeValue| match value {
        RangeValue::IsNull => Some(Value::Null),
        RangeValue::Equal(expr) | RangeValue::NullSafe(expr) => known_value(expr, params),
        RangeValue::Words(..) => None,
    };
    let bound = |bound: &Option<RangeBound>| match bound {
        None => Some(None),
        Some(bound) => {
            let value = match &bound.value {
                RangeBoundValue::Null => Value::Null,
                RangeBoundValue::Value(expr) => known_value(expr, params)?,
            };
            Some(Some(ValueBound {
                value,
                inclusive: bound.inclusive,
            }))
        }
    };
    Some(ValueRange {
        prefix: range.prefix.iter().map(value).collect::<Option<_>>()?,
        lower: bound(&range.lower)?,
        upper: bound(&range.upper)?,
    })
}
