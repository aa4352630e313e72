//! CREATE TABLE and CREATE TABLE ... LIKE.

use schema::definition::{TableDefinition, TableName};
use schema::limits::check_table_name;
use schema::model::{Schema, Table};
use schema::{new_table, table_like};
use types::{Result, Warning, errno};

use crate::change::Outcome;
use crate::changer::SchemaChanger;
use crate::context::{Statement, check_not_system, table_exists};
use crate::split;

pub(crate) fn create_table(
    changer: &SchemaChanger,
    name: &TableName,
    definition: &TableDefinition,
    if_not_exists: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    create(changer, name, if_not_exists, statement, |_| {
        new_table(name, definition, statement.now_us)
    })
}

/// A copy of the definition; ids start from 1.
pub(crate) fn create_table_like(
    changer: &SchemaChanger,
    name: &TableName,
    source: &TableName,
    if_not_exists: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    create(changer, name, if_not_exists, statement, |schema| {
        let source = schema.require_base_table(&source.database, &source.name)?;
        Ok((table_like(name, source, statement.now_us), Vec::new()))
    })
}

fn create(
    changer: &SchemaChanger,
    name: &TableName,
    if_not_exists: bool,
    statement: &Statement,
    make: impl FnOnce(&Schema) -> Result<(Table, Vec<Warning>)>,
) -> Result<Vec<Warning>> {
    let (mut warnings, is_new) = changer.publish_for(statement, |change| {
        check_not_system(&change.schema, &name.database, statement)?;
        check_table_name(&name.name)?;
        let exists = change.database(&name.database)?.table(&name.name).is_some();
        if exists && if_not_exists {
            let message = format!("Table '{}' already exists", name.name);
            let note = Warning::note(errno::ER_TABLE_EXISTS_ERROR, message);
            return Ok(Outcome::Nothing((vec![note], false)));
        }
        let (mut table, warnings) = make(&change.schema)?;
        if exists {
            return Err(table_exists(&name.name));
        }
        table.id = change.meta.next_id()?;
        table.readable_from_ts = change.ts;
        change.put_table(table)?;
        Ok(Outcome::Done((warnings, true)))
    })?;
    if is_new {
        warnings.extend(split::pre_split(changer.cluster(), name, statement));
    }
    Ok(warnings)
}
