//! Projections, and rows made distinct.

use functions::Expr;
use planner::logical::{ColumnId, Logical};
use planner::plan::Rel;
use types::{Error, Result};

use super::builder::{Builder, Built, Want};
use crate::access::Grouping;
use crate::expr::{ColumnList, bare_column, positioned};

/// Columns that nothing above wants are not made, unless they assign to a variable. Nothing is added to the plan where
/// the input has just the wanted columns.
pub fn build(
    builder: &Builder<'_>,
    input: Logical,
    columns: Vec<(ColumnId, Expr)>,
    want: &Want,
) -> Result<Built> {
    let idle = idle_assignments(builder, &columns, want);
    if !idle.is_empty() {
        let mut all = want.clone();
        all.columns.extend(idle);
        return build(builder, input, columns, &all);
    }
    if let Some(written) = in_written_order(builder, &columns, want) {
        return build(builder, input, columns, &written);
    }
    let shown = made(&columns, &want.columns)?;
    let sort_columns: Vec<ColumnId> = want
        .sort_columns
        .iter()
        .filter(|id| !want.columns.contains(id))
        .copied()
        .collect();
    let sorted_by = made(&columns, &sort_columns)?;
    let order = || {
        let bare = |(id, descending): &(ColumnId, bool)| {
            let (_, expr) = columns.iter().find(|(column, _)| column == id)?;
            Some((bare_column(expr)?, *descending))
        };
        want.order.iter().map(bare).collect::<Option<Vec<_>>>()
    };
    // Columns that are shown come first and in their order, so that a plain query needs no projection.
    let mut wanted = ColumnList::default();
    shown.iter().filter_map(bare_column).for_each(|id| wanted.add(id));
    shown.iter().for_each(|expr| wanted.add_all(expr));
    let mut wanted_to_sort = ColumnList::default();
    sorted_by.iter().for_each(|expr| wanted_to_sort.add_all(expr));
    let below = Want {
        columns: wanted.0,
        exact: true,
        order: order().unwrap_or_default(),
        sort_columns: wanted_to_sort.0,
        limit: want.limit,
        ends_early: want.ends_early,
        fetch: want.fetch.clone(),
        groups: want.groups.as_ref().and_then(|groups| {
            groups.map(&|id| {
                let (_, expr) = columns.iter().find(|(column, _)| *column == id)?;
                bare_column(expr)
            })
        }),
    };
    let built = builder.build(input, &below)?;
    let (mut layout, mut exprs) = (want.columns.clone(), shown);
    if !built.ordered {
        layout.extend(sort_columns);
        exprs.extend(sorted_by);
    }
    if exprs
        .iter()
        .map(bare_column)
        .eq(built.layout.iter().copied().map(Some))
    {
        return Ok(Built { layout, ..built });
    }
    if !want.exact
        && let Some(layout) = renamed(&built.layout, &layout, &exprs)
    {
        return Ok(Built { layout, ..built });
    }
    let exprs = exprs.into_iter().map(|expr| positioned(expr, &built.layout));
    Ok(Built {
        rel: Rel::Project {
            exprs: exprs.collect::<Result<_>>()?,
            input: Box::new(built.rel),
        },
        layout,
        ..built
    })
}

/// The columns that assign to a variable and that nothing above wants.
fn idle_assignments(builder: &Builder<'_>, columns: &[(ColumnId, Expr)], want: &Want) -> Vec<ColumnId> {
    if !builder.env.assigns {
        return Vec::new();
    }
    let is_idle = |(id, expr): &&(ColumnId, Expr)| {
        functions::eval::assigns(expr) && !want.columns.contains(id) && !want.sort_columns.contains(id)
    };
    columns.iter().filter(is_idle).map(|(id, _)| *id).collect()
}

/// Columns that assign to variables are computed in the order in which the query lists them, those that only a sort
/// needs included. `None` if they are, or if what is above takes columns by position.
fn in_written_order(builder: &Builder<'_>, columns: &[(ColumnId, Expr)], want: &Want) -> Option<Want> {
    let assigns = |(_, expr): &(ColumnId, Expr)| functions::eval::assigns(expr);
    if !builder.env.assigns || want.exact || !columns.iter().any(assigns) {
        return None;
    }
    let wanted = want.all_columns().0;
    let listed = columns.iter().map(|(id, _)| *id);
    let written: Vec<ColumnId> = listed.filter(|id| wanted.contains(id)).collect();
    (written != want.columns).then(|| Want {
        columns: written,
        sort_columns: Vec::new(),
        ..want.clone()
    })
}

/// All of the input's columns count, shown or not.
pub fn distinct(builder: &Builder<'_>, input: Logical, want: &Want) -> Result<Built> {
    let mut columns = ColumnList::default();
    let all = input.output();
    want.columns
        .iter()
        .filter(|id| all.iter().any(|column| column.id == **id))
        .for_each(|id| columns.add(*id));
    all.iter().for_each(|column| columns.add(column.id));
    let groups = Grouping {
        columns: all.iter().map(|column| column.id).collect(),
        extreme: None,
        least: false,
        greatest: false,
    };
    let below = Want {
        groups: Some(groups),
        ..Want::of(columns.0)
    };
    let built = builder.build_exact(input, below)?;
    Ok(Built {
        rel: Rel::Distinct {
            input: Box::new(built.rel),
        },
        ordered: false,
        ..built
    })
}

/// What makes each of the columns.
fn made(columns: &[(ColumnId, Expr)], ids: &[ColumnId]) -> Result<Vec<Expr>> {
    let of = |id: &ColumnId| {
        let found = columns.iter().find(|(column, _)| column == id);
        let (_, expr) =
            found.ok_or_else(|| Error::internal(format!("no projection computes column {}", id.0)))?;
        Ok(expr.clone())
    };
    ids.iter().map(of).collect()
}

/// The input's layout with other names for its columns, where the projection only renames.
fn renamed(input: &[ColumnId], names: &[ColumnId], exprs: &[Expr]) -> Option<Vec<ColumnId>> {
    let mut layout = input.to_vec();
    let mut taken = vec![false; input.len()];
    for (name, expr) in names.iter().zip(exprs) {
        let column = bare_column(expr)?;
        let position = input.iter().position(|id| *id == column)?;
        if std::mem::replace(taken.get_mut(position)?, true) {
            return None;
        }
        layout[position] = *name;
    }
    Some(layout)
}
