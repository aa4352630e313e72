//! The type that two values are compared as, and the conversions to it.
//!
//! Numbers of different types need no conversion, and neither do DATE, DATETIME and TIMESTAMP, because
//! [`crate::compare`] can compare them. Source: manual 12.3 "Type Conversion in Expression Evaluation", and
//! MySQL 8.0.33's answers.

use std::borrow::{Borrow, BorrowMut};

use types::{Result, SqlType, TypeKind, Value};

use super::arguments::{condition, implicit_cast, numeric_type, reads_branches, text_type};
use super::collation;
use super::env::{NoDate, TypeEnv};
use crate::Expr;
use crate::expr::Binding;

/// The functions that convert one side of a comparison; see [`crate::ops::constants`].
pub(crate) const DATETIME_OPERAND: &str = "datetime operand";
pub(crate) const DATETIME_CONSTANT: &str = "datetime constant";
pub(crate) const DATETIME_LIST_ITEM: &str = "datetime list item";
pub(crate) const DATETIME_PARAMETER: &str = "datetime parameter";
pub(crate) const DATETIME_LIST_PARAMETER: &str = "datetime list parameter";
pub(crate) const DATETIME_NUMBER: &str = "datetime number";
pub(crate) const TIME_CONSTANT: &str = "time constant";
pub(crate) const YEAR_CONSTANT: &str = "year constant";
pub(crate) const YEAR_BEGINNING: &str = "year beginning";
pub(crate) const BIGINT_CONSTANT: &str = "bigint constant";

/// The kind of comparison.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ComparisonKind {
    /// `=`, `<` and the other operators, NULLIF, IN with one value: a constant that is compared with a date
    /// fails with 1525 if it is not a date.
    Operator,
    /// NULLIF: as an operator outside of queries.
    Nullif,
    /// BETWEEN: such a constant becomes the zero date, with a warning.
    Range,
    /// IN: as in BETWEEN. In addition, a number of two digits is not a year.
    List,
    /// The operand of a CASE and the value of a WHEN: a text that is compared with a date and is not a date
    /// becomes the zero date, with a warning for each row.
    Case,
}

impl ComparisonKind {
    fn is_operator(self) -> bool {
        matches!(self, Self::Operator | Self::Nullif)
    }
}

/// Converts both sides to the type that they are compared as.
pub(crate) fn pair(
    a: Expr,
    b: Expr,
    operation: &str,
    env: &TypeEnv,
    kind: ComparisonKind,
) -> Result<(Expr, Expr)> {
    let (ta, tb) = (a.ty(), b.ty());
    if ta.kind == TypeKind::Null || tb.kind == TypeKind::Null {
        return Ok((a, b));
    }
    if ta.kind == TypeKind::Json || tb.kind == TypeKind::Json {
        return Ok((a, b));
    }
    if kind.is_operator() {
        if is_time_column(&a) && is_datetime_constant(&b) {
            let ty = SqlType::time(tb.decimals);
            return Ok((a, implicit_cast(b, ty)));
        }
        if is_time_column(&b) && is_datetime_constant(&a) {
            let ty = SqlType::time(ta.decimals);
            return Ok((implicit_cast(a, ty), b));
        }
    }
    if ta.is_datetime() || tb.is_datetime() {
        let (a2, b2) = (date_side(a.clone(), &b, kind, env)?, date_side(b, &a, kind, env)?);
        return Ok((a2, b2));
    }
    if ta.kind == TypeKind::Time || tb.kind == TypeKind::Time {
        let (a2, b2) = (time_side(a.clone(), &b, env), time_side(b, &a, env));
        if a2.ty().is_string() && b2.ty().is_string() {
            return texts(a2, b2, operation, env);
        }
        return Ok((a2, b2));
    }
    if ta.is_string() && tb.is_string() {
        return texts(a, b, operation, env);
    }
    if kind != ComparisonKind::List
        && let Some(scale) = fixed_scale(&ta, &tb)
    {
        return Ok((at_scale(a, scale), at_scale(b, scale)));
    }
    let years = kind != ComparisonKind::List;
    Ok((
        number_side(a.clone(), &b, years, env),
        number_side(b, &a, years, env),
    ))
}

/// A constant that is compared with a column gets the column's type. So compared with a TIME, a point in time
/// becomes its time of day.
fn is_time_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column { ty, .. } if ty.kind == TypeKind::Time)
}

fn is_datetime_constant(expr: &Expr) -> bool {
    expr.is_constant() && expr.ty().is_datetime()
}

/// FLOAT(M,D) and DOUBLE(M,D) are compared with a number of fixed scale at the larger of the two scales. So a
/// FLOAT(10,2) can equal 0.1, although no FLOAT is exactly 0.1.
fn fixed_scale(a: &SqlType, b: &SqlType) -> Option<u8> {
    let fixed = |ty: &SqlType| ty.is_numeric() && ty.decimals != SqlType::NOT_FIXED;
    let applies = (a.is_float() || b.is_float()) && fixed(a) && fixed(b);
    applies.then(|| a.decimals.max(b.decimals).min(types::Decimal::MAX_SCALE))
}

fn at_scale(expr: Expr, scale: u8) -> Expr {
    /// All integers of so many digits are DOUBLEs.
    const EXACT_DIGITS: u32 = 15;
    let ty = expr.ty();
    let at_scale = |expr: Expr| implicit_cast(expr, SqlType::decimal(65, scale));
    let digits = match ty.is_decimal() {
        true => ty.length,
        false => u32::from(ty.kind == TypeKind::BigInt) * 20,
    };
    if ty.is_float() {
        at_scale(expr)
    } else if digits > EXACT_DIGITS && !expr.is_constant() {
        // It is compared as a DOUBLE, which has fewer digits.
        at_scale(implicit_cast(expr, SqlType::DOUBLE))
    } else {
        expr
    }
}

fn texts(a: Expr, b: Expr, operation: &str, env: &TypeEnv) -> Result<(Expr, Expr)> {
    let mut both = [a, b];
    under_one_collation(&mut both, operation, env)?;
    let [a, b] = both;
    if !matches!(operation, "=" | "<>" | "<=>") {
        return Ok((a, b));
    }
    match <[Expr; 2]>::try_from(by_member(vec![a, b])) {
        Ok([a, b]) => Ok((a, b)),
        Err(_) => Err(types::Error::internal("a comparison has two sides")),
    }
}

/// Texts that are compared for equality, of which one is an ENUM or SET and the others are constants or have
/// the same column type. They are compared by the numbers of the members, because an index contains these. A
/// constant that is not a member gets a number that no value has.
pub(super) fn by_member(all: Vec<Expr>) -> Vec<Expr> {
    let member = |expr: &Expr| {
        let (ty, text) = (expr.as_stored().ty(), expr.ty());
        (ty.has_members() && ty.collation == text.collation).then_some(ty)
    };
    let Some(ty) = all.iter().find_map(member) else {
        return all;
    };
    let has_free_number = match ty.kind {
        TypeKind::Enum(members) => members.texts_differ(ty.collation),
        TypeKind::Set(members) => members.texts_differ(ty.collation) && members.set_max() != u64::MAX,
        _ => false,
    };
    let fits = |expr: &Expr| match member(expr) {
        Some(other) => other == ty,
        None => expr.is_constant() && expr.ty().collation == ty.collation,
    };
    if !has_free_number || !all.iter().all(fits) {
        return all;
    }
    let number = |expr: Expr| match member(&expr) {
        Some(_) => expr.as_stored().clone(),
        None => Expr::Cast {
            input: Box::new(expr),
            ty,
            implicit: true,
        },
    };
    all.into_iter().map(number).collect()
}

/// `expr`, converted to be compared with `other`, one of which is a DATE, DATETIME or TIMESTAMP.
pub(super) fn date_side(expr: Expr, other: &Expr, kind: ComparisonKind, env: &TypeEnv) -> Result<Expr> {
    let (ty, other_ty) = (expr.ty(), other.ty());
    let takes_parameter = is_parameter(&expr, env) || is_parameter(other, env);
    if !takes_parameter && let Some(year) = beside_year(&expr, other, kind)? {
        return Ok(year);
    }
    if ty.is_datetime() {
        let as_number = other_ty.is_numeric() && !is_read_as_date(other, &expr, kind, env);
        return Ok(if as_number {
            implicit_cast(expr, numeric_type(&ty))
        } else {
            expr
        });
    }
    if ty.kind == TypeKind::Time {
        return Ok(implicit_cast(expr, SqlType::datetime(ty.decimals)));
    }
    if ty.is_numeric() {
        if !is_read_as_date(&expr, other, kind, env) {
            return Ok(expr);
        }
        return match literal_date(&expr, &other_ty) {
            Some(date) => Ok(date),
            None => number_as_date(expr, other, kind, env),
        };
    }
    let moment = SqlType::datetime(6);
    if kind == ComparisonKind::Case && !expr.is_constant() && reads_branches(&expr, &moment) {
        return Ok(implicit_cast(expr, text_read_as(&other_ty)));
    }
    let is_parameter = is_parameter(&expr, env);
    if kind.is_operator() {
        note_date(&expr, other, env);
    }
    let function = match kind {
        ComparisonKind::Case if is_parameter => DATETIME_OPERAND,
        ComparisonKind::Case => DATETIME_LIST_ITEM,
        _ if !expr.is_constant() => return text_operand(expr, other, kind, env),
        ComparisonKind::Operator | ComparisonKind::Nullif if is_parameter => DATETIME_PARAMETER,
        _ if is_parameter => DATETIME_LIST_PARAMETER,
        ComparisonKind::Operator | ComparisonKind::Nullif => DATETIME_CONSTANT,
        ComparisonKind::Range | ComparisonKind::List => DATETIME_LIST_ITEM,
    };
    let mut constant = internal(function, expr, moment, &other_ty)?;
    if let (Expr::Call { args, .. }, Expr::Column { label, .. }) = (&mut constant, other)
        && !is_parameter
    {
        args.push(text_literal(label.name().unwrap_or_default()));
    }
    Ok(constant)
}

/// What a text is read as for itself that is compared with a date of a type.
fn text_read_as(date: &SqlType) -> SqlType {
    match date.kind {
        TypeKind::Date => SqlType::DATE,
        _ => SqlType::datetime(6),
    }
}

/// A text that is not constant, beside a date. As the operand of an operator in a query it is read for itself, as a value of
/// the date's type, if the date is not constant. Otherwise it is read as a point in time for the sake of the date, which the
/// warning names: the third argument, which is empty if the date has no name.
fn text_operand(text: Expr, date: &Expr, kind: ComparisonKind, env: &TypeEnv) -> Result<Expr> {
    let date_type = date.ty();
    let (is_constant, name) = match date {
        // The result of a subquery is a column without a name, and with a strength of its collation.
        Expr::Column { label, .. } => (
            label.as_str().is_none() && label.strength().is_some(),
            label.name(),
        ),
        other => (other.is_constant(), None),
    };
    let is_read_for_itself = kind == ComparisonKind::Operator && env.is_in_query.get();
    let moment = SqlType::datetime(6);
    let read_as = match is_read_for_itself && !is_constant {
        true if reads_branches(&text, &moment) => return Ok(implicit_cast(text, text_read_as(&date_type))),
        true => text_read_as(&date_type),
        false => moment,
    };
    let mut operand = internal(DATETIME_OPERAND, text, read_as, &date_type)?;
    if let (Expr::Call { args, .. }, true) = (&mut operand, is_constant || !is_read_for_itself) {
        args.push(text_literal(name.unwrap_or_default()));
    }
    Ok(operand)
}

/// Whether an expression is a parameter of a prepared statement: MySQL converts it to no column's type.
fn is_parameter(expr: &Expr, env: &TypeEnv) -> bool {
    matches!(expr, Expr::Param { .. }) && !env.literal_params
}

/// Notes a literal text that is compared with a date: MySQL reads it before it runs the statement.
fn note_date(text: &Expr, date: &Expr, env: &TypeEnv) {
    match text {
        Expr::Param { index, .. } if env.literal_params => env.notes.date_params.borrow_mut().push(*index),
        Expr::Literal {
            value: Value::String(text),
            ..
        } if !crate::temporal::is_date_constant(text, &env.sql_mode) => {
            let (kind, name) = match date.ty().kind {
                TypeKind::Date => ("date", "DATE"),
                TypeKind::Timestamp => ("datetime", "TIMESTAMP"),
                _ => ("datetime", "DATETIME"),
            };
            let column = match date {
                Expr::Column { label, .. } => label.name(),
                _ => None,
            };
            env.notes.no_dates.borrow_mut().push(NoDate {
                incorrect: match column {
                    Some(column) => {
                        format!("Incorrect {kind} value: '{text}' for column '{column}' at row 1")
                    }
                    None => format!("Truncated incorrect {kind} value: '{text}'"),
                },
                wrong: format!("Incorrect {name} value: '{text}'"),
            });
        }
        _ => {}
    }
}

/// Whether a value is constant and depends on nothing outside of the expression, such as the time.
fn is_of_itself(expr: &Expr) -> bool {
    let mut reads_session = false;
    expr.walk(&mut |part| {
        reads_session |= matches!(part, Expr::Call { function, .. } if function.0.reads_session);
    });
    expr.is_constant() && !reads_session
}

/// `expr`, converted to be compared with `other`, one of which is a YEAR and the other a date. A constant
/// date that is compared with a column is the year that the column would store. Otherwise an operator
/// compares the year's beginning with the date, and IN and BETWEEN compare numbers.
fn beside_year(expr: &Expr, other: &Expr, kind: ComparisonKind) -> Result<Option<Expr>> {
    let is_year = |expr: &Expr| expr.ty().kind == TypeKind::Year;
    let (year, date) = match (is_year(expr), is_year(other)) {
        (true, false) => (expr, other),
        (false, true) => (other, expr),
        _ => return Ok(None),
    };
    let is_read = matches!(year, Expr::Column { .. }) && is_of_itself(date);
    if !is_read && kind != ComparisonKind::Operator {
        return Ok(None);
    }
    if is_year(other) {
        return match is_read {
            true => internal(YEAR_CONSTANT, expr.clone(), SqlType::BIGINT, &other.ty()).map(Some),
            false => Ok(Some(expr.clone())),
        };
    }
    match is_read {
        true => Ok(Some(expr.clone())),
        false => internal(YEAR_BEGINNING, expr.clone(), SqlType::datetime(0), &other.ty()).map(Some),
    }
}

/// Whether a number that is compared with a date is read as a date: if it is constant, and is compared with a column.
fn is_read_as_date(number: &Expr, date: &Expr, kind: ComparisonKind, env: &TypeEnv) -> bool {
    let Expr::Column { label, .. } = date else {
        return false;
    };
    let is_stored = label.name().is_some() && kind != ComparisonKind::Case;
    let constant = match number {
        Expr::Param { ty, .. } if ty.is_integer() || ty.is_decimal() => return true,
        Expr::Param { .. } => env.literal_params,
        number => number.is_constant() && !reads_variable(number),
    };
    constant && is_stored || literal_date(number, &date.ty()).is_some()
}

/// A constant number as the date that a column would store. A number in the statement's text is rounded to the
/// column's digits, and may leave a warning that names the column; the value of a parameter is not and does not.
fn number_as_date(number: Expr, column: &Expr, kind: ComparisonKind, env: &TypeEnv) -> Result<Expr> {
    let ty = column.ty();
    let is_of_text = !matches!(number, Expr::Param { .. }) || env.literal_params;
    let name = match column {
        Expr::Column { label, .. } if is_of_text && kind != ComparisonKind::Case => label.name(),
        _ => None,
    };
    let digits = match (name, ty.kind) {
        (None, _) => 6,
        (Some(_), TypeKind::Date) => 0,
        (Some(_), _) => ty.decimals,
    };
    let mut date = internal(DATETIME_NUMBER, number, SqlType::datetime(digits), &ty)?;
    if let (Expr::Call { args, .. }, Some(name)) = (&mut date, name) {
        args.push(text_literal(name));
    }
    Ok(date)
}

/// The date that the digits of a literal number stand for.
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

/// `expr`, converted to be compared with `other`, one of which is a TIME and none a date.
fn time_side(expr: Expr, other: &Expr, env: &TypeEnv) -> Expr {
    let (ty, other_ty) = (expr.ty(), other.ty());
    if ty.kind == TypeKind::Time && other_ty.kind == TypeKind::Time {
        return expr;
    }
    let column = |e: &Expr| matches!(e, Expr::Column { .. });
    if ty.kind == TypeKind::Time {
        if literal_time(other, &expr, env).is_some() {
            return expr;
        }
        if other_ty.is_string() {
            let readable = column(&expr) && other.is_constant() && spells_time(other, env);
            return if readable {
                expr
            } else {
                implicit_cast(expr, text_type(&ty, types::Collation::DEFAULT))
            };
        }
        return implicit_cast(expr, numeric_type(&ty));
    }
    if ty.is_numeric() && column(other) {
        if let Some(time) = literal_time(&expr, other, env) {
            return time;
        }
        note_incorrect(&expr, other, env);
    }
    if ty.is_string() && column(other) && expr.is_constant() {
        if spells_time(&expr, env) {
            return match internal(
                TIME_CONSTANT,
                expr.clone(),
                SqlType::time(other_ty.decimals),
                &other_ty,
            ) {
                Ok(constant) => constant,
                Err(_) => expr,
            };
        }
        note_incorrect(&expr, other, env);
    }
    expr
}

/// The TIME that a column would store of a literal number.
fn literal_time(number: &Expr, column: &Expr, env: &TypeEnv) -> Option<Expr> {
    let (Expr::Column { ty, .. }, true) = (column, number.ty().is_numeric()) else {
        return None;
    };
    let value = match number {
        Expr::Literal { value, .. } => value,
        Expr::Param { .. } if env.literal_params => {
            env.notes.needs_literals.set(true);
            return None;
        }
        _ => return None,
    };
    let us = crate::temporal::time_of_number(value, ty.decimals, &env.sql_mode)?;
    Some(Expr::Literal {
        value: Value::Int(us),
        ty: SqlType::time(ty.decimals),
    })
}

/// Whether a constant text is read as a TIME. Literals that are not a TIME are compared as text.
fn spells_time(expr: &Expr, env: &TypeEnv) -> bool {
    match expr {
        Expr::Literal {
            value: Value::String(text),
            ..
        } => crate::temporal::time_of_text(text.as_bytes()).is_some_and(|time| !time.clamped),
        Expr::Literal { .. } => false,
        Expr::Param { .. } if env.literal_params => {
            env.notes.needs_literals.set(true);
            true
        }
        _ => true,
    }
}

fn note_incorrect(literal: &Expr, column: &Expr, env: &TypeEnv) {
    if let (Expr::Literal { value, ty }, Expr::Column { label, .. }) = (literal, column)
        && *value != Value::from("")
    {
        let text = value.display_text(ty);
        env.notes.incorrect.borrow_mut().push(format!(
            "Incorrect time value: '{text}' for column '{}' at row 1",
            label.name().unwrap_or_default()
        ));
    }
}

/// `expr`, converted to be compared with `other`, at least one of which is a number and none a date or time.
fn number_side(expr: Expr, other: &Expr, years: bool, env: &TypeEnv) -> Expr {
    let (ty, other_ty) = (expr.ty(), other.ty());
    if expr.as_stored().ty().has_members() {
        return implicit_cast(expr, SqlType::BIGINT_UNSIGNED);
    }
    let constant = expr.is_constant();
    let beside_column = matches!(other, Expr::Column { .. });
    let is_year = other_ty.kind == TypeKind::Year && ty.kind != TypeKind::Year;
    if is_year && is_parameter(&expr, env) {
        return match ty.is_string() {
            true => implicit_cast(expr, SqlType::BIGINT),
            false => expr,
        };
    }
    if is_year && beside_column && constant && (years || ty.is_string()) {
        let result = if ty.is_numeric() {
            ty
        } else {
            SqlType::decimal(65, 30)
        };
        if let Ok(call) = internal(YEAR_CONSTANT, expr.clone(), result, &other_ty) {
            return call;
        }
    }
    if ty.is_float()
        && constant
        && beside_column
        && other_ty.kind == TypeKind::BigInt
        && !reads_variable(&expr)
    {
        // Beyond 2^53 several integers are one double. MySQL stores the constant in the column's type.
        if let Some(function) = crate::registry::find(BIGINT_CONSTANT) {
            return Expr::Call {
                function,
                args: vec![expr],
                ty: SqlType::decimal(22, 1),
            };
        }
    }
    if !ty.is_string() {
        return expr;
    }
    let exact =
        constant && (other_ty.is_decimal() && !other.is_constant() || other_ty.is_integer() && beside_column);
    let target = if exact {
        exact_type(&other_ty)
    } else {
        SqlType::DOUBLE
    };
    implicit_cast(expr, target)
}

/// Whether an expression reads a user variable, which may change before it is compared.
fn reads_variable(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| {
        found |= matches!(part, Expr::Call { function, .. } if function.0.name.starts_with('@'));
    });
    found
}

/// The type of a constant text that is compared with exact numbers. Its precision tells the text of warnings
/// whether the other side is a DECIMAL (65) or an integer (64).
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
    Ok(Expr::Call {
        function,
        args: vec![expr, text_literal(kind)],
        ty,
    })
}

fn text_literal(text: &str) -> Expr {
    let ty = super::arguments::literal_type(text.len(), types::Collation::DEFAULT);
    Expr::literal(Value::from(text), ty)
}

/// Converts a column of the row before IN, and the column of a row in its list, for their comparison. `rows`:
/// how many rows the list has. `None` if the two are never equal: a TIME and a literal with a date, or in a
/// list of several rows, a TIME and any value with a date.
pub fn row_list_pair(operand: Expr, item: Expr, rows: usize, env: &TypeEnv) -> Result<Option<(Expr, Expr)>> {
    let has_date = match &item {
        Expr::Literal {
            value: Value::String(text),
            ..
        } => crate::temporal::spells_point_in_time(text),
        item => rows > 1 && item.ty().is_datetime(),
    };
    if operand.ty().kind == TypeKind::Time && has_date {
        return Ok(None);
    }
    let has_text = operand.ty().is_string() || item.ty().is_string();
    let kind = match rows == 1 && has_text {
        true => ComparisonKind::Operator,
        false => ComparisonKind::List,
    };
    pair(operand, item, "=", env, kind).map(Some)
}

/// A column of the row before IN and the column of a row in its list, neither of which is a date. In a list of several
/// rows they are compared as the type of the left one: a text and a number as texts.
pub fn row_list_texts([operand, item]: [Expr; 2], rows: usize) -> [Expr; 2] {
    let is_text = operand.ty().is_string() && !operand.as_stored().ty().has_members();
    let is_number = item.ty().is_numeric() && item.ty().kind != TypeKind::Bit;
    if rows < 2 || !is_text || !is_number {
        return [operand, item];
    }
    let ty = text_type(&item.ty(), operand.ty().collation);
    [operand, implicit_cast(item, ty)]
}

/// The comparison operators.
pub(crate) fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    let b = binding.args.pop();
    let a = binding.args.pop();
    if let (Some(a), Some(b)) = (a, b) {
        let (a, b) = pair(a, b, binding.name, binding.env, ComparisonKind::Operator)?;
        binding.args.extend([a, b]);
    }
    Ok(SqlType::BOOL)
}

/// `IN` and `BETWEEN`, whose arguments [`fn@super::call`] has converted.
pub(crate) fn resolve_converted(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::BOOL)
}

/// Converts texts to one character set and collation.
pub(super) fn under_one_collation(
    all: &mut [impl BorrowMut<Expr>],
    operation: &str,
    env: &TypeEnv,
) -> Result<()> {
    let refs: Vec<&Expr> = all.iter().map(Borrow::borrow).collect();
    let collation = collation::of_comparison(&refs, env.collation, operation)?;
    for side in all.iter_mut().map(BorrowMut::borrow_mut) {
        let expr = std::mem::replace(side, Expr::null());
        let ty = text_type(&expr.ty(), collation);
        *side = implicit_cast(expr, ty);
    }
    Ok(())
}

/// The comparison of two values that are of the type that they are compared as.
pub(super) fn equal(a: Expr, b: Expr) -> Result<Expr> {
    let function = crate::registry::find("=").ok_or_else(|| types::Error::internal("there is no ="))?;
    Ok(Expr::Call {
        function,
        args: vec![a, b],
        ty: SqlType::BOOL,
    })
}

/// AND, OR, XOR, NOT: the arguments and the result are truth values.
pub(crate) fn resolve_logic(binding: &mut Binding<'_>) -> Result<SqlType> {
    let env = binding.env;
    for arg in &mut binding.args {
        let expr = std::mem::replace(arg, Expr::null());
        *arg = if expr.ty().kind == TypeKind::Json {
            json_truth(expr, env)?
        } else {
            condition(expr)
        };
    }
    Ok(SqlType::BOOL)
}

/// A JSON value is true if it is not the JSON integer 0. For IF and CASE it is a number instead.
fn json_truth(value: Expr, env: &TypeEnv) -> Result<Expr> {
    env.notes.json_truths.set(env.notes.json_truths.get() + 1);
    let zero = Expr::literal(Value::Int(0), SqlType::BIGINT);
    let (value, zero) = pair(value, zero, "<>", env, ComparisonKind::Operator)?;
    let function = crate::registry::find("<>").ok_or_else(|| types::Error::internal("no function <>"))?;
    Ok(Expr::Call {
        function,
        args: vec![value, zero],
        ty: SqlType::BOOL,
    })
}
