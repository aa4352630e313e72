//! CREATE, ALTER and DROP DATABASE.

use std::collections::HashMap;

use schema::limits::check_database_name;
use schema::model::{Database, Schema};
use types::{Collation, Error, Result, Warning, errno};

use crate::change::Outcome;
use crate::changer::SchemaChanger;
use crate::context::{Statement, check_not_system};
use crate::foreign_key;

const ER_DB_CREATE_EXISTS: u16 = 1007;
const ER_DB_DROP_EXISTS: u16 = 1008;

pub(crate) fn create_database(
    changer: &SchemaChanger,
    name: &str,
    if_not_exists: bool,
    collation: Option<Collation>,
    ctx: &Statement,
) -> Result<Vec<Warning>> {
    check_database_name(name)?;
    changer.publish_for(ctx, |change| {
        if change.schema.database(name).is_some() {
            let message = format!("Can't create database '{name}'; database exists");
            if if_not_exists {
                return Ok(Outcome::Nothing(vec![Warning::note(
                    ER_DB_CREATE_EXISTS,
                    message,
                )]));
            }
            check_not_system(&change.schema, name, ctx)?;
            return Err(Error::new(ER_DB_CREATE_EXISTS, message));
        }
        let id = change.meta.next_id()?;
        change.put_database(Database {
            id,
            name: name.to_owned(),
            collation: collation.unwrap_or(ctx.server_collation),
            tables: HashMap::new(),
        })?;
        Ok(Outcome::Done(Vec::new()))
    })
}

/// Changes the default for new tables. Existing tables do not change.
pub(crate) fn alter_database(
    changer: &SchemaChanger,
    name: &str,
    collation: Collation,
    ctx: &Statement,
) -> Result<Vec<Warning>> {
    changer.publish_for(ctx, |change| {
        check_not_system(&change.schema, name, ctx)?;
        let Some(database) = change.schema.database(name) else {
            return Err(Error::new(
                errno::ER_SCHEMA_DOES_NOT_EXIST,
                format!("Database '{name}' doesn't exist"),
            ));
        };
        let mut database = Database::clone(database);
        database.collation = collation;
        change.put_database(database)?;
        Ok(Outcome::Done(Vec::new()))
    })
}

pub(crate) fn drop_database(
    changer: &SchemaChanger,
    name: &str,
    if_exists: bool,
    ctx: &Statement,
) -> Result<Vec<Warning>> {
    let tables = |schema: &Schema| {
        let mut ids: Vec<i64> = schema
            .database(name)
            .map(|d| d.tables.values().map(|t| t.id).collect())
            .unwrap_or_default();
        ids.sort_unstable();
        Ok(ids)
    };
    check_not_system(&changer.cluster().schema(), name, ctx)?;
    changer.change_tables(ctx, &tables, &mut |change| {
        if change.schema.database(name).is_none() {
            let message = format!("Can't drop database '{name}'; database doesn't exist");
            if if_exists {
                return Ok(Outcome::Nothing(vec![Warning::note(ER_DB_DROP_EXISTS, message)]));
            }
            return Err(Error::new(ER_DB_DROP_EXISTS, message));
        }
        foreign_key::check_drop(&change.schema, &tables(&change.schema)?, ctx)?;
        change.drop_database(name)?;
        Ok(Outcome::Done(Vec::new()))
    })
}
