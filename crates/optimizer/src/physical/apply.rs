//! Subqueries that run for each row.

use std::collections::BTreeMap;

use functions::Expr;
use planner::logical::{Apply, ApplyKind, ColumnId, Logical};
use planner::plan::{self, JoinKind, OuterColumn, Rel};
use types::{Error, Result, SqlType};

use super::builder::{Builder, Built, Want};
use super::hash_join::{self, cost_of_reading};
use super::join_keys::{Split, key_of, split};
use crate::Rule;
use crate::conditions::filtered;
use crate::cost;
use crate::expr::{ColumnList, bare_column, ids, positioned, replace_in};
use crate::rules::Unnested;

/// A semi join that runs for each row.
pub struct SemiByRows {
    subquery: Rel,
    outer: Vec<OuterColumn>,
    /// Without that of the left side.
    pub cost: f64,
}

/// Runs the subquery for each row, or joins with what it gives for all of them, whichever is cheaper.
pub fn build(builder: &Builder<'_>, apply: Apply, want: &Want) -> Result<Built> {
    let may_unnest = builder.env.applies(Rule::ScalarAggregate);
    let unnested = match may_unnest && builder.may_compare() {
        true => crate::rules::unnested(&apply, &|| builder.new_column(), builder.env)?,
        false => None,
    };
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
        return builder.build(*input, want);
    }
    let input_ids = ids(&input);
    let outer = take_outer(builder, &mut subquery, &input_ids);
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
    let subquery = match outer.is_empty() {
        true => of_kind(builder, &kind, *subquery, &wanted, want)?,
        false => builder.for_rows(|| of_kind(builder, &kind, *subquery, &wanted, want))?,
    };
    let input = builder.build(*input, &want.of_left(&wanted, &input_ids))?;
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
        let mut built = hash_join::joined(builder, JoinKind::Mark, input, subquery, parts, rows)?;
        built.layout.push(*mark);
        return Ok(built);
    }
    let input_layout = input.layout.clone();
    let runs = if outer.is_empty() { 1.0 } else { input.rows };
    let cost_of_runs = runs * (cost::OPEN + subquery.cost);
    let input = match unnested {
        Some(unnested) => match join_groups(builder, input, unnested, cost_of_runs)? {
            Ok(joined) => return Ok(joined),
            Err(input) => input,
        },
        None => input,
    };
    let cost = input.cost + cost_of_runs + input.rows * cost::OUTPUT;
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
    Ok(Built {
        rel: Rel::Apply(plan::Apply {
            kind,
            input: Box::new(input.rel),
            subquery: Box::new(subquery.rel),
            outer: outer_columns(outer, &input_layout)?,
        }),
        layout,
        ordered: input.ordered,
        rows,
        cost,
    })
}

/// Joins rows with their groups, unless that takes more than `cost_of_runs`.
fn join_groups(
    builder: &Builder<'_>,
    input: Built,
    unnested: Unnested,
    cost_of_runs: f64,
) -> Result<std::result::Result<Built, Built>> {
    let Unnested {
        groups,
        conditions,
        result: (id, value),
    } = unnested;
    let columns = ids(&groups);
    let groups = builder.alternative(|| builder.build(groups, &Want::of(columns)))?;
    let parts = split(conditions, &input.layout, &groups.layout);
    let is_cheaper = cost_of_reading(&input, &groups, &parts) < cost_of_runs;
    if !parts.residual.is_empty() || !is_cheaper {
        return Ok(Err(input));
    }
    let rows = input.rows;
    if let Some(column) = bare_column(&value) {
        let mut joined = hash_join::joined(builder, JoinKind::Left, input, groups, parts, rows)?;
        let named = joined.layout.iter_mut().find(|named| **named == column);
        *named.ok_or_else(|| Error::internal("a group lacks its aggregate"))? = id;
        return Ok(Ok(joined));
    }
    let types = input.rel.output_types();
    let shown = input.layout.clone();
    let joined = hash_join::joined(builder, JoinKind::Left, input, groups, parts, rows)?;
    let columns = types.iter().enumerate();
    let mut exprs: Vec<Expr> = columns
        .map(|(position, ty)| Expr::column(position, *ty, true))
        .collect();
    exprs.push(positioned(value, &joined.layout)?);
    Ok(Ok(Built {
        rel: Rel::Project {
            input: Box::new(joined.rel),
            exprs,
        },
        layout: with(&shown, id),
        ..joined
    }))
}

/// A semi or anti join that runs its right side for each row of the left one, under the conditions of the
/// join. `None` if that is not possible.
pub fn semi_join_by_rows(
    builder: &Builder<'_>,
    left: &Built,
    right: Logical,
    conditions: &[Expr],
    left_ids: &[ColumnId],
) -> Result<Option<SemiByRows>> {
    if !builder.may_compare() || !conditions.iter().all(functions::is_deterministic) {
        return Ok(None);
    }
    let mut subquery = filtered(right, conditions.to_vec(), builder.env)?;
    let outer = take_outer(builder, &mut subquery, left_ids);
    if outer.is_empty() && builder.is_analytical() {
        return Ok(None);
    }
    let subquery = crate::rules::push_down(subquery, builder.env)?;
    let subquery = builder.alternative(|| builder.for_rows(|| builder.build(subquery, &Want::any_row())))?;
    Ok(Some(SemiByRows {
        cost: left.rows * (cost::OPEN + subquery.cost),
        outer: outer_columns(outer, &left.layout)?,
        subquery: subquery.rel,
    }))
}

/// The rows of the left side for which the right side has a row (`wanted`), or has none.
pub fn filtered_by_rows(
    builder: &Builder<'_>,
    left: Built,
    by_rows: SemiByRows,
    wanted: bool,
) -> Result<Built> {
    let mark = Expr::column(left.layout.len(), SqlType::BIGINT, false);
    let predicate = if wanted {
        mark
    } else {
        functions::bind::call("not", vec![mark], builder.env.types)?
    };
    let rel = Rel::Apply(plan::Apply {
        kind: plan::ApplyKind::Exists,
        input: Box::new(left.rel),
        subquery: Box::new(by_rows.subquery),
        outer: by_rows.outer,
    });
    Ok(Built {
        rel: Rel::Filter {
            input: Box::new(rel),
            predicate,
        },
        layout: with(&left.layout, builder.new_column()),
        ordered: left.ordered,
        rows: left.rows * 0.5,
        cost: left.cost + by_rows.cost,
    })
}

fn of_kind(
    builder: &Builder<'_>,
    kind: &ApplyKind,
    subquery: Logical,
    wanted: &ColumnList,
    want: &Want,
) -> Result<Built> {
    match kind {
        ApplyKind::Scalar { columns } => builder.build_exact(subquery, Want::of(columns.clone())),
        ApplyKind::Exists { .. } => {
            // Its first row decides.
            builder.build(subquery, &Want::any_row())
        }
        ApplyKind::Any { .. } | ApplyKind::Lateral { .. } => {
            let made = ids(&subquery);
            let mut columns = wanted.clone();
            want.sort_columns.iter().for_each(|id| columns.add(*id));
            columns.0.retain(|id| made.contains(id));
            builder.build(subquery, &Want::of(columns.0))
        }
    }
}

/// Puts [`Expr::Outer`] in place of a subquery's outer columns. Returns the slot of each, so that access
/// paths take them for constants.
pub fn take_outer(
    builder: &Builder<'_>,
    subquery: &mut Logical,
    input: &[ColumnId],
) -> BTreeMap<ColumnId, usize> {
    let outer: BTreeMap<ColumnId, usize> = subquery
        .outer_columns()
        .into_iter()
        .filter(|id| input.contains(id))
        .map(|id| (id, builder.new_slot()))
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

fn outer_columns(outer: BTreeMap<ColumnId, usize>, layout: &[ColumnId]) -> Result<Vec<OuterColumn>> {
    let column = |(id, slot): (ColumnId, usize)| {
        let position = layout.iter().position(|column| *column == id);
        let position = position.ok_or_else(|| Error::internal("an outer column that the input lacks"))?;
        Ok(OuterColumn { slot, position })
    };
    outer.into_iter().map(column).collect()
}

fn with(layout: &[ColumnId], mark: ColumnId) -> Vec<ColumnId> {
    layout.iter().copied().chain([mark]).collect()
}
