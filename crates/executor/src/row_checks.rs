//! Conditions of a scan's filter that are decided on a row's bytes: comparisons of a number or a date with a
//! constant or another column, and of a text with constants. Rows that they drop are not decoded. Both executors read tables so.

use std::sync::Arc;

use codec::row::{RowCheck, TextCheck, TextTest};
use functions::Expr;
use planner::plan::TableScan;
use types::{Decimal, SqlType, TypeKind, Value};

/// After so many rows it is known whether checks of texts are worth their time.
const TRIAL_ROWS: u32 = 4_096;

/// What is checked of each row. The filter is computed for the rows that pass.
#[derive(Debug, Default)]
pub struct RowChecks {
    numbers: Vec<RowCheck>,
    texts: Vec<RowCheck>,
    /// Rows whose texts have been checked, and those of them that have passed.
    seen: u32,
    passed: u32,
}

impl RowChecks {
    /// The conditions of a filter, with its constants computed, that can be decided early. None of a filter that
    /// may raise an error or a warning: which rows it is computed for would be seen.
    pub fn of_filter(scan: &TableScan, filter: Option<&Expr>) -> Self {
        let conjuncts = match filter {
            Some(filter) if !functions::eval::is_fallible(filter) => planner::conjuncts(Some(filter)),
            _ => Vec::new(),
        };
        let checks = conjuncts.into_iter();
        let checks =
            checks.filter_map(|condition| of_condition(scan, condition).or_else(|| of_text(scan, condition)));
        let (texts, numbers) = checks.partition(|check| matches!(check, RowCheck::Text { .. }));
        Self {
            numbers,
            texts,
            ..Self::default()
        }
    }

    /// Whether a row may satisfy the filter.
    #[inline]
    pub fn may_hold(&mut self, row: &[u8]) -> bool {
        self.numbers.iter().all(|check| check.may_hold(row))
            && (self.texts.is_empty() || self.texts_may_hold(row))
    }

    /// Checks that leave out less than a quarter of the rows are given up.
    fn texts_may_hold(&mut self, row: &[u8]) -> bool {
        let passes = self.texts.iter().all(|check| check.may_hold(row));
        self.seen += 1;
        self.passed += u32::from(passes);
        if self.seen == TRIAL_ROWS {
            if self.passed > TRIAL_ROWS / 4 * 3 {
                self.texts.clear();
            }
            (self.seen, self.passed) = (0, 0);
        }
        passes
    }
}

/// A text compared with constants under its own collation.
fn of_text(scan: &TableScan, condition: &Expr) -> Option<RowCheck> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let (column, constants) = match (function.0.name, args.as_slice()) {
        ("=" | "in" | "like", [column @ Expr::Column { .. }, constants @ ..]) => (column, constants),
        ("=", [constant, column @ Expr::Column { .. }]) => (column, std::slice::from_ref(constant)),
        _ => return None,
    };
    let Expr::Column { index, ty, .. } = column else {
        return None;
    };
    let (id, stored) = stored(scan, *index)?;
    let is_text = |ty: &SqlType| ty.is_text() && !ty.has_members() && ty.kind != TypeKind::Json;
    if !is_text(stored) || stored.collation != ty.collation {
        return None;
    }
    let collation = ty.collation;
    let text = |constant: &Expr| match constant {
        Expr::Literal {
            value: Value::String(text),
            ty,
        } if ty.collation == collation => Some(text.clone()),
        _ => None,
    };
    let mut texts = constants.iter().map(text).collect::<Option<Vec<_>>>()?;
    let check: Arc<TextTest> = match function.0.name {
        "like" if texts.len() == 1 => Arc::new(functions::stored_like(&texts.pop()?, collation)?),
        "like" => return None,
        _ => Arc::new(move |bytes| texts.iter().any(|text| collation.equal(bytes, text.as_bytes()))),
    };
    Some(RowCheck::Text {
        id,
        check: TextCheck(check),
    })
}

fn of_condition(scan: &TableScan, condition: &Expr) -> Option<RowCheck> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    if let [
        Expr::Column { index: left, .. },
        Expr::Column { index: right, .. },
    ] = args.as_slice()
    {
        let (left, right) = (stored(scan, *left)?, stored(scan, *right)?);
        return match function.0.name {
            "<" => RowCheck::order(left, right, false),
            "<=" => RowCheck::order(left, right, true),
            ">" => RowCheck::order(right, left, false),
            ">=" => RowCheck::order(right, left, true),
            _ => None,
        };
    }
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
    let (id, ty) = stored(scan, column)?;
    RowCheck::range(id, ty, low, high)
}

/// The id and the type of a scan's column.
fn stored(scan: &TableScan, column: usize) -> Option<(i64, &SqlType)> {
    let column = scan.table.columns.get(*scan.columns.get(column)?)?;
    Some((column.id, &column.ty))
}

fn type_of(scan: &TableScan, column: usize) -> Option<SqlType> {
    stored(scan, column).map(|(_, ty)| *ty)
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
