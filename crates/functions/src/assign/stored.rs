//! Converts a value as a temporary table does. MySQL stores the rows of some queries in columns that have the
//! types of another query, for example in a recursion.

use types::{Collation, Result, SqlType, Value};

use super::{OnLoss, Target};
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, Nullability};
use crate::registry::{self, Family, function};

const NAME: &str = "stored value";

pub(crate) static FAMILY: Family = Family {
    functions: &[function(NAME, 2, 2, resolve, stored)
        .takes_json()
        .nullability(Nullability::AnyArgument)],
    aliases: &[],
};

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    Ok(binding.ty(0))
}

/// A value that does not fit is an error in strict mode, also in a SELECT. Otherwise the nearest value is
/// stored.
fn stored(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [value, Datum::String(column)] = args else {
        return Ok(Value::Null);
    };
    let target = Target {
        from: &call.arg_type(0),
        to: &call.ty,
        column,
        source: None,
        row_number: 1,
        ctx: call.ctx,
        on_loss: match call.ctx.sql_mode.strict {
            true => OnLoss::Fail,
            false => OnLoss::Pass,
        },
    };
    target.convert(*value)
}

/// Converts a value as if it were stored in a column of another type. Errors name the column.
pub fn stored_in(value: Expr, ty: SqlType, column: &str) -> Expr {
    let is_stored_as_it_is = super::is_same(&value.ty(), &ty);
    let chars = u32::try_from(column.chars().count()).unwrap_or(u32::MAX);
    let name = Expr::literal(Value::from(column), SqlType::varchar(chars, Collation::DEFAULT));
    match registry::find(NAME) {
        Some(function) if !is_stored_as_it_is => Expr::Call {
            function,
            args: vec![value, name],
            ty,
        },
        _ => value,
    }
}
