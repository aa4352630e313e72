//! Properties of a query's operators that decide how it is run.

use planner::plan::{Access, ApplyKind, QueryPlan, Rel};

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
