//! The condition of WHERE.

use functions::Expr;
use types::{Result, SqlType, TypeKind, Value};

use super::context::Context;
use super::scope::Scope;
use super::{Binder, full_text_search};
use crate::logical::ColumnId;
use syntax::ast;

/// The condition of a WHERE clause about the relations of `scope`.
pub(super) fn bind_filter(
    binder: &Binder<'_>,
    filter: Option<&ast::Expr>,
    context: &Context<'_>,
    scope: &Scope,
) -> Result<Option<Expr>> {
    let without_relevance = filter.and_then(|filter| full_text_search::without_relevance(binder, filter));
    without_relevance
        .as_ref()
        .or(filter)
        .map(|filter| found_by_null(binder, condition(binder, filter, context)?, scope))
        .transpose()
}

/// All of the conditions; `None` if there are none.
pub(super) fn all(binder: &Binder<'_>, mut conditions: Vec<Expr>) -> Result<Option<Expr>> {
    match conditions.len() {
        0 => Ok(None),
        1 => Ok(conditions.pop()),
        _ => binder.call("and", conditions).map(Some),
    }
}

/// The condition of WHERE or HAVING: a JSON value is tested as AND and NOT do.
pub(super) fn condition(binder: &Binder<'_>, condition: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
    as_condition(binder, binder.scalar(condition, context)?)
}

/// A value as a condition.
pub(super) fn as_condition(binder: &Binder<'_>, bound: Expr) -> Result<Expr> {
    match bound.ty().kind {
        TypeKind::Json => binder.call("is true", vec![bound]),
        _ => Ok(functions::bind::branch_condition(bound)),
    }
}

/// What `IS NULL` of a column that is NOT NULL finds in MySQL, for ODBC: zero dates; and, with `sql_auto_is_null` and as
/// the whole condition, the row with the last AUTO_INCREMENT id. Source: manual 12.4.2 "Comparison Functions and
/// Operators".
fn found_by_null(binder: &Binder<'_>, condition: Expr, scope: &Scope) -> Result<Expr> {
    if let Expr::Call { function, args, .. } = &condition
        && function.0.name == "is null"
        && let [
            column @ Expr::Column {
                index,
                nullable: false,
                ..
            },
        ] = args.as_slice()
        && scope.is_auto_increment(ColumnId(*index))
        && null_finds_generated(binder)
    {
        // No id has been generated: no row is found, not even one with the id 0.
        let id = binder.call("last_insert_id", Vec::new())?;
        let id = binder.call("nullif", vec![id, Expr::literal(Value::Int(0), SqlType::BIGINT)])?;
        return binder.call("=", vec![column.clone(), id]);
    }
    with_zero_dates(binder, condition, scope)
}

/// `date IS NULL` of a column that is NOT NULL finds the zero date. It does so only as one of the conditions that must
/// all hold. Where an outer join may leave the column NULL, it finds both.
fn with_zero_dates(binder: &Binder<'_>, condition: Expr, scope: &Scope) -> Result<Expr> {
    let Expr::Call { function, args, .. } = &condition else {
        return Ok(condition);
    };
    match (function.0.name, args.as_slice()) {
        ("and", args) => {
            let all = args.iter().map(|arg| with_zero_dates(binder, arg.clone(), scope));
            binder.call("and", all.collect::<Result<_>>()?)
        }
        (
            "is null",
            [
                column @ Expr::Column {
                    index, ty, nullable, ..
                },
            ],
        ) if matches!(ty.kind, TypeKind::Date | TypeKind::DateTime) => {
            let is_zero = || binder.call("=", vec![column.clone(), Expr::literal(Value::UInt(0), *ty)]);
            match (nullable, scope.is_null_of_join(ColumnId(*index))) {
                (false, _) => is_zero(),
                (true, true) => binder.call("or", vec![condition.clone(), is_zero()?]),
                (true, false) => Ok(condition),
            }
        }
        _ => Ok(condition),
    }
}

/// `@@sql_auto_is_null`.
fn null_finds_generated(binder: &Binder<'_>) -> bool {
    let value = (binder.env.system_variable)(Some(ast::VariableScope::Session), "sql_auto_is_null");
    matches!(value, Ok(Value::Int(1) | Value::UInt(1)))
}
