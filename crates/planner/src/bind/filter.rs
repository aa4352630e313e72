//! The condition of WHERE.

use functions::Expr;
use types::{Result, TypeKind, Value};

use super::Binder;
use super::context::Context;
use super::scope::Scope;
use crate::logical::ColumnId;
use syntax::ast;

/// The condition of a WHERE clause about the relations of `scope`.
pub(super) fn bind_filter(
    binder: &Binder<'_>,
    filter: Option<&ast::Expr>,
    scope: &Scope,
    context: &Context<'_>,
) -> Result<Option<Expr>> {
    filter
        .map(|filter| with_zero_dates(binder, scope, condition(binder, filter, context)?))
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
    let bound = binder.scalar(condition, context)?;
    match bound.ty().kind {
        TypeKind::Json => binder.call("is true", vec![bound]),
        _ => Ok(bound),
    }
}

/// `date IS NULL` of a column that is NOT NULL finds the zero date, as in MySQL, for ODBC, and NULL where an outer join
/// makes it. It does so only as one of the conditions that must all hold. Source: manual 12.4.2 "Comparison Functions and
/// Operators".
fn with_zero_dates(binder: &Binder<'_>, scope: &Scope, condition: Expr) -> Result<Expr> {
    let Expr::Call { function, args, .. } = &condition else {
        return Ok(condition);
    };
    match (function.0.name, args.as_slice()) {
        ("and", args) => {
            let all = args.iter().map(|arg| with_zero_dates(binder, scope, arg.clone()));
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
            if *nullable && !is_not_null_before_join(scope, ColumnId(*index)) {
                return Ok(condition);
            }
            let zero = binder.call("=", vec![column.clone(), Expr::literal(Value::UInt(0), *ty)])?;
            match nullable {
                true => binder.call("or", vec![condition.clone(), zero]),
                false => Ok(zero),
            }
        }
        _ => Ok(condition),
    }
}

/// Whether only an outer join makes a column of a table NULL.
fn is_not_null_before_join(scope: &Scope, id: ColumnId) -> bool {
    let Some(column) = scope.of_id(id) else {
        return false;
    };
    let relation = scope.relation(column);
    let table = relation.table().filter(|_| relation.or_null);
    table.is_some_and(|table| !table.columns[column.position].nullable)
}
