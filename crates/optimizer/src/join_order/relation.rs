//! The inputs of a join: about how many rows each has, and the cost of reading it.

use planner::logical::{ColumnId, JoinKind, Logical};
use types::Result;

use crate::expr::{ColumnList, ids};
use crate::limit::literal_count;
use crate::physical::builder::{Builder, Want};
use crate::physical::lookup::table_of;
use crate::{cost, estimates};

#[derive(Debug)]
pub struct Relation {
    pub rel: Logical,
    pub columns: Vec<ColumnId>,
    /// The columns that are wanted above, and by the joins' conditions.
    pub wanted: Vec<ColumnId>,
    pub rows: f64,
    pub cost: f64,
}

impl Relation {
    pub fn of(rel: Logical, wanted: &ColumnList, builder: &Builder<'_>) -> Result<Self> {
        let columns = ids(&rel);
        let mut of_relation = wanted.clone();
        of_relation.0.retain(|id| columns.contains(id));
        let (rows, cost) = if table_of(&rel).is_some() {
            let built = builder.build(rel.clone(), &Want::of(of_relation.0.clone()))?;
            (built.rows, built.cost)
        } else {
            estimate(&rel, builder)
        };
        Ok(Self {
            rel,
            columns,
            wanted: of_relation.0,
            rows: rows.max(1.0),
            cost,
        })
    }
}

/// Rows and microseconds, by the kinds of operators alone.
fn estimate(rel: &Logical, builder: &Builder<'_>) -> (f64, f64) {
    match rel {
        Logical::OneRow => (1.0, 0.0),
        Logical::Get(get) => {
            let rows = builder.env.estimates.rows(get.table.id) as f64;
            (rows.max(1.0), rows * cost::NEXT_ROW)
        }
        Logical::Values { rows, .. } => (rows.len() as f64, 0.0),
        Logical::TableFunction(_) => (
            cost::TABLE_FUNCTION_ROWS,
            cost::TABLE_FUNCTION_ROWS * cost::NEXT_ROW,
        ),
        Logical::Filter { input, .. } => {
            let (rows, cost) = estimate(input, builder);
            (rows * estimates::UNKNOWN_CONDITION, cost)
        }
        Logical::Aggregate { input, keys, .. } => {
            let (rows, cost) = estimate(input, builder);
            let groups = if keys.is_empty() {
                1.0
            } else {
                (rows / 10.0).max(1.0)
            };
            (groups, cost + rows * cost::HASH_BUILD)
        }
        Logical::Limit { input, count, .. } => {
            let (rows, cost) = estimate(input, builder);
            let most = count
                .as_ref()
                .and_then(literal_count)
                .map_or(rows, |count| count as f64);
            (rows.min(most), cost)
        }
        Logical::Join(join) => {
            let ((left, left_cost), (right, right_cost)) =
                (estimate(&join.left, builder), estimate(&join.right, builder));
            let rows = match join.kind {
                JoinKind::Semi | JoinKind::Anti => left * 0.5,
                JoinKind::Inner | JoinKind::Left if join.condition.is_none() => left * right,
                JoinKind::Inner | JoinKind::Left => left.max(right),
            };
            (rows, left_cost + right_cost)
        }
        Logical::SetOperation(operation) => {
            let ((left, left_cost), (right, right_cost)) = (
                estimate(&operation.left, builder),
                estimate(&operation.right, builder),
            );
            (left + right, left_cost + right_cost)
        }
        Logical::Apply(apply) => {
            let ((rows, cost), (_, each)) = (
                estimate(&apply.input, builder),
                estimate(&apply.subquery, builder),
            );
            (rows, cost + each)
        }
        Logical::CommonTable(_) => (1_000.0, 1_000.0 * cost::OUTPUT),
        Logical::With { body, .. } => estimate(body, builder),
        Logical::Recursive(recursive) => estimate(&recursive.seed, builder),
        Logical::Project { input, .. }
        | Logical::Window { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input } => estimate(input, builder),
    }
}
