//! Conditions of a scan's filter that are decided on a row's bytes: comparisons of a number or a date with
//! constants or another column, of a text or its first characters with constants, and any of several such conditions.
//! Rows that they drop are not decoded. Both executors read tables so.

use std::collections::HashSet;
use std::sync::Arc;

use codec::row::{RowCheck, TextCheck, TextTest};
use functions::Expr;
use planner::plan::TableScan;
use types::{Collation, Decimal, SqlType, TypeKind, Value};

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
        let checks = checks.filter_map(|condition| check_of(scan, condition));
        let (texts, numbers) = checks.partition(RowCheck::looks_at_text);
        Self {
            numbers,
            texts,
            ..Self::default()
        }
    }

    /// Whether nothing is checked.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.texts.is_empty()
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

/// What can be decided of a condition.
fn check_of(scan: &TableScan, condition: &Expr) -> Option<RowCheck> {
    of_numbers(scan, condition)
        .or_else(|| of_text(scan, condition))
        .or_else(|| of_alternatives(scan, condition))
}

/// Any of several conditions, of each of which a part can be decided.
fn of_alternatives(scan: &TableScan, condition: &Expr) -> Option<RowCheck> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    if function.0.name != "or" || args.len() >= functions::SEARCHED_ROWS {
        return None;
    }
    let alternative = |condition: &Expr| {
        let conjuncts = planner::conjuncts(Some(condition)).into_iter();
        let checks: Vec<RowCheck> = conjuncts.filter_map(|part| check_of(scan, part)).collect();
        (!checks.is_empty()).then_some(checks)
    };
    let mut lists = Vec::with_capacity(args.len());
    for arg in args {
        match alternative(arg)?.as_mut_slice() {
            // OR is an operator of two.
            [RowCheck::Any(inner)] => lists.append(inner),
            checks => lists.push(checks.to_vec()),
        }
    }
    Some(RowCheck::Any(lists))
}

/// A text, or its first characters, compared with constants under its own collation.
fn of_text(scan: &TableScan, condition: &Expr) -> Option<RowCheck> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let (compared, constants) = match (function.0.name, args.as_slice()) {
        ("=", [constant @ Expr::Literal { .. }, compared]) => (compared, std::slice::from_ref(constant)),
        ("=" | "in" | "like", [compared, constants @ ..]) => (compared, constants),
        _ => return None,
    };
    let (column, characters) = leading_part(compared)?;
    let Expr::Column { index, ty, .. } = column else {
        return None;
    };
    let (id, stored) = stored(scan, *index)?;
    let is_text = |ty: &SqlType| ty.is_text() && !ty.has_members() && ty.kind != TypeKind::Json;
    let collation = ty.collation;
    if !is_text(stored) || stored.collation != collation || compared.ty().collation != collation {
        return None;
    }
    let text = |constant: &Expr| match constant {
        Expr::Literal {
            value: Value::String(text),
            ty,
        } if ty.collation == collation => Some(text.clone()),
        _ => None,
    };
    let mut texts = constants.iter().map(text).collect::<Option<Vec<_>>>()?;
    let check: Arc<TextTest> = match (function.0.name, characters) {
        ("like", None) if texts.len() == 1 => Arc::new(functions::stored_like(&texts.pop()?, collation)?),
        ("like", _) => return None,
        (_, None) => Arc::new(one_of(texts, collation)),
        (_, Some(characters)) => {
            let test = one_of(texts, collation);
            Arc::new(move |bytes| first(bytes, characters).is_none_or(&test))
        }
    };
    Some(RowCheck::Text {
        id,
        check: TextCheck(check),
    })
}

/// The text of which an expression is all (`None`), or the first characters.
fn leading_part(expr: &Expr) -> Option<(&Expr, Option<usize>)> {
    let count = |expr: &Expr| match expr {
        Expr::Literal { value, .. } => usize::try_from(value.as_i64()?).ok(),
        _ => None,
    };
    match expr {
        Expr::Column { .. } => Some((expr, None)),
        Expr::Call { function, args, .. } => match (function.0.name, args.as_slice()) {
            ("left", [text, characters]) => Some((text, Some(count(characters)?))),
            ("substring", [text, start, characters]) if count(start)? == 1 => {
                Some((text, Some(count(characters)?)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The first characters of a text, if they are as many bytes.
fn first(text: &[u8], characters: usize) -> Option<&[u8]> {
    let first = text.get(..characters).unwrap_or(text);
    first.is_ascii().then_some(first)
}

/// More texts are searched instead of compared one by one.
const FEW_TEXTS: usize = 64;

/// Whether a text is equal to one of some.
fn one_of(mut texts: Vec<String>, collation: Collation) -> impl Fn(&[u8]) -> bool + use<> {
    let folds = collation.folds_ascii() && texts.iter().all(|text| is_plain(text.as_bytes()));
    let mut folded = HashSet::new();
    let many = texts.len() > FEW_TEXTS;
    if many {
        texts.sort_by(|a, b| collation.compare(a.as_bytes(), b.as_bytes()));
        folded.extend(
            texts
                .iter()
                .filter(|_| folds)
                .map(|text| text.to_ascii_lowercase().into_bytes()),
        );
    }
    move |bytes: &[u8]| match (folds && is_plain(bytes), many) {
        (true, true) => folded.contains(&bytes.to_ascii_lowercase()),
        (true, false) => texts
            .iter()
            .any(|text| bytes.eq_ignore_ascii_case(text.as_bytes())),
        (false, true) => texts
            .binary_search_by(|text| collation.compare(text.as_bytes(), bytes))
            .is_ok(),
        (false, false) => texts.iter().any(|text| collation.equal(bytes, text.as_bytes())),
    }
}

/// Whether a text consists of characters of ASCII that have a weight, and does not end with a space, which padding would
/// add.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~')) && text.last() != Some(&b' ')
}

/// A number or a date, compared with constants or another column.
fn of_numbers(scan: &TableScan, condition: &Expr) -> Option<RowCheck> {
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
        ("in", [Expr::Column { index, .. }, values @ ..]) => {
            let ty = type_of(scan, *index)?;
            let values = values.iter().map(|value| bound(value, &ty));
            return RowCheck::among(stored(scan, *index)?.0, &ty, values.collect::<Option<_>>()?);
        }
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
