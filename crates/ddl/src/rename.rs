//! RENAME TABLE: several at once, from left to right, across databases; all or none.

use std::sync::Arc;

use schema::definition::TableName;
use schema::model::{Schema, Table};
use types::{Error, Result, Warning};

use crate::change::Outcome;
use crate::changer::SchemaChanger;
use crate::context::{DdlContext, Statement, check_not_system, no_such_table, table_exists};
use crate::foreign_key;
use crate::new_name::check_target;

const ER_FORBID_SCHEMA_CHANGE: u16 = 1450;

pub(crate) fn rename_tables(
    changer: &SchemaChanger,
    renames: &[(TableName, TableName)],
    statement: &Statement,
) -> Result<Vec<Warning>> {
    let tables = |schema: &Schema| {
        let moved = simulate(schema, renames, statement)?;
        let renames = moved.iter().map(|(old, to)| (&**old, to));
        let mut ids = foreign_key::relatives_of_renamed(schema, renames);
        ids.extend(moved.iter().map(|(old, _)| old.id));
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    };
    changer.change_tables(statement, &tables, &mut |change| {
        let moved = simulate(&change.schema, renames, statement)?;
        for (old, _) in &moved {
            change.detach_table(old)?;
        }
        let moved = moved.into_iter().map(|(old, to)| (Table::clone(&old), to));
        foreign_key::rename(change, moved.collect(), statement)?;
        Ok(Outcome::Done(Vec::new()))
    })
}

/// The tables that are renamed, each with its final name.
///
/// # Errors
/// Those of a rename that is not possible.
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
        check_not_system(schema, &from.database, ctx)?;
        let table = schema.require_table(&from.database, &from.name)?.clone();
        if table.view.is_some() && from.database != to.database {
            return Err(Error::new(
                ER_FORBID_SCHEMA_CHANGE,
                format!(
                    "Changing schema from '{}' to '{}' is not allowed.",
                    from.database, to.database
                ),
            ));
        }
        if is_moved(&table) {
            return Err(no_such_table(from));
        }
        moved.push((table, to.clone()));
    }
    Ok(moved)
}
