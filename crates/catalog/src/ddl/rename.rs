//! RENAME TABLE: several at once, from left to right, across databases; all or none.

use std::sync::Arc;

use schema::definition::TableName;
use schema::limits::check_table_name;
use schema::model::{Schema, Table};
use types::{Error, Result, Warning, errno};

use super::{DdlContext, Statement, changeable_table, check_not_system, table_exists, unknown_database};
use crate::Catalog;
use crate::publish::{Change, Outcome};

impl Catalog {
    pub(super) fn rename_tables(
        &self,
        renames: &[(TableName, TableName)],
        ctx: &Statement,
    ) -> Result<Vec<Warning>> {
        let tables = |schema: &Schema| {
            let moved = simulate(schema, renames, ctx)?;
            Ok(moved.iter().map(|(old, _)| old.id).collect())
        };
        self.change_tables(ctx, tables, |change| {
            let moved = simulate(&change.schema, renames, ctx)?;
            for (old, _) in &moved {
                change.detach_table(old)?;
            }
            for (old, name) in moved {
                change.put_table(Table {
                    database: name.database,
                    name: name.name,
                    ..Table::clone(&old)
                })?;
            }
            Ok(Outcome::Done(Vec::new()))
        })
    }
}

/// The tables that move, with the names they have in the end; errors where a rename is not possible.
fn simulate(
    schema: &Schema,
    renames: &[(TableName, TableName)],
    ctx: &DdlContext,
) -> Result<Vec<(Arc<Table>, TableName)>> {
    let mut moved: Vec<(Arc<Table>, TableName)> = Vec::new();
    for (from, to) in renames {
        check_target(schema, to, ctx)?;
        let is_moved = |table: &Table| moved.iter().any(|(old, _)| old.id == table.id);
        let stays = |name: &TableName| schema.table(&name.database, &name.name).filter(|t| !is_moved(t));
        if stays(to).is_some() || moved.iter().any(|(_, name)| name == to) {
            return Err(table_exists(&to.name));
        }
        if let Some(earlier) = moved.iter().position(|(_, name)| name == from) {
            moved[earlier].1 = to.clone();
            continue;
        }
        let table = changeable_table(schema, from, ctx)?;
        if is_moved(&table) {
            return Err(Error::new(
                errno::ER_NO_SUCH_TABLE,
                format!("Table '{}.{}' doesn't exist", from.database, from.name),
            ));
        }
        moved.push((table, to.clone()));
    }
    Ok(moved)
}

fn check_target(schema: &Schema, to: &TableName, ctx: &DdlContext) -> Result<()> {
    check_not_system(schema, &to.database, ctx)?;
    if schema.database(&to.database).is_none() {
        return Err(unknown_database(&to.database));
    }
    check_table_name(&to.name)
}

/// ALTER TABLE ... RENAME TO: gives a table its new name within a change that puts it afterwards.
pub(super) fn rename_within(change: &mut Change<'_>, table: &mut Table, to: &TableName) -> Result<()> {
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
    table.name.clone_from(&to.name);
    Ok(())
}

/// Whether a table may take the name.
pub(super) fn check_free(schema: &Schema, to: &TableName, ctx: &DdlContext) -> Result<()> {
    check_target(schema, to, ctx)?;
    if schema.table(&to.database, &to.name).is_some() {
        return Err(table_exists(&to.name));
    }
    Ok(())
}
