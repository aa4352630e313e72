//! LIMIT: how many rows an operator has to make.

use functions::Expr;
use functions::bind::{TypeEnv, call, case, implicit_cast};
use types::{Result, SqlType, Value};

use crate::access::RowLimit;

/// The number of rows below LIMIT: its count plus its offset.
pub fn rows_wanted(offset: Option<&Expr>, count: Option<&Expr>, types: &TypeEnv) -> Result<Option<Expr>> {
    let Some(count) = count else {
        return Ok(None);
    };
    let Some(offset) = offset else {
        return Ok(Some(count.clone()));
    };
    if let (Some(count), Some(offset)) = (literal_count(count), literal_count(offset)) {
        return Ok(Some(unsigned(count.saturating_add(offset))));
    }
    // `LIMIT ?, 18446744073709551615` means all the rest: the sum must not overflow.
    let small = |e: &Expr| call("<=", vec![e.clone(), unsigned(u64::MAX / 4)], types);
    let both = call("and", vec![small(count)?, small(offset)?], types)?;
    let count = implicit_cast(count.clone(), SqlType::BIGINT_UNSIGNED);
    let offset = implicit_cast(offset.clone(), SqlType::BIGINT_UNSIGNED);
    let sum = call("+", vec![count, offset], types)?;
    case(None, vec![(both, sum)], Some(unsigned(u64::MAX)), types).map(Some)
}

/// The same as a number, where the statement has it.
pub fn row_limit(offset: Option<&Expr>, count: Option<&Expr>) -> RowLimit {
    let Some(count) = count else {
        return RowLimit::All;
    };
    match (literal_count(count), offset.map_or(Some(0), literal_count)) {
        (Some(count), Some(offset)) => RowLimit::AtMost(count.saturating_add(offset)),
        _ => RowLimit::Some,
    }
}

/// `most` rows if the conditions hold, else none.
pub fn rows_if(conditions: Vec<Expr>, most: Option<Expr>, types: &TypeEnv) -> Result<Option<Expr>> {
    let Some(condition) = crate::expr::all(conditions, types)? else {
        return Ok(most);
    };
    let most = most.unwrap_or_else(|| unsigned(u64::MAX));
    let most = implicit_cast(most, SqlType::BIGINT_UNSIGNED);
    case(None, vec![(condition, most)], Some(unsigned(0)), types).map(Some)
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
