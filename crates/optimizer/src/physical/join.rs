//! Joins of two inputs.

use functions::Expr;
use planner::logical::{self, Column, ColumnId, Logical};
use planner::plan::{Join, JoinKey, JoinKind, Rel};
use types::Result;

use super::join_keys::{Split, split};
use super::lookup::table_of;
use super::{Builder, Built, Want};
use crate::cost;
use crate::expr::{ColumnList, all, into_conjuncts, positioned};

/// The ids of an operator's columns.
pub fn ids(rel: &Logical) -> Vec<ColumnId> {
    rel.output().iter().map(|column: &Column| column.id).collect()
}

pub fn kind_of(kind: logical::JoinKind) -> JoinKind {
    match kind {
        logical::JoinKind::Inner => JoinKind::Inner,
        logical::JoinKind::Left => JoinKind::Left,
        logical::JoinKind::Semi => JoinKind::Semi,
        logical::JoinKind::Anti => JoinKind::Anti,
    }
}

impl Builder<'_> {
    pub(super) fn join(&self, join: logical::Join, want: &Want) -> Result<Built> {
        if join.straight {
            return self.ordered_join(join, want);
        }
        let ordered = self.order_joins(join, &want.all_columns().0)?;
        self.build(ordered, want)
    }

    /// A join whose left side is read first.
    fn ordered_join(&self, join: logical::Join, want: &Want) -> Result<Built> {
        let mut conditions = Vec::new();
        if let Some(condition) = join.condition {
            into_conjuncts(condition, &mut conditions);
        }
        let (left_ids, right_ids) = (ids(&join.left), ids(&join.right));
        let kind = kind_of(join.kind);
        let mut wanted = ColumnList(want.columns.clone());
        conditions.iter().for_each(|condition| wanted.add_all(condition));
        let left = self.build(*join.left, &left_want(&wanted, &left_ids, want))?;
        let mut of_right = want.all_columns();
        of_right.0.retain(|id| right_ids.contains(id));
        let lookup = match table_of(&join.right) {
            Some((get, filter)) => {
                let lookup = self.lookup(get, filter, &conditions, &left_ids, &of_right.0)?;
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
                self.semi_join_by_rows(&left, (*join.right).clone(), &conditions, &left_ids)?
            }
            _ => None,
        };
        let right = self.build(*join.right, &Want::of(of_right.0))?;
        let share = self.distinct.borrow().share_of_all(&conditions);
        let rows = rows_of(kind, left.rows, left.rows * right.rows * share);
        let parts = match self.env.switches.hash_join {
            true => split(conditions, &left_ids, &right_ids),
            false => Split {
                keys: Vec::new(),
                residual: conditions,
            },
        };
        if let Some((lookup, get)) = lookup
            && left.rows * lookup.cost < cost_of_reading(&left, &right, &parts)
        {
            return self.lookup_join(kind, left, &get, lookup, &shown.0, rows);
        }
        if let Some(by_rows) = by_rows
            && by_rows.cost < cost_of_reading(&left, &right, &parts)
        {
            return self.filter_by_rows(left, by_rows, kind == JoinKind::Semi);
        }
        self.hash_join(kind, left, right, parts, rows)
    }

    /// A join by keys, or of all pairs if there are none.
    pub(super) fn hash_join(
        &self,
        kind: JoinKind,
        left: Built,
        right: Built,
        parts: Split,
        rows: f64,
    ) -> Result<Built> {
        let cost = left.cost + cost_of_reading(&left, &right, &parts);
        let mut keys = Vec::with_capacity(parts.keys.len());
        for key in parts.keys {
            keys.push(JoinKey {
                left: positioned(key.left, &left.layout)?,
                right: positioned(key.right, &right.layout)?,
                ..key
            });
        }
        let pairs: Vec<ColumnId> = left.layout.iter().chain(&right.layout).copied().collect();
        let residual = self.residual(parts.residual, &pairs)?;
        let layout = match kind {
            JoinKind::Inner | JoinKind::Left => pairs,
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark => left.layout,
        };
        Ok(Built {
            rel: Rel::Join(Join {
                kind,
                left: Box::new(left.rel),
                right: Box::new(right.rel),
                right_rows: right.rows as u64,
                rows: rows.max(1.0),
                keys,
                residual,
            }),
            layout,
            ordered: left.ordered,
            rows: rows.max(1.0),
            cost,
        })
    }

    pub(super) fn residual(&self, conditions: Vec<Expr>, pairs: &[ColumnId]) -> Result<Option<Expr>> {
        let condition = all(conditions, self.env.types)?;
        condition
            .map(|condition| positioned(condition, pairs))
            .transpose()
    }
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

/// Microseconds of reading the right side into memory and finding the partners of all left rows there.
pub fn cost_of_reading(left: &Built, right: &Built, parts: &Split) -> f64 {
    let pairs = if parts.keys.is_empty() {
        left.rows * right.rows * cost::PAIR
    } else {
        0.0
    };
    right.cost + right.rows * cost::HASH_BUILD + left.rows * cost::HASH_PROBE + pairs
}

/// What an operator that gives rows in the order of its left side wants of it: the order too, if that is one
/// of the left side's columns.
pub fn left_want(wanted: &ColumnList, left_ids: &[ColumnId], want: &Want) -> Want {
    let of_left = |id: &ColumnId| left_ids.contains(id);
    let mut columns = wanted.clone();
    let orders = !want.order.is_empty()
        && want.order.iter().all(|(id, _)| of_left(id))
        && want.sort_columns.iter().all(of_left);
    if !orders {
        want.sort_columns.iter().for_each(|id| columns.add(*id));
    }
    columns.0.retain(of_left);
    let mut below = Want::of(columns.0);
    if orders {
        below.order.clone_from(&want.order);
        below.sort_columns.clone_from(&want.sort_columns);
    }
    below
}
