//! WITH CHECK OPTION of the view that a statement writes through.

use functions::{EvalContext, eval_assigned};
use planner::RowCheck;
use types::{Result, Value};

use super::warn;

/// Whether a row that is to be written satisfies the check. With IGNORE, a row that does not leaves a
/// warning.
///
/// # Errors
/// 1369 without IGNORE.
pub(super) fn admits(
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
