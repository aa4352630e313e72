//! DROP TABLE and TRUNCATE TABLE.

use std::sync::Arc;

use schema::definition::TableName;
use schema::model::{Schema, Table};
use types::{Error, Result, Warning, errno};

use crate::change::Outcome;
use crate::changer::SchemaChanger;
use crate::context::{Statement, changeable_table, check_not_system, no_such_table, unknown_tables};
use crate::{foreign_key, split};

/// Drops all of the tables, or none if one does not exist and the statement has no IF EXISTS.
pub(crate) fn drop_tables(
    changer: &SchemaChanger,
    names: &[TableName],
    if_exists: bool,
    ctx: &Statement,
) -> Result<Vec<Warning>> {
    for (at, name) in names.iter().enumerate() {
        check_not_system(&changer.cluster().schema(), &name.database, ctx)?;
        if names[..at].contains(name) {
            return Err(Error::new(
                errno::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{}'", name.name),
            ));
        }
    }
    // The name of a view does not count as that of a table.
    let tables = |schema: &Schema| {
        let found = names.iter().filter_map(|name| base_table(schema, name));
        Ok(found.map(|table| table.id).collect())
    };
    changer.change_tables(ctx, &tables, &mut |change| {
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for name in names {
            match base_table(&change.schema, name) {
                Some(table) => found.push(table.clone()),
                None => unknown.push(format!("{}.{}", name.database, name.name)),
            }
        }
        let notes = unknown_tables(&unknown, if_exists)?;
        if found.is_empty() {
            return Ok(Outcome::Nothing(notes));
        }
        let ids: Vec<i64> = found.iter().map(|table| table.id).collect();
        foreign_key::check_drop(&change.schema, &ids, ctx)?;
        for table in found {
            change.drop_table(&table)?;
        }
        Ok(Outcome::Done(notes))
    })
}

fn base_table<'s>(schema: &'s Schema, name: &TableName) -> Option<&'s Arc<Table>> {
    schema
        .table(&name.database, &name.name)
        .filter(|table| table.view.is_none())
}

/// Replaces a table by an empty one with the same definition and a new id. Ids start from 1, even if CREATE
/// TABLE set another start.
pub(crate) fn truncate_table(
    changer: &SchemaChanger,
    name: &TableName,
    ctx: &Statement,
) -> Result<Vec<Warning>> {
    let table = |schema: &Schema| {
        // MySQL reports a view as a table that does not exist.
        let table = changeable_table(schema, name, ctx).map_err(|error| match error.code {
            errno::ER_WRONG_OBJECT => no_such_table(name),
            _ => error,
        })?;
        Ok(vec![table.id])
    };
    let mut warnings = changer.change_tables(ctx, &table, &mut |change| {
        let old = change.table(&name.database, &name.name)?;
        foreign_key::check_truncate(&change.schema, &old, ctx)?;
        let mut new = Table {
            id: change.meta.next_id()?,
            auto_increment_start: 1,
            readable_from_ts: change.ts,
            ..Table::clone(&old)
        };
        new.allocate_physical_ids(|| change.meta.next_id())?;
        change.drop_table(&old)?;
        change.put_table(new)?;
        Ok(Outcome::Done(Vec::new()))
    })?;
    warnings.extend(split::pre_split(changer.cluster(), name, ctx));
    Ok(warnings)
}
