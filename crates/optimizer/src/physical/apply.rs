//! Subqueries that run for each row.

use std::collections::BTreeMap;

use functions::Expr;
use planner::logical::{Apply, ApplyKind, ColumnId, Logical};
use planner::plan::{self, JoinKind, OuterColumn, Rel};
use types::{Error, Result};

use super::join::{ids, left_want};
use super::join_keys::{Split, key_of};
use super::{Builder, Built, Want};
use crate::access::RowLimit;
use crate::cost;
use crate::expr::{ColumnList, positioned, replace_columns};

impl Builder<'_> {
    pub(super) fn apply(&self, apply: Apply, want: &Want) -> Result<Built> {
        let Apply {
            kind,
            input,
            mut subquery,
        } = apply;
        let all = want.all_columns().0;
        let is_wanted = |columns: &[ColumnId]| columns.iter().any(|id| all.contains(id));
        let unused = match &kind {
            ApplyKind::Scalar { columns } => !is_wanted(columns),
            ApplyKind::Exists { mark } | ApplyKind::Any { mark, .. } => !is_wanted(&[*mark]),
            ApplyKind::Lateral { .. } => false,
        };
        if unused {
            return self.build(*input, want);
        }
        let input_ids = ids(&input);
        let outer = self.take_outer(&mut subquery, &input_ids);
        let mut wanted = ColumnList(want.columns.clone());
        outer.keys().for_each(|id| wanted.add(*id));
        if let ApplyKind::Any { condition, .. }
        | ApplyKind::Lateral {
            condition: Some(condition),
            ..
        } = &kind
        {
            wanted.add_all(condition);
        }
        let subquery = self.subquery(&kind, *subquery, &wanted, want)?;
        let input = self.build(*input, &left_want(&wanted, &input_ids, want))?;
        let pairs: Vec<ColumnId> = input.layout.iter().chain(&subquery.layout).copied().collect();
        if outer.is_empty()
            && let ApplyKind::Any { mark, condition } = &kind
            && let Some(key) = key_of(condition, &input.layout, &subquery.layout)
        {
            let parts = Split {
                keys: vec![key],
                residual: Vec::new(),
            };
            let rows = input.rows;
            let mut built = self.hash_join(JoinKind::Mark, input, subquery, parts, rows)?;
            built.layout.push(*mark);
            return Ok(built);
        }
        let runs = if outer.is_empty() { 1.0 } else { input.rows };
        let cost = input.cost + runs * (cost::OPEN + subquery.cost) + input.rows * cost::OUTPUT;
        let mut rows = input.rows;
        let (kind, layout) = match kind {
            ApplyKind::Scalar { .. } => (plan::ApplyKind::Scalar, pairs),
            ApplyKind::Exists { mark } => (plan::ApplyKind::Exists, with(&input.layout, mark)),
            ApplyKind::Any { mark, condition } => {
                let condition = positioned(condition, &pairs)?;
                (plan::ApplyKind::Any { condition }, with(&input.layout, mark))
            }
            ApplyKind::Lateral { left, condition } => {
                rows = (rows * subquery.rows).max(1.0);
                let condition = condition
                    .map(|condition| positioned(condition, &pairs))
                    .transpose()?;
                (plan::ApplyKind::Lateral { left, condition }, pairs)
            }
        };
        let mut columns = Vec::with_capacity(outer.len());
        for (id, slot) in outer {
            let position = input.layout.iter().position(|column| *column == id);
            let position = position.ok_or_else(|| Error::internal("an outer column that the input lacks"))?;
            columns.push(OuterColumn { slot, position });
        }
        Ok(Built {
            rel: Rel::Apply(plan::Apply {
                kind,
                input: Box::new(input.rel),
                subquery: Box::new(subquery.rel),
                outer: columns,
            }),
            layout,
            ordered: input.ordered,
            rows,
            cost,
        })
    }

    fn subquery(
        &self,
        kind: &ApplyKind,
        subquery: Logical,
        wanted: &ColumnList,
        want: &Want,
    ) -> Result<Built> {
        match kind {
            ApplyKind::Scalar { columns } => self.build_exact(subquery, Want::of(columns.clone())),
            ApplyKind::Exists { .. } => {
                // Its first row decides.
                let first = Want {
                    limit: RowLimit::AtMost(1),
                    ..Want::of(Vec::new())
                };
                self.build(subquery, &first)
            }
            ApplyKind::Any { .. } | ApplyKind::Lateral { .. } => {
                let made = ids(&subquery);
                let mut columns = wanted.clone();
                want.sort_columns.iter().for_each(|id| columns.add(*id));
                columns.0.retain(|id| made.contains(id));
                self.build(subquery, &Want::of(columns.0))
            }
        }
    }

    /// Puts [`Expr::Outer`] in place of a subquery's outer columns. Returns the slot of each, so that access
    /// paths take them for constants.
    pub(super) fn take_outer(&self, subquery: &mut Logical, input: &[ColumnId]) -> BTreeMap<ColumnId, usize> {
        let outer: BTreeMap<ColumnId, usize> = subquery
            .outer_columns()
            .into_iter()
            .filter(|id| input.contains(id))
            .map(|id| (id, self.new_slot()))
            .collect();
        if !outer.is_empty() {
            replace_in(subquery, &mut |id, expr| {
                outer.get(&id).map(|&slot| Expr::Outer {
                    slot,
                    ty: expr.ty(),
                    nullable: expr.nullable(),
                })
            });
        }
        outer
    }
}

/// Replaces columns in all expressions of an operator and of those below it.
pub fn replace_in(rel: &mut Logical, replace: &mut dyn FnMut(ColumnId, &Expr) -> Option<Expr>) {
    rel.expressions_mut(&mut |expr| replace_columns(expr, replace));
    for input in rel.inputs_mut() {
        replace_in(input, replace);
    }
}

fn with(layout: &[ColumnId], mark: ColumnId) -> Vec<ColumnId> {
    layout.iter().copied().chain([mark]).collect()
}
