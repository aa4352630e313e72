//! CREATE TABLE and CREATE TABLE ... LIKE.

use schema::definition::{NewForeignKey, TableDefinition, TableName};
use schema::limits::check_table_name;
use schema::model::{Schema, Table};
use schema::{new_table, table_like};
use types::{Result, Warning, errno};

use crate::change::{Change, Outcome};
use crate::changer::SchemaChanger;
use crate::context::{DdlContext, Statement, check_not_system, check_primary_key, table_exists};
use crate::{foreign_key, split};

pub(crate) fn create_table(
    changer: &SchemaChanger,
    name: &TableName,
    definition: &TableDefinition,
    if_not_exists: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    create(
        changer,
        name,
        &definition.foreign_keys,
        if_not_exists,
        statement,
        &|_| new_table(name, definition, statement.now_us),
    )
}

/// A copy of the definition; ids start from 1.
pub(crate) fn create_table_like(
    changer: &SchemaChanger,
    name: &TableName,
    source: &TableName,
    if_not_exists: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    create(changer, name, &[], if_not_exists, statement, &|schema| {
        let source = schema.require_base_table(&source.database, &source.name)?;
        Ok((table_like(name, source, statement.now_us), Vec::new()))
    })
}

/// CREATE TABLE ... LIKE a temporary table.
pub(crate) fn create_table_like_temporary(
    changer: &SchemaChanger,
    name: &TableName,
    source: &Table,
    if_not_exists: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    create(changer, name, &[], if_not_exists, statement, &|_| {
        Ok((table_like(name, source, statement.now_us), Vec::new()))
    })
}

/// Makes the definition, with warnings about it.
type MakeTable<'a> = &'a dyn Fn(&Schema) -> Result<(Table, Vec<Warning>)>;

fn create(
    changer: &SchemaChanger,
    name: &TableName,
    keys: &[NewForeignKey],
    if_not_exists: bool,
    statement: &Statement,
    make: MakeTable<'_>,
) -> Result<Vec<Warning>> {
    let parents = || keys.iter().map(|key| &key.parent);
    let mut create = |change: &mut Change<'_>| {
        check_not_system(&change.schema, &name.database, statement)?;
        check_table_name(&name.name)?;
        // The source of LIKE is opened first.
        let (mut table, warnings) = make(&change.schema)?;
        let exists = change.database(&name.database)?.table(&name.name).is_some();
        if exists && if_not_exists {
            let message = format!("Table '{}' already exists", name.name);
            let note = Warning::note(errno::ER_TABLE_EXISTS_ERROR, message);
            return Ok(Outcome::Nothing((vec![note], false)));
        }
        if exists {
            return Err(table_exists(&name.name));
        }
        table.id = change.meta.next_id()?;
        check_new(change, &table, statement)?;
        table.allocate_physical_ids(|| change.meta.next_id())?;
        table.readable_from_ts = change.ts;
        let relatives = foreign_key::relatives(&change.schema, name, parents());
        change.put_table(table)?;
        foreign_key::touch_relatives(change, &relatives)?;
        Ok(Outcome::Done((warnings, true)))
    };
    // If there is nothing to create, there is nothing to wait for.
    let relatives = |schema: &Schema| {
        let is_there = if_not_exists
            && schema
                .database(&name.database)
                .is_some_and(|database| database.table(&name.name).is_some());
        Ok(match is_there {
            true => Vec::new(),
            false => foreign_key::relatives(schema, name, parents()),
        })
    };
    let (mut warnings, is_new) = publish_new(changer, statement, &relatives, &mut create)?;
    if is_new {
        warnings.extend(split::pre_split(changer.cluster(), name, statement));
    }
    Ok(warnings)
}

/// Checks the definition of a table that is about to be stored.
///
/// # Errors
/// 3750, those of its partitions, 3822, and those of its foreign keys.
pub(crate) fn check_new(change: &Change<'_>, table: &Table, ctx: &DdlContext) -> Result<()> {
    check_primary_key(table, ctx)?;
    planner::check_partitions(table)?;
    let database = change.schema.require_database(&table.database)?;
    database.check_constraint_names(table)?;
    foreign_key::check_new(&change.schema, table, ctx)
}

/// Publishes a new table. No other statement uses the tables meanwhile that share foreign keys with it.
pub(crate) fn publish_new<T>(
    changer: &SchemaChanger,
    statement: &Statement,
    relatives: &dyn Fn(&Schema) -> Result<Vec<i64>>,
    make: &mut dyn FnMut(&mut Change<'_>) -> Result<Outcome<T>>,
) -> Result<T> {
    loop {
        if !relatives(&changer.cluster().schema())?.is_empty() {
            return changer.change_tables(statement, relatives, make);
        }
        let published = changer.publish_for(statement, |change| {
            // Meanwhile, a table may have been created that shares a foreign key with this one.
            match relatives(&change.schema)?.is_empty() {
                true => Ok(make(change)?.map(Some)),
                false => Ok(Outcome::Nothing(None)),
            }
        })?;
        if let Some(published) = published {
            return Ok(published);
        }
    }
}
