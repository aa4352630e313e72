//! ONLY_FULL_GROUP_BY and DISTINCT: whether what a query shows and orders by is one value per group or row.
//!
//! A column is determined by the groups if it is a GROUP BY column, equal to a constant or a determined
//! column by WHERE, or if the determined columns hold a primary or NOT NULL unique key. An expression is, if
//! it is a GROUP BY expression itself or all its columns are determined. Source: manual 12.20.3 and 12.20.4.

use std::collections::HashSet;

use functions::Expr;
use schema::model::{IndexPart, SchemaState, Table};
use types::{Error, Result, errno};

use super::Binder;
use super::expr::AGGREGATE_BASE;
use super::scope::TableBinding;
use super::select::BoundSelect;

impl Binder<'_> {
    /// Fails with 1055, 1140, 3065 or 3066.
    pub fn check_grouping(&self, select: &BoundSelect<'_>) -> Result<()> {
        if !self.env.sql_mode.only_full_group_by {
            return Ok(());
        }
        let Some(table) = &select.table else {
            return Ok(());
        };
        if select.grouped {
            let determined = determined(select, &table.table);
            for (position, item) in select.items.iter().enumerate() {
                check_grouping_calls(&item.expr, select)?;
                check(&item.expr, &determined, select, table, "SELECT list", position)?;
            }
            // One row needs no order.
            if !select.keys.is_empty() {
                for (position, key) in select.order_by.iter().enumerate() {
                    check(&key.expr, &determined, select, table, "ORDER BY clause", position)?;
                }
            }
        }
        if select.distinct {
            check_distinct(select, table)?;
        }
        Ok(())
    }
}

/// What GROUPING() is asked about has to be a key.
fn check_grouping_calls(expr: &Expr, select: &BoundSelect<'_>) -> Result<()> {
    let mut wrong = None;
    expr.walk(&mut |e| {
        if let Expr::Call { function, args, .. } = e
            && function.0.name == "grouping"
            && select.rollup
        {
            let unknown = args.iter().position(|arg| !select.keys.contains(arg));
            wrong = wrong.or(unknown);
        }
    });
    match wrong {
        Some(position) => Err(super::grouping::not_a_key(position + 1)),
        None => Ok(()),
    }
}

fn check(
    expr: &Expr,
    determined: &HashSet<usize>,
    select: &BoundSelect<'_>,
    table: &TableBinding,
    place: &str,
    position: usize,
) -> Result<()> {
    if select.keys.contains(expr) {
        return Ok(());
    }
    let Some(column) = first_column(expr, &|column| !determined.contains(&column)) else {
        return Ok(());
    };
    let (number, column) = (position + 1, table.qualified(column));
    Err(if select.keys.is_empty() {
        Error::new(
            errno::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
            format!(
                "In aggregated query without GROUP BY, expression #{number} of {place} contains nonaggregated column \
                 '{column}'; this is incompatible with sql_mode=only_full_group_by"
            ),
        )
    } else {
        Error::new(
            errno::ER_WRONG_FIELD_WITH_GROUP,
            format!(
                "Expression #{number} of {place} is not in GROUP BY clause and contains nonaggregated column '{column}' which \
                 is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
                 sql_mode=only_full_group_by"
            ),
        )
    })
}

/// ORDER BY of a DISTINCT query must be about what it shows.
fn check_distinct(select: &BoundSelect<'_>, table: &TableBinding) -> Result<()> {
    let shown = |expr: &Expr| select.items.iter().any(|item| item.expr == *expr);
    for (position, key) in select.order_by.iter().enumerate() {
        if shown(&key.expr) {
            continue;
        }
        if super::select::refers_to_aggregate(&key.expr) {
            return Err(Error::new(
                crate::errno::ER_AGGREGATE_IN_ORDER_NOT_SELECT,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, contains aggregate function; this is \
                     incompatible with DISTINCT",
                    position + 1
                ),
            ));
        }
        let is_shown = |column: usize| select.items.iter().any(|item| item.column == Some(column));
        if let Some(column) = first_column(&key.expr, &|column| !is_shown(column)) {
            return Err(Error::new(
                errno::ER_FIELD_IN_ORDER_NOT_SELECT,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, references column '{}' which is not in SELECT list; \
                     this is incompatible with DISTINCT",
                    position + 1,
                    table.qualified(column)
                ),
            ));
        }
    }
    Ok(())
}

/// The first column of the table in an expression for which `wanted` holds.
fn first_column(expr: &Expr, wanted: &dyn Fn(usize) -> bool) -> Option<usize> {
    let mut found = None;
    expr.walk(&mut |e| {
        if let Expr::Column { index, .. } = e
            && *index < AGGREGATE_BASE
            && found.is_none()
            && wanted(*index)
        {
            found = Some(*index);
        }
    });
    found
}

/// Conditions that are not true where an operand is NULL. (`x IN (...)` is not where `x` is; a column in its
/// list may be.)
const NOT_TRUE_OF_NULL: &[&str] = &["=", "<", "<=", ">", ">=", "<>", "between", "like", "is not null"];

/// Columns that have one value per group.
fn determined(select: &BoundSelect<'_>, table: &Table) -> HashSet<usize> {
    let mut determined: HashSet<usize> = select.keys.iter().filter_map(column_of).collect();
    let mut equalities: Vec<(&Expr, &Expr)> = Vec::new();
    let mut not_null: HashSet<usize> = HashSet::new();
    for conjunct in crate::access::conjuncts(select.filter.as_ref()) {
        let Expr::Call { function, args, .. } = conjunct else {
            continue;
        };
        if NOT_TRUE_OF_NULL.contains(&function.0.name) {
            not_null.extend(args.iter().filter_map(column_of));
        }
        if let ("=", [left, right]) = (function.0.name, args.as_slice()) {
            equalities.extend([(left, right), (right, left)]);
        }
    }
    loop {
        let before = determined.len();
        for (left, right) in &equalities {
            let known = column_of(right).map_or(right.is_constant(), |column| determined.contains(&column));
            if let (Some(column), true) = (column_of(left), known) {
                determined.insert(column);
            }
        }
        if unique_keys(table, &not_null).any(|key| key.iter().all(|column| determined.contains(column))) {
            determined.extend(0..table.columns.len());
        }
        if determined.len() == before {
            return determined;
        }
    }
}

fn column_of(expr: &Expr) -> Option<usize> {
    match expr.without_padding() {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    }
}

/// Columns of each key that no two rows share, given that these columns are not NULL.
fn unique_keys<'t>(table: &'t Table, not_null: &'t HashSet<usize>) -> impl Iterator<Item = Vec<usize>> + 't {
    let primary: Vec<usize> = table.primary_parts().iter().map(|part| part.column).collect();
    let primary = (!primary.is_empty()).then_some(primary);
    let has_value = |column: usize| !table.columns[column].nullable || not_null.contains(&column);
    let secondary = table.indexes.iter().filter(move |index| {
        let whole = |part: &IndexPart| part.prefix.is_none() && has_value(part.column);
        index.unique && index.state == SchemaState::Public && index.parts.iter().all(whole)
    });
    primary
        .into_iter()
        .chain(secondary.map(|index| index.parts.iter().map(|part| part.column).collect()))
}
