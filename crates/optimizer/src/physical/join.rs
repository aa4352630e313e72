//! Joins of two inputs.

use planner::logical;
use planner::plan::JoinKind;
use types::Result;

use super::apply;
use super::builder::{Builder, Built, Want};
use super::hash_join::{self, cost_of_reading};
use super::join_keys::{Split, split};
use super::lookup::{self, table_of};
use crate::Rule;
use crate::expr::{ColumnList, ids, into_conjuncts};
use crate::join_order::order_joins;

fn kind_of(kind: logical::JoinKind) -> JoinKind {
    match kind {
        logical::JoinKind::Inner => JoinKind::Inner,
        logical::JoinKind::Left => JoinKind::Left,
        logical::JoinKind::Semi => JoinKind::Semi,
        logical::JoinKind::Anti => JoinKind::Anti,
    }
}

pub fn build(builder: &Builder<'_>, join: logical::Join, want: &Want) -> Result<Built> {
    if join.straight {
        return in_order(builder, join, want);
    }
    let ordered = order_joins(builder, join, &want.all_columns().0)?;
    builder.build(ordered, want)
}

/// A join whose left side is read first.
fn in_order(builder: &Builder<'_>, join: logical::Join, want: &Want) -> Result<Built> {
    let mut conditions = Vec::new();
    if let Some(condition) = join.condition {
        into_conjuncts(condition, &mut conditions);
    }
    let (left_ids, right_ids) = (ids(&join.left), ids(&join.right));
    let kind = kind_of(join.kind);
    let mut wanted = ColumnList(want.columns.clone());
    conditions.iter().for_each(|condition| wanted.add_all(condition));
    let left = builder.build(*join.left, &want.of_left(&wanted, &left_ids))?;
    let mut of_right = want.all_columns();
    of_right.0.retain(|id| right_ids.contains(id));
    let lookup = match table_of(&join.right) {
        Some((get, filter)) => {
            let lookup = lookup::find(
                builder,
                join.kind,
                get,
                filter,
                &conditions,
                &left_ids,
                &of_right.0,
            )?;
            lookup.map(|lookup| (lookup, get.clone()))
        }
        None => None,
    };
    let shown = of_right.clone();
    conditions
        .iter()
        .for_each(|condition| of_right.add_all(condition));
    of_right.0.retain(|id| right_ids.contains(id));
    let by_rows = match kind {
        JoinKind::Semi | JoinKind::Anti if table_of(&join.right).is_none() => {
            apply::semi_join_by_rows(builder, &left, (*join.right).clone(), &conditions, &left_ids)?
        }
        _ => None,
    };
    let right = builder.build(*join.right, &Want::of(of_right.0))?;
    let share = builder.distinct.borrow().share_of_all(&conditions);
    let rows = rows_of(kind, left.rows, left.rows * right.rows * share);
    let parts = match builder.env.applies(Rule::HashJoin) {
        true => split(conditions, &left_ids, &right_ids),
        false => Split {
            keys: Vec::new(),
            residual: conditions,
        },
    };
    if let Some((lookup, get)) = lookup
        && left.rows * lookup.cost < cost_of_reading(&left, &right, &parts)
    {
        return lookup::join(builder, kind, left, &get, lookup, &shown.0, rows);
    }
    if let Some(by_rows) = by_rows
        && by_rows.cost < cost_of_reading(&left, &right, &parts)
    {
        return apply::filtered_by_rows(builder, left, by_rows, kind == JoinKind::Semi);
    }
    hash_join::joined(builder, kind, left, right, parts, rows)
}

/// About how many rows a join makes, of which `matches` would be pairs.
fn rows_of(kind: JoinKind, left: f64, matches: f64) -> f64 {
    let rows = match kind {
        JoinKind::Inner => matches,
        JoinKind::Left => matches.max(left),
        JoinKind::Semi => matches.min(left),
        JoinKind::Anti => (left - matches).max(left * 0.1),
        JoinKind::Mark => left,
    };
    rows.max(1.0)
}
