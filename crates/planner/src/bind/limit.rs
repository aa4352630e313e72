//! LIMIT and OFFSET: literals or parameters, as unsigned integers.

use functions::Expr;
use functions::bind::implicit_cast;
use types::{Result, SqlType, Value};

use super::Binder;
use super::context::Context;
use super::scope::NO_NAMES;
use syntax::ast::{self, Limit};

/// How many rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct BoundLimit {
    pub offset: Option<Expr>,
    pub count: Option<Expr>,
}

pub(super) fn bind_limit(binder: &Binder<'_>, limit: Option<&Limit>) -> Result<BoundLimit> {
    let Some(limit) = limit else {
        return Ok(BoundLimit::default());
    };
    let offset = limit.offset.as_ref().map(|e| row_count(binder, e)).transpose()?;
    Ok(BoundLimit {
        offset: offset.filter(|offset| literal_count(offset) != Some(0)),
        count: Some(row_count(binder, &limit.count)?),
    })
}

fn row_count(binder: &Binder<'_>, expr: &ast::Expr) -> Result<Expr> {
    let unsigned = SqlType::BIGINT_UNSIGNED;
    let bound = binder.hinted(expr, Some(unsigned), &Context::of(&NO_NAMES))?;
    Ok(match bound {
        Expr::Literal {
            value: Value::Int(count),
            ..
        } => Expr::literal(Value::UInt(count.unsigned_abs()), unsigned),
        // A negative integer is reported by the executor at run time and must not become a huge number.
        other if other.ty().is_integer() => other,
        other => implicit_cast(other, unsigned),
    })
}

/// The number, if it is a literal.
pub fn literal_count(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Literal { value, .. } => value.as_u64(),
        _ => None,
    }
}
