//! A correlated aggregate becomes a join with its groups, so that it is not computed again for each row. A
//! row without a group has NULL, but for COUNT, which is 0 of no rows. (After Neumann and Kemper, "Unnesting
//! Arbitrary Queries", 2015, for subqueries that are correlated by equalities alone.)
//!
//! ```text
//! Apply scalar                        Project a, ifnull(count, 0) as n
//!   Get t                       ->      Left join t.a = k
//!   Aggregate by (): count(*) as n        Get t
//!     Filter u.a = t.a                    Aggregate by (u.a as k): count(*) as count
//!       Get u                               Get u
//! ```
//!
//! Whether it is cheaper depends on the number of rows: the choice is made where the operator is built.

use functions::Expr;
use functions::aggregate::{AggregateCall, AggregateFunction};
use functions::bind::call;
use planner::logical::{Apply, ApplyKind, ColumnId, Logical, columns_of};
use types::{Result, SqlType, Value};

use super::semi_join::free;
use crate::OptimizerEnv;
use crate::expr::ids;
use crate::expr::replace_columns;
use crate::physical::join_keys::key_of;

/// The left join that does what the Apply does.
pub struct Unnested {
    /// Its right side.
    pub groups: Logical,
    /// Equalities of the Apply's input with the groups' keys.
    pub conditions: Vec<Expr>,
    /// The Apply's column, over the groups'.
    pub result: (ColumnId, Expr),
}

/// The join that does what the Apply does, if there is one.
pub fn unnested(
    apply: &Apply,
    new_column: &dyn Fn() -> ColumnId,
    env: &OptimizerEnv<'_>,
) -> Result<Option<Unnested>> {
    let Some((result, aggregates, rows)) = parts(apply) else {
        return Ok(None);
    };
    let outer = ids(&apply.input);
    let mut names_outer = false;
    for (_, call) in aggregates {
        call.expressions(&mut |arg| names_outer |= columns_of(arg).iter().any(|id| outer.contains(id)));
    }
    if names_outer {
        return Ok(None);
    }
    let (mut rows, mut conditions) = (rows.clone(), Vec::new());
    if free(&mut rows, &outer, &mut conditions).is_none()
        || conditions.is_empty()
        || !rows.outer_columns().is_disjoint(&outer.iter().copied().collect())
    {
        return Ok(None);
    }
    let inner = ids(&rows);
    let mut keys = Vec::with_capacity(conditions.len());
    for condition in &mut conditions {
        if key_of(condition, &outer, &inner).is_none() {
            return Ok(None);
        }
        keys.push(take_inner(condition, &inner, new_column()));
    }
    let keys: Option<Vec<(ColumnId, Expr)>> = keys.into_iter().collect();
    let Some(keys) = keys else {
        return Ok(None);
    };
    let mut result = result;
    let mut calls = Vec::with_capacity(aggregates.len());
    for (id, aggregate) in aggregates {
        let made = new_column();
        let column = Expr::column(made.0, aggregate.ty, true);
        let value = match aggregate.function {
            AggregateFunction::Count => {
                let none = Expr::literal(Value::Int(0), SqlType::BIGINT);
                call("ifnull", vec![column, none], env.types)?
            }
            _ => column,
        };
        replace_columns(&mut result.1, &mut |named, _| {
            (named == *id).then(|| value.clone())
        });
        calls.push((made, aggregate.clone()));
    }
    let groups = Logical::Aggregate {
        input: Box::new(rows),
        keys,
        aggregates: calls,
        rollup: None,
    };
    Ok(Some(Unnested {
        groups: super::push_down(groups, env)?,
        conditions,
        result,
    }))
}

type Parts<'a> = ((ColumnId, Expr), &'a [(ColumnId, AggregateCall)], &'a Logical);

/// The value of a subquery that is one aggregation of all its rows, the aggregates, and the rows.
fn parts(apply: &Apply) -> Option<Parts<'_>> {
    let ApplyKind::Scalar { columns } = &apply.kind else {
        return None;
    };
    let [column] = columns.as_slice() else {
        return None;
    };
    let (result, below) = match &*apply.subquery {
        Logical::Project { input, columns } => {
            let (_, expr) = columns.iter().find(|(id, _)| id == column)?;
            (expr.clone(), &**input)
        }
        other => {
            let made = other.output();
            (made.iter().find(|made| made.id == *column)?.expr(), other)
        }
    };
    let Logical::Aggregate {
        input,
        keys,
        aggregates,
        rollup: None,
    } = below
    else {
        return None;
    };
    // These have a value of no rows that is not NULL.
    let has_value = |(_, call): &(ColumnId, AggregateCall)| {
        matches!(
            call.function,
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
        )
    };
    let plain = keys.is_empty() && !aggregates.iter().any(has_value) && functions::is_deterministic(&result);
    plain.then_some(((*column, result), aggregates, input))
}

/// Names the side of an equality that is over the inner columns, and returns what it was.
fn take_inner(condition: &mut Expr, inner: &[ColumnId], name: ColumnId) -> Option<(ColumnId, Expr)> {
    let Expr::Call { args, .. } = condition else {
        return None;
    };
    let side = args.iter_mut().find(|arg| {
        let columns = columns_of(arg);
        !columns.is_empty() && columns.iter().all(|id| inner.contains(id))
    })?;
    let column = Expr::column(name.0, side.ty(), true);
    Some((name, std::mem::replace(side, column)))
}
