//! LIMIT and OFFSET: literals or parameters, as unsigned integers.

use functions::Expr;
use functions::bind::implicit_cast;
use types::{Result, SqlType, Value};

use super::Binder;
use super::expr::Context;
use super::scope::NO_NAMES;
use syntax::ast::{self, Limit};

/// How many rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct BoundLimit {
    pub offset: Option<Expr>,
    pub count: Option<Expr>,
}

impl Binder<'_> {
    pub fn limit(&self, limit: Option<&Limit>) -> Result<BoundLimit> {
        let Some(limit) = limit else {
            return Ok(BoundLimit::default());
        };
        let offset = limit.offset.as_ref().map(|e| self.row_count(e)).transpose()?;
        Ok(BoundLimit {
            offset: offset.filter(|offset| literal_count(offset) != Some(0)),
            count: Some(self.row_count(&limit.count)?),
        })
    }

    fn row_count(&self, expr: &ast::Expr) -> Result<Expr> {
        let unsigned = SqlType::BIGINT_UNSIGNED;
        let bound = self.hinted(expr, Some(unsigned), &Context::of(&NO_NAMES))?;
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

    /// How many rows an operator below LIMIT has to make: count plus offset, nothing where there is no LIMIT.
    pub fn rows_wanted(&self, limit: &BoundLimit) -> Result<Option<Expr>> {
        let Some(count) = &limit.count else {
            return Ok(None);
        };
        let Some(offset) = &limit.offset else {
            return Ok(Some(count.clone()));
        };
        if let (Some(count), Some(offset)) = (literal_count(count), literal_count(offset)) {
            return Ok(Some(unsigned(count.saturating_add(offset))));
        }
        // `LIMIT ?, 18446744073709551615` means all the rest: the sum must not overflow.
        let small = |e: &Expr| self.call("<=", vec![e.clone(), unsigned(u64::MAX / 4)]);
        let both = self.call("and", vec![small(count)?, small(offset)?])?;
        let count = implicit_cast(count.clone(), SqlType::BIGINT_UNSIGNED);
        let offset = implicit_cast(offset.clone(), SqlType::BIGINT_UNSIGNED);
        let sum = self.call("+", vec![count, offset])?;
        functions::bind::case(None, vec![(both, sum)], Some(unsigned(u64::MAX)), &self.types).map(Some)
    }
}

pub fn unsigned(count: u64) -> Expr {
    Expr::literal(Value::UInt(count), SqlType::BIGINT_UNSIGNED)
}

/// The number, if it is a literal.
pub fn literal_count(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Literal { value, .. } => value.as_u64(),
        _ => None,
    }
}
