//! Conditions of a scan's filter that are decided on a row's bytes: comparisons of a number or a date with a
//! constant. Rows that they drop are not decoded. Both executors read tables so.

use codec::row::RangeCheck;
use functions::Expr;
use planner::plan::TableScan;
use types::{Decimal, SqlType, TypeKind, Value};

/// The conditions of a filter, with its constants computed, that can be decided early. None of a filter that
/// may raise an error or a warning: which rows it is computed for would be seen.
pub fn of_filter(scan: &TableScan, filter: Option<&Expr>) -> Vec<RangeCheck> {
    match filter {
        Some(filter) if !functions::eval::is_fallible(filter) => {
            let conjuncts = planner::conjuncts(Some(filter)).into_iter();
            conjuncts
                .filter_map(|condition| of_condition(scan, condition))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn of_condition(scan: &TableScan, condition: &Expr) -> Option<RangeCheck> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let (column, low, high) = match (function.0.name, args.as_slice()) {
        ("between", [Expr::Column { index, .. }, low, high]) => {
            let ty = type_of(scan, *index)?;
            (*index, bound(low, &ty)?, bound(high, &ty)?)
        }
        (name, [Expr::Column { index, .. }, value]) => {
            let (low, high) = range(name, bound(value, &type_of(scan, *index)?)?)?;
            (*index, low, high)
        }
        (name, [value, Expr::Column { index, .. }]) => {
            let (low, high) = range(exchanged(name)?, bound(value, &type_of(scan, *index)?)?)?;
            (*index, low, high)
        }
        _ => return None,
    };
    let stored = scan.table.columns.get(*scan.columns.get(column)?)?;
    RangeCheck::new(stored.id, &stored.ty, low, high)
}

fn type_of(scan: &TableScan, column: usize) -> Option<SqlType> {
    Some(scan.table.columns.get(*scan.columns.get(column)?)?.ty)
}

fn exchanged(name: &str) -> Option<&'static str> {
    Some(match name {
        "=" => "=",
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

/// The values of which a comparison with `value` is true, ends included.
fn range(name: &str, value: i64) -> Option<(i64, i64)> {
    Some(match name {
        "=" => (value, value),
        "<" => (i64::MIN, value.checked_sub(1)?),
        "<=" => (i64::MIN, value),
        ">" => (value.checked_add(1)?, i64::MAX),
        ">=" => (value, i64::MAX),
        _ => return None,
    })
}

/// A constant in the form of the column's stored values, if it has one.
fn bound(constant: &Expr, column: &SqlType) -> Option<i64> {
    let Expr::Literal { value, ty } = constant else {
        return None;
    };
    match column.kind {
        TypeKind::Date | TypeKind::DateTime if matches!(ty.kind, TypeKind::Date | TypeKind::DateTime) => {
            i64::try_from(value.as_u64()?).ok()
        }
        TypeKind::Decimal => {
            let number = match value {
                Value::Int(number) if ty.is_integer() => Decimal::from_i64(*number),
                Value::Decimal(number) => *number,
                _ => return None,
            };
            let scaled = number.rescale(column.decimals)?;
            // A bound with more digits lies between two values.
            let is_exact = number.scale <= column.decimals || scaled.rescale(number.scale)? == number;
            is_exact.then_some(scaled)?.unscaled.to_i128()?.try_into().ok()
        }
        _ if column.is_integer() => match value {
            Value::Int(number) if ty.is_integer() => Some(*number),
            Value::UInt(number) if ty.is_integer() => i64::try_from(*number).ok(),
            _ => None,
        },
        _ => None,
    }
}
