//! What two values are compared as, and the conversions that takes.
//!
//! Numbers of different types, and DATE, DATETIME and TIMESTAMP, need none: [`crate::ops::comparison`] compares them as
//! they are. Source: manual 12.3 "Type Conversion in Expression Evaluation", and MySQL 8.0.33's answers.

use types::{Result, SqlType, TypeKind, Value};

use super::arguments::{condition, implicit_cast, numeric_type, text_type};
use super::{Binding, TypeEnv, call, collation};
use crate::Expr;

/// Functions that stand for conversions of one side of a comparison; see [`crate::ops::constants`].
pub(crate) const DATETIME_OPERAND: &str = "datetime operand";
pub(crate) const DATETIME_CONSTANT: &str = "datetime constant";
pub(crate) const DATETIME_LIST_ITEM: &str = "datetime list item";
pub(crate) const TIME_CONSTANT: &str = "time constant";
pub(crate) const YEAR_CONSTANT: &str = "year constant";

/// How a constant that is no date is treated beside a date: `=` fails with 1525, IN and BETWEEN warn.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum WrongDate {
    Fails,
    Warns,
}

/// Turns calls that cannot be one call into several: IN and BETWEEN whose values are compared as different types.
pub(crate) fn rewrite(binding: &mut Binding<'_>) -> Result<Option<Expr>> {
    match binding.name {
        "in" => bind_in(binding),
        "between" => bind_between(binding),
        _ => Ok(None),
    }
}

/// Converts both sides to what they are compared as.
pub(crate) fn pair(
    a: Expr,
    b: Expr,
    operation: &str,
    env: &TypeEnv,
    wrong_date: WrongDate,
) -> Result<(Expr, Expr)> {
    let (ta, tb) = (a.ty(), b.ty());
    if ta.kind == TypeKind::Null || tb.kind == TypeKind::Null {
        return Ok((a, b));
    }
    if ta.kind == TypeKind::Json || tb.kind == TypeKind::Json {
        return Ok((a, b));
    }
    if ta.is_datetime() || tb.is_datetime() {
        let (a2, b2) = (
            date_side(a.clone(), &b, wrong_date)?,
            date_side(b, &a, wrong_date)?,
        );
        return Ok((a2, b2));
    }
    if ta.kind == TypeKind::Time || tb.kind == TypeKind::Time {
        let (a2, b2) = (time_side(a.clone(), &b), time_side(b, &a));
        if a2.ty().is_string() && b2.ty().is_string() {
            return texts(a2, b2, operation, env);
        }
        return Ok((a2, b2));
    }
    if ta.is_string() && tb.is_string() {
        return texts(a, b, operation, env);
    }
    Ok((number_side(a.clone(), &b), number_side(b, &a)))
}

fn texts(mut a: Expr, mut b: Expr, operation: &str, env: &TypeEnv) -> Result<(Expr, Expr)> {
    let collation = collation::of_comparison(&[&a, &b], env.collation, operation)?;
    for side in [&mut a, &mut b] {
        let expr = std::mem::replace(side, Expr::null());
        let ty = text_type(&expr.ty(), collation);
        *side = implicit_cast(expr, ty);
    }
    Ok((a, b))
}

/// `expr` beside `other`, one of which is a DATE, DATETIME or TIMESTAMP.
fn date_side(expr: Expr, other: &Expr, wrong_date: WrongDate) -> Result<Expr> {
    let ty = expr.ty();
    if ty.is_datetime() {
        let numbers = other.ty().is_numeric() && literal_date(other, &ty).is_none();
        return Ok(if numbers && !is_column_beside_literal(&expr, other, &ty) {
            implicit_cast(expr, numeric_type(&ty))
        } else {
            expr
        });
    }
    if ty.kind == TypeKind::Time {
        return Ok(implicit_cast(expr, SqlType::datetime(ty.decimals)));
    }
    if ty.is_numeric() {
        // A literal beside a column is read as a date, if it is one.
        return Ok(match literal_date(&expr, &other.ty()) {
            Some(date) if matches!(other, Expr::Column { .. }) => date,
            _ => expr,
        });
    }
    let function = match wrong_date {
        _ if !expr.is_constant() => DATETIME_OPERAND,
        WrongDate::Fails => DATETIME_CONSTANT,
        WrongDate::Warns => DATETIME_LIST_ITEM,
    };
    internal(function, expr, SqlType::datetime(6), &other.ty())
}

fn is_column_beside_literal(column: &Expr, literal: &Expr, ty: &SqlType) -> bool {
    matches!(column, Expr::Column { .. }) && literal_date(literal, ty).is_some()
}

/// A number's literal as the date it spells.
fn literal_date(expr: &Expr, ty: &SqlType) -> Option<Expr> {
    let Expr::Literal { value, ty: from } = expr else {
        return None;
    };
    if !from.is_integer() {
        return None;
    }
    let packed = crate::temporal::datetime_of_number(value, ty)?;
    Some(Expr::Literal {
        value: Value::UInt(packed),
        ty: SqlType::datetime(0),
    })
}

/// `expr` beside `other`, one of which is a TIME and none a date.
fn time_side(expr: Expr, other: &Expr) -> Expr {
    let (ty, other_ty) = (expr.ty(), other.ty());
    if ty.kind == TypeKind::Time && other_ty.kind == TypeKind::Time {
        return expr;
    }
    let column = |e: &Expr| matches!(e, Expr::Column { .. });
    if ty.kind == TypeKind::Time {
        if other_ty.is_string() {
            let readable = column(&expr) && other.is_constant() && spells_time(other);
            return if readable {
                expr
            } else {
                implicit_cast(expr, text_type(&ty, types::Collation::DEFAULT))
            };
        }
        return implicit_cast(expr, numeric_type(&ty));
    }
    if ty.is_string() && column(other) && expr.is_constant() && spells_time(&expr) {
        return match internal(TIME_CONSTANT, expr.clone(), SqlType::time(6), &other_ty) {
            Ok(constant) => constant,
            Err(_) => expr,
        };
    }
    expr
}

/// Whether a constant text is to be read as a TIME: literals that are none are compared as text.
fn spells_time(expr: &Expr) -> bool {
    match expr {
        Expr::Literal {
            value: Value::String(text),
            ..
        } => crate::temporal::time_of_text(text.as_bytes()).is_some(),
        Expr::Literal { .. } => false,
        _ => true,
    }
}

/// `expr` beside `other`, at least one of which is a number and none a date or time.
fn number_side(expr: Expr, other: &Expr) -> Expr {
    let (ty, other_ty) = (expr.ty(), other.ty());
    let constant = expr.is_constant();
    let beside_column = matches!(other, Expr::Column { .. });
    if other_ty.kind == TypeKind::Year && beside_column && constant && ty.kind != TypeKind::Year {
        let result = if ty.is_numeric() {
            ty
        } else {
            SqlType::decimal(65, 30)
        };
        if let Ok(call) = internal(YEAR_CONSTANT, expr.clone(), result, &other_ty) {
            return call;
        }
    }
    if !ty.is_string() {
        return expr;
    }
    let exact = constant && (other_ty.is_decimal() || other_ty.is_integer() && beside_column);
    let target = if exact {
        exact_type(&other_ty)
    } else {
        SqlType::DOUBLE
    };
    implicit_cast(expr, target)
}

/// The type in which a constant text meets exact numbers. Its precision tells apart, for warnings' wording only, whether
/// it met a DECIMAL (65) or an integer (64).
fn exact_type(other: &SqlType) -> SqlType {
    SqlType::decimal(if other.is_decimal() { 65 } else { 64 }, 30)
}

/// A call of one of the conversions above; `target` is the type of the other side.
fn internal(name: &str, expr: Expr, ty: SqlType, target: &SqlType) -> Result<Expr> {
    let function =
        crate::registry::find(name).ok_or_else(|| types::Error::internal(format!("no function {name}")))?;
    let kind = match target.kind {
        TypeKind::Date => "DATE",
        TypeKind::Timestamp => "TIMESTAMP",
        TypeKind::Time => "TIME",
        TypeKind::Year => "YEAR",
        _ => "DATETIME",
    };
    let kind = Expr::literal(
        Value::from(kind),
        super::literal_type(kind.len(), types::Collation::DEFAULT),
    );
    Ok(Expr::Call {
        function,
        args: vec![expr, kind],
        ty,
    })
}

/// The comparison operators.
pub(crate) fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    let b = binding.args.pop();
    let a = binding.args.pop();
    if let (Some(a), Some(b)) = (a, b) {
        let (a, b) = pair(a, b, binding.name, binding.env, WrongDate::Fails)?;
        binding.args.extend([a, b]);
    }
    Ok(SqlType::BOOL)
}

/// `IN` and `BETWEEN`, whose arguments [`rewrite`] has converted.
pub(crate) fn resolve_converted(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::BOOL)
}

fn bind_in(binding: &mut Binding<'_>) -> Result<Option<Expr>> {
    let mut args = std::mem::take(&mut binding.args).into_iter();
    let Some(needle) = args.next() else {
        return Ok(None);
    };
    let list: Vec<Expr> = args.collect();
    let mut pairs = Vec::with_capacity(list.len());
    for item in &list {
        pairs.push(pair(
            needle.clone(),
            item.clone(),
            "in",
            binding.env,
            WrongDate::Warns,
        )?);
    }
    let null = |e: &Expr| e.ty().kind == TypeKind::Null;
    let first = pairs
        .iter()
        .find(|(_, item)| !null(item))
        .map_or(&needle, |(n, _)| n)
        .clone();
    if pairs.iter().all(|(n, item)| *n == first || null(item)) {
        binding.args.push(first);
        binding.args.extend(pairs.into_iter().map(|(_, item)| item));
        return Ok(None);
    }
    let mut any = Vec::with_capacity(list.len());
    for item in list {
        any.push(call("=", vec![needle.clone(), item], binding.env)?);
    }
    if any.len() == 1 {
        Ok(any.pop())
    } else {
        call("or", any, binding.env).map(Some)
    }
}

fn bind_between(binding: &mut Binding<'_>) -> Result<Option<Expr>> {
    let Ok([value, low, high]) = <[Expr; 3]>::try_from(std::mem::take(&mut binding.args)) else {
        return Ok(None);
    };
    let (a, low2) = pair(
        value.clone(),
        low.clone(),
        "between",
        binding.env,
        WrongDate::Warns,
    )?;
    let (b, high2) = pair(
        value.clone(),
        high.clone(),
        "between",
        binding.env,
        WrongDate::Warns,
    )?;
    let null = |e: &Expr| e.ty().kind == TypeKind::Null;
    if a == b || null(&low) || null(&high) {
        let value = if null(&low) { b } else { a };
        binding.args.extend([value, low2, high2]);
        return Ok(None);
    }
    let from = call(">=", vec![value.clone(), low], binding.env)?;
    let to = call("<=", vec![value, high], binding.env)?;
    call("and", vec![from, to], binding.env).map(Some)
}

/// AND, OR, XOR, NOT: truth values in, a truth value out.
pub(crate) fn resolve_logic(binding: &mut Binding<'_>) -> Result<SqlType> {
    for arg in &mut binding.args {
        let expr = std::mem::replace(arg, Expr::null());
        *arg = condition(expr);
    }
    Ok(SqlType::BOOL)
}
