//! Properties of a query's operators that decide how it is run.

use planner::plan::{Access, QueryPlan, Rel};

/// Whether the statement has a LIMIT of its own.
pub fn has_limit(rel: &Rel) -> bool {
    match rel {
        Rel::Limit { .. } | Rel::Sort { limit: Some(_), .. } => true,
        Rel::Project { input, .. } | Rel::Filter { input, .. } | Rel::Distinct { input } => has_limit(input),
        _ => false,
    }
}

/// Whether a query goes through the rows of a table, or filters. Such a query fails when it is interrupted,
/// even where its functions have returned early and without an error. To MySQL the row of one key is a
/// constant and no table.
pub fn examines_rows(rel: &Rel) -> bool {
    rel.operators().any(|rel| match rel {
        Rel::Virtual(_) | Rel::Filter { .. } => true,
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
    match query.root.source() {
        Rel::Scan(_) => true,
        Rel::Virtual(scan) => scan.table.system.is_transactional,
        _ => false,
    }
}
