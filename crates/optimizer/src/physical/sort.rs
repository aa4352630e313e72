//! ORDER BY and LIMIT.

use functions::Expr;
use planner::logical::{ColumnId, Logical};
use planner::plan::{Rel, SortKey};
use types::Result;

use super::builder::{Builder, Built, Want};
use super::route;
use crate::Rule;
use crate::access::{RowLimit, is_constant};
use crate::expr::{ColumnList, bare_column, positioned};
use crate::limit::{literal_count, row_limit, rows_wanted};

/// Nothing, where the input comes in the order.
pub fn build(builder: &Builder<'_>, input: Logical, mut keys: Vec<SortKey>, want: &Want) -> Result<Built> {
    keys.retain(|key| !is_constant(&key.expr));
    if keys.is_empty() || is_one_row(&input) {
        return builder.build(input, want);
    }
    let plain = |key: &SortKey| Some((bare_column(&key.expr)?, key.descending));
    let order: Vec<(ColumnId, bool)> = keys.iter().map(plain).collect::<Option<_>>().unwrap_or_default();
    let columns = want.all_columns();
    let mut sort_columns = ColumnList::default();
    keys.iter().for_each(|key| sort_columns.add_all(&key.expr));
    sort_columns.0.retain(|id| !columns.0.contains(id));
    let below = Want {
        columns: columns.0,
        exact: false,
        sort_columns: sort_columns.0,
        limit: if order.is_empty() {
            RowLimit::All
        } else {
            want.limit
        },
        ends_early: want.ends_early && !order.is_empty(),
        order,
        fetch: None,
        groups: None,
    };
    let mut built = builder.build(input, &below)?;
    let same_order = !want.order.is_empty() && below.order.starts_with(&want.order);
    if !built.ordered {
        for key in &mut keys {
            key.expr = positioned(key.expr.clone(), &built.layout)?;
        }
        built.rel = Rel::Sort {
            input: Box::new(built.rel),
            keys,
            limit: want.fetch.clone().filter(|_| builder.env.applies(Rule::TopRows)),
        };
    }
    Ok(Built {
        ordered: same_order,
        ..built
    })
}

pub fn limit(
    builder: &Builder<'_>,
    input: Logical,
    offset: Option<Expr>,
    count: Option<Expr>,
    want: &Want,
) -> Result<Built> {
    let below = Want {
        columns: want.all_columns().0,
        exact: want.exact,
        limit: row_limit(offset.as_ref(), count.as_ref()),
        ends_early: route::is_small(count.as_ref()),
        fetch: rows_wanted(offset.as_ref(), count.as_ref(), builder.env.types)?,
        ..Want::of(Vec::new())
    };
    let built = builder.build(input, &below)?;
    let most = count
        .as_ref()
        .and_then(literal_count)
        .map_or(built.rows, |count| count as f64);
    Ok(Built {
        rel: Rel::Limit {
            input: Box::new(built.rel),
            offset,
            count,
        },
        layout: built.layout,
        ordered: false,
        rows: built.rows.min(most),
        cost: built.cost,
    })
}

/// Whether an operator makes one row at most, by its kind alone.
fn is_one_row(rel: &Logical) -> bool {
    match rel {
        Logical::OneRow => true,
        Logical::Aggregate { keys, rollup, .. } => keys.is_empty() && rollup.is_none(),
        Logical::Filter { input, .. } | Logical::Project { input, .. } => is_one_row(input),
        _ => false,
    }
}
