//! SHOW CREATE TABLE and SHOW CREATE DATABASE.

use schema::definition::TableName;
use schema::show_create::{self, Style};
use types::{Result, Value};

use crate::errors;
use crate::listing::{Listing, text};
use crate::session::Session;

fn style(session: &Session) -> Style {
    let ansi = session.settings.sql_mode.ansi_quotes;
    Style {
        quote: if ansi { '"' } else { '`' },
        time_zone: session.settings.time_zone,
    }
}

pub fn create_table(session: &Session, name: &TableName) -> Result<Listing> {
    let table = session.table(name)?;
    session
        .table_locks
        .check_table(&table, cluster::metadata_lock::Use::Read)?;
    let next_id = if table.id_column().is_some() {
        Some(session.shared.engine.cluster.ids().next(&table)?)
    } else {
        None
    };
    let create = show_create::table(&table, next_id, &style(session));
    let mut listing = Listing::texts(&["Table", "Create Table"]);
    listing.push(vec![text(&table.name), Value::String(create)]);
    Ok(listing)
}

pub fn create_database(session: &Session, name: &str, if_not_exists: bool) -> Result<Listing> {
    session.client.account.check_database(name)?;
    let schema = session.shared.engine.cluster.schema();
    let database = schema
        .database(name)
        .ok_or_else(|| errors::unknown_database(name))?;
    let create = show_create::database(database, if_not_exists, &style(session));
    let mut listing = Listing::texts(&["Database", "Create Database"]);
    listing.push(vec![text(&database.name), Value::String(create)]);
    Ok(listing)
}
