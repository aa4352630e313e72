//! Joins that read the right side into memory.

use functions::Expr;
use planner::logical::ColumnId;
use planner::plan::{Join, JoinKey, JoinKind, Rel};
use types::Result;

use super::builder::{Builder, Built};
use super::join_keys::Split;
use crate::cost;
use crate::expr::{all, positioned};

/// Joins two sides by keys, or all pairs if there are none.
pub fn joined(
    builder: &Builder<'_>,
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
    let residual = residual(builder, parts.residual, &pairs)?;
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

pub fn residual(builder: &Builder<'_>, conditions: Vec<Expr>, pairs: &[ColumnId]) -> Result<Option<Expr>> {
    let condition = all(conditions, builder.env.types)?;
    condition
        .map(|condition| positioned(condition, pairs))
        .transpose()
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
