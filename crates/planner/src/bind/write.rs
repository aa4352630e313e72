//! UPDATE and DELETE.

use std::collections::BTreeSet;

use schema::model::Table;
use types::{Error, Result, errno};

use super::bound_query::{Definitions, QueryPlace, as_it_stands, limited};
use super::context::Context;
use super::from_place::{From, FromPlace, filtered};
use super::names::{FIELD_LIST, ORDER_CLAUSE, WHERE_CLAUSE, unknown_column, unknown_place};
use super::relation::Relation;
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::write_target::{WriteTarget, WriteTargets, check_keys, needs_of_target};
use super::{Binder, filter, foreign_key, hints, limit, literal, parameter, write_target};
use crate::foreign_key::RowChanges;
use crate::logical::{
    ColumnId, Get, Logical, LogicalAssignment, LogicalDelete, LogicalFoundTable, LogicalFoundWrite,
    LogicalRowCheck, LogicalStatement, LogicalTarget, LogicalUpdate,
};
use crate::object_access::TableNeeds;
use crate::plan::{Locking, LockingWait, SortKey};
use schema::privilege::PrivilegeSet;
use syntax::ast::{self, ColumnName, Delete, NumberText, ObjectName, OrderItem, TableRef, Update};

/// The place of a WITH before UPDATE or DELETE.
const STATEMENT: QueryPlace<'static> = QueryPlace {
    locking: &[],
    outer: None,
    is_statement: false,
    limits_time: false,
    loses_order: false,
    as_set: false,
};

/// The clauses of an UPDATE or DELETE that say which rows it writes.
struct RowClauses<'a> {
    /// `UPDATE` or `DELETE`
    statement: &'static str,
    filter: Option<&'a ast::Expr>,
    order_by: &'a [OrderItem],
    limit: Option<&'a ast::Limit>,
}

/// The rows that an UPDATE or DELETE finds, while its clauses are being bound.
struct WrittenRows<'a> {
    from: From,
    clauses: RowClauses<'a>,
    /// Those of WHERE; those of the assignments and of ORDER BY.
    in_where: Subqueries,
    in_values: Subqueries,
}

/// The assignments to a table of several, and what a changed row must satisfy.
type FoundUpdate = (Vec<LogicalAssignment>, Option<LogicalRowCheck>);

pub(super) fn bind_update(binder: &Binder<'_>, update: &Update) -> Result<LogicalStatement> {
    let definitions = binder.define_common_tables(update.with.as_ref(), STATEMENT)?;
    let rows = found_rows(
        binder,
        &update.tables,
        RowClauses {
            statement: "UPDATE",
            filter: update.filter.as_ref(),
            order_by: &update.order_by,
            limit: update.limit.as_ref(),
        },
    )?;
    // WHERE is resolved first, so its error comes before those of the assignments.
    let mut targets = bind_assignments(binder, update, &rows)
        .map_err(|error| error_of_filter(binder, &rows).unwrap_or(error))?;
    if let Some(lone) = lone_target(binder, &rows)? {
        let target = targets.remove(&lone.table.first);
        let (assignments, check) = target.map_or_else(Default::default, |t| (t.assignments, t.check));
        let table = &lone.table.table;
        let changes = RowChanges::of_columns(updated(table, &assignments));
        return Ok(LogicalStatement::Update(LogicalUpdate {
            foreign_keys: foreign_key::keys_for(binder, table, &changes)?,
            target: lone,
            assignments,
            check,
            ignore: update.ignore,
        }));
    }
    check_keys(&targets)?;
    let written = targets
        .into_iter()
        .map(|(first, target)| (first, Some((target.assignments, target.check))))
        .collect();
    found_write(binder, rows, definitions, written, update.ignore)
}

/// A table, the column that is written, and what a changed row must satisfy.
type AssignedColumn<'r> = (&'r Relation, usize, Option<LogicalRowCheck>);

/// The assignments to each table.
fn bind_assignments<'r>(
    binder: &Binder<'_>,
    update: &Update,
    rows: &'r WrittenRows<'_>,
) -> Result<WriteTargets<'r>> {
    let scope = &rows.from.scope;
    if update.limit.is_some() {
        write_target::check_limited_view(binder, scope)?;
    }
    let mut assigned = Vec::with_capacity(update.assignments.len());
    let mut wrong = None;
    for assignment in &update.assignments {
        match assigned_column_of(binder, scope, &assignment.column) {
            Ok(found) => assigned.push(found),
            Err(error) => {
                wrong = Some(error);
                break;
            }
        }
    }
    let mut written: BTreeSet<ColumnId> = assigned.iter().map(|(relation, ..)| relation.id(0)).collect();
    match (&wrong, scope.relations.as_slice()) {
        (None, _) => write_target::check_one_table(scope, &written)?,
        // A lone table is the one to update, whatever is wrong with the columns.
        (Some(_), [lone]) => {
            written.insert(lone.id(0));
        }
        (Some(_), _) => {}
    }
    write_target::writes(binder, scope, &written, PrivilegeSet::UPDATE)?;
    for (relation, column, _) in &assigned {
        if let Some(table) = relation.table() {
            binder
                .accesses
                .writes(table, &relation.alias, PrivilegeSet::UPDATE, &[*column]);
        }
    }
    if let Some(error) = wrong {
        return Err(error);
    }
    let fields = names(scope, FIELD_LIST);
    let context = Context {
        subqueries: Some(&rows.in_values),
        ..Context::of(&fields)
    };
    let mut targets = WriteTargets::new();
    for (assignment, (relation, column, check)) in update.assignments.iter().zip(assigned) {
        let value = bind_assigned(binder, assignment.value.as_ref(), relation, column, &context)?;
        let target = targets
            .entry(relation.id(0))
            .or_insert_with(|| WriteTarget::of(relation));
        target.assignments.push(LogicalAssignment { column, value });
        target.check = check;
    }
    Ok(targets)
}

/// What an assignment writes to, and what a changed row must satisfy there.
fn assigned_column_of<'r>(
    binder: &Binder<'_>,
    scope: &'r Scope,
    name: &ColumnName,
) -> Result<AssignedColumn<'r>> {
    let column = scope.find(name, FIELD_LIST)?;
    let column = column.ok_or_else(|| unknown_column(name, FIELD_LIST))?;
    let relation = scope.relation(column);
    if let Some(view) = &relation.view {
        let written = [column.position];
        binder
            .accesses
            .writes(&view.definition, &relation.alias, PrivilegeSet::UPDATE, &written);
    }
    write_target::assigned_to(binder, scope, column)
}

/// The error of WHERE, if it has one.
fn error_of_filter(binder: &Binder<'_>, rows: &WrittenRows<'_>) -> Option<Error> {
    let in_where = names(&rows.from.scope, WHERE_CLAUSE);
    let subqueries = Subqueries::default();
    let context = Context {
        subqueries: Some(&subqueries),
        ..Context::of(&in_where)
    };
    filter::bind_filter(binder, rows.clauses.filter, &context, &rows.from.scope).err()
}

pub(super) fn bind_delete(binder: &Binder<'_>, delete: &Delete) -> Result<LogicalStatement> {
    let definitions = binder.define_common_tables(delete.with.as_ref(), STATEMENT)?;
    let clauses = RowClauses {
        statement: "DELETE",
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
    };
    let rows = found_rows(binder, &delete.tables, clauses)?;
    let scope = &rows.from.scope;
    if delete.limit.is_some() {
        write_target::check_limited_view(binder, scope)?;
    }
    let mut targets = BTreeSet::new();
    for target in &delete.targets {
        let relation = target_of_delete(binder, target, &delete.tables, scope)?;
        let table = write_target::deleted_from(binder, relation)?;
        deletes_through(binder, relation);
        if !targets.insert(table.id(0)) {
            return Err(not_unique(&target.name));
        }
    }
    if delete.targets.is_empty() {
        for relation in &scope.relations {
            targets.insert(write_target::deleted_from(binder, relation)?.id(0));
            deletes_through(binder, relation);
        }
    }
    write_target::writes(binder, scope, &targets, PrivilegeSet::DELETE)?;
    if let Some(target) = lone_target(binder, &rows)? {
        return Ok(LogicalStatement::Delete(LogicalDelete {
            foreign_keys: foreign_key::keys_for(binder, &target.table.table, &RowChanges::deletion())?,
            target,
            ignore: delete.ignore,
        }));
    }
    let targets = targets.into_iter().map(|first| (first, None));
    found_write(binder, rows, definitions, targets.collect(), delete.ignore)
}

/// A view that rows are deleted through.
fn deletes_through(binder: &Binder<'_>, relation: &Relation) {
    if let Some(view) = &relation.view {
        binder.accesses.deletes(&view.definition, &relation.alias);
    }
}

fn found_rows<'a>(
    binder: &Binder<'_>,
    tables: &[TableRef],
    clauses: RowClauses<'a>,
) -> Result<WrittenRows<'a>> {
    let is_of_one_table = matches!(tables, [TableRef::Table(_)]);
    binder.types.is_in_query.set(!is_of_one_table);
    let from = binder.from(
        tables,
        FromPlace {
            outer: None,
            locking: &[],
            left: None,
            for_writing: Some(needs_before(clauses.statement, tables)),
        },
    )?;
    hints::check_hinted_names(binder, &from.scope);
    Ok(WrittenRows {
        from,
        clauses,
        in_where: Subqueries::default(),
        in_values: Subqueries::default(),
    })
}

/// The rows of a statement that writes to one table and needs no query to find them.
fn lone_target(binder: &Binder<'_>, rows: &WrittenRows<'_>) -> Result<Option<LogicalTarget>> {
    let Some((get, of_view)) = lone_get(&rows.from.rel) else {
        return Ok(None);
    };
    if get.as_of.is_some() {
        return Err(Error::not_supported(
            format!("{} ... AS OF TIMESTAMP", rows.clauses.statement),
            "leave AS OF TIMESTAMP out: only current rows can be changed",
        ));
    }
    let opened = binder.opened.borrow().len();
    let (filter, order_by) = written_order(binder, rows)?;
    if !rows.in_where.is_empty() || !rows.in_values.is_empty() {
        // The clauses are bound again, and may open their temporary tables again.
        binder.opened.borrow_mut().truncate(opened);
        return Ok(None);
    }
    let filters: Vec<functions::Expr> = of_view.cloned().into_iter().chain(filter).collect();
    Ok(Some(LogicalTarget {
        table: Get {
            with_key: false,
            ..get.clone()
        },
        filter: filter::all(binder, filters)?,
        order_by,
        limit: limit::bind_limit(binder, rows.clauses.limit)?.count,
    }))
}

fn written_order(
    binder: &Binder<'_>,
    rows: &WrittenRows<'_>,
) -> Result<(Option<functions::Expr>, Vec<SortKey>)> {
    let scope = &rows.from.scope;
    let in_where = names(scope, WHERE_CLAUSE);
    let context = Context {
        subqueries: Some(&rows.in_where),
        ..Context::of(&in_where)
    };
    let filter = filter::bind_filter(binder, rows.clauses.filter, &context, scope)?;
    let in_order = names(scope, ORDER_CLAUSE);
    let context = Context {
        subqueries: Some(&rows.in_values),
        ..Context::of(&in_order)
    };
    let mut keys = Vec::with_capacity(rows.clauses.order_by.len());
    for item in rows.clauses.order_by {
        let expr = match &item.expr {
            ast::Expr::Parameter(_) if binder.types.literal_params => return Err(as_it_stands()),
            // There is no select list.
            ast::Expr::Number(NumberText::Integer(digits)) => {
                return Err(unknown_place(digits, ORDER_CLAUSE));
            }
            expr => binder.scalar(expr, &context)?,
        };
        keys.push(SortKey {
            expr,
            descending: item.descending,
        });
    }
    Ok((filter, keys))
}

/// The statement as one that writes what a query finds.
fn found_write(
    binder: &Binder<'_>,
    rows: WrittenRows<'_>,
    definitions: Definitions,
    targets: Vec<(ColumnId, Option<FoundUpdate>)>,
    ignore: bool,
) -> Result<LogicalStatement> {
    // The clauses of several tables have not been bound yet.
    let rows = match lone_get(&rows.from.rel) {
        Some(_) => WrittenRows {
            in_where: Subqueries::default(),
            ..rows
        },
        None => rows,
    };
    let (filter, keys) = written_order(binder, &rows)?;
    let limit = limit::bind_limit(binder, rows.clauses.limit)?;
    let WrittenRows {
        from,
        in_where,
        in_values,
        ..
    } = rows;
    let mut rel = from.rel;
    let mut tables = Vec::with_capacity(targets.len());
    for (first, update) in targets {
        let Some(get) = locked_get(&mut rel, first) else {
            return Err(Error::internal("a written table that is not read"));
        };
        let (assignments, check) = match update {
            Some((assignments, check)) => (Some(assignments), check),
            None => (None, None),
        };
        let changes = match &assignments {
            Some(list) => RowChanges::of_columns(updated(&get.table, list)),
            None => RowChanges::deletion(),
        };
        tables.push(LogicalFoundTable {
            foreign_keys: foreign_key::keys_for(binder, &get.table, &changes)?,
            table: get,
            assignments,
            check,
        });
    }
    rel = filtered(in_where.applied_to(rel), filter);
    rel = in_values.applied_to(rel);
    if !keys.is_empty() {
        rel = Logical::Sort {
            input: Box::new(rel),
            keys,
        };
    }
    Ok(LogicalStatement::FoundWrite(LogicalFoundWrite {
        root: definitions.around(limited(rel, limit)),
        tables,
        ignore,
    }))
}

/// The value of an assignment; a parameter of unknown type has the column's.
pub(super) fn bind_assigned(
    binder: &Binder<'_>,
    value: Option<&ast::Expr>,
    table: &Relation,
    column: usize,
    context: &Context<'_>,
) -> Result<Option<functions::Expr>> {
    let Some(value) = value else {
        return Ok(None);
    };
    // The default of any column stands for that of a generated one, which is computed in any case.
    if matches!(value, ast::Expr::Default(Some(_))) && is_generated(table, column) {
        binder.scalar(value, context)?;
        return Ok(None);
    }
    refuse_generated(table, column)?;
    let ty = table.stored_type(column);
    let bound = binder.hinted(value, Some(ty), context)?;
    let bound = match parameter::text_of_moment(binder, &bound, &ty) {
        Some(text) => text,
        None if ty.is_numeric() => literal::as_stored_number(binder, value, bound),
        None => bound,
    };
    // Text that is not well formed is stored as text is, where expressions take it for bytes.
    let bound = bound.as_ill_formed().cloned().unwrap_or(bound);
    Ok(Some(bound))
}

/// Whether the value of a relation's column is computed.
pub fn is_generated(relation: &Relation, column: usize) -> bool {
    let table = relation.table();
    table.is_some_and(|table| table.columns[column].generated.is_some())
}

/// Error 3105 if a value is given for a generated column.
pub fn refuse_generated(relation: &Relation, column: usize) -> Result<()> {
    let Some(table) = relation.table() else {
        return Ok(());
    };
    refuse_generated_column(table, column)
}

/// # Errors
/// 3105 for a generated column.
pub fn refuse_generated_column(table: &Table, column: usize) -> Result<()> {
    let column = &table.columns[column];
    if column.generated.is_none() {
        return Ok(());
    }
    Err(Error::new(
        3105,
        format!(
            "The value specified for generated column '{}' in table '{}' is not allowed.",
            column.name, table.name
        ),
    ))
}

/// The privileges that UPDATE or DELETE needs on each table that it names, before it is known which ones it
/// changes.
fn needs_before(statement: &str, tables: &[TableRef]) -> TableNeeds {
    let of_joined = !matches!(tables, [TableRef::Table(_)]);
    match (statement, of_joined) {
        ("UPDATE", _) => needs_of_target(PrivilegeSet::UPDATE, of_joined),
        (_, true) => PrivilegeSet::SELECT.into(),
        (_, false) => PrivilegeSet::DELETE.into(),
    }
}

/// The relation that a target of DELETE names: by its alias, where it has one, else as a table, which is one of
/// the default database unless the target says another one.
fn target_of_delete<'s>(
    binder: &Binder<'_>,
    target: &ObjectName,
    tables: &[TableRef],
    scope: &'s Scope,
) -> Result<&'s Relation> {
    let mut with_alias = Vec::new();
    note_aliases(tables, &mut with_alias);
    let database = target.database.as_deref().or(binder.env.database);
    let is_target = |(at, relation): &(usize, &Relation)| {
        let table = relation.definition();
        let has_alias = with_alias.get(*at).is_none_or(|is_alias| *is_alias);
        let is_named = match table.filter(|_| !has_alias) {
            Some(table) => Some(table.database.as_str()) == database,
            None => target.database.is_none(),
        };
        is_named && target.name == relation.alias
    };
    let mut found = scope.relations.iter().enumerate().filter(is_target);
    match (found.next(), found.next()) {
        (Some((_, relation)), None) => Ok(relation),
        (Some(_), Some(_)) => Err(not_unique(&target.name)),
        (None, _) if database.is_none() => Err(Error::new(errno::ER_NO_DB_ERROR, "No database selected")),
        (None, _) => Err(unknown_target(target)),
    }
}

/// Whether each part of FROM has a name of its own, in their order.
fn note_aliases(tables: &[TableRef], with_alias: &mut Vec<bool>) {
    for table in tables {
        match table {
            TableRef::Table(table) => with_alias.push(table.alias.is_some()),
            TableRef::Derived(_) | TableRef::Json(_) => with_alias.push(true),
            TableRef::Join(join) => {
                note_aliases(std::slice::from_ref(&join.left), with_alias);
                note_aliases(std::slice::from_ref(&join.right), with_alias);
            }
            TableRef::Nested(tables) => note_aliases(tables, with_alias),
        }
    }
}

/// Error 1066.
pub(super) fn not_unique(name: &str) -> Error {
    Error::new(
        errno::ER_NONUNIQ_TABLE,
        format!("Not unique table/alias: '{name}'"),
    )
}

/// Error 1109.
fn unknown_target(target: &ObjectName) -> Error {
    Error::new(
        errno::ER_UNKNOWN_TABLE,
        format!("Unknown table '{}' in MULTI DELETE", target.name),
    )
}

/// The rows of one table, and the condition of the view that shows them.
fn lone_get(rel: &Logical) -> Option<(&Get, Option<&functions::Expr>)> {
    match rel {
        Logical::Get(get) => Some((get, None)),
        Logical::Filter { input, predicate } => match &**input {
            Logical::Get(get) => Some((get, Some(predicate))),
            _ => None,
        },
        _ => None,
    }
}

/// The Get whose first column this is, which locks its rows from now on.
fn locked_get(rel: &mut Logical, first: ColumnId) -> Option<Get> {
    if let Logical::Get(get) = rel
        && get.first == first
    {
        get.locking = Some(Locking {
            exclusive: true,
            wait: LockingWait::Wait,
            of_write: true,
        });
        return Some(get.clone());
    }
    rel.inputs_mut()
        .into_iter()
        .find_map(|input| locked_get(input, first))
}

/// The columns that assignments may change, by offset.
pub fn updated(table: &Table, assignments: &[LogicalAssignment]) -> BTreeSet<usize> {
    let assigned = assignments.iter().map(|assignment| assignment.column);
    let stamped = (0..table.columns.len()).filter(|&at| table.columns[at].on_update_now);
    let mut changed: Vec<usize> = assigned.chain(stamped).collect();
    if let Ok(Some(expressions)) = table.expressions() {
        changed.extend(expressions.generated_from(&changed));
    }
    changed.into_iter().collect()
}

/// The column on the left of `=`.
pub fn assigned_column(table: &Relation, name: &ast::ColumnName) -> Result<usize> {
    table.find(name).ok_or_else(|| unknown_column(name, FIELD_LIST))
}

fn names<'a>(scope: &'a Scope, clause: &'static str) -> ScopeNames<'a> {
    ScopeNames {
        scope,
        clause,
        outer: None,
        in_aggregate: false,
    }
}
