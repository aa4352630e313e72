//! The expressions of a table's definition, all bound: defaults, generated columns, CHECK constraints,
//! partitions.

use std::sync::Arc;

use functions::Expr;
use schema::bound::{BoundCheck, BoundExpressions, ColumnExpression};
use schema::expression::Check;
use schema::model::{Column, Default, Table};
use types::{Error, Result, SqlType, TypeKind};

use super::partition_function::partition_function;
use super::stored::{Owner, bind_with_defaults, calls_any};
use super::stored_date;

/// Functions whose result is true or false, though its type is a wider integer.
const BOOLEAN: &[&str] = &[
    "json_valid",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "member of",
    "regexp_like",
    "is_uuid",
    "is_ipv4",
    "is_ipv6",
    "is_ipv4_compat",
    "is_ipv4_mapped",
];

/// The expressions of a table's definition. The first call for a definition binds them.
///
/// # Errors
/// MySQL's for what an expression of a definition cannot refer to, or cannot call.
pub fn expressions(table: &Table) -> Result<Option<&Arc<BoundExpressions>>> {
    table.bind_expressions(bind_all)
}

fn bind_all(table: &Table) -> Result<BoundExpressions> {
    let mut bound = BoundExpressions::default();
    for (at, column) in table.columns.iter().enumerate() {
        if let Some(generated) = &column.generated {
            let (value, defaults_of) =
                bind_with_defaults(table, &generated.expression, Owner::Generated(at))?;
            bound.generated.push(ColumnExpression {
                column: at,
                reads_date: stored_date::depends_on_date(&value, &column.ty),
                value,
                defaults_of,
            });
        }
        if let Default::Expression(default) = &column.default {
            let (value, defaults_of) = bind_with_defaults(table, default, Owner::Default(at))?;
            bound.defaults.push(ColumnExpression {
                column: at,
                reads_date: false,
                value,
                defaults_of,
            });
        }
    }
    for check in &table.checks {
        let (condition, defaults_of) = bind_check(table, check)?;
        if check.enforced || check.validating {
            bound.checks.push(BoundCheck {
                name: check.name.clone(),
                condition,
                defaults_of,
            });
        }
    }
    bound.partitions = partition_function(table)?;
    refuse_session_indexes(table, &bound)?;
    Ok(bound)
}

/// A virtual column is computed again at each read, so the entries of an index of it must not depend on the
/// time zone of the session that reads or writes the row, nor on the date.
fn refuse_session_indexes(table: &Table, bound: &BoundExpressions) -> Result<()> {
    let (mut zoned, mut dated): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for generated in &bound.generated {
        let columns = columns_whose_value_counts(&generated.value);
        let reads_timestamp = columns.iter().any(|&column| {
            zoned.contains(&column)
                || table
                    .columns
                    .get(column)
                    .is_some_and(|c| c.ty.kind == TypeKind::Timestamp)
        });
        let is_virtual = table
            .columns
            .get(generated.column)
            .is_some_and(Column::is_virtual);
        if is_virtual && (reads_timestamp || calls_any(&generated.value, &["from_unixtime"])) {
            zoned.push(generated.column);
        }
        let reads_dated = columns.iter().any(|column| dated.contains(column));
        if is_virtual && (reads_dated || generated.reads_date) {
            dated.push(generated.column);
        }
    }
    let indexed = table.indexes.iter().flat_map(|index| &index.parts);
    for column in indexed.map(|part| part.column) {
        let reason = if zoned.contains(&column) {
            "the session's time zone"
        } else if dated.contains(&column) {
            "the date at which a TIME is read"
        } else {
            continue;
        };
        return Err(Error::not_supported(
            format!(
                "an index of the VIRTUAL column `{}`, which depends on {reason}",
                table.columns[column].name
            ),
            "make the column STORED",
        ));
    }
    Ok(())
}

/// The columns that an expression reads, except those for which it checks only whether they are NULL.
fn columns_whose_value_counts(expr: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    expr.walk_parts(&mut |part| match part {
        Expr::Column { index, .. } => {
            columns.push(*index);
            true
        }
        Expr::Call { function, args, .. } => {
            let asks = matches!(function.name(), "is null" | "is not null");
            !(asks && matches!(args.first().map(Expr::as_stored), Some(Expr::Column { .. })))
        }
        _ => true,
    });
    columns
}

/// The condition, and the columns whose default value it has.
fn bind_check(table: &Table, check: &Check) -> Result<(Expr, Vec<usize>)> {
    let name = &check.name;
    let bound = bind_with_defaults(table, &check.expression, Owner::Check { name, column: None })?;
    match is_boolean(&bound.0) {
        true => Ok(bound),
        false => Err(not_boolean(name)),
    }
}

/// Whether MySQL counts an expression among those that are true or false.
fn is_boolean(expr: &Expr) -> bool {
    expr.ty() == SqlType::BOOL || calls_any_at_top(expr, BOOLEAN)
}

fn calls_any_at_top(expr: &Expr, names: &[&str]) -> bool {
    matches!(expr, Expr::Call { function, .. } if names.contains(&function.name()))
}

/// Error 3812.
fn not_boolean(check: &str) -> Error {
    Error::new(
        3812,
        format!("An expression of non-boolean type specified to a check constraint '{check}'."),
    )
}
