//! Groups.

use functions::Expr;
use functions::aggregate::{AggregateCall, AggregateFunction};
use functions::bind::call;
use planner::logical::{ColumnId, Logical};
use planner::plan::Rel;
use types::{Result, SqlType, Value};

use super::builder::{Builder, Built, Want};
use super::extreme::{self, Extreme};
use crate::access::Grouping;
use crate::cost;
use crate::expr::{ColumnList, bare_column, positioned};

pub fn build(
    builder: &Builder<'_>,
    input: Logical,
    keys: Vec<(ColumnId, Expr)>,
    mut aggregates: Vec<(ColumnId, AggregateCall)>,
    rollup: Option<ColumnId>,
    want: &Want,
) -> Result<Built> {
    let wanted = want.all_columns();
    // A group of all rows has to be counted even where nothing of it is shown.
    let first = aggregates.first().cloned();
    aggregates.retain(|(id, _)| wanted.0.contains(id));
    if aggregates.is_empty() && keys.is_empty() {
        aggregates.extend(first);
    }
    let mut below = ColumnList::default();
    keys.iter().for_each(|(_, key)| below.add_all(key));
    for (_, call) in &aggregates {
        call.args.iter().for_each(|arg| below.add_all(arg));
    }
    let extreme = match aggregates.as_slice() {
        [(_, call)] if keys.is_empty() => Extreme::of(call),
        _ => None,
    };
    let built = match extreme {
        Some(extreme) => extreme::build(builder, input, &extreme, &Want::of(below.0))?,
        None => {
            let groups = rollup
                .is_none()
                .then(|| grouping_of(&keys, &aggregates))
                .flatten();
            let below = Want {
                groups,
                ..Want::of(below.0)
            };
            builder.build(input, &below)?
        }
    };
    let mut layout: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
    layout.extend(rollup);
    layout.extend(aggregates.iter().map(|(id, _)| *id));
    let rows = if keys.is_empty() {
        1.0
    } else {
        (built.rows / 10.0).max(1.0)
    };
    let cost = built.cost + built.rows * cost::HASH_BUILD;
    let (rel, below) = match rollup {
        None => (built.rel, built.layout),
        Some(copy) => {
            let rel = Rel::Repeat {
                input: Box::new(built.rel),
                times: keys.len() as u32 + 1,
            };
            (rel, [copy].into_iter().chain(built.layout).collect())
        }
    };
    let mut exprs = Vec::with_capacity(keys.len() + 1);
    for (_, key) in keys {
        exprs.push(positioned(key, &below)?);
    }
    if rollup.is_some() {
        exprs = rolled_keys(builder, exprs, Expr::column(0, SqlType::BIGINT, false))?;
    }
    let mut calls = Vec::with_capacity(aggregates.len());
    for (_, mut call) in aggregates {
        for arg in &mut call.args {
            *arg = positioned(arg.clone(), &below)?;
        }
        calls.push(call);
    }
    Ok(Built {
        rel: Rel::Aggregate {
            input: Box::new(rel),
            keys: exprs,
            aggregates: calls,
        },
        layout,
        ordered: false,
        rows,
        cost,
    })
}

/// What the keys of a query WITH ROLLUP are grouped as, for rows that come once more than there are keys:
/// in copy n the last n keys are NULL; and the copy's number, so that these NULLs are not taken for
/// values. `copy` is its column.
fn rolled_keys(builder: &Builder<'_>, keys: Vec<Expr>, copy: Expr) -> Result<Vec<Expr>> {
    let count = keys.len();
    let mut rolled = Vec::with_capacity(count + 1);
    for (position, key) in keys.into_iter().enumerate() {
        let left_out = Expr::literal(Value::Int((count - position) as i64), SqlType::BIGINT);
        let is_rolled = call(">=", vec![copy.clone(), left_out], builder.env.types)?;
        rolled.push(Expr::Case {
            ty: key.ty(),
            branches: vec![(call("not", vec![is_rolled], builder.env.types)?, key)],
            otherwise: None,
        });
    }
    rolled.push(copy);
    Ok(rolled)
}

/// What groups and aggregates need of the rows, if the ends of groups are enough for them: the keys and what DISTINCT
/// aggregates take are the groups, and MIN and MAX of one more column.
fn grouping_of(
    keys: &[(ColumnId, Expr)],
    aggregates: &[(ColumnId, AggregateCall)],
) -> Option<Grouping<ColumnId>> {
    let mut grouping = Grouping {
        columns: keys
            .iter()
            .map(|(_, key)| bare_column(key))
            .collect::<Option<_>>()?,
        extreme: None,
        least: false,
        greatest: false,
    };
    for (_, call) in aggregates {
        if let Some(Extreme { column, greatest }) = Extreme::of(call) {
            if grouping.extreme.is_some_and(|other| other != column) {
                return None;
            }
            grouping.extreme = Some(column);
            grouping.greatest |= greatest;
            grouping.least |= !greatest;
            continue;
        }
        let counts_values = call.distinct
            && matches!(
                call.function,
                AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg
            );
        if !counts_values {
            return None;
        }
        for arg in &call.args {
            grouping.columns.push(bare_column(arg)?);
        }
    }
    if grouping
        .extreme
        .is_some_and(|column| grouping.columns.contains(&column))
    {
        return None;
    }
    (!grouping.columns.is_empty()).then_some(grouping)
}
