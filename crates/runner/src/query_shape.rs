//! Properties of a query's operators that decide how it is run.

use functions::aggregate::AggregateFunction;
use functions::{EvalContext, Expr};
use planner::plan::{Access, ApplyKind, QueryPlan, Rel};
use types::Result;

/// Whether the statement has a LIMIT of its own.
pub fn has_limit(rel: &Rel) -> bool {
    match rel {
        Rel::Limit { .. } | Rel::Sort { limit: Some(_), .. } => true,
        Rel::Project { input, .. } | Rel::Filter { input, .. } | Rel::Distinct { input } => has_limit(input),
        Rel::Measured { input, .. } => has_limit(input),
        // The subqueries of a SELECT list may run above the LIMIT.
        Rel::Apply(apply) if !matches!(apply.kind, ApplyKind::Lateral { .. }) => has_limit(&apply.input),
        Rel::With { body, .. } => has_limit(body),
        _ => false,
    }
}

/// Whether a query goes through the rows of a table, or filters. Such a query fails when it is interrupted,
/// even where its functions have returned early and without an error. To MySQL the row of one key is a
/// constant and no table.
pub fn examines_rows(rel: &Rel) -> bool {
    any(rel, &|rel| match rel {
        Rel::Virtual(_) | Rel::Filter { .. } | Rel::LookupJoin(_) => true,
        Rel::Scan(scan) => match &scan.access {
            Access::PrimaryPoints { keys } | Access::UniquePoints { keys, .. } => keys.len() > 1,
            _ => true,
        },
        _ => false,
    })
}

/// After how many rows of its input the LIMIT of a statement ends; `None` without one.
pub fn limit(root: &Rel, eval: &EvalContext) -> Result<Option<u64>> {
    let found = root.operators().find_map(|rel| match rel {
        Rel::Limit { offset, count, .. } => Some((offset, count.as_ref()?)),
        _ => None,
    });
    let Some((offset, count)) = found else {
        return Ok(None);
    };
    let number =
        |expr: &Expr| -> Result<u64> { Ok(functions::eval_value(expr, eval)?.as_u64().unwrap_or(u64::MAX)) };
    let skipped = offset.as_ref().map(number).transpose()?.unwrap_or(0);
    Ok(Some(number(count)?.saturating_add(skipped)))
}

/// About how many rows of tables a query looks at, for `max_join_size`. As in MySQL, a table whose rows are only
/// counted does not count, and the rows of one that is read without conditions are no more than `limit`.
pub fn rows_examined(root: &Rel, limit: u64) -> f64 {
    if let Rel::Scan(scan) = root.source()
        && scan.filter.is_none()
    {
        if root.operators().all(gives_each_row) {
            return scan.expected.read.min(limit as f64);
        }
        if root
            .operators()
            .all(|rel| gives_each_row(rel) || counts_rows(rel))
        {
            return 0.0;
        }
    }
    let mut rows = 0.0;
    root.walk(&mut |rel| match rel {
        Rel::Scan(scan) => rows += scan.expected.read,
        Rel::LookupJoin(join) => rows += rows_expected(&join.left) * join.right.expected.read,
        _ => {}
    });
    rows
}

/// Whether an operator reads a table and gives all rows, or gives each row that it gets.
fn gives_each_row(rel: &Rel) -> bool {
    matches!(
        rel,
        Rel::Scan(_) | Rel::Project { .. } | Rel::Limit { .. } | Rel::Pushed { .. } | Rel::Measured { .. }
    )
}

/// `SELECT COUNT(*)`
fn counts_rows(rel: &Rel) -> bool {
    match rel {
        Rel::Aggregate { keys, aggregates, .. } => {
            keys.is_empty()
                && aggregates
                    .iter()
                    .all(|call| call.function == AggregateFunction::Count && !call.distinct)
        }
        _ => false,
    }
}

/// About how many rows an operator gives.
fn rows_expected(rel: &Rel) -> f64 {
    match rel {
        Rel::Scan(scan) => scan.expected.rows,
        Rel::Join(join) => join.rows,
        Rel::LookupJoin(join) => join.rows,
        _ => rel.inputs().into_iter().map(rows_expected).fold(1.0, f64::max),
    }
}

/// Whether a query is part of a transaction, and opens one where autocommit is off: a query that reads no
/// table is not.
pub fn joins_transaction(query: &QueryPlan) -> bool {
    any(&query.root, &|rel| match rel {
        Rel::Scan(_) | Rel::LookupJoin(_) => true,
        Rel::Virtual(scan) => scan.table.system.is_transactional,
        _ => false,
    })
}

/// Whether a condition holds for any operator of a query.
fn any(rel: &Rel, holds: &dyn Fn(&Rel) -> bool) -> bool {
    rel.operators().any(|rel| {
        holds(rel) || rel.input().is_none() && rel.inputs().into_iter().any(|input| any(input, holds))
    })
}
