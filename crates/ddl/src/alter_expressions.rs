//! The effects of an ALTER TABLE on the expressions of the definition: CHECK constraints that are added and
//! dropped, columns that expressions refer to, and the values of a new column with an expression in existing
//! rows.

use functions::{EvalContext, Expr, Strictness, assign, eval_value};
use schema::bound::add_columns;
use schema::check_constraints::{generated_check_name, generated_check_number};
use schema::definition::AlterChange;
use schema::expression::Check;
use schema::model::{Column, Table};
use types::{Error, Result, errno};

use crate::altered::Altered;
use crate::context::DdlContext;
use crate::rewrite::{Rewrite, rewrites};

/// # Errors
/// 3108, 3766, 3959 for a column that an expression needs; 3821 and 3822 for names of constraints; those of
/// [`planner::expressions`].
pub(crate) fn apply(
    base: &Table,
    changes: &[AlterChange],
    altered: &mut Altered,
    ctx: &DdlContext,
) -> Result<()> {
    if !base.has_expressions() && !altered.table.has_expressions() && !adds_check(changes) {
        return Ok(());
    }
    drop_checks(changes, &mut altered.table)?;
    check_dependencies(base, changes, &mut altered.table)?;
    for change in changes {
        if let AlterChange::AlterCheck { name, enforced } = change {
            let at = altered.table.check_named(name).ok_or_else(|| no_check(name))?;
            let check = &mut altered.table.checks[at];
            if *enforced && !check.enforced {
                altered.new_checks.push(check.name.clone());
            }
            check.enforced = *enforced;
        }
    }
    add_checks(changes, altered)?;
    altered.adds_checks = !altered.new_checks.is_empty();
    planner::expressions(&altered.table)?;
    check_column_checks(changes, &altered.table)?;
    recheck_changed(base, altered)?;
    altered.table.sort_checks();
    fill_new_columns(base, altered, ctx)
}

fn adds_check(changes: &[AlterChange]) -> bool {
    let of_check = |change: &AlterChange| {
        matches!(
            change,
            AlterChange::AddCheck { .. } | AlterChange::DropCheck { .. } | AlterChange::AlterCheck { .. }
        )
    };
    changes.iter().any(of_check)
}

fn drop_checks(changes: &[AlterChange], table: &mut Table) -> Result<()> {
    for change in changes {
        if let AlterChange::DropCheck { name } = change {
            let at = table.check_named(name).ok_or_else(|| no_check(name))?;
            table.checks.remove(at);
        }
    }
    Ok(())
}

fn add_checks(changes: &[AlterChange], altered: &mut Altered) -> Result<()> {
    let table = &mut altered.table;
    for change in changes {
        let AlterChange::AddCheck {
            name,
            expression,
            enforced,
            ..
        } = change
        else {
            continue;
        };
        let numbers = table.checks.iter();
        let last = numbers
            .filter_map(|check| generated_check_number(&table.name, &check.name))
            .max();
        let name = match name {
            Some(name) => name.clone(),
            None => generated_check_name(&table.name, last.unwrap_or(0) + 1),
        };
        if *enforced {
            altered.new_checks.push(name.clone());
        }
        table.checks.push(Check {
            name,
            expression: expression.clone(),
            enforced: *enforced,
            validating: false,
        });
    }
    Ok(())
}

/// Checks all rows again for the CHECK constraints that read a column whose values change, directly or
/// through generated columns. Where an expression has the default value of a column as it was before, MySQL copies the
/// rows.
fn recheck_changed(base: &Table, altered: &mut Altered) -> Result<()> {
    let Some(expressions) = planner::expressions(&altered.table)? else {
        return Ok(());
    };
    let changes = |after: &Column| {
        let before = base.columns.iter().find(|before| before.id == after.id);
        before.is_some_and(|before| (&before.generated, &before.ty) != (&after.generated, &after.ty))
    };
    let changes_default = |after: &Column| {
        let before = base.columns.iter().find(|before| before.id == after.id);
        let default = |column: &Column| (column.default.clone(), column.ty, column.nullable);
        before.is_some_and(|before| default(before) != default(after))
    };
    let columns = altered.table.columns.iter().enumerate();
    let mut changed: Vec<usize> = columns
        .clone()
        .filter(|(_, column)| changes(column))
        .map(|(at, _)| at)
        .collect();
    let redefaulted: Vec<usize> = columns
        .filter(|(_, column)| changes_default(column))
        .map(|(at, _)| at)
        .collect();
    let has_old_default = |defaults_of: &[usize]| defaults_of.iter().any(|at| redefaulted.contains(at));
    let generated = expressions.generated.iter();
    let generated = generated.filter(|generated| has_old_default(&generated.defaults_of));
    let outdated: Vec<usize> = generated.map(|generated| generated.column).collect();
    let stored = outdated
        .iter()
        .copied()
        .chain(expressions.generated_from(&outdated));
    let stored = stored
        .map(|at| &altered.table.columns[at])
        .filter(|column| !column.is_virtual());
    altered.recomputed.extend(stored.map(|column| column.id));
    if !outdated.is_empty()
        || expressions
            .checks
            .iter()
            .any(|check| has_old_default(&check.defaults_of))
    {
        rewrites(&mut altered.rewrite, Rewrite::BY_COPY);
    }
    changed.extend(outdated);
    changed.extend(expressions.generated_from(&changed));
    for check in &expressions.checks {
        let reads = columns_of(&check.condition);
        let is_affected = has_old_default(&check.defaults_of) || reads.iter().any(|at| changed.contains(at));
        if is_affected && !altered.new_checks.contains(&check.name) {
            altered.new_checks.push(check.name.clone());
        }
    }
    Ok(())
}

/// A CHECK in a column's definition may refer only to that column. Constants in all must be what they are compared with.
fn check_column_checks(changes: &[AlterChange], table: &Table) -> Result<()> {
    let added = changes.iter().filter_map(|change| match change {
        AlterChange::AddCheck { column, .. } => Some(column),
        _ => None,
    });
    let first = table.checks.len() - added.clone().count();
    for (column, check) in added.zip(&table.checks[first..]) {
        let column = column.as_ref().and_then(|name| table.column_offset(name));
        planner::check_new_constraint(table, check, column)?;
    }
    Ok(())
}

/// Columns that expressions of the table refer to can neither be dropped nor renamed. A CHECK that refers
/// only to one dropped column is dropped with it. An expression that the statement defines refers to the
/// columns after the statement.
fn check_dependencies(base: &Table, changes: &[AlterChange], table: &mut Table) -> Result<()> {
    let Some(expressions) = planner::expressions(base)? else {
        return Ok(());
    };
    let after = |id: i64| table.columns.iter().find(|column| column.id == id);
    let reads = |expr: &Expr, offset: usize| columns_of(expr).contains(&offset);
    let is_redefined = |owner: &Column| {
        changes.iter().any(|change| match change {
            AlterChange::ModifyColumn { name, .. } | AlterChange::SetDefault { column: name, .. } => {
                types::same_name(name, &owner.name)
            }
            _ => false,
        })
    };
    // Without those of dropped columns.
    let mut kept_checks = table.checks.clone();
    let mut changed = Vec::new();
    for (offset, column) in base.columns.iter().enumerate() {
        let is_dropped = match after(column.id) {
            Some(after) if types::same_name(&after.name, &column.name) => continue,
            after => after.is_none(),
        };
        changed.push((offset, column));
        for check in &table.checks {
            let columns = planner::columns_of_check(base, check, None)?;
            if is_dropped && columns == [offset] {
                kept_checks.retain(|kept| kept.name != check.name);
            } else if columns.contains(&offset) {
                return Err(check_needs(check, column));
            }
        }
    }
    for (offset, column) in changed {
        for generated in &expressions.generated {
            let owner = &base.columns[generated.column];
            let stays = after(owner.id).is_some() && !is_redefined(owner);
            let needs = reads(&generated.value, offset) || generated.defaults_of.contains(&offset);
            if stays && owner.hidden && needs {
                return Err(Error::new(
                    3837,
                    format!(
                        "Column '{}' has a functional index dependency and cannot be dropped or renamed.",
                        column.name
                    ),
                ));
            }
            if stays && needs {
                return Err(Error::new(
                    3108,
                    format!("Column '{}' has a generated column dependency.", column.name),
                ));
            }
        }
        for default in &expressions.defaults {
            let owner = &base.columns[default.column];
            let stays = after(owner.id).is_some() && !is_redefined(owner);
            let needs = reads(&default.value, offset) || default.defaults_of.contains(&offset);
            if stays && needs {
                return Err(default_needs(column, base));
            }
        }
    }
    table.checks = kept_checks;
    Ok(())
}

fn columns_of(expr: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    add_columns(expr, &mut columns);
    columns
}

/// Error 3959.
fn check_needs(check: &Check, column: &Column) -> Error {
    Error::new(
        3959,
        format!(
            "Check constraint '{}' uses column '{}', hence column cannot be dropped or renamed.",
            check.name, column.name
        ),
    )
}

/// Error 3766.
fn default_needs(column: &Column, table: &Table) -> Error {
    Error::new(
        3766,
        format!(
            "Column '{}' of table '{}' has a default value expression dependency and cannot be dropped or renamed.",
            column.name, table.name
        ),
    )
}

/// Error 3821.
fn no_check(name: &str) -> Error {
    Error::new(
        3821,
        format!("Check constraint '{name}' is not found in the table."),
    )
}

/// Sets the values that existing rows get in new columns with computed values.
fn fill_new_columns(base: &Table, altered: &mut Altered, ctx: &DdlContext) -> Result<()> {
    let Some(expressions) = planner::expressions(&altered.table)?.cloned() else {
        return Ok(());
    };
    for at in 0..altered.table.columns.len() {
        let column = &altered.table.columns[at];
        if column.id <= base.max_column_id {
            continue;
        }
        if column
            .generated
            .as_ref()
            .is_some_and(|generated| generated.stored)
        {
            rewrites(&mut altered.rewrite, Rewrite::BY_COPY);
        }
        let Some(default) = expressions.default_of(at) else {
            continue;
        };
        if !functions::is_deterministic(default) {
            return Err(Error::new(
                1674,
                "Statement is unsafe because it uses a system function that may return a different value on the replica.",
            ));
        }
        if !columns_of(default).is_empty() {
            rewrites(&mut altered.rewrite, Rewrite::BY_COPY);
            continue;
        }
        match constant(default, column, ctx) {
            Ok(text) => altered.table.columns[at].original_default = text,
            Err(error) => altered.only_if_empty = Some(error),
        }
    }
    Ok(())
}

/// The value of a default that is the same for all rows, as text. `None` is NULL.
fn constant(default: &Expr, column: &Column, ctx: &DdlContext) -> Result<Option<String>> {
    let context = EvalContext {
        sql_mode: ctx.sql_mode,
        strictness: match ctx.sql_mode.strict {
            true => Strictness::Error,
            false => Strictness::Warn,
        },
        time_zone: ctx.time_zone,
        now_us: ctx.now_us,
        ..EvalContext::default()
    };
    let value = eval_value(default, &context)?;
    let value = assign::value(value, &default.ty(), &column.ty, &column.name, 1, &context)?;
    if value.is_null() {
        return match column.nullable {
            true => Ok(None),
            false => Err(Error::new(
                errno::ER_BAD_NULL_ERROR,
                format!("Column '{}' cannot be null", column.name),
            )),
        };
    }
    match planner::default_text(value, column.ty, ctx.time_zone) {
        Some(text) => Ok(Some(text)),
        None => Err(Error::new(
            errno::ER_INVALID_DEFAULT,
            format!("Invalid default value for '{}'", column.name),
        )),
    }
}
