//! An OR of many rows of constants, as `(a, b) IN ((1, 2), ...)` is: in ascending order, so that a row's values are searched
//! in a few steps instead of compared with each.
//!
//! The function has the name and the arguments of OR; only the order of the arguments is settled. It exists in conditions
//! that are about to be evaluated for many rows, not in plans.

use std::borrow::Cow;
use std::cmp::Ordering;

use types::stack::with_room;
use types::{Collation, Result, TypeKind, Value};

use super::logic::or;
use crate::bind::compare::resolve_logic;
use crate::datum::{Cell, Datum, compare_same};
use crate::eval::row;
use crate::expr::{Call, Function, FunctionDef};
use crate::input::Row;
use crate::registry::{MANY, lazy};
use crate::truth::value_of;
use crate::{EvalContext, Expr};

/// Fewer rows of constants are compared one by one, a batch of values at a time.
pub const SEARCHED_ROWS: usize = 200;

/// Rows of constants in ascending order, compared with the same columns, all by `=`.
static OR: FunctionDef = lazy("or", 1, MANY, resolve_logic, or_of_ascending);

/// Whether a call finds a row of values among its constants by search.
pub(crate) fn is_searched(def: &'static FunctionDef) -> bool {
    std::ptr::eq(def, &OR)
}

/// The condition with its long ORs of rows of constants in order.
pub fn arranged<'e>(condition: Cow<'e, Expr>, ctx: &EvalContext) -> Cow<'e, Expr> {
    let mut any = false;
    condition.walk(&mut |e| any = any || is_long(e));
    if !any {
        return condition;
    }
    let mut condition = condition.into_owned();
    arrange(&mut condition, ctx);
    Cow::Owned(condition)
}

fn arrange(condition: &mut Expr, ctx: &EvalContext) {
    let is_long = is_long(condition);
    let Expr::Call { function, args, .. } = condition else {
        return;
    };
    if !is_long {
        with_room(|| args.iter_mut().for_each(|arg| arrange(arg, ctx)));
    } else if order_rows(args, ctx) {
        *function = Function(&OR);
    }
}

fn is_long(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function, args, .. }
        if args.len() >= SEARCHED_ROWS && function.name() == "or" && !is_searched(function.0))
}

/// How values are ordered: those of two orders cannot stand in one list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Exact,
    Double,
    Text,
    Binary,
}

fn class(value: &Datum<'_>) -> Option<Class> {
    match value {
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_) => Some(Class::Exact),
        Datum::Double(_) => Some(Class::Double),
        Datum::String(_) => Some(Class::Text),
        Datum::Bytes(_) => Some(Class::Binary),
        Datum::Null | Datum::Json(_) => None,
    }
}

/// Whether the order of constants of one class is that of their comparisons with `value`.
fn follows(value: &Datum<'_>, constants: Class) -> bool {
    match class(value) {
        Some(Class::Exact | Class::Double) => matches!(constants, Class::Exact | Class::Double),
        Some(class) => constants == class,
        None => false,
    }
}

fn literal(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal { value, .. } => Some(value),
        _ => None,
    }
}

/// The value of a constant that needs no computing any more, as a literal. `None` for NULL, too: with it, whether a result
/// is false or unknown depends on the others.
fn as_literal(expr: &Expr, ctx: &EvalContext) -> Option<Expr> {
    let ty = expr.ty();
    let value = match expr {
        Expr::Literal { value, .. } => value.clone(),
        Expr::Param { .. } => row::evaluate(expr, &Row::None, ctx).ok()?.into_value(),
        _ => return None,
    };
    (ty.kind != TypeKind::Json && !value.is_null()).then_some(Expr::Literal { value, ty })
}

/// Whether all values, of which there must be one, have the same class.
fn of_one_class<'v>(values: impl Iterator<Item = &'v Value>) -> bool {
    let mut classes = values.map(|value| class(&Datum::of(value)));
    let Some(Some(first)) = classes.next() else {
        return false;
    };
    classes.all(|class| class == Some(first))
}

/// The columns of an alternative and what each is compared with.
fn row_of(alternative: &Expr) -> Option<Vec<(&Expr, &Expr)>> {
    match alternative {
        Expr::Call { function, args, .. } if function.name() == "and" => args.iter().map(pair_of).collect(),
        _ => None,
    }
}

fn pair_of(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    match (function.name(), args.as_slice()) {
        (
            "=",
            [
                column @ Expr::Column { .. },
                constant @ (Expr::Literal { .. } | Expr::Param { .. }),
            ],
        ) => Some((column, constant)),
        _ => None,
    }
}

/// The constants of each alternative, if all compare the same columns.
fn rows_of(alternatives: &[Expr], columns: &[Expr], ctx: &EvalContext) -> Option<Vec<Vec<Expr>>> {
    let constants = |alternative| {
        let row = row_of(alternative).filter(|row| row.len() == columns.len())?;
        let constant = |((column, constant), wanted): ((&Expr, &Expr), &Expr)| {
            as_literal(constant, ctx).filter(|_| column == wanted)
        };
        row.into_iter().zip(columns).map(constant).collect()
    };
    alternatives.iter().map(constants).collect()
}

fn order_rows(alternatives: &mut Vec<Expr>, ctx: &EvalContext) -> bool {
    let Some(first) = alternatives.first().and_then(row_of) else {
        return false;
    };
    let columns: Vec<Expr> = first.into_iter().map(|(column, _)| column.clone()).collect();
    let Some(rows) = rows_of(alternatives, &columns, ctx) else {
        return false;
    };
    let of_column = |at: usize| rows.iter().filter_map(move |row| literal(row.get(at)?));
    let is_ordered =
        |(at, column): (usize, &Expr)| column.ty().kind != TypeKind::Json && of_one_class(of_column(at));
    if !columns.iter().enumerate().all(is_ordered) {
        return false;
    }
    let collations: Vec<Collation> = columns.iter().map(|column| column.ty().collation).collect();
    let mut arranged: Vec<(Vec<Expr>, Expr)> = rows.into_iter().zip(std::mem::take(alternatives)).collect();
    arranged.sort_by(|(a, _), (b, _)| {
        let parts = a.iter().zip(b).zip(&collations);
        let mut orders = parts.map(|((a, b), collation)| match literal(b) {
            Some(b) => against(a, &Datum::of(b), *collation),
            None => Ordering::Equal,
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    let with_literals = |(constants, alternative)| with_constants(alternative, constants);
    alternatives.extend(arranged.into_iter().map(with_literals));
    true
}

/// The alternative with literals in place of its constants.
fn with_constants(mut alternative: Expr, constants: Vec<Expr>) -> Expr {
    if let Expr::Call { args, .. } = &mut alternative {
        for (condition, constant) in args.iter_mut().zip(constants) {
            if let Expr::Call { args, .. } = condition
                && let Some(place) = args.get_mut(1)
            {
                *place = constant;
            }
        }
    }
    alternative
}

fn against(constant: &Expr, value: &Datum<'_>, collation: Collation) -> Ordering {
    let constant = literal(constant).map(Datum::of);
    constant
        .and_then(|constant| compare_same(&constant, value, collation))
        .unwrap_or(Ordering::Equal)
}

fn or_of_ascending<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let first = call.args.first().map_or(&[][..], parts);
    let mut needles = Vec::with_capacity(first.len());
    for condition in first {
        let [column, constant] = parts(condition) else {
            return or(call, row);
        };
        let value = row::evaluate(column, row, call.ctx)?;
        let of_list = literal(constant).and_then(|constant| class(&Datum::of(constant)));
        if !of_list.is_some_and(|of_list| follows(&value.datum(), of_list)) {
            return or(call, row);
        }
        needles.push((value, column.ty().collation));
    }
    let order = |alternative: &Expr| {
        let constants = parts(alternative).iter().map(|condition| parts(condition).get(1));
        let mut orders = constants.zip(&needles).map(|(constant, (value, collation))| {
            constant.map_or(Ordering::Equal, |constant| {
                against(constant, &value.datum(), *collation)
            })
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let found = call.args.binary_search_by(order).is_ok();
    Ok(value_of(Some(found)).into())
}

/// The arguments of a call.
fn parts(call: &Expr) -> &[Expr] {
    match call {
        Expr::Call { args, .. } => args,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use types::SqlType;

    use super::*;
    use crate::bind::env::TypeEnv;

    const TEXT: SqlType = SqlType::varchar(20, Collation::Utf8mb40900AiCi);
    const PADDED: SqlType = SqlType::varchar(20, Collation::Utf8mb4GeneralCi);

    fn call(name: &str, args: Vec<Expr>) -> Expr {
        crate::bind::call(name, args, &TypeEnv::default()).unwrap()
    }

    fn literal(value: Value, ty: SqlType) -> Expr {
        Expr::literal(value, ty)
    }

    /// `(c0, c1) IN (...)`, more rows than are compared one by one, in descending order.
    fn in_rows(columns: [SqlType; 2], row: impl Fn(i64) -> [Expr; 2]) -> Expr {
        let alternative = |i: i64| {
            let conditions = row(i).into_iter().enumerate().map(|(at, constant)| {
                let column = Expr::column(at, columns[at], true);
                call("=", vec![column, constant])
            });
            call("and", conditions.collect())
        };
        call(
            "or",
            (0..SEARCHED_ROWS as i64 + 20).rev().map(alternative).collect(),
        )
    }

    /// Whether the condition was arranged, after it has given the same for all rows as it is.
    fn agrees(condition: &Expr, rows: &[[Value; 2]]) -> bool {
        let ctx = EvalContext::default();
        let searched = arranged(Cow::Borrowed(condition), &ctx);
        for row in rows {
            assert_eq!(
                crate::eval_row(&searched, row, &ctx).unwrap(),
                crate::eval_row(condition, row, &ctx).unwrap(),
                "{row:?}"
            );
        }
        matches!(&*searched, Expr::Call { function, .. } if is_searched(function.0))
    }

    #[test]
    fn rows_are_found_as_one_by_one() {
        let words = ["a", "B ", "c", "ß", "Ab"];
        for text in [TEXT, PADDED] {
            let condition = in_rows([SqlType::BIGINT, text], |i| {
                let word = words[i as usize % words.len()];
                [
                    literal(Value::Int(i % 50 - 5), SqlType::BIGINT),
                    literal(Value::from(word), text),
                ]
            });
            let mut rows = Vec::new();
            for number in [
                Value::Null,
                Value::Int(-5),
                Value::UInt(3),
                Value::Int(44),
                Value::Int(99),
            ] {
                for word in ["A", "b", "b ", "ss", "aB", "d", ""] {
                    rows.push([number.clone(), Value::from(word)]);
                }
                rows.push([number, Value::Null]);
            }
            assert!(agrees(&condition, &rows));
        }
    }

    #[test]
    fn rows_without_one_order_stay_as_they_are() {
        let of_null = in_rows([SqlType::BIGINT, TEXT], |i| {
            let text = match i {
                7 => Expr::null(),
                _ => literal(Value::from("a"), TEXT),
            };
            [literal(Value::Int(i), SqlType::BIGINT), text]
        });
        let rows = [Value::Int(7), Value::Int(8), Value::Int(-1)].map(|number| [number, Value::from("a")]);
        assert!(!agrees(&of_null, &rows));
    }
}
