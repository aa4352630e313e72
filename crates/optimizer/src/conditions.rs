//! Conditions as lists.

use functions::Expr;
use planner::logical::columns_of;
use planner::logical::{ColumnId, Logical};
use types::Result;

use crate::OptimizerEnv;
use crate::expr::all;

/// The operator below the conditions; itself if there are none.
pub fn filtered(input: Logical, conditions: Vec<Expr>, env: &OptimizerEnv<'_>) -> Result<Logical> {
    Ok(match all(conditions, env.types)? {
        None => input,
        Some(predicate) => Logical::Filter {
            input: Box::new(input),
            predicate,
        },
    })
}

/// Splits off the conditions for which `test` holds.
pub fn take(conditions: &mut Vec<Expr>, mut test: impl FnMut(&Expr) -> bool) -> Vec<Expr> {
    let (taken, left) = std::mem::take(conditions)
        .into_iter()
        .partition(|condition| test(condition));
    *conditions = left;
    taken
}

/// Whether a condition can be decided below: it names nothing but these columns and columns that `outside`
/// does not make, and has the same value wherever it is computed.
pub fn is_free_of(condition: &Expr, outside: &[ColumnId]) -> bool {
    functions::is_deterministic(condition) && columns_of(condition).iter().all(|id| !outside.contains(id))
}

/// The conditions as one, without a check of their types: they have been conditions before.
pub fn and(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => functions::bind::call("and", conditions, &Default::default()).ok(),
    }
}
