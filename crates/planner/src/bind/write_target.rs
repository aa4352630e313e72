//! The tables that UPDATE and DELETE write to: those that FROM names, and those below the views that it names.
//!
//! Source: manual 23.5.3, "Updatable and Insertable Views", and MySQL 8.0.33's answers.

use functions::Expr;
use schema::privilege::PrivilegeSet;
use std::collections::{BTreeMap, BTreeSet};

use schema::model::{IndexPart, Table, TableName};
use types::{Error, Result, Value, Warning};

use super::read_and_written::{self, WrittenTable};
use super::relation::{Relation, ViewRelation, WrittenView};
use super::scope::{ColumnRef, Scope};
use super::subqueries::Subqueries;
use super::{Binder, filter};
use crate::errno::{
    ER_NON_UPDATABLE_TABLE, ER_NONUPDATEABLE_COLUMN, ER_VIEW_DELETE_MERGE_VIEW, ER_VIEW_MULTIUPDATE,
    ER_WARN_VIEW_WITHOUT_KEY,
};
use crate::logical::{ColumnId, Logical, LogicalAssignment, LogicalRowCheck, RowQuery, columns_of};
use crate::object_access::{ColumnIds, LockMode, OneOf, TableNeeds};
use crate::row_check::{RowCheck, RowCondition};

/// A table that a statement writes to, by the id of its first column.
pub struct WriteTarget<'s> {
    pub relation: &'s Relation,
    /// Of an UPDATE.
    pub assignments: Vec<LogicalAssignment>,
    /// What the rows must satisfy after an UPDATE.
    pub check: Option<LogicalRowCheck>,
}

pub type WriteTargets<'s> = BTreeMap<ColumnId, WriteTarget<'s>>;

impl<'s> WriteTarget<'s> {
    pub fn of(relation: &'s Relation) -> Self {
        Self {
            relation,
            assignments: Vec::new(),
            check: None,
        }
    }
}

/// The column of a table that an assignment to a column of FROM means, and what a changed row must satisfy.
///
/// # Errors
/// 1288 for anything but a table, and for one that a subquery of the view reads, 1348 for an expression of a view, 1044 for a table whose rows the server
/// computes.
pub(super) fn assigned_to<'s>(
    binder: &Binder<'_>,
    scope: &'s Scope,
    column: ColumnRef,
) -> Result<(&'s Relation, usize, Option<LogicalRowCheck>)> {
    let relation = scope.relation(column);
    if let Some(table) = relation.table() {
        refuse_virtual(binder, table)?;
        return Ok((relation, column.position, None));
    }
    let Some((view, written)) = written_view(relation) else {
        return Err(not_updatable(binder, relation));
    };
    let id = relation.id(column.position);
    let Some((table, position)) = written.table_of(id) else {
        return Err(match written.is_computed(id) {
            true => not_updatable_column(relation.name(column.position)),
            false => not_updatable(binder, relation),
        });
    };
    if written.reads(table) {
        return Err(not_updatable(binder, relation));
    }
    let check = view_check(binder, view, written)?;
    Ok((&table.relation, position, check))
}

/// The table that DELETE removes rows of, where FROM names a relation.
///
/// # Errors
/// As [`assigned_to`]; 1395 for a view of several tables.
pub(super) fn deleted_from<'s>(binder: &Binder<'_>, relation: &'s Relation) -> Result<&'s Relation> {
    if let Some(table) = relation.table() {
        refuse_virtual(binder, table)?;
        return Ok(relation);
    }
    let Some((view, written)) = written_view(relation) else {
        return Err(not_updatable(binder, relation));
    };
    match (written.tables.as_slice(), written.others) {
        ([table], 0) => Ok(&table.relation),
        ([], _) => Err(not_updatable(binder, relation)),
        _ => Err(deletes_from_join(&view.full_name())),
    }
}

/// Error 1395.
pub(super) fn deletes_from_join(view: &str) -> Error {
    Error::new(
        ER_VIEW_DELETE_MERGE_VIEW,
        format!("Can not delete from join view '{view}'"),
    )
}

/// Error 1393 if assignments to one view change several of its tables.
pub(super) fn check_one_table(scope: &Scope, targets: &BTreeSet<ColumnId>) -> Result<()> {
    for relation in &scope.relations {
        let Some((view, written)) = written_view(relation) else {
            continue;
        };
        let changed = written
            .tables
            .iter()
            .filter(|table| targets.contains(&table.relation.id(0)));
        if changed.count() > 1 {
            return Err(several_tables(view));
        }
    }
    Ok(())
}

/// The statement finds rows of the relations, and changes those of some tables.
pub(super) fn writes(
    binder: &Binder<'_>,
    scope: &Scope,
    targets: &BTreeSet<ColumnId>,
    privilege: PrivilegeSet,
) -> Result<()> {
    let of_joined = scope.relations.len() > 1;
    let need = |relation: &Relation| match targets.contains(&relation.id(0)) {
        true => (needs_of_target(privilege, of_joined), LockMode::Write),
        false if of_joined && privilege == PrivilegeSet::UPDATE => {
            (OneOf::ReadsOrUpdates.into(), LockMode::Read)
        }
        false => (PrivilegeSet::SELECT.into(), LockMode::Read),
    };
    // The errors of an UPDATE of several tables name the first one.
    let first = scope.relations.first();
    let first = first.filter(|_| of_joined && privilege == PrivilegeSet::UPDATE);
    for relation in &scope.relations {
        if let Some(table) = relation.table() {
            let need = need(relation);
            let (_, lock) = need;
            let columns = vec![ColumnIds::From(relation.id(0))];
            binder.accesses.add(table, &relation.alias, need, columns);
            note_written(binder, table.id, first.unwrap_or(relation), lock)?;
        }
        let below = written_view(relation).map_or(&[][..], |(_, written)| &written.tables);
        for below in below {
            let Some(table) = below.relation.table() else {
                continue;
            };
            let need = need(&below.relation);
            let (_, lock) = need;
            let alias = &below.relation.alias;
            let columns = vec![ColumnIds::From(below.relation.id(0))];
            binder
                .accesses
                .add_through(table, alias, need, below.through.clone(), columns);
            note_written(binder, table.id, first.unwrap_or(relation), lock)?;
        }
    }
    Ok(())
}

/// `relation`: what FROM names, a table or the view that its rows are changed through.
fn note_written(binder: &Binder<'_>, table: i64, relation: &Relation, lock: LockMode) -> Result<()> {
    if lock != LockMode::Write {
        return Ok(());
    }
    read_and_written::note_written(
        binder,
        WrittenTable {
            id: table,
            alias: relation.alias.clone(),
            view: relation.view.as_ref().map(|view| view.definition.id),
            only_by_name: false,
        },
    )
}

/// What a view demands of a row that is written through it.
///
/// # Errors
/// 1235 if that depends on rows of a derived table.
pub(super) fn view_check(
    binder: &Binder<'_>,
    view: &ViewRelation,
    written: &WrittenView,
) -> Result<Option<LogicalRowCheck>> {
    let Some(condition) = filter::all(binder, written.checks.clone())? else {
        return Ok(None);
    };
    let condition = binder.call("is true", vec![condition])?;
    let of_tables = |columns: BTreeSet<ColumnId>| columns.iter().all(|id| written.is_of_table(*id));
    let view = TableName::of(&view.definition);
    if of_tables(columns_of(&condition)) {
        let condition = RowCondition::Row(condition);
        return Ok(Some(RowCheck { condition, view }));
    }
    let query = checking_query(binder, condition, written);
    if !of_tables(query.root.outer_columns()) {
        return Err(Error::not_supported(
            "WITH CHECK OPTION of a view whose condition is about a derived table",
            "write to its table",
        ));
    }
    let condition = RowCondition::Query(Box::new(query));
    Ok(Some(RowCheck { condition, view }))
}

/// The condition of a view with the subqueries that it needs, for one row of the view's tables.
fn checking_query(binder: &Binder<'_>, condition: Expr, written: &WrittenView) -> RowQuery {
    let all = Subqueries::default();
    for (kind, rel) in &written.subqueries {
        all.add(kind.clone(), rel.clone());
    }
    drop(all.split_off_unneeded(columns_of(&condition)));
    let id = binder.new_column();
    RowQuery {
        root: Logical::Project {
            columns: vec![(id, condition)],
            input: Box::new(all.applied_to(Logical::OneRow)),
        },
        columns: vec![id],
    }
}

/// LIMIT of rows of a view that shows no whole key of its table, so that it cannot say which rows it means: a
/// note, or an error under `updatable_views_with_limit = NO`.
///
/// # Errors
/// 1288.
pub(super) fn check_limited_view(binder: &Binder<'_>, scope: &Scope) -> Result<()> {
    for relation in &scope.relations {
        let tables = written_view(relation).map_or(&[][..], |(_, written)| &written.tables);
        if tables.iter().all(|table| shows_key(relation, &table.relation)) {
            continue;
        }
        let is_allowed = (binder.env.system_variable)(None, "updatable_views_with_limit")?;
        if is_allowed == Value::from("NO") {
            return Err(not_updatable(binder, relation));
        }
        binder.warn_each_time(Warning::note(
            ER_WARN_VIEW_WITHOUT_KEY,
            "View being updated does not have complete key of underlying table in it",
        ));
    }
    Ok(())
}

fn not_updatable(binder: &Binder<'_>, relation: &Relation) -> Error {
    not_updatable_by(binder, &relation.alias)
}

/// Error 1288 for a table that the statement would write to.
pub(super) fn not_updatable_by(binder: &Binder<'_>, name: &str) -> Error {
    Error::new(
        ER_NON_UPDATABLE_TABLE,
        format!(
            "The target table {name} of the {} is not updatable",
            binder.verb.get()
        ),
    )
}

/// What a statement that writes to a table needs of it, and of the view that it writes through. An UPDATE of several
/// tables says by its assignments which ones it changes; DELETE of several reads them all.
pub fn needs_of_target(privilege: PrivilegeSet, of_joined: bool) -> TableNeeds {
    match of_joined {
        true if privilege == PrivilegeSet::UPDATE => OneOf::ReadsOrUpdates.into(),
        true => (privilege | PrivilegeSet::SELECT).into(),
        false => privilege.into(),
    }
}

/// A view that rows can be changed through.
pub fn written_view(relation: &Relation) -> Option<(&ViewRelation, &WrittenView)> {
    let view = relation.view.as_deref()?;
    Some((view, view.written.as_ref()?))
}

/// Whether a view shows all columns of a key of a table below it, or all of the table.
fn shows_key(view: &Relation, below: &Relation) -> bool {
    let Some(table) = below.table() else {
        return true;
    };
    let shown: BTreeSet<ColumnId> = view.positions().into_iter().map(|at| view.id(at)).collect();
    let is_shown = |column: usize| shown.contains(&below.id(column));
    let shows = |parts: &[IndexPart]| {
        let is_whole = |part: &IndexPart| {
            part.prefix.is_none() && !table.columns[part.column].nullable && is_shown(part.column)
        };
        !parts.is_empty() && parts.iter().all(is_whole)
    };
    let unique = table.indexes.iter().filter(|index| index.unique);
    shows(&table.primary_parts())
        || unique.into_iter().any(|index| shows(&index.parts))
        || table.public_columns().all(is_shown)
}

/// Error 1348.
pub fn not_updatable_column(name: &str) -> Error {
    Error::new(
        ER_NONUPDATEABLE_COLUMN,
        format!("Column '{name}' is not updatable"),
    )
}

/// Error 1393.
pub fn several_tables(view: &ViewRelation) -> Error {
    Error::new(
        ER_VIEW_MULTIUPDATE,
        format!(
            "Can not modify more than one base table through a join view '{}'",
            view.full_name()
        ),
    )
}

/// Error 1706 if a table is updated under two aliases, and one of them moves its rows.
pub fn check_keys(targets: &WriteTargets<'_>) -> Result<()> {
    for (first, target) in targets {
        let Some(table) = target.relation.table() else {
            continue;
        };
        let mut places: Vec<usize> = table.primary_parts().iter().map(|part| part.column).collect();
        if let Some(function) = table.partition_function()? {
            places.extend(function.columns());
        }
        let moves = target.assignments.iter().any(|a| places.contains(&a.column));
        let is_same = |(id, other): &(&ColumnId, &WriteTarget<'_>)| {
            *id != first && other.relation.table().is_some_and(|t| t.id == table.id)
        };
        if let (true, Some((_, second))) = (moves, targets.iter().find(is_same)) {
            let mut aliases = [&target.relation.alias, &second.relation.alias];
            aliases.sort();
            return Err(Error::new(
                1706,
                format!(
                    "Primary key/partition key update is not allowed since the table is updated both as '{}' and '{}'.",
                    aliases[0], aliases[1]
                ),
            ));
        }
    }
    Ok(())
}

/// Fails with 1044 for a table whose rows the server makes, and with 1235 for one that MySQL lets accounts
/// change to say what is measured.
pub(super) fn refuse_virtual(binder: &Binder<'_>, table: &Table) -> Result<()> {
    let is_setting = table.name.starts_with("setup_") || table.name == "threads";
    match table.is_virtual() {
        true if table.database == "performance_schema" && is_setting => Err(Error::not_supported(
            format_args!("changing performance_schema.{}", table.name),
            "what is measured is always the same; performance_schema = off in the configuration turns it off",
        )),
        true => Err((binder.env.denied)(&table.database)),
        false => Ok(()),
    }
}
