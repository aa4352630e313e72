//! Joins.
//!
//! The keys of both sides become columns in their comparable forms, so that MySQL's collations decide which
//! are equal; then DataFusion joins.

use std::sync::Arc;

use datafusion_common::{JoinSide, JoinType, Result};
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use functions::{EvalContext, Expr};
use planner::plan::{self, JoinKind};
use types::Error;

use crate::columns::{column_name, columns, schema_of};
use crate::error::carry;
use crate::operators::{self, JoinMethod, Plan, Sides, Translated};
use crate::scan_filter::{CollectKeys, KeyColumn, Observed, PendingKeys};
use crate::{expression, grouping_key, interrupt, tuple};

/// If the right side has more rows, both sides are partitioned by their keys, so that all cores build hash
/// tables. A smaller right side is read into one table that all partitions use, and the left side stays as it
/// is.
const ONE_TABLE_ROWS: u64 = 200_000;

/// Joins two sides. The result has positions if the left side has. `spilling`: use a method that spills, with
/// this many partitions, if there are keys. `filters`: the sets to make of the right side's keys, each with
/// the number of its key.
pub fn joined(
    left: Translated,
    right: Plan,
    join: &plan::Join,
    filters: Vec<(usize, Arc<PendingKeys>)>,
    spilling: Option<usize>,
    eval: &Arc<EvalContext>,
) -> Result<Translated> {
    let join_type = match join.kind {
        JoinKind::Inner => JoinType::Inner,
        JoinKind::Left => JoinType::Left,
        JoinKind::Semi => JoinType::LeftSemi,
        JoinKind::Anti => JoinType::LeftAnti,
        JoinKind::Mark => return Err(carry(Error::internal("a mark join was sent to analytics"))),
    };
    let method = match (join.keys.is_empty(), spilling) {
        (true, _) => JoinMethod::Pairs,
        (false, Some(partitions)) => JoinMethod::SortMerge { partitions },
        (false, None) => JoinMethod::Hash {
            one_table: join.right_rows <= ONE_TABLE_ROWS,
        },
    };
    let positions = left.positions;
    let left_width = left.plan.schema().fields().len() - usize::from(positions);
    let right_width = right.schema().fields().len();
    let (left, left_keys) = with_keys(left.plan, join.keys.iter().map(|k| (&k.left, k.null_safe)), eval)?;
    let (right, right_keys) = with_keys(right, join.keys.iter().map(|k| (&k.right, k.null_safe)), eval)?;
    let right = collecting(right, &right_keys, filters);
    let mut output: Vec<usize> = (0..left_width).collect();
    if matches!(join_type, JoinType::Inner | JoinType::Left) {
        let first = left.schema().fields().len();
        output.extend(first..first + right_width);
    }
    if positions {
        output.push(left_width);
    }
    let filter = join.residual.as_ref();
    let sides = Sides {
        left,
        right,
        keys: left_keys.into_iter().zip(right_keys).collect(),
        filter: filter
            .map(|filter| pair_filter(filter, left_width, eval))
            .transpose()?,
    };
    let joined = interrupt::watched(operators::join(method, sides, join_type, output)?, eval);
    // Both sides' columns have the same names.
    let named = columns(&joined.schema());
    Ok(Translated {
        plan: operators::project(joined, named)?,
        positions,
        whole_groups: false,
    })
}

/// The right side, with an operator on top that collects its keys.
fn collecting(right: Plan, keys: &[PhysicalExprRef], filters: Vec<(usize, Arc<PendingKeys>)>) -> Plan {
    let column = |(number, set): (usize, Arc<PendingKeys>)| {
        let column = keys.get(number)?.downcast_ref::<Column>()?.index();
        Some(KeyColumn { column, keys: set })
    };
    let columns: Arc<[KeyColumn]> = filters.into_iter().filter_map(column).collect();
    match columns.is_empty() {
        true => right,
        false => Arc::new(Observed::new(right, &CollectKeys::new(columns))),
    }
}

/// One side with the comparable forms of its keys, and their columns. `keys`: each with whether NULL is equal
/// to NULL.
fn with_keys<'e>(
    input: Plan,
    keys: impl Iterator<Item = (&'e Expr, bool)>,
    eval: &Arc<EvalContext>,
) -> Result<(Plan, Vec<PhysicalExprRef>)> {
    let inputs = columns(&input.schema());
    let mut keyed = inputs.clone();
    let mut by = Vec::new();
    for (key, null_safe) in keys {
        let value = expression::value(key, &inputs, eval)?;
        let mut form = grouping_key::key(value, &key.ty());
        if null_safe {
            form = tuple::with_nulls(vec![form]);
        }
        if form.downcast_ref::<Column>().is_none() {
            keyed.push(form);
            let index = keyed.len() - 1;
            form = Arc::new(Column::new(&column_name(index), index));
        }
        by.push(form);
    }
    // A projection names all columns by position.
    Ok(match keyed.len() > inputs.len() {
        true => (operators::project(input, keyed)?, by),
        false => (input, by),
    })
}

/// A condition on pairs. `left_width`: how many columns of the left side it can name.
fn pair_filter(residual: &Expr, left_width: usize, eval: &Arc<EvalContext>) -> Result<JoinFilter> {
    let mut used = Vec::new();
    residual.walk(&mut |e| {
        if let Expr::Column { index, ty, .. } = e
            && !used.iter().any(|(i, _)| i == index)
        {
            used.push((*index, *ty));
        }
    });
    let mut local = residual.clone();
    // Each index is in the list, which was just made from the same expression.
    local.map_columns(&|index| used.iter().position(|(i, _)| *i == index).unwrap_or(0));
    let schema = schema_of(used.iter().map(|(_, ty)| *ty));
    let sides = used.iter().map(|(index, _)| match index.checked_sub(left_width) {
        None => ColumnIndex {
            index: *index,
            side: JoinSide::Left,
        },
        Some(index) => ColumnIndex {
            index,
            side: JoinSide::Right,
        },
    });
    let condition = expression::predicate(&local, &columns(&schema), eval)?;
    let condition = interrupt::watched_condition(condition, eval);
    Ok(JoinFilter::new(condition, sides.collect(), schema))
}
