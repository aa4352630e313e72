//! New names of tables.

use schema::definition::TableName;
use schema::limits::check_table_name;
use schema::model::{Schema, Table};
use types::Result;

use crate::change::Change;
use crate::context::{DdlContext, check_not_system, table_exists, unknown_database};

/// Checks whether a table may have the name, if it is free.
pub(crate) fn check_target(schema: &Schema, to: &TableName, ctx: &DdlContext) -> Result<()> {
    check_not_system(schema, &to.database, ctx)?;
    if schema.database(&to.database).is_none() {
        return Err(unknown_database(&to.database));
    }
    check_table_name(&to.name)
}

/// ALTER TABLE ... RENAME TO: gives a table its new name. The caller stores the table in the same change.
pub(crate) fn rename_within(change: &mut Change<'_>, table: &mut Table, to: &TableName) -> Result<()> {
    if to.database == table.database && to.name == table.name {
        return Ok(());
    }
    if change.schema.database(&to.database).is_none() {
        return Err(unknown_database(&to.database));
    }
    if change.schema.table(&to.database, &to.name).is_some() {
        return Err(table_exists(&to.name));
    }
    change.detach_table(table)?;
    table.database.clone_from(&to.database);
    table.rename(&to.name);
    Ok(())
}

/// Checks that a table may have the name, and that it is free.
pub(crate) fn check_free(schema: &Schema, to: &TableName, ctx: &DdlContext) -> Result<()> {
    check_target(schema, to, ctx)?;
    if schema.table(&to.database, &to.name).is_some() {
        return Err(table_exists(&to.name));
    }
    Ok(())
}
