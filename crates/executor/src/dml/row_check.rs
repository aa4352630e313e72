//! The conditions that a row must satisfy to be written: WITH CHECK OPTION of the view that the statement writes
//! through, then the table's CHECK constraints, in this order as in MySQL.

use functions::{EvalContext, eval_assigned};
use kv::Transaction;
use planner::RowCondition;
use planner::plan::ViewCheck;
use types::{Error, Result, Value};

use super::computed::Computed;
use super::warn;
use crate::context::ExecContext;
use crate::memory::Memory;
use crate::operator::row_query::RowQuery;

/// The check of a view in one statement.
pub(super) struct ViewChecker<'p> {
    check: &'p ViewCheck,
    /// Set if the condition has subqueries.
    query: Option<RowQuery<'p>>,
}

impl<'p> ViewChecker<'p> {
    /// `memory`: the statement's, which subqueries need.
    pub fn of(check: Option<&'p ViewCheck>, memory: Option<&'p Memory<'p>>) -> Result<Option<Self>> {
        let Some(check) = check else { return Ok(None) };
        let query = match (&check.condition, memory) {
            (RowCondition::Row(_), _) => None,
            (RowCondition::Query(query), Some(memory)) => Some(RowQuery::new(query, memory)),
            (RowCondition::Query(_), None) => return Err(Error::internal("a subquery without its memory")),
        };
        Ok(Some(Self { check, query }))
    }

    fn admits(
        &self,
        row: &[Value],
        ignore: bool,
        txn: &mut Transaction,
        ctx: &ExecContext<'_>,
    ) -> Result<bool> {
        let Some(query) = &self.query else {
            return alone_admits(self.check, row, ignore, ctx.eval);
        };
        let values = query.run(row, txn, ctx)?;
        settle(self.check, values.first(), ignore, ctx.eval)
    }
}

/// Whether a complete row satisfies all of them. With IGNORE, a row that does not leaves a warning.
///
/// # Errors
/// 1369 and 3819 without IGNORE.
pub(super) fn admits(
    check: Option<&ViewChecker<'_>>,
    computed: Option<&Computed<'_>>,
    row: &[Value],
    ignore: bool,
    txn: &mut Transaction,
    ctx: &ExecContext<'_>,
) -> Result<bool> {
    if !view_admits(check, row, ignore, txn, ctx)? {
        return Ok(false);
    }
    computed.map_or(Ok(true), |computed| computed.admits(row, ignore, ctx.eval))
}

/// The same before the row has its id, which the view's condition may read: a row that satisfies the CHECK
/// constraints is left to [`view_admits`].
///
/// # Errors
/// As [`admits`].
pub(super) fn admits_without_id(
    check: Option<&ViewCheck>,
    computed: &Computed<'_>,
    row: &[Value],
    ignore: bool,
    eval: &EvalContext,
) -> Result<bool> {
    if let Some(check) = check {
        let satisfies_table = computed.admits(row, false, eval).is_ok();
        if satisfies_table || !alone_admits(check, row, ignore, eval)? {
            return Ok(satisfies_table);
        }
    }
    computed.admits(row, ignore, eval)
}

/// Whether a row satisfies the view's condition.
///
/// # Errors
/// 1369 without IGNORE.
pub(super) fn view_admits(
    check: Option<&ViewChecker<'_>>,
    row: &[Value],
    ignore: bool,
    txn: &mut Transaction,
    ctx: &ExecContext<'_>,
) -> Result<bool> {
    check.map_or(Ok(true), |check| check.admits(row, ignore, txn, ctx))
}

/// Whether a row satisfies the view's condition, if that is about the row alone.
fn alone_admits(check: &ViewCheck, row: &[Value], ignore: bool, eval: &EvalContext) -> Result<bool> {
    let RowCondition::Row(condition) = &check.condition else {
        return Ok(true);
    };
    let (value, _) = eval_assigned(condition, functions::Row::Values(row), eval)?;
    settle(check, Some(&value), ignore, eval)
}

fn settle(check: &ViewCheck, value: Option<&Value>, ignore: bool, eval: &EvalContext) -> Result<bool> {
    if matches!(value, Some(Value::Int(truth)) if *truth != 0) {
        return Ok(true);
    }
    let error = check.error();
    if !ignore {
        return Err(error);
    }
    warn(eval, error.code, error.message);
    Ok(false)
}
