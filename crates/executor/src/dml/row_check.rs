//! The conditions that a row must satisfy to be written: WITH CHECK OPTION of the view that the statement writes
//! through, then the table's CHECK constraints, in this order as in MySQL.

use functions::{EvalContext, eval_assigned};
use planner::RowCheck;
use types::{Result, Value};

use super::computed::Computed;
use super::warn;

/// Whether a complete row satisfies all of them. With IGNORE, a row that does not leaves a warning.
///
/// # Errors
/// 1369 and 3819 without IGNORE.
pub(super) fn admits(
    check: Option<&RowCheck>,
    computed: Option<&Computed<'_>>,
    row: &[Value],
    ignore: bool,
    eval: &EvalContext,
) -> Result<bool> {
    if !view_admits(check, row, ignore, eval)? {
        return Ok(false);
    }
    computed.map_or(Ok(true), |computed| computed.admits(row, ignore, eval))
}

/// The same before the row has its id, which the view's condition may read: a row that satisfies the CHECK
/// constraints is left to [`view_admits`].
///
/// # Errors
/// As [`admits`].
pub(super) fn admits_without_id(
    check: Option<&RowCheck>,
    computed: &Computed<'_>,
    row: &[Value],
    ignore: bool,
    eval: &EvalContext,
) -> Result<bool> {
    if check.is_some() && computed.admits(row, false, eval).is_ok() {
        return Ok(true);
    }
    admits(check, Some(computed), row, ignore, eval)
}

/// Whether a row satisfies the view's condition.
///
/// # Errors
/// 1369 without IGNORE.
pub(super) fn view_admits(
    check: Option<&RowCheck>,
    row: &[Value],
    ignore: bool,
    eval: &EvalContext,
) -> Result<bool> {
    let Some(check) = check else { return Ok(true) };
    let (value, _) = eval_assigned(&check.condition, functions::Row::Values(row), eval)?;
    if matches!(value, Value::Int(truth) if truth != 0) {
        return Ok(true);
    }
    let error = check.error();
    if !ignore {
        return Err(error);
    }
    warn(eval, error.code, error.message);
    Ok(false)
}
