//! Which executor runs a query. `analytics` needs a millisecond to start and reads in parallel: it gets what
//! reads many rows.

use crate::access::Chosen;
use crate::bind::{BoundSelect, literal_count};
use crate::plan::Route;

/// Tables with fewer rows are read faster than DataFusion makes its plan.
const ROWS_MIN: f64 = 10_000.0;
/// So many rows can be read and sent off one by one.
const SMALL_LIMIT: u64 = 1_000;

/// The executor of a query that either of them can run.
pub fn of(select: &BoundSelect<'_>, chosen: &Chosen, sorts: bool) -> Route {
    // Rows that come in order can be sent off as they come; read in parallel they would have to be sorted.
    let ordered = chosen.ordered && !select.order_by.is_empty();
    if !chosen.wide || chosen.rows < ROWS_MIN || ordered || ends_early(select, chosen, sorts) {
        return Route::Transactional;
    }
    Route::Analytical
}

/// A LIMIT ends the scan after a few rows.
fn ends_early(select: &BoundSelect<'_>, chosen: &Chosen, sorts: bool) -> bool {
    let Some(count) = &select.limit.count else {
        return false;
    };
    let blocks =
        select.grouped || select.distinct || sorts || select.having.is_some() || !chosen.residual.is_empty();
    !blocks && literal_count(count).is_none_or(|count| count <= SMALL_LIMIT)
}
