//! CREATE VIEW, ALTER VIEW and DROP VIEW.

use schema::definition::{TableName, ViewVerb};
use schema::limits::check_table_name;
use schema::model::{Column, Schema, Table, wrong_object};
use schema::view::View;
use types::{Result, Warning};

use crate::change::Outcome;
use crate::changer::SchemaChanger;
use crate::context::{Statement, check_not_system, no_such_table, table_exists, unknown_tables};

/// A view that is replaced keeps its id, so locks on it apply to the new one.
pub(crate) fn create_view(
    changer: &SchemaChanger,
    name: &TableName,
    verb: ViewVerb,
    (columns, view): (&[Column], &View),
    statement: &Statement,
) -> Result<Vec<Warning>> {
    let old = |schema: &Schema| {
        check_not_system(schema, &name.database, statement)?;
        check_table_name(&name.name)?;
        let database = schema.require_database(&name.database)?;
        match (database.table(&name.name), verb) {
            (None, ViewVerb::Alter) => Err(no_such_table(name)),
            (Some(_), ViewVerb::Create) => Err(table_exists(&name.name)),
            (Some(table), _) if table.view.is_none() => Err(wrong_object(&name.database, &name.name, "VIEW")),
            (found, _) => Ok(found.map(|view| (view.id, view.created_us))),
        }
    };
    let replaced = |schema: &Schema| Ok(old(schema)?.into_iter().map(|(id, _)| id).collect());
    changer.change_tables(statement, &replaced, &mut |change| {
        let (id, created_us) = match old(&change.schema)? {
            Some(old) => old,
            None => (change.meta.next_id()?, statement.now_us),
        };
        let columns: Vec<Column> = (1..)
            .zip(columns)
            .map(|(id, column)| Column { id, ..column.clone() })
            .collect();
        change.put_table(Table {
            max_column_id: columns.len() as i64,
            created_us,
            view: Some(Box::new(view.clone())),
            ..Table::of_columns(id, &name.database, &name.name, columns)
        })?;
        Ok(Outcome::Done(Vec::new()))
    })
}

/// Drops all of the views, or none if one does not exist and the statement has no IF EXISTS.
pub(crate) fn drop_views(
    changer: &SchemaChanger,
    names: &[TableName],
    if_exists: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    let found = |schema: &Schema| {
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            check_not_system(schema, &name.database, statement)?;
            match schema.table(&name.database, &name.name) {
                Some(table) if table.view.is_none() => {
                    return Err(wrong_object(&name.database, &name.name, "VIEW"));
                }
                view => found.push(view.cloned()),
            }
        }
        Ok(found)
    };
    let views = |schema: &Schema| {
        let mut ids: Vec<i64> = found(schema)?.into_iter().flatten().map(|view| view.id).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    };
    changer.change_tables(statement, &views, &mut |change| {
        let found = found(&change.schema)?;
        let missing = names.iter().zip(&found).filter(|(_, view)| view.is_none());
        let unknown: Vec<String> = missing
            .map(|(name, _)| format!("{}.{}", name.database, name.name))
            .collect();
        let notes = unknown_tables(&unknown, if_exists)?;
        let mut dropped = false;
        for view in found.iter().flatten() {
            // The statement may name it twice.
            if change.schema.table(&view.database, &view.name).is_some() {
                change.drop_table(view)?;
                dropped = true;
            }
        }
        Ok(match dropped {
            true => Outcome::Done(notes),
            false => Outcome::Nothing(notes),
        })
    })
}
