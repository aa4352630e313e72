//! Creates and removes the temporary tables of a session. Their definitions and rows belong to the session
//! (rows are [`kv::PrivateKeys`]). So they never reach the store, and end with the session. The statements
//! are in `statement::temporary`.

use std::sync::Arc;

use kv::{KeyRange, PrivateKeys};
use schema::model::Table;
use schema::temporary;
use schema::temporary_tables::TemporaryTables;
use types::{Error, Result};

use crate::session::Session;

/// Error 1562.
pub(crate) fn with_partitions() -> Error {
    Error::new(1562, "Cannot create temporary table with partitions")
}

/// Adds an empty temporary table, and assigns an id to it.
///
/// # Errors
/// 1562 for one with partitions.
pub fn add(session: &mut Session, table: Table) -> Result<Arc<Table>> {
    if table.partitioning.is_some() {
        return Err(with_partitions());
    }
    if session.transaction.private().is_none() {
        let keys = PrivateKeys::new(temporary::keys().into(), session.shared.engine.memory);
        keys.set_limit(session.settings.run.memory_limit_bytes);
        session.transaction.attach_private(Arc::new(keys));
    }
    let table = Arc::new(Table {
        id: temporary::new_id(),
        physical: None,
        readable_from_ts: 0,
        temporary: Some(Arc::default()),
        ..table
    });
    planner::expressions(&table)?;
    session.temporary.insert(Arc::clone(&table));
    Ok(table)
}

/// Removes a temporary table with its rows.
pub fn remove(session: &mut Session, table: &Table) {
    session.temporary.remove(&table.database, &table.name);
    remove_rows(session, table);
}

pub fn remove_rows(session: &mut Session, table: &Table) {
    for range in table.data_ranges() {
        session.transaction.remove_private(&range.into());
    }
}

/// Removes all temporary tables.
pub fn remove_all(session: &mut Session) {
    session.temporary = TemporaryTables::default();
    session.transaction.remove_private(&temporary::keys().into());
}

/// The approximate number of rows of a temporary table.
pub fn rows(session: &Session, table: i64) -> u64 {
    let table = session.temporary.by_id(table);
    let ranges = table.map(|table| table.row_ranges()).unwrap_or_default();
    ranges
        .into_iter()
        .map(|range| keys_in(session, &range.into()))
        .sum()
}

/// The approximate number of keys of a temporary table in a range.
pub fn keys_in(session: &Session, range: &KeyRange) -> u64 {
    /// The exact size of larger tables does not matter for plans.
    const MOST: usize = 10_000;
    let private = session.transaction.private();
    private.map_or(0, |private| private.count_in(range, MOST) as u64)
}
