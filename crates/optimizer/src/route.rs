//! Which executor runs a query. `analytics` needs a millisecond to start and reads in parallel: it gets what
//! reads many rows.

use planner::logical::{Logical, LogicalQuery};
use planner::plan::Route;

use crate::access::Chosen;
use crate::limit::literal_count;
use crate::physical::Want;
use functions::Expr;
use functions::aggregate::AggregateFunction;

/// The executor of a plan that only one of them can run.
pub const ONLY: Route = Route::Transactional;

/// Tables with fewer rows are read faster than DataFusion makes its plan.
const ROWS_MIN: f64 = 10_000.0;
/// So many rows can be read and sent off one by one.
const SMALL_LIMIT: u64 = 1_000;

/// Whether either executor can run a query: one that takes the rows of one stored table, as they are now, and
/// neither locks them nor makes them one after the other.
pub fn is_free(query: &LogicalQuery) -> bool {
    let mut rel = &query.root;
    let (mut groups, mut limits) = (0, 0);
    loop {
        rel = match rel {
            Logical::Get(get) => {
                return !get.table.is_virtual() && get.as_of.is_none() && get.locking.is_none();
            }
            Logical::Aggregate {
                input, rollup: None, ..
            } => {
                groups += 1;
                input
            }
            Logical::Limit { input, .. } => {
                limits += 1;
                if groups > 0 {
                    return false;
                }
                input
            }
            Logical::Sort { .. } if groups > 0 || takes_first_rows(rel) => return false,
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input } => input,
            _ => return false,
        };
        if groups > 1 || limits > 1 {
            return false;
        }
    }
}

/// DISTINCT that is ordered by columns which it does not show: by those of the first of equal rows. Read in
/// parallel, no row is the first.
fn takes_first_rows(sort: &Logical) -> bool {
    let Logical::Sort { input, keys } = sort else {
        return false;
    };
    let Logical::Aggregate {
        keys: groups,
        aggregates,
        ..
    } = &**input
    else {
        return false;
    };
    let is_first = |expr: &Expr| {
        let Expr::Column { index, .. } = expr else {
            return false;
        };
        let call = aggregates.iter().find(|(id, _)| id.0 == *index);
        call.is_some_and(|(_, call)| call.function == AggregateFunction::AnyValue)
    };
    let any_values = aggregates
        .iter()
        .all(|(_, call)| call.function == AggregateFunction::AnyValue);
    !groups.is_empty() && any_values && keys.iter().any(|key| is_first(&key.expr))
}

/// The executor of a query that either of them can run. `sorts`: rows still have to be brought into order.
pub fn of(want: &Want, chosen: &Chosen, sorts: bool) -> Route {
    // Rows that come in order can be sent off as they come; read in parallel they would have to be sorted.
    let ends_early = want.ends_early && !sorts && chosen.residual.is_empty();
    if !chosen.wide || chosen.rows < ROWS_MIN || chosen.ordered || ends_early {
        return Route::Transactional;
    }
    Route::Analytical
}

/// Whether a LIMIT ends a scan after a few rows.
pub fn is_small(count: Option<&Expr>) -> bool {
    count.is_some_and(|count| literal_count(count).is_none_or(|count| count <= SMALL_LIMIT))
}
