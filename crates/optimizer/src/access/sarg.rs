//! Search arguments: the intervals of one column that a condition allows, as an index can use them.
//!
//! A condition serves if it compares the bare column, in the column's own type and collation, with a
//! constant. Whether a constant of another type has an exact counterpart in the column's is
//! `functions::bind::key_cast`'s decision.

use functions::Expr;
use functions::bind::{KeyRounding, bytes_as_key, key_cast};
use functions::full_text;
use schema::model::Table;
use types::{SqlType, TypeKind};

use super::fold::{folded, is_constant};
use super::interval::Interval;
use super::{like, multi_valued, words_of};
use planner::plan::{RangeBound, RangeBoundValue, RangeValue};

/// One condition: the column is in one of the intervals.
#[derive(Debug, Clone)]
pub struct Sarg {
    pub column: usize,
    pub intervals: Vec<Interval>,
    /// Rows in the intervals satisfy the condition: it need not be checked again.
    pub exact: bool,
}

impl Sarg {
    /// All intervals are single values.
    pub fn is_points(&self) -> bool {
        self.intervals
            .iter()
            .all(|interval| matches!(interval, Interval::Point(_)))
    }
}

/// The search argument that a condition is, if an index can use it.
pub fn of(condition: &Expr, table: &Table) -> Option<Sarg> {
    equal_to_bytes(condition, table).or_else(|| alternative(condition, table))
}

/// `text = bytes`. Only alone: as an alternative of OR it fails if the bytes are no text, as without an index.
fn equal_to_bytes(condition: &Expr, table: &Table) -> Option<Sarg> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let ("=" | "in", [left, right]) = (function.0.name, args.as_slice()) else {
        return None;
    };
    let found = |column: &Expr, constant: &Expr| {
        let (offset, ty) = bare_column(column, table)?;
        let key = bytes_as_key(constant, ty, &table.columns[offset].name)?;
        is_constant(constant).then(|| Sarg {
            column: offset,
            intervals: vec![Interval::Point(RangeValue::Equal(folded(key)))],
            exact: true,
        })
    };
    found(left, right).or_else(|| found(right, left))
}

/// The same for a condition that may be one of several.
pub fn alternative(condition: &Expr, table: &Table) -> Option<Sarg> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    match (function.0.name, args.as_slice()) {
        ("or", alternatives) => any_of(alternatives, table),
        ("in", [column, list @ ..]) => in_list(column, list, table),
        ("between", [column, low, high]) => between(column, low, high, table),
        ("is null", [column]) => Some(Sarg {
            column: stored_column(column.as_stored(), table)?.0,
            intervals: vec![Interval::Point(RangeValue::IsNull)],
            exact: true,
        }),
        ("is not null", [column]) => Some(Sarg {
            column: stored_column(column.as_stored(), table)?.0,
            intervals: vec![not_null()],
            exact: true,
        }),
        ("like", [column, pattern, escape @ ..]) => {
            let (offset, ty) = stored_column(column, table)?;
            let interval = like::prefix_range(&ty, pattern, escape.first())?;
            one_of((offset, vec![interval]))
        }
        ("member of" | "json_contains" | "json_overlaps", _) => {
            let (column, keys) = multi_valued::keys(condition, table)?;
            let point = |key| Interval::Point(RangeValue::Equal(key));
            one_of((column, keys.into_iter().map(point).collect()))
        }
        (full_text::HAS, [words, word]) => {
            let (column, interval) = words_of::with_word(words, word, table)?;
            Some(Sarg {
                column,
                intervals: vec![interval],
                exact: true,
            })
        }
        (full_text::WITH_PREFIX, [words, prefix]) => {
            let (column, interval) = words_of::with_prefix(words, prefix, table)?;
            one_of((column, vec![interval]))
        }
        (full_text::MATCH, args) => one_of(words_of::found(args, table)?),
        (operator, [left, right]) => comparison(operator, left, right, table)
            .or_else(|| comparison(turned(operator)?, right, left, table)),
        _ => None,
    }
}

/// Entries of which a row that satisfies a condition has one. Others may have one, too.
fn one_of((column, intervals): (usize, Vec<Interval>)) -> Option<Sarg> {
    Some(Sarg {
        column,
        intervals,
        exact: false,
    })
}

/// `IS NOT NULL`
pub fn not_null() -> Interval {
    Interval::Between {
        lower: Some(RangeBound {
            value: RangeBoundValue::Null,
            inclusive: false,
        }),
        upper: None,
    }
}

/// The operator with its sides exchanged.
fn turned(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "=" => "=",
        "<=>" => "<=>",
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

/// A column of the table by itself, of a type that has an order in indexes. A padded CHAR is compared as what
/// is stored is where the collation ignores trailing spaces.
fn bare_column(expr: &Expr, table: &Table) -> Option<(usize, SqlType)> {
    match expr.ty().collation.pads_space() {
        true => stored_column(expr.as_stored(), table),
        false => stored_column(expr, table),
    }
}

fn stored_column(expr: &Expr, table: &Table) -> Option<(usize, SqlType)> {
    match expr {
        Expr::Column { index, ty, .. } if *index < table.columns.len() && ty.kind != TypeKind::Json => {
            Some((*index, *ty))
        }
        Expr::Cast {
            input,
            ty,
            implicit: true,
        } if is_widening(&input.ty(), ty) => stored_column(input, table),
        _ => None,
    }
}

/// Whether a conversion changes no value and no order: from an integer to a larger one, or from an ENUM or
/// SET to the number that it is.
fn is_widening(from: &SqlType, to: &SqlType) -> bool {
    let plain = |ty: &SqlType| ty.is_integer() && ty.kind != TypeKind::Year;
    if from.has_members() {
        return *to == SqlType::BIGINT_UNSIGNED;
    }
    plain(from) && plain(to) && from.unsigned == to.unsigned && from.fixed_bytes() <= to.fixed_bytes()
}

fn comparison(operator: &str, column: &Expr, constant: &Expr, table: &Table) -> Option<Sarg> {
    let (offset, ty) = bare_column(column, table)?;
    if !is_constant(constant) {
        return None;
    }
    let sarg = |intervals, exact| {
        Some(Sarg {
            column: offset,
            intervals,
            exact,
        })
    };
    match operator {
        "=" => {
            let (interval, exact) = equal(constant, ty)?;
            sarg(vec![interval], exact)
        }
        "<=>" => null_safe(constant, ty).and_then(|point| sarg(vec![Interval::Point(point)], true)),
        "<" | "<=" => {
            let (bound, exact) = bound(constant, ty, KeyRounding::Down, operator == "<=")?;
            let interval = Interval::Between {
                lower: None,
                upper: Some(bound),
            };
            sarg(vec![interval], exact)
        }
        ">" | ">=" => {
            let (bound, exact) = bound(constant, ty, KeyRounding::Up, operator == ">=")?;
            let interval = Interval::Between {
                lower: Some(bound),
                upper: None,
            };
            sarg(vec![interval], exact)
        }
        _ => None,
    }
}

/// `<=>` needs a key that is NULL only where the constant is, so one that has been converted will not do.
fn null_safe(constant: &Expr, ty: SqlType) -> Option<RangeValue> {
    if constant.ty().kind == TypeKind::Null {
        return Some(RangeValue::IsNull);
    }
    match exact_key(constant, ty)? {
        // Equal to nothing.
        Expr::Literal { value, .. } if value.is_null() => None,
        Expr::Call { function, .. } if function.0.name.starts_with("key ") => None,
        key => Some(RangeValue::NullSafe(key)),
    }
}

/// Equality, and whether the interval is exact. Several exact numbers may equal one double: those are a
/// range.
fn equal(constant: &Expr, ty: SqlType) -> Option<(Interval, bool)> {
    if let Some(key) = exact_key(constant, ty) {
        return Some((Interval::Point(RangeValue::Equal(key)), true));
    }
    let (lower, _) = bound(constant, ty, KeyRounding::Up, true)?;
    let (upper, _) = bound(constant, ty, KeyRounding::Down, true)?;
    let interval = Interval::Between {
        lower: Some(lower),
        upper: Some(upper),
    };
    Some((interval, false))
}

fn exact_key(constant: &Expr, ty: SqlType) -> Option<Expr> {
    key_cast(constant.clone(), ty, KeyRounding::Exact).map(folded)
}

/// One end of a range, and whether it is exact. A key that had to be rounded is taken inclusively;
/// `<` and `>` then remain to be checked.
fn bound(constant: &Expr, ty: SqlType, rounding: KeyRounding, inclusive: bool) -> Option<(RangeBound, bool)> {
    let key = key_cast(constant.clone(), ty, rounding)?;
    let rounded = matches!(&key, Expr::Call { function, .. } if function.0.name.starts_with("key "));
    let bound = RangeBound {
        value: RangeBoundValue::Value(folded(key)),
        inclusive: inclusive || rounded,
    };
    Some((bound, inclusive || !rounded))
}

fn between(column: &Expr, low: &Expr, high: &Expr, table: &Table) -> Option<Sarg> {
    let (offset, ty) = bare_column(column, table)?;
    if !is_constant(low) || !is_constant(high) {
        return None;
    }
    let (lower, _) = bound(low, ty, KeyRounding::Up, true)?;
    let (upper, _) = bound(high, ty, KeyRounding::Down, true)?;
    Some(Sarg {
        column: offset,
        intervals: vec![Interval::Between {
            lower: Some(lower),
            upper: Some(upper),
        }],
        exact: true,
    })
}

fn in_list(column: &Expr, list: &[Expr], table: &Table) -> Option<Sarg> {
    let (offset, ty) = bare_column(column, table)?;
    let mut intervals = Vec::with_capacity(list.len());
    let mut exact = true;
    for item in list {
        if !is_constant(item) {
            return None;
        }
        // `x IN (..., NULL)` is true of no NULL.
        if item.ty().kind != TypeKind::Null {
            let (interval, says_all) = equal(item, ty)?;
            intervals.push(interval);
            exact &= says_all;
        }
    }
    Some(Sarg {
        column: offset,
        intervals,
        exact,
    })
}

/// Alternatives about one and the same column.
fn any_of(alternatives: &[Expr], table: &Table) -> Option<Sarg> {
    let mut all: Option<Sarg> = None;
    let mut stack: Vec<&Expr> = alternatives.iter().rev().collect();
    while let Some(expr) = stack.pop() {
        if let Expr::Call { function, args, .. } = expr
            && function.0.name == "or"
        {
            stack.extend(args.iter().rev());
            continue;
        }
        let sarg = alternative(expr, table).or_else(|| both_ends(expr, table))?;
        match &mut all {
            None => all = Some(sarg),
            Some(all) if all.column == sarg.column => {
                all.intervals.extend(sarg.intervals);
                all.exact &= sarg.exact;
            }
            Some(_) => return None,
        }
    }
    all
}

/// `a > 1 AND a < 5`, as an alternative of OR.
fn both_ends(expr: &Expr, table: &Table) -> Option<Sarg> {
    let Expr::Call { function, args, .. } = expr else {
        return None;
    };
    let ("and", [first, second]) = (function.0.name, args.as_slice()) else {
        return None;
    };
    let (first, second) = (alternative(first, table)?, alternative(second, table)?);
    if first.column != second.column {
        return None;
    }
    let merged = merge_ends(&first, &second).or_else(|| merge_ends(&second, &first))?;
    Some(Sarg {
        column: first.column,
        intervals: vec![merged],
        exact: first.exact && second.exact,
    })
}

/// The range from the one condition's lower to the other's upper end.
pub fn merge_ends(lower: &Sarg, upper: &Sarg) -> Option<Interval> {
    match (lower.intervals.as_slice(), upper.intervals.as_slice()) {
        (
            [
                Interval::Between {
                    lower: Some(lower),
                    upper: None,
                },
            ],
            [
                Interval::Between {
                    lower: None,
                    upper: Some(upper),
                },
            ],
        ) => Some(Interval::Between {
            lower: Some(lower.clone()),
            upper: Some(upper.clone()),
        }),
        _ => None,
    }
}
