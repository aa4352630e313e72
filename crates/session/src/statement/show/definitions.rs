//! SHOW CREATE TABLE and SHOW CREATE DATABASE.

use schema::definition::TableName;
use schema::model::{Table, wrong_object};
use schema::privilege::{Privilege, PrivilegeSet};
use schema::show_create::{self, Style};
use schema::view::View;
use types::{Result, Value};

use crate::errors;
use crate::listing::{Listing, text, text_type};
use crate::session::Session;
use crate::variables::lookup;
use crate::views;

/// Variables that only change the text are read here, not with each statement.
pub(super) fn style(session: &Session) -> Style {
    let value = |name: &str| lookup(name).and_then(|d| session.view().variable_text(d));
    let on = |name: &str| value(name).as_deref() == Some("ON");
    let modes = value("sql_mode").unwrap_or_default();
    Style {
        quote: if session.settings.sql_mode.ansi_quotes {
            '"'
        } else {
            '`'
        },
        quotes_all: on("sql_quote_show_create"),
        ansi: modes.split(',').any(|mode| mode == "ANSI"),
        row_format: on("show_create_table_verbosity"),
        is_keyword: syntax::is_keyword,
        time_zone: session.settings.time_zone,
    }
}

/// `wants_view`: SHOW CREATE VIEW.
pub fn create_table(session: &Session, name: &TableName, wants_view: bool) -> Result<Listing> {
    match wants_view {
        true => session
            .client
            .check_needs(&name.database, &name.name, PrivilegeSet::SELECT.into())?,
        false => session.check_shows(name)?,
    }
    let table = session.table(name)?;
    session
        .table_locks
        .check_table(&table, cluster::metadata_lock::Use::Read)?;
    if let Some(view) = &table.view {
        session.check_table(name, Privilege::ShowView.into())?;
        return create_view(session, &table, view);
    }
    if wants_view {
        return Err(wrong_object(&name.database, &name.name, "VIEW"));
    }
    let next_id = if table.id_column().is_some() {
        Some(session.shared.engine.cluster.ids().next(&table)?)
    } else {
        None
    };
    let create = show_create::table(&table, next_id, &style(session));
    let mut listing = create_listing("Table", "Create Table", &[]);
    listing.push(vec![text(&table.name), Value::String(create)]);
    Ok(listing)
}

fn create_view(session: &Session, table: &Table, view: &View) -> Result<Listing> {
    let database = session.database.as_deref();
    let query = planner::view_text(view, database)?;
    let create = show_create::view(table, view, (&query, database), &style(session));
    let mut listing = create_listing(
        "View",
        "Create View",
        &["character_set_client", "collation_connection"],
    );
    listing.push(vec![
        text(&table.name),
        Value::String(create),
        text(view.charset_client.name()),
        text(view.collation_connection.name()),
    ]);
    Ok(listing)
}

/// SHOW CREATE of an invalid view returns its text, with a warning.
pub fn warn_of_view(session: &mut Session, name: &TableName) -> Result<()> {
    let table = session.table(name)?;
    let problem = table.view.as_ref().and_then(|_| views::problem(session, &table));
    if let Some(problem) = problem {
        let limits = session.settings.warnings;
        session.diagnostics.add_limited((vec![problem], 1), limits);
    }
    Ok(())
}

pub fn create_database(session: &Session, name: &str, if_not_exists: bool) -> Result<Listing> {
    if !session.client.privileges.may_enter(name) {
        let client = format!("'{}'@'{}'", session.client.account.user, session.client.info.host);
        return Err(errors::database_access(&client, name));
    }
    let schema = session.shared.engine.cluster.schema();
    let database = schema
        .database(name)
        .ok_or_else(|| errors::unknown_database(name))?;
    let create = show_create::database(database, if_not_exists, &style(session));
    let mut listing = create_listing("Database", "Create Database", &[]);
    listing.push(vec![text(&database.name), Value::String(create)]);
    Ok(listing)
}

/// `more`: columns with names of character sets and collations.
fn create_listing(of: &str, create: &str, more: &[&str]) -> Listing {
    let mut columns = vec![(of, text_type(64)), (create, text_type(1024))];
    columns.extend(more.iter().map(|name| (*name, text_type(32))));
    Listing::new(&columns).all_never_null()
}
