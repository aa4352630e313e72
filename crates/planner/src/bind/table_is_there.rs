//! CREATE TABLE of a table that is there.
//!
//! MySQL reads the statement, opens the tables that it reads, and then finds that the table is there. What it would
//! check after that (keys, values of defaults, expressions other than those of CHECK) it does not check.

use schema::definition::TableName;
use schema::model::Table;
use schema::privilege::{Privilege, PrivilegeSet};
use syntax::ast::{CreateTable, TypeName};
use types::{Error, Result, errno};

use super::from_place::cannot_reopen;
use super::stored::check_new_constraint;
use super::{Binder, check, column, create_table, engine, system_database};
use crate::command::{Command, TableIsThere};

/// `None`: there is no such table.
///
/// # Errors
/// Those that MySQL finds before the table.
pub(super) fn bind(binder: &Binder<'_>, create: &CreateTable) -> Result<Option<Command>> {
    let name = binder.table_name(&create.name)?;
    // In databases of the server the privilege fails first.
    if system_database(&name.database).is_some() || !is_there(binder, &name, create.temporary) {
        return Ok(None);
    }
    check_written(binder, create, &name)?;
    let mut needs: PrivilegeSet = match create.temporary {
        true => Privilege::CreateTemporaryTables.into(),
        false => Privilege::Create.into(),
    };
    if let Some(select) = &create.select {
        if !create.temporary {
            needs |= PrivilegeSet::INSERT;
        }
        (binder.env.check_table)(&name.database, &name.name, needs.into())?;
        if let Err(error) = binder.query(&select.query, None)
            && is_of_opening(&error)
        {
            return Err(error);
        }
        check_reads_other(binder, create, &name)?;
    }
    Ok(Some(Command::TableIsThere(TableIsThere {
        name,
        if_not_exists: create.if_not_exists,
        temporary: create.temporary,
        needs,
    })))
}

/// Error 1137: the query of CREATE TEMPORARY TABLE reads the temporary table that is there.
fn check_reads_other(binder: &Binder<'_>, create: &CreateTable, name: &TableName) -> Result<()> {
    let there = binder.env.temporary.find(&name.database, &name.name);
    let Some(there) = there.filter(|_| create.temporary) else {
        return Ok(());
    };
    match binder.opened.borrow().iter().any(|(id, _)| *id == there.id) {
        true => Err(cannot_reopen(&name.name)),
        false => Ok(()),
    }
}

fn is_there(binder: &Binder<'_>, name: &TableName, temporary: bool) -> bool {
    match temporary {
        true => binder.env.temporary.find(&name.database, &name.name).is_some(),
        false => {
            let database = binder.env.schema.database(&name.database);
            database.is_some_and(|database| database.table(&name.name).is_some())
        }
    }
}

fn check_written(binder: &Binder<'_>, create: &CreateTable, name: &TableName) -> Result<()> {
    let collation = create_table::table_collation(binder, name, &create.options)?;
    let mut columns = Vec::new();
    let mut has_all = true;
    for definition in create.elements.iter().filter_map(create_table::as_column) {
        match column::written_column(binder, definition, collation) {
            Ok(column) => columns.push(column),
            // How long a VARCHAR can be depends on the table, and members are compared in its collation.
            Err(_)
                if matches!(
                    definition.ty.name,
                    TypeName::VarChar | TypeName::VarBinary | TypeName::Enum | TypeName::Set
                ) =>
            {
                has_all = false;
            }
            Err(error) => return Err(error),
        }
    }
    create_table::warn_of_text(binder, &[], collation, &create.options);
    engine::engine_named(binder, create.options.engine.as_deref())?;
    create_table::create_options(binder, create, name)?;
    if !columns.is_empty()
        && has_all
        && columns.iter().all(|column| column.invisible)
        && create.select.is_none()
    {
        return Err(Error::new(
            errno::ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN,
            "A table must have at least one visible column.",
        ));
    }
    if !has_all {
        return Ok(());
    }
    let checks = check::bind_checks(binder, &name.name, &create.elements, &columns);
    let table = Table::of_columns(0, &name.database, &name.name, columns);
    for (check, column) in &checks {
        check_new_constraint(&table, check, *column)?;
    }
    Ok(())
}

/// Whether the error is about the tables of a query, which are opened before anything else of it is looked at.
pub(super) fn is_of_opening(error: &Error) -> bool {
    matches!(
        error.code,
        errno::ER_NO_SUCH_TABLE
            | errno::ER_BAD_DB_ERROR
            | errno::ER_NONUNIQ_TABLE
            | errno::ER_TABLEACCESS_DENIED_ERROR
            | errno::ER_DBACCESS_DENIED_ERROR
    )
}
