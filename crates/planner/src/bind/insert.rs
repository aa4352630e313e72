//! INSERT and REPLACE.

use std::collections::BTreeSet;
use std::sync::Arc;

use functions::Expr;
use functions::bind::implicit_cast;
use types::{Charset, Error, Result, Warning, errno};

use super::bound_query::{BoundQuery, QueryColumn};
use super::context::Context;
use super::insert_target::InsertTarget;
use super::names::FIELD_LIST;
use super::read_and_written::WrittenTable;
use super::relation::Relation;
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::table_is_there::is_of_opening;
use super::write::{assigned_column, is_generated, refuse_generated, updated};
use super::{Binder, block_operators, column_default, foreign_key, insert_target, on_duplicate, write};
use crate::errno::ER_WARN_LEGACY_SYNTAX_CONVERTED;
use crate::foreign_key::RowChanges;
use crate::logical::{
    ColumnId, Logical, LogicalInsert, LogicalInsertMode, LogicalInsertSource, SetOperator, columns_of,
};
use crate::plan::{LiteralValues, ResultColumn};
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use syntax::ast::{self, ColumnName, Insert, InsertRows, LiteralRows};

pub(super) fn bind_insert(binder: &Binder<'_>, insert: &Insert) -> Result<LogicalInsert> {
    if insert.delayed {
        let verb = if insert.replace { "REPLACE" } else { "INSERT" };
        binder.warn_each_time(Warning::warning(
            ER_WARN_LEGACY_SYNTAX_CONVERTED,
            format!("{verb} DELAYED is no longer supported. The statement was converted to {verb}."),
        ));
    }
    let target = insert_target::bind_insert_target(binder, insert, privileges(insert))?;
    let columns = target_columns(binder, insert, &target)
        .map_err(|error| error_of_opened(binder, insert).unwrap_or(error))?;
    note_inserted(
        binder,
        insert,
        target.view.as_deref(),
        (&target.table, &target.alias),
        &columns,
    );
    insert_target::check_view_defaults(binder, &target, &columns, insert.ignore)?;
    let InsertTarget {
        table: found,
        alias,
        relation: table,
        check,
        view,
        partitions,
        sets_last_id,
        ..
    } = target;
    let written = WrittenTable {
        id: found.id,
        alias: view.as_ref().map_or(&found.name, |view| &view.name).clone(),
        view: view.as_ref().map(|view| view.id),
        only_by_name: true,
    };
    let (mut source, read) = bind_source(binder, insert, (&table, &columns), written)?;
    let mode = if insert.replace {
        LogicalInsertMode::Replace
    } else if insert.on_duplicate.is_empty() {
        LogicalInsertMode::Insert
    } else {
        LogicalInsertMode::Update(on_duplicate::bind(
            binder,
            insert,
            (&table, &columns),
            read.as_ref(),
            &mut source,
        )?)
    };
    if let LogicalInsertMode::Update(update) = &mode {
        let assigned = update.assignments.iter();
        let updated: Vec<usize> = assigned.map(|assigned| assigned.column).collect();
        binder
            .accesses
            .writes(&found, &alias, PrivilegeSet::UPDATE, &updated);
    }
    let changes = RowChanges {
        inserts: true,
        deletes: insert.replace,
        updates: match &mode {
            LogicalInsertMode::Update(update) => updated(&found, &update.assignments),
            LogicalInsertMode::Insert | LogicalInsertMode::Replace => BTreeSet::new(),
        },
    };
    Ok(LogicalInsert {
        columns: written_columns(&table, columns),
        given_rows: match &insert.rows {
            InsertRows::Values(rows) => Some(rows.len()),
            InsertRows::Literals(rows) => Some(rows.len()),
            InsertRows::Query(_) => None,
        },
        foreign_keys: foreign_key::keys_for(binder, &found, &changes)?,
        partitions,
        table: found,
        source,
        mode,
        check,
        ignore: insert.ignore,
        sets_last_id,
    })
}

/// Where the rows come from. With a query whose columns ON DUPLICATE KEY UPDATE can name, the relations of the
/// query: the rows of a grouped query are not those of its tables.
fn bind_source(
    binder: &Binder<'_>,
    insert: &Insert,
    (table, columns): (&Relation, &[usize]),
    written: WrittenTable,
) -> Result<(LogicalInsertSource, Option<Scope>)> {
    let source = match &insert.rows {
        InsertRows::Values(rows) => {
            binder.written.borrow_mut().push(written);
            bind_rows(binder, insert, rows, columns, table)?
        }
        InsertRows::Literals(rows) => {
            binder.written.borrow_mut().push(written);
            match stores_literals(binder, insert, rows, columns, table) {
                true => LogicalInsertSource::Literals(LiteralValues {
                    rows: Arc::clone(rows),
                    collation: binder.types.collation,
                }),
                false => bind_rows(binder, insert, &rows.to_expressions(), columns, table)?,
            }
        }
        InsertRows::Query(query) => {
            for &column in columns {
                refuse_generated(table, column)?;
            }
            let mut bound = binder.query(query, None)?;
            if bound.columns.len() != columns.len() {
                return Err(wrong_value_count(1));
            }
            let read = bound.block.take().map(|(scope, _)| scope);
            return Ok((LogicalInsertSource::Query(Box::new(bound.into_logical())), read));
        }
    };
    Ok((source, None))
}

/// Notes the columns that get values: those of the table, and of the view that the statement names.
fn note_inserted(
    binder: &Binder<'_>,
    insert: &Insert,
    view: Option<&Table>,
    (table, alias): (&Table, &str),
    columns: &[usize],
) {
    let lists_none = insert.columns.is_empty();
    binder
        .accesses
        .writes(table, alias, PrivilegeSet::INSERT, columns);
    let Some(view) = view else {
        if lists_none {
            binder.accesses.writes_all(table, alias, PrivilegeSet::INSERT);
        }
        return;
    };
    let offset = |name: &ColumnName| view.column_offset(&name.column);
    let mut inserted: Vec<usize> = insert.columns.iter().filter_map(offset).collect();
    if lists_none {
        binder.accesses.writes_all(view, &view.name, PrivilegeSet::INSERT);
        inserted = (0..view.columns.len()).collect();
    }
    let assigned = insert.on_duplicate.iter().map(|assignment| &assignment.column);
    let updated: Vec<usize> = assigned.filter_map(offset).collect();
    binder
        .accesses
        .writes(view, &view.name, PrivilegeSet::INSERT, &inserted);
    binder
        .accesses
        .writes(view, &view.name, PrivilegeSet::UPDATE, &updated);
}

/// Whether each literal can be stored without binding it as an expression: its text is in the connection's
/// character set, and only the column's type decides how it is converted.
fn stores_literals(
    binder: &Binder<'_>,
    insert: &Insert,
    rows: &LiteralRows,
    columns: &[usize],
    table: &Relation,
) -> bool {
    let is_number = |column: &usize| table.stored_type(*column).is_numeric();
    insert.on_duplicate.is_empty()
        && rows.width() == columns.len()
        && has_as_sent(binder, rows)
        && columns.iter().all(|&column| is_written(table, column))
        && !(rows.has_hexadecimal() && columns.iter().any(is_number))
}

/// Whether the texts of literals are the same in the connection's character set, without a warning.
fn has_as_sent(binder: &Binder<'_>, rows: &LiteralRows) -> bool {
    let (client, connection) = (binder.env.charset_client, binder.types.collation.charset());
    let is_same = |charset: Charset| match charset {
        Charset::Utf8mb4 => true,
        charset => rows.is_ascii() && (charset == Charset::Binary || charset.holds_ascii()),
    };
    let are_bytes = client == Charset::Binary && connection == Charset::Binary;
    is_same(client) && is_same(connection) && (!rows.has_raw() || are_bytes)
}

fn bind_rows(
    binder: &Binder<'_>,
    insert: &Insert,
    rows: &[Vec<Option<ast::Expr>>],
    columns: &[usize],
    table: &Relation,
) -> Result<LogicalInsertSource> {
    let scope = Scope::of(table.clone());
    let names = ScopeNames {
        scope: &scope,
        clause: FIELD_LIST,
        outer: None,
        in_aggregate: false,
    };
    let mut bound = Vec::with_capacity(rows.len());
    let mut subqueries = Vec::with_capacity(rows.len());
    // `VALUES ()` is a row of defaults, whatever the columns, unless some were named. Then all rows are.
    let are_defaults = insert.columns.is_empty() && rows.first().is_some_and(Vec::is_empty);
    let width = if are_defaults { 0 } else { columns.len() };
    for (number, row) in rows.iter().enumerate() {
        if row.len() != width {
            return Err(wrong_value_count(number + 1));
        }
        let of_row = Subqueries::default();
        let context = Context {
            subqueries: Some(&of_row),
            ..Context::of(&names)
        };
        let mut values = Vec::with_capacity(columns.len());
        for (position, &column) in columns.iter().enumerate() {
            let value = row.get(position).and_then(Option::as_ref);
            let value = write::bind_assigned(binder, value, table, column, &context)?;
            if is_written(table, column) {
                values.push(value);
            }
        }
        bound.push(values);
        subqueries.push(of_row);
    }
    if subqueries.iter().all(Subqueries::is_empty) {
        return Ok(LogicalInsertSource::Values(bound));
    }
    let columns = written_columns(table, columns.to_vec());
    rows_of_queries(binder, bound, subqueries, &columns, table)
}

/// VALUES with subqueries: each row is a query without a table.
fn rows_of_queries(
    binder: &Binder<'_>,
    rows: Vec<Vec<Option<Expr>>>,
    subqueries: Vec<Subqueries>,
    columns: &[usize],
    table: &Relation,
) -> Result<LogicalInsertSource> {
    let mut operands = Vec::with_capacity(rows.len());
    for (row, subqueries) in rows.into_iter().zip(subqueries) {
        let mut exprs = Vec::with_capacity(row.len());
        for (value, &column) in row.into_iter().zip(columns) {
            let value = match value {
                Some(value) => value,
                None => column_default::default_value(binder, table, column)?,
            };
            exprs.push(value);
        }
        let row = row_itself(binder, &exprs, &subqueries, columns, table)?;
        let (root, ids) = block_operators::projected(binder, subqueries.applied_to(row), &exprs);
        let columns = ids.into_iter().zip(exprs).map(|(id, expr)| QueryColumn {
            is_aggregate: false,
            is_rolled_key: false,
            id,
            ty: expr.ty(),
            nullable: expr.nullable(),
            result: ResultColumn::unnamed("", expr.ty(), expr.nullable()),
            expr,
        });
        operands.push(BoundQuery {
            root,
            columns: columns.collect(),
            limit_of_output: None,
            max_execution: None,
            in_order: false,
            is_merged: false,
            block: None,
        });
    }
    let bound = match operands.len() {
        1 => operands.pop(),
        _ => {
            let operators = vec![(SetOperator::Union, true); operands.len() - 1];
            Some(binder.combined(operands, &operators)?)
        }
    };
    let bound = bound.ok_or_else(|| Error::internal("an INSERT without rows"))?;
    Ok(LogicalInsertSource::Query(Box::new(bound.into_logical())))
}

/// The columns of the row itself that its values name: a value before the one that names it, else its
/// default.
fn row_itself(
    binder: &Binder<'_>,
    values: &[Expr],
    subqueries: &Subqueries,
    columns: &[usize],
    table: &Relation,
) -> Result<Logical> {
    let of_value = |value: &Expr| {
        let named = columns_of(value);
        let within = named.iter().flat_map(|id| subqueries.outer_columns_of(*id));
        let mut all: BTreeSet<ColumnId> = within.collect();
        all.extend(named);
        all
    };
    let by_value: Vec<BTreeSet<ColumnId>> = values.iter().map(of_value).collect();
    let all: BTreeSet<ColumnId> = by_value.iter().flatten().copied().collect();
    let mut own = Vec::new();
    for id in all {
        let Some(offset) = table.position(id) else {
            continue;
        };
        let reader = by_value.iter().position(|named| named.contains(&id));
        let written = columns.iter().position(|&column| column == offset);
        let value = match written.filter(|written| Some(*written) < reader) {
            None => column_default::default_value(binder, table, offset)?,
            Some(written) if by_value[written].is_empty() => {
                implicit_cast(values[written].clone(), table.stored_type(offset))
            }
            Some(_) => {
                return Err(Error::not_supported(
                    "VALUES with a subquery that names a column computed from another one",
                    "use INSERT ... SELECT",
                ));
            }
        };
        own.push((id, value));
    }
    Ok(match own.is_empty() {
        true => Logical::OneRow,
        false => Logical::Project {
            input: Box::new(Logical::OneRow),
            columns: own,
        },
    })
}

/// REPLACE deletes the rows that have the same key, and ON DUPLICATE KEY UPDATE changes them.
fn privileges(insert: &Insert) -> PrivilegeSet {
    if insert.replace {
        PrivilegeSet::INSERT | PrivilegeSet::DELETE
    } else if insert.on_duplicate.is_empty() {
        PrivilegeSet::INSERT
    } else {
        PrivilegeSet::INSERT | PrivilegeSet::UPDATE
    }
}

/// The error of the tables that the rows come from, which MySQL opens before it looks at the list of columns.
fn error_of_opened(binder: &Binder<'_>, insert: &Insert) -> Option<Error> {
    let InsertRows::Query(query) = &insert.rows else {
        return None;
    };
    let names_before = binder.accesses.names_so_far();
    let bound = binder.query(query, None);
    // The columns that it names are not looked at any more.
    binder.accesses.take_names_from(names_before);
    bound.err().filter(is_of_opening)
}

/// Offsets of the columns that values are given for.
fn target_columns(binder: &Binder<'_>, insert: &Insert, target: &InsertTarget) -> Result<Vec<usize>> {
    if insert.columns.is_empty() {
        return Ok(target.columns.clone());
    }
    let mut columns = Vec::with_capacity(insert.columns.len());
    for name in &insert.columns {
        let column = assigned_column(&target.relation, name)?;
        // Privileges are checked in the order of the list, also if a later name is wrong.
        binder
            .accesses
            .writes(&target.table, &target.alias, PrivilegeSet::INSERT, &[column]);
        if columns.contains(&column) {
            return Err(Error::new(
                errno::ER_FIELD_SPECIFIED_TWICE,
                format!("Column '{}' specified twice", name.column),
            ));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The target columns without the generated ones, for which only DEFAULT can be given.
pub fn written_columns(table: &Relation, mut columns: Vec<usize>) -> Vec<usize> {
    columns.retain(|&column| is_written(table, column));
    columns
}

pub fn is_written(relation: &Relation, column: usize) -> bool {
    !is_generated(relation, column)
}

/// Error 1136.
fn wrong_value_count(row: usize) -> Error {
    Error::new(
        errno::ER_WRONG_VALUE_COUNT_ON_ROW,
        format!("Column count doesn't match value count at row {row}"),
    )
}
