//! CREATE TABLE of a table that was there when the statement was bound.

use planner::command::TableIsThere;
use schema::privilege::Privilege;
use types::{Error, Result, Warning, errno};

use crate::lock::{self, schema_has_changed};
use crate::session::Session;

/// A note with IF NOT EXISTS.
///
/// # Errors
/// 1050 without; [`errno::ER_SCHEMA_CHANGED`] if the table is not there any more: the statement is planned again.
pub fn run(session: &mut Session, found: &TableIsThere) -> Result<()> {
    let name = &found.name;
    let is_there = if found.temporary {
        lock::check_no_xa(session)?;
        session
            .client
            .check_on_database(&name.database, Privilege::CreateTemporaryTables)?;
        session.temporary.find(&name.database, &name.name).is_some()
    } else {
        session.client.check_table(name, found.needs)?;
        session.table_locks.check_new(name)?;
        let cluster = &session.shared.engine.cluster;
        cluster.follow()?;
        let schema = cluster.schema();
        schema.table(&name.database, &name.name).is_some()
    };
    if !is_there {
        return Err(schema_has_changed());
    }
    let message = format!("Table '{}' already exists", name.name);
    if !found.if_not_exists {
        return Err(Error::new(errno::ER_TABLE_EXISTS_ERROR, message));
    }
    let limits = session.settings.warnings;
    let note = Warning::note(errno::ER_TABLE_EXISTS_ERROR, message);
    session.diagnostics.add_limited((vec![note], 1), limits);
    Ok(())
}
