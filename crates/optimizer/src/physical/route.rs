//! Which executor runs a query. `analytics` needs a millisecond to start and reads in parallel: it gets what
//! reads many rows.
//!
//! A query of one table is decided with the table's access path. For one of several tables both plans are
//! made, as their operators differ: `analytics` reads whole tables, and both join by hash or look rows up. The
//! cheaper one is taken.

use planner::logical::{Logical, SetOperator};
use planner::plan::{Access, Rel, Route};
use types::Result;

use super::builder::{Builder, Built, ONLY, Want};
use crate::access::Chosen;
use crate::cost;
use crate::limit::literal_count;
use functions::Expr;
use functions::aggregate::AggregateFunction;

/// Tables with fewer rows are read faster than DataFusion makes its plan.
const ROWS_MIN: f64 = 10_000.0;
/// So many rows can be read and sent off one by one.
const SMALL_LIMIT: u64 = 1_000;
/// Operators within each other: DataFusion walks over a plan by recursion, on threads with small stacks.
const DEPTH_MAX: usize = 64;
/// Microseconds that `analytics` takes to start.
const START: f64 = 2_000.0;
/// How many cores share the work there. It is not the number that the machine has, so that a plan is the same
/// on all of them.
const CORES: f64 = 2.0;

/// The plan of a query, and its executor.
pub struct Routed {
    pub built: Built,
    pub route: Route,
    /// Of a plan for `executor`: that for `analytics`, and how many rows the former may look at before the latter is the
    /// better one in any case.
    pub larger: Option<(Rel, u64)>,
}

impl Routed {
    fn only(built: Built, route: Route) -> Self {
        Self {
            built,
            route,
            larger: None,
        }
    }

    /// A plan for `executor` beside one for `analytics`.
    fn with_larger(small: Built, large: Built) -> Self {
        let is_candidate = large.rel.runs_in_parallel()
            && !ends_early(&small.rel)
            && !passes_on(&small.rel)
            && may_start_anew(&small.rel);
        let microseconds = START + large.cost / CORES;
        let rows_max = (microseconds / microseconds_per_row(&small.rel)).max(ROWS_MIN) as u64;
        Self {
            built: small,
            route: ONLY,
            larger: is_candidate.then_some((large.rel, rows_max)),
        }
    }
}

/// `free`: it may run in `analytics`.
pub fn build(builder: &Builder<'_>, root: Logical, want: Want, free: bool) -> Result<Routed> {
    let rows = if free && can_run(&root, Place::default()) {
        table_rows(builder, &root)
    } else {
        Vec::new()
    };
    match rows.as_slice() {
        [] => built_for(builder, ONLY, root, want),
        [rows] => of_one_table(builder, root, want, *rows),
        several => cheaper(builder, root, want, several.iter().sum()),
    }
}

fn of_one_table(builder: &Builder<'_>, root: Logical, want: Want, rows: f64) -> Result<Routed> {
    builder.route.set(builder.env.route);
    let may_grow = builder.env.route.is_none() && rows >= ROWS_MIN;
    let again = may_grow.then(|| (root.clone(), want.clone()));
    let built = builder.build_exact(root, want)?;
    let route = builder.route.get().unwrap_or(ONLY);
    match again {
        Some((root, want)) if route == ONLY && !reads_points(&built.rel) => {
            let large = built_for(builder, Route::Analytical, root, want)?.built;
            Ok(Routed::with_larger(built, large))
        }
        _ => Ok(Routed::only(built, route)),
    }
}

/// `rows`: of all the tables that it reads.
fn cheaper(builder: &Builder<'_>, root: Logical, want: Want, rows: f64) -> Result<Routed> {
    let is_forced = builder.env.route == Some(Route::Analytical);
    if builder.env.route == Some(Route::Transactional) || !is_forced && rows < ROWS_MIN {
        return built_for(builder, ONLY, root, want);
    }
    let analytical = built_for(builder, Route::Analytical, root.clone(), want.clone())?;
    let can_run = analytical.built.rel.runs_in_parallel();
    if can_run && is_forced {
        return Ok(analytical);
    }
    let transactional = built_for(builder, ONLY, root, want)?;
    let is_cheaper = START + analytical.built.cost / CORES < transactional.built.cost;
    if can_run && is_cheaper && !ends_early(&transactional.built.rel) {
        return Ok(analytical);
    }
    Ok(Routed::with_larger(transactional.built, analytical.built))
}

fn built_for(builder: &Builder<'_>, route: Route, root: Logical, want: Want) -> Result<Routed> {
    builder.route.set(Some(route));
    builder.slots.set(0);
    Ok(Routed::only(builder.build_exact(root, want)?, route))
}

/// The number of rows of each stored table that is read.
fn table_rows(builder: &Builder<'_>, root: &Logical) -> Vec<f64> {
    let mut rows = Vec::new();
    root.walk(&mut |rel| {
        if let Logical::Get(get) = rel {
            rows.push(builder.env.estimates.rows(get.table.id) as f64);
        }
    });
    rows
}

/// Whether a plan looks up rows of one table by their keys alone.
fn reads_points(rel: &Rel) -> bool {
    let access = rel.scan().map(|scan| &scan.access);
    matches!(
        access,
        Some(Access::PrimaryPoints { .. } | Access::UniquePoints { .. })
    )
}

/// Whether a plan may be given up after some rows for another one. The number of rows must say how far it is: a plan
/// that looks up one table's rows for another's reads cheap and expensive ones. And no function may do anything but
/// return a value, as SLEEP() and GET_LOCK() do, or another value the next time.
fn may_start_anew(rel: &Rel) -> bool {
    let mut may = true;
    rel.walk(&mut |rel| {
        may &= !matches!(rel, Rel::LookupJoin(_) | Rel::Apply(_));
        rel.expressions(&mut |expr| may &= functions::is_deterministic(expr));
    });
    may
}

/// About how long `executor` takes for a row that it looks at.
fn microseconds_per_row(rel: &Rel) -> f64 {
    let mut fetches = false;
    rel.walk(&mut |rel| {
        fetches |= matches!(rel, Rel::Scan(scan) if !matches!(
            scan.access,
            Access::Full { .. } | Access::PrimaryRanges { .. } | Access::IndexRanges { covering: true, .. }
        ));
    });
    match fetches {
        true => cost::POINT_READ,
        false => cost::NEXT_ROW,
    }
}

/// The operators above an operator.
#[derive(Clone, Copy, Default)]
struct Place {
    /// It takes all rows, of which none is the first.
    gathers: bool,
    limits: bool,
    /// How many operators there are above.
    depth: usize,
}

/// Whether a query may run in `analytics`: it takes the rows of stored tables, as they are now, and neither
/// locks them nor makes them one after the other. Its plan must be looked at as well
/// ([`Rel::runs_in_parallel`]).
fn can_run(rel: &Logical, mut place: Place) -> bool {
    place.depth += 1;
    if place.depth > DEPTH_MAX {
        return false;
    }
    let below = match rel {
        Logical::Get(get) => {
            return !get.table.is_virtual() && get.as_of.is_none() && get.locking.is_none();
        }
        // Batches of short values would become large ones, which the other executor cuts.
        Logical::Filter { .. } | Logical::Project { .. } if makes_longer_texts(rel) => return false,
        Logical::Filter { .. } | Logical::Project { .. } | Logical::Distinct { .. } => place,
        fence if fence.is_fence() => place,
        Logical::Sort { .. } if place.gathers || takes_first_rows(rel) => return false,
        Logical::Limit { .. } if place.gathers || place.limits => return false,
        Logical::Sort { .. } => place,
        Logical::Limit { .. } => Place {
            limits: true,
            ..place
        },
        Logical::Aggregate {
            aggregates,
            rollup: None,
            ..
        } if aggregates.iter().all(|(_, call)| call.function.is_mergeable()) => Place {
            gathers: true,
            ..place
        },
        Logical::Join(_) => Place {
            gathers: true,
            ..place
        },
        Logical::SetOperation(operation) if operation.operator == SetOperator::Union => Place {
            gathers: true,
            ..place
        },
        Logical::Apply(apply) => {
            let inside = Place {
                depth: place.depth,
                ..Place::default()
            };
            return can_run(&apply.input, place) && can_run(&apply.subquery, inside);
        }
        _ => return false,
    };
    rel.inputs().into_iter().all(|input| can_run(input, below))
}

fn makes_longer_texts(rel: &Logical) -> bool {
    let mut makes = false;
    rel.expressions(&mut |expr| makes |= functions::makes_longer_texts(expr));
    makes
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

/// The executor of a query that reads one table, and that either of them can run. `sorts`: rows still have to
/// be brought into order.
pub fn of_table(want: &Want, chosen: &Chosen, sorts: bool) -> Route {
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

/// Whether a small LIMIT ends a plan after a few rows of its first table: nothing in between gathers rows, or
/// leaves them out by a condition.
fn ends_early(rel: &Rel) -> bool {
    match rel {
        Rel::Limit { input, count, .. } if is_small(count.as_ref()) => passes_on(input),
        Rel::Limit { input, .. } | Rel::Project { input, .. } => ends_early(input),
        _ => false,
    }
}

/// Whether rows are sent off as they are read. The right side of a join must be found by a lookup, as it would
/// have to be read first.
fn passes_on(rel: &Rel) -> bool {
    match rel {
        Rel::Scan(scan) => scan.filter.is_none(),
        Rel::Project { input, .. } | Rel::Limit { input, .. } => passes_on(input),
        Rel::LookupJoin(join) => passes_on(&join.left),
        Rel::SetOperation { all: true, left, .. } => passes_on(left),
        _ => false,
    }
}
