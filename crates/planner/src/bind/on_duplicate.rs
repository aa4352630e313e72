//! ON DUPLICATE KEY UPDATE: assignments to a row that is there, with values of the row that was to be inserted, of
//! the query that gave it, and of subqueries.

use std::collections::{BTreeSet, HashMap};

use functions::Expr;
use schema::limits;
use types::{Error, Result, Warning};

use super::Binder;
use super::context::Context;
use super::from_place::other_column_count;
use super::names::{FIELD_LIST, Names, ambiguous_column, full_name, unknown_column};
use super::relation::Relation;
use super::scope::{ColumnRef, Scope};
use super::subqueries::Subqueries;
use super::write::{self, assigned_column};
use crate::logical::{
    AssignedSubqueries, ColumnId, Logical, LogicalAssignment, LogicalInsertSource, LogicalRowUpdate,
    columns_of,
};
use crate::plan::ResultColumn;
use syntax::ast::{ColumnName, Insert, RowAlias};

/// The assignments. Their subqueries run for each row that is there, just before the assignment that names them:
/// without such a row they do not run.
pub(super) fn bind(
    binder: &Binder<'_>,
    insert: &Insert,
    (table, columns): (&Relation, &[usize]),
    read: Option<&Scope>,
    source: &mut LogicalInsertSource,
) -> Result<LogicalRowUpdate> {
    let names = DuplicateNames {
        binder,
        table,
        read,
        alias: insert.alias.as_ref(),
        columns,
    };
    names.check_alias()?;
    let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
    let mut subqueries = Vec::new();
    for (position, assignment) in insert.on_duplicate.iter().enumerate() {
        let column = assigned_column(table, &assignment.column)?;
        let of_value = Subqueries::default();
        let context = Context {
            subqueries: Some(&of_value),
            ..Context::of(&names)
        };
        let value = write::bind_assigned(binder, assignment.value.as_ref(), table, column, &context)?;
        if !of_value.is_empty() {
            subqueries.push(AssignedSubqueries {
                assignment: position,
                query: of_value.applied_to(Logical::OneRow).into(),
            });
        }
        assignments.push(LogicalAssignment { column, value });
    }
    let own = table.table().map_or(0, |table| table.columns.len()) * 2;
    let mut update = LogicalRowUpdate {
        assignments,
        further: Vec::new(),
        subqueries,
    };
    update.further = further_columns(&update, own);
    if !update.further.is_empty() {
        add_columns(source, &update.further)?;
    }
    let made = update
        .subqueries
        .iter()
        .flat_map(|subqueries| &subqueries.query.columns);
    let beyond = update.further.iter().chain(made).map(|id| id.0);
    let places: HashMap<usize, usize> = beyond.zip(own..).collect();
    let values = update.assignments.iter_mut();
    for value in values.filter_map(|assignment| assignment.value.as_mut()) {
        value.map_columns(&|index| places.get(&index).copied().unwrap_or(index));
    }
    Ok(update)
}

/// The columns of the query's tables that values and subqueries name.
fn further_columns(update: &LogicalRowUpdate, own: usize) -> Vec<ColumnId> {
    let mut named = BTreeSet::new();
    let values = update.assignments.iter();
    for value in values.filter_map(|assignment| assignment.value.as_ref()) {
        named.extend(columns_of(value));
    }
    for subqueries in &update.subqueries {
        named.extend(subqueries.query.root.outer_columns());
    }
    for id in update
        .subqueries
        .iter()
        .flat_map(|subqueries| &subqueries.query.columns)
    {
        named.remove(id);
    }
    named.into_iter().filter(|id| id.0 >= own).collect()
}

/// Gives the query of an INSERT further columns after those that are inserted.
fn add_columns(source: &mut LogicalInsertSource, further: &[ColumnId]) -> Result<()> {
    let LogicalInsertSource::Query(query) = source else {
        return Err(Error::internal(
            "a column of a query that an INSERT does not have",
        ));
    };
    let before: BTreeSet<ColumnId> = query.root.output().iter().map(|column| column.id).collect();
    let mut exposed = Vec::with_capacity(further.len());
    for &id in further {
        exposed.push(match before.contains(&id) || expose(&mut query.root, id) {
            true => id,
            false => selected_as(&query.root, id).ok_or_else(|| {
                Error::not_supported(
                    "a column in ON DUPLICATE KEY UPDATE that the rows of the SELECT do not determine",
                    "select the value as a column, and use VALUES(column)",
                )
            })?,
        });
    }
    let output = query.root.output();
    for id in exposed {
        let Some(column) = output.iter().find(|column| column.id == id) else {
            return Err(Error::internal("an exposed column that the query does not have"));
        };
        query.output.push(id);
        query
            .columns
            .push(ResultColumn::unnamed("", column.ty, column.nullable));
    }
    Ok(())
}

/// Makes a column of a query's tables one of its output. `false`: its rows are not those of its tables.
fn expose(root: &mut Logical, id: ColumnId) -> bool {
    match root {
        Logical::Project { input, columns } => {
            let Some(below) = input.output().into_iter().find(|column| column.id == id) else {
                return false;
            };
            if !columns.iter().any(|(other, _)| *other == id) {
                columns.push((id, Expr::column(below.id.0, below.ty, below.nullable)));
            }
            true
        }
        Logical::Limit { input, .. } | Logical::Sort { input, .. } | Logical::Filter { input, .. } => {
            expose(input, id)
        }
        Logical::Apply(apply) => expose(&mut apply.input, id),
        Logical::With { body, .. } => expose(body, id),
        _ => false,
    }
}

/// The column of a query that is a column of its tables, and nothing else.
fn selected_as(root: &Logical, id: ColumnId) -> Option<ColumnId> {
    match root {
        Logical::Project { columns, .. } => {
            let is_column = |expr: &Expr| matches!(expr, Expr::Column { index, .. } if *index == id.0);
            columns
                .iter()
                .find(|(_, expr)| is_column(expr))
                .map(|(selected, _)| *selected)
        }
        Logical::Limit { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Distinct { input } => selected_as(input, id),
        _ => None,
    }
}

/// Names in ON DUPLICATE KEY UPDATE: the row that is there at `0..n`, the row that was to be inserted at
/// `n..2n`.
struct DuplicateNames<'a, 'b> {
    binder: &'a Binder<'b>,
    table: &'a Relation,
    /// The tables of INSERT ... SELECT.
    read: Option<&'a Scope>,
    alias: Option<&'a RowAlias>,
    /// Target columns, which the alias's columns name in order.
    columns: &'a [usize],
}

impl DuplicateNames<'_, '_> {
    fn check_alias(&self) -> Result<()> {
        let Some(alias) = self.alias else {
            return Ok(());
        };
        if alias.name == self.table.alias {
            return Err(write::not_unique(&alias.name));
        }
        if !alias.columns.is_empty() && alias.columns.len() != self.columns.len() {
            return Err(other_column_count());
        }
        limits::check_distinct_columns(alias.columns.iter().map(String::as_str))
    }

    /// The new row's value of a column.
    fn new_value(&self, offset: usize) -> Expr {
        let mut column = self.table.stored(offset);
        if let Expr::Column { index, nullable, .. } = &mut column {
            *index += self.table.table().map_or(0, |table| table.columns.len());
            *nullable = true;
        }
        self.table.shown(column)
    }

    /// The column of the SELECT's tables that a name means.
    fn read_column(&self, name: &ColumnName) -> Result<Option<(&Scope, ColumnRef)>> {
        let Some(read) = self.read else {
            return Ok(None);
        };
        Ok(read.find(name, FIELD_LIST)?.map(|column| (read, column)))
    }

    /// What the row alias calls a column.
    fn of_alias(&self, name: &ColumnName) -> Option<usize> {
        let alias = self.alias?;
        if name.table.as_ref().is_some_and(|table| *table != alias.name) || name.database.is_some() {
            return None;
        }
        if alias.columns.is_empty() {
            // Without a list of its own it has the names of the columns that are inserted.
            let found = self.table.find(&ColumnName {
                database: None,
                table: None,
                column: name.column.clone(),
            });
            return found.filter(|offset| self.columns.contains(offset));
        }
        let position = alias
            .columns
            .iter()
            .position(|column| types::same_name(column, &name.column))?;
        self.columns.get(position).copied()
    }
}

impl Names for DuplicateNames<'_, '_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        if let Some(offset) = self.of_alias(name) {
            return match self.table.find(name) {
                Some(_) => Err(ambiguous_column(&full_name(name), FIELD_LIST)),
                None => Ok(self.new_value(offset)),
            };
        }
        let read = self.read_column(name)?;
        match (self.table.find(name), read) {
            (Some(_), Some(_)) => Err(ambiguous_column(&full_name(name), FIELD_LIST)),
            (Some(offset), None) => Ok(self.table.column(offset)),
            (None, Some((read, column))) => Ok(read.column(column)),
            (None, None) => Err(unknown_column(name, FIELD_LIST)),
        }
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        let read = self.read_column(name)?;
        match (self.table.find(name), read) {
            (Some(_), Some(_)) => Err(ambiguous_column(&full_name(name), FIELD_LIST)),
            (Some(offset), None) => Ok((self.table, offset)),
            (None, Some((read, column))) => Ok((read.relation(column), column.position)),
            (None, None) => Err(unknown_column(name, FIELD_LIST)),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        let offset = self
            .table
            .find(name)
            .ok_or_else(|| unknown_column(name, FIELD_LIST))?;
        self.binder.warn_of_text(Warning::warning(
            crate::errno::ER_WARN_DEPRECATED_SYNTAX,
            "'VALUES function' is deprecated and will be removed in a future release. Please use an alias (INSERT INTO ... \
             VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE clause with alias.col instead",
        ));
        Ok(self.new_value(offset))
    }
}
