//! Joins of two inputs.

use functions::Expr;
use planner::logical::{self, Column, ColumnId, Logical};
use planner::plan::{Join, JoinKey, JoinKind, Rel};
use types::Result;

use super::join_keys::{Split, split};
use super::{Builder, Built, Want};
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
        let mut conditions = Vec::new();
        if let Some(condition) = join.condition {
            into_conjuncts(condition, &mut conditions);
        }
        let (left_ids, right_ids) = (ids(&join.left), ids(&join.right));
        let mut wanted = ColumnList(want.columns.clone());
        conditions.iter().for_each(|condition| wanted.add_all(condition));
        let left = self.build(*join.left, &left_want(&wanted, &left_ids, want))?;
        wanted = want.all_columns();
        conditions.iter().for_each(|condition| wanted.add_all(condition));
        wanted.0.retain(|id| right_ids.contains(id));
        let right = self.build(*join.right, &Want::of(wanted.0))?;
        let parts = split(conditions, &left_ids, &right_ids);
        self.hash_join(kind_of(join.kind), left, right, parts)
    }

    /// A join by keys, or of all pairs where there are none.
    pub(super) fn hash_join(&self, kind: JoinKind, left: Built, right: Built, parts: Split) -> Result<Built> {
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
        let matches = if keys.is_empty() {
            left.rows * right.rows
        } else {
            left.rows.max(right.rows)
        };
        let (layout, rows) = match kind {
            JoinKind::Inner => (pairs, matches),
            JoinKind::Left => (pairs, matches.max(left.rows)),
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark => (left.layout, left.rows),
        };
        Ok(Built {
            rel: Rel::Join(Join {
                kind,
                left: Box::new(left.rel),
                right: Box::new(right.rel),
                keys,
                residual,
            }),
            layout,
            ordered: left.ordered,
            rows,
        })
    }

    pub(super) fn residual(&self, conditions: Vec<Expr>, pairs: &[ColumnId]) -> Result<Option<Expr>> {
        let condition = all(conditions, self.env.types)?;
        condition
            .map(|condition| positioned(condition, pairs))
            .transpose()
    }
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
