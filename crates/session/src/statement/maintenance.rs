//! CHECK, ANALYZE, OPTIMIZE and REPAIR TABLE, and ADMIN CHECK TABLE.

use cluster::metadata_lock::Use;
use schema::definition::TableName;
use schema::model::wrong_object;
use schema::privilege::{Privilege, PrivilegeSet};
use syntax::ast::Maintenance;
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::lock_tables;
use crate::errors;
use crate::instance_lock;
use crate::listing::{Listing, text, text_type};
use crate::session::Session;
use crate::table_locks::is_lock_error;
use crate::views;

/// ADMIN CHECK TABLE.
pub fn admin_check(session: &Session, tables: &[TableName]) -> Result<()> {
    for name in tables {
        session.check_table(name, PrivilegeSet::SELECT)?;
        check_stored(session, name)?;
        let (engine, interrupt) = (&session.shared.engine, &session.process.interrupt);
        let table = session.table(name)?;
        ddl::check::check_references(&engine.store, &engine.cluster.schema(), &table, interrupt)?;
    }
    Ok(())
}

fn check_stored(session: &Session, name: &TableName) -> Result<()> {
    let table = session.table(name)?;
    if table.view.is_some() {
        return views::accesses(session, &table).map(drop);
    }
    let store = &session.shared.engine.store;
    let snapshot = store
        .snapshot_now()?
        .with_private(session.transaction.private().cloned());
    ddl::check::check_table_at(snapshot, store, &table, &session.process.interrupt)?;
    Ok(())
}

/// CHECK TABLE: ADMIN CHECK TABLE with MySQL's form of result. As in MySQL, foreign keys are not checked.
pub fn check(session: &Session, tables: &[TableName]) -> Result<Listing> {
    for name in tables {
        if session.temporary.find(&name.database, &name.name).is_none() {
            // Any privilege is enough.
            session.client.check_sees(&name.database, &name.name, "SELECT")?;
        }
    }
    check_unique(tables)?;
    let mut listing = maintenance_listing();
    for name in tables {
        let locked = lock_tables::check_name(session, name, Use::Read);
        match locked.and_then(|()| check_stored(session, name)) {
            Ok(()) => listing.push(maintenance_row(name, "check", OK)),
            Err(error) => push_failure(&mut listing, name, "check", &error),
        }
    }
    Ok(listing)
}

/// ANALYZE TABLE: statistics of all columns and indexes.
pub fn analyze(session: &Session, tables: &[TableName]) -> Result<Listing> {
    for name in tables {
        session.check_table(name, PrivilegeSet::SELECT | PrivilegeSet::INSERT)?;
    }
    check_unique(tables)?;
    let mut listing = maintenance_listing();
    for name in tables {
        let analyzed = session.table(name).and_then(|table| {
            lock_tables::check_name(session, name, Use::Read)?;
            check_base_table(session, name, false)?;
            let _entered = instance_lock::enter(session)?;
            if table.is_virtual() || table.is_temporary() {
                return Ok(());
            }
            // No statement may have used this definition yet.
            planner::expressions(&table)?;
            let catalog = &session.shared.catalog;
            catalog
                .statistics
                .analyze(&catalog.cluster, &table, &session.process.interrupt)
        });
        match analyzed {
            Ok(()) => listing.push(maintenance_row(name, "analyze", OK)),
            Err(error) if error.code == errno::ER_QUERY_INTERRUPTED => return Err(error),
            Err(error) => push_failure(&mut listing, name, "analyze", &error),
        }
    }
    Ok(listing)
}

/// For a table, or partitions of it, that cannot be maintained.
pub fn failed(name: &TableName, action: Maintenance, error: &Error) -> Listing {
    let operation = match action {
        Maintenance::Analyze => "analyze",
        Maintenance::Optimize => "optimize",
        Maintenance::Repair => "repair",
        _ => "check",
    };
    let mut listing = maintenance_listing();
    listing.push(maintenance_row(name, operation, ("Error", &error.message)));
    listing.push(maintenance_row(name, operation, FAILED));
    listing
}

/// OPTIMIZE TABLE.
pub fn optimize(session: &Session, tables: &[TableName]) -> Result<Listing> {
    maintain(session, tables, "optimize", &OPTIMIZED)
}

/// REPAIR TABLE.
pub fn repair(session: &Session, tables: &[TableName]) -> Result<Listing> {
    maintain(session, tables, "repair", &[NO_REPAIR])
}

/// CACHE INDEX and LOAD INDEX INTO CACHE. No table uses a key cache.
pub fn key_cache(session: &Session, tables: &[TableName], preload: bool) -> Result<Listing> {
    let operation = if preload {
        "preload_keys"
    } else {
        "assign_to_keycache"
    };
    for name in tables {
        check_database(session, name)?;
        session.check_table(name, Privilege::Index.into())?;
    }
    let message = format!("The storage engine for the table doesn't support {operation}");
    listed(session, tables, operation, Use::Read, &[("note", &message)])
}

/// These statements have nothing to do: the store reclaims space in the background, and tables are never half
/// written. `messages`: the rows for an existing table.
fn maintain(
    session: &Session,
    tables: &[TableName],
    operation: &str,
    messages: &[(&str, &str)],
) -> Result<Listing> {
    for name in tables {
        check_database(session, name)?;
        session.check_table(name, PrivilegeSet::SELECT | PrivilegeSet::INSERT)?;
    }
    let lock = if operation == "optimize" {
        Use::Write
    } else {
        Use::Read
    };
    listed(session, tables, operation, lock, messages)
}

/// `messages`: the rows for a table that exists.
fn listed(
    session: &Session,
    tables: &[TableName],
    operation: &str,
    lock: Use,
    messages: &[(&str, &str)],
) -> Result<Listing> {
    check_unique(tables)?;
    let mut listing = maintenance_listing();
    for name in tables {
        let locked = lock_tables::check_name(session, name, lock);
        let checked = locked.and_then(|()| check_base_table(session, name, operation == "repair"));
        match checked.and_then(|()| instance_lock::enter(session).map(drop)) {
            Ok(()) => {
                for message in messages {
                    listing.push(maintenance_row(name, operation, *message));
                }
            }
            Err(error) => push_failure(&mut listing, name, operation, &error),
        }
    }
    Ok(listing)
}

/// `writes`: `read_only` refuses the statement for a table that is not temporary.
fn check_base_table(session: &Session, name: &TableName, writes: bool) -> Result<()> {
    let table = session.table(name)?;
    match table.view {
        None if writes && !table.is_temporary() => session.check_writable(),
        None => Ok(()),
        Some(_) => Err(wrong_object(&name.database, &name.name, "BASE TABLE")),
    }
}

/// Fails with 1044 for a table that the server itself provides.
pub(super) fn check_database(session: &Session, name: &TableName) -> Result<()> {
    let schema = session.shared.engine.cluster.schema();
    if schema.database(&name.database).is_some_and(|d| d.is_system()) {
        return Err(errors::database_access(
            &session.client.account.name(),
            &name.database,
        ));
    }
    Ok(())
}

/// Kind and text of a maintenance statement's row.
const OK: (&str, &str) = ("status", "OK");
const FAILED: (&str, &str) = ("status", "Operation failed");
const OPTIMIZED: [(&str, &str); 2] = [
    (
        "note",
        "Nothing to do: the store compacts itself in the background",
    ),
    OK,
];
const NO_REPAIR: (&str, &str) = ("note", "The storage engine for the table doesn't support repair");

pub(super) fn maintenance_listing() -> Listing {
    let messages = SqlType {
        kind: TypeKind::MediumText,
        ..text_type(393_216)
    };
    Listing::new(&[
        ("Table", text_type(128)),
        ("Op", text_type(10)),
        ("Msg_type", text_type(10)),
        ("Msg_text", messages),
    ])
}

pub(super) fn maintenance_row(
    name: &TableName,
    operation: &str,
    (kind, message): (&str, &str),
) -> Vec<Value> {
    vec![
        text(format!("{}.{}", name.database, name.name)),
        text(operation),
        text(kind),
        text(message),
    ]
}

/// The rows of a table that cannot be used.
fn push_failure(listing: &mut Listing, name: &TableName, operation: &str, error: &Error) {
    listing.push(maintenance_row(name, operation, ("Error", &error.message)));
    let is_of_lock = is_lock_error(error) || error.code == errno::ER_LOCK_WAIT_TIMEOUT;
    let last = if is_of_lock || error.code == errno::ER_WRONG_OBJECT {
        FAILED
    } else {
        ("error", "Corrupt")
    };
    listing.push(maintenance_row(name, operation, last));
}

/// Fails with 1066 if a statement names a table twice.
pub(super) fn check_unique(tables: &[TableName]) -> Result<()> {
    for (position, name) in tables.iter().enumerate() {
        if tables[..position].contains(name) {
            return Err(errors::not_unique(&name.name));
        }
    }
    Ok(())
}
