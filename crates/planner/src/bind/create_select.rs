//! CREATE TABLE ... SELECT: the definition of the table, and the INSERT that fills it.
//!
//! Source: manual 13.1.20.4, "CREATE TABLE ... SELECT Statement".

use std::borrow::Cow;
use std::sync::Arc;

use schema::definition::{Ddl, TableName};
use schema::limits;
use schema::model::{Column, Default};
use schema::privilege::{Privilege, PrivilegeSet};
use syntax::ast::{CreateSelect, CreateTable, DuplicateRows, QueryBody, TableElement};
use types::{Error, Result, SqlType, TypeKind};

use super::write::refuse_generated_column;
use super::{Binder, column, create_table, foreign_key, query_definition};
use crate::command::{Command, CreateTableSelect};
use crate::errno::ER_CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT;
use crate::foreign_key::RowChanges;
use crate::logical::{Logical, LogicalInsert, LogicalInsertMode, LogicalInsertSource, LogicalStatement};

/// The statement with its columns spelled as the query spells them.
fn spelled_as_selected<'a>(create: &'a CreateTable, names: &[String]) -> Cow<'a, CreateTable> {
    let mut create = Cow::Borrowed(create);
    for at in 0..create.elements.len() {
        let TableElement::Column(column) = &create.elements[at] else {
            continue;
        };
        let selected = names.iter().find(|name| types::same_name(name, &column.name));
        if let Some(name) = selected.filter(|name| **name != column.name)
            && let TableElement::Column(column) = &mut create.to_mut().elements[at]
        {
            column.name.clone_from(name);
        }
    }
    create
}

/// Error 1746 if the query locks rows FOR UPDATE.
fn check_not_locking(binder: &Binder<'_>, query: &Logical, created: &TableName) -> Result<()> {
    let mut locked = None;
    query.walk(&mut |rel| {
        if let Logical::Get(get) = rel
            && get.locking.is_some_and(|locking| locking.exclusive)
        {
            locked.get_or_insert_with(|| binder.accesses.name_of(&get.table));
        }
    });
    match locked {
        None => Ok(()),
        Some(table) => Err(Error::new(
            ER_CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT,
            format!(
                "Can't update table '{table}' while '{}' is being created.",
                created.name
            ),
        )),
    }
}

pub(super) fn bind_create_table_select(
    binder: &Binder<'_>,
    create: &CreateTable,
    select: &CreateSelect,
) -> Result<Command> {
    let name = binder.table_name(&create.name)?;
    let needs = match create.temporary {
        true => Privilege::CreateTemporaryTables.into(),
        false => PrivilegeSet::INSERT | Privilege::Create.into(),
    };
    (binder.env.check_table)(&name.database, &name.name, needs.into())?;
    let bound = binder.query(&select.query, None)?;
    check_not_locking(binder, &bound.root, &name)?;
    let target = query_definition::Target::Table {
        zero_dates: !binder.env.sql_mode.no_zero_date,
    };
    let mut selected: Vec<Column> =
        query_definition::columns_of_query(binder, &select.query, &bound.columns, target);
    // Integers of several rows of VALUES are BIGINT in a table, though not in a result.
    let is_values = matches!(&select.query.body, QueryBody::Values(rows) if rows.len() > 1);
    for (column, source) in selected.iter_mut().zip(&bound.columns) {
        if is_values && column.ty.kind == TypeKind::Int {
            column.ty = SqlType {
                unsigned: column.ty.unsigned,
                ..SqlType::BIGINT
            };
        }
        if column.ty.is_float() && column.ty.decimals < SqlType::NOT_FIXED {
            column::warn_of_digits(binder);
        }
        if column.ty.unsigned && (column.ty.is_float() || column.ty.is_decimal()) {
            column::warn_of_unsigned(binder);
        }
        // What no column of a table has said is not said of a primary key.
        if create_table::is_primary(create, &column.name) && !query_definition::is_stored(binder, source) {
            column.default = Default::None;
        }
    }
    if let Some(column) = selected
        .iter()
        .find(|column| types::name::is_too_long(&column.name))
    {
        return Err(Error::wrong_column_name(&column.name));
    }
    limits::check_distinct_columns(selected.iter().map(|column| column.name.as_str()))?;
    let names: Vec<String> = selected.iter().map(|column| column.name.clone()).collect();
    let create = spelled_as_selected(create, &names);
    let ddl = create_table::bind_create_table(binder, &create, selected)?;
    let Ddl::CreateTable { name, definition, .. } = &ddl else {
        return Err(Error::internal("the statement is not CREATE TABLE"));
    };
    // It gets its id when the statement runs.
    let (table, _) = schema::new_table(name, definition, 0)?;
    let table = Arc::new(table);
    let offset = |name: &String| {
        let found = table.column_offset(name);
        found.ok_or_else(|| Error::internal("a selected column that the table does not have"))
    };
    let columns: Vec<usize> = names.iter().map(offset).collect::<Result<_>>()?;
    for &column in &columns {
        refuse_generated_column(&table, column)?;
    }
    // The tables that its keys refer to are locked. The plan itself is made again for the table with an id.
    let changes = RowChanges {
        inserts: true,
        deletes: select.duplicates == DuplicateRows::Replacing,
        ..RowChanges::default()
    };
    let foreign_keys = match create.temporary {
        true => None,
        false => foreign_key::keys_for(binder, &table, &changes)?,
    };
    let insert = LogicalInsert {
        table,
        partitions: None,
        columns,
        given_rows: None,
        source: LogicalInsertSource::Query(Box::new(bound.into_logical())),
        mode: match select.duplicates {
            DuplicateRows::Replacing => LogicalInsertMode::Replace,
            DuplicateRows::Refused | DuplicateRows::LeftOut => LogicalInsertMode::Insert,
        },
        check: None,
        ignore: select.duplicates == DuplicateRows::LeftOut,
        sets_last_id: true,
        foreign_keys,
    };
    Ok(Command::CreateTableSelect(Box::new(CreateTableSelect {
        insert: binder.bound_statement(LogicalStatement::Insert(insert))?,
        ddl,
        temporary: create.temporary,
        schema_version: binder.env.schema.version,
    })))
}
