//! The default value that a column has: `DEFAULT(column)`.

use functions::Expr;
use functions::bind::implicit_cast;
use schema::model::{Column, Default};
use types::{Error, Result, TypeKind, Value, errno};

use super::Binder;
use super::relation::Relation;

const ER_DEFAULT_AS_VAL_GENERATED: u16 = 3773;

/// Error 1364.
fn no_default(column: &Column) -> Error {
    Error::new(
        errno::ER_NO_DEFAULT_FOR_FIELD,
        format!("Field '{}' doesn't have a default value", column.name),
    )
}

/// The default value of a column, as an expression. Fails with 1364 if there is none.
pub(super) fn default_value(binder: &Binder<'_>, table: &Relation, offset: usize) -> Result<Expr> {
    match table.table() {
        Some(table) => default_of_column(binder, &table.columns[offset]),
        None => Ok(Expr::null()),
    }
}

/// The default value of a column of a table.
///
/// # Errors
/// 1364 if there is none; 3773 if it is an expression.
pub(super) fn default_of_column(binder: &Binder<'_>, column: &Column) -> Result<Expr> {
    if column.generated.is_some() {
        return Err(no_default(column));
    }
    match &column.default {
        Default::Null => Ok(implicit_cast(Expr::null(), column.ty)),
        Default::None if column.nullable => Ok(implicit_cast(Expr::null(), column.ty)),
        Default::None | Default::Dropped => Err(no_default(column)),
        Default::Expression(_) => Err(Error::new(
            ER_DEFAULT_AS_VAL_GENERATED,
            "DEFAULT function cannot be used with default value expressions",
        )),
        // Its value before the time is known: NULL, or the zero date.
        Default::Now if column.nullable => Ok(implicit_cast(Expr::null(), column.ty)),
        Default::Now => Ok(Expr::literal(Value::UInt(0), column.ty)),
        Default::Literal(text) => {
            if column.ty.kind == TypeKind::Timestamp {
                // Its value is in this session's zone.
                binder.not_cacheable();
            }
            let value = schema::layout::default_value(column, text, binder.env.time_zone)?;
            Ok(Expr::literal(value, column.ty))
        }
    }
}
