//! LOCK TABLES, UNLOCK TABLES and FLUSH TABLES [t, ...] WITH READ LOCK.
//!
//! There are two differences to MySQL. A definition statement unlocks the tables while it runs, and locks
//! them again before it replies. FLUSH TABLES WITH READ LOCK takes a READ lock on each existing table. So it
//! waits for transactions that have written, and new tables can be created while it is held.

use std::collections::HashSet;
use std::time::Instant;

use cluster::metadata_lock::{Purpose, Use};
use cluster::wait::{Deadline, WaitLimit};
use ddl::HeldTables;
use planner::command::TableToLock;
use planner::foreign_key::ForeignKeyPlan;
use schema::definition::TableName;
use schema::model::{INFORMATION_SCHEMA, Schema, Table, wrong_object};
use schema::privilege::{Privilege, PrivilegeSet};
use schema::view::{Definer, ViewSecurity};
use types::Result;

use crate::errors;
use crate::session::Session;
use crate::table_locks::{LockKind, LockedTable, lease_term};
use crate::transaction_rules;
use crate::views;

/// LOCK TABLES: releases previous locks, and waits for all tables at once.
pub fn lock(session: &mut Session, tables: &[TableToLock]) -> Result<()> {
    if tables.iter().any(|one| one.write) {
        session.table_locks.check_not_all()?;
    }
    session.table_locks.unlock();
    if tables.iter().any(|one| one.write) {
        session
            .transaction
            .check_read_write(session.settings.run.read_only)?;
    }
    check_names(session, tables)?;
    let mut named = Vec::with_capacity(tables.len());
    for one in tables {
        let table = session.table(&one.table)?;
        // No other session can use it.
        if table.is_temporary() {
            continue;
        }
        if one.write {
            session.check_writable()?;
        }
        if let Some(view) = &table.view {
            let Definer { user, host } = &view.definer;
            if view.security == ViewSecurity::Definer && !session.client.has_account(user, host) {
                return Err(errors::no_such_definer(user, host));
            }
            lock_tables_of_view(session, &table, one.write, &mut named)?;
        }
        named.push(LockedTable {
            id: table.id,
            name: one.table.clone(),
            alias: one.alias.clone(),
            write: one.write,
            is_implied: false,
        });
    }
    let lease_term = lease_term(&session.shared.engine.cluster);
    let mut implied = Vec::new();
    let locks = acquire_present(session, Purpose::LockTables, || {
        let schema = session.shared.engine.cluster.schema();
        for one in &mut named {
            one.id = schema.require_table(&one.name.database, &one.name.name)?.id;
        }
        implied = tables_of_keys(&schema, &named);
        Ok([ids(&named), ids(&implied)].concat())
    })?;
    named.extend(implied);
    session.table_locks.set(locks, LockKind::Named(named), lease_term);
    Ok(())
}

/// The tables in a view's query are locked as the view is, under the aliases that they have in it.
fn lock_tables_of_view(
    session: &Session,
    view: &Table,
    write: bool,
    named: &mut Vec<LockedTable>,
) -> Result<()> {
    let accesses = views::accesses(session, view)?.into_iter();
    let stored = accesses.filter(|access| access.through.is_some() && access.lock.is_some());
    named.extend(stored.map(|access| LockedTable {
        id: access.table.id,
        name: TableName::of(&access.table),
        alias: access.alias,
        write,
        is_implied: false,
    }));
    Ok(())
}

/// The tables that foreign keys lead to from tables that are locked for writing: a write of these needs no lock of its own
/// on them. Those whose rows it may change are locked for writing, too.
fn tables_of_keys(schema: &Schema, named: &[LockedTable]) -> Vec<LockedTable> {
    let written = named.iter().filter(|one| one.write);
    let tables = written.filter_map(|one| schema.table(&one.name.database, &one.name.name));
    tables
        .flat_map(|table| ForeignKeyPlan::tables_beside(schema, table))
        .map(|(table, write)| LockedTable {
            id: table.id,
            name: TableName::of(&table),
            alias: table.name.clone(),
            write,
            is_implied: true,
        })
        .collect()
}

fn check_names(session: &Session, tables: &[TableToLock]) -> Result<()> {
    let client = &session.client;
    for (position, one) in tables.iter().enumerate() {
        if one.table.database == INFORMATION_SCHEMA {
            return Err(errors::database_access(
                &client.account.name(),
                &one.table.database,
            ));
        }
        client.check_on_database(&one.table.database, Privilege::LockTables)?;
        client.check_needs(&one.table.database, &one.table.name, PrivilegeSet::SELECT.into())?;
        let is_same =
            |other: &TableToLock| other.alias == one.alias && other.table.database == one.table.database;
        if tables[..position].iter().any(is_same) {
            return Err(errors::not_unique(&one.alias));
        }
    }
    Ok(())
}

/// FLUSH TABLES t, ... WITH READ LOCK. Tables only: the tables of a view are not locked.
pub fn lock_flushed(session: &mut Session, names: &[TableName]) -> Result<()> {
    let read = |name: &TableName| TableToLock {
        table: name.clone(),
        alias: name.name.clone(),
        write: false,
    };
    let tables: Vec<TableToLock> = names.iter().map(read).collect();
    let are_locked = session.table_locks.are_all_locked()?;
    check_names(session, &tables)?;
    for name in names {
        let table = session.table(name)?;
        if table.is_temporary() {
            return Err(errors::no_such_table(name));
        }
        if table.view.is_some() {
            return Err(wrong_object(&name.database, &name.name, "BASE TABLE"));
        }
    }
    match are_locked {
        true => Ok(()),
        false => lock(session, &tables),
    }
}

/// FLUSH TABLES WITH READ LOCK.
pub fn lock_all(session: &mut Session) -> Result<()> {
    session.table_locks.are_all_locked()?;
    session.table_locks.unlock();
    let cluster = &session.shared.engine.cluster;
    let lease_term = lease_term(cluster);
    // Tables that are created during the wait are not waited for, as they may be created afterwards.
    let before = cluster.schema();
    let tables_before = || before.databases.values().flat_map(|d| d.tables.values());
    let ids: HashSet<i64> = tables_before().map(|table| table.id).collect();
    let names: HashSet<(&str, &str)> = tables_before().map(|table| name_of(table)).collect();
    let locks = acquire_present(session, Purpose::LockAll, || {
        let schema = cluster.schema();
        let tables = schema.databases.values().flat_map(|d| d.tables.values());
        let known = tables.filter(|table| ids.contains(&table.id) || names.contains(&name_of(table)));
        Ok(known.map(|table| (table.id, false)).collect())
    })?;
    session
        .table_locks
        .set(locks, LockKind::AllForReading, lease_term);
    Ok(())
}

fn name_of(table: &Table) -> (&str, &str) {
    (&table.database, &table.name)
}

fn ids(tables: &[LockedTable]) -> Vec<(i64, bool)> {
    tables.iter().map(|one| (one.id, one.write)).collect()
}

/// Locks the tables that `find` returns now. During the wait, a table may have been replaced by another one of the
/// same name. So `find` is called again while the locks are held, until all that it returns is locked.
///
/// # Errors
/// 1205 once all of it has taken longer than `lock_wait_timeout`; 1317 when interrupted; those of `find`.
fn acquire_present(
    session: &Session,
    purpose: Purpose,
    mut find: impl FnMut() -> Result<Vec<(i64, bool)>>,
) -> Result<HeldTables> {
    let start = Instant::now();
    let timeout = session.settings.run.metadata_lock_wait;
    let mut limit = WaitLimit {
        timeout,
        interrupt: &session.process.interrupt,
    };
    let mut wanted = find()?;
    loop {
        let locks = acquire(session, purpose, wanted.iter().copied(), &limit)?;
        let locked: HashSet<&(i64, bool)> = wanted.iter().collect();
        let present = find()?;
        if present.iter().all(|table| locked.contains(table)) {
            return Ok(locks);
        }
        limit.timeout = timeout.saturating_sub(start.elapsed());
        Deadline::new(&limit).next_sleep()?;
        wanted = present;
    }
}

/// Locks stored tables. A table that is named twice gets the stronger lock.
fn acquire(
    session: &Session,
    purpose: Purpose,
    tables: impl Iterator<Item = (i64, bool)>,
    limit: &WaitLimit<'_>,
) -> Result<HeldTables> {
    let mut wanted: Vec<(i64, bool)> = tables.filter(|(id, _)| *id >= 0).collect();
    wanted.sort_unstable_by(|a, b| b.cmp(a));
    wanted.dedup_by_key(|(id, _)| *id);
    let changer = &session.shared.catalog.changer;
    match purpose {
        Purpose::LockAll => changer.lock_all_tables(&wanted, limit),
        _ => changer.lock_tables(&wanted, limit),
    }
}

/// UNLOCK TABLES: commits, if LOCK TABLES has locked something.
pub fn unlock(session: &mut Session) -> Result<()> {
    let Some(locked) = session.table_locks.take() else {
        return Ok(());
    };
    let committed = match locked.kind {
        LockKind::Named(_) => transaction_rules::commit_implicitly(session),
        LockKind::AllForReading => Ok(()),
    };
    drop(locked);
    committed
}

/// Runs a definition without the session's locks. Afterwards takes the locks of tables that still exist
/// again.
pub fn unlocked<T>(session: &mut Session, body: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
    session.table_locks.suspend();
    let result = body(session);
    let Some(LockKind::Named(mut tables)) = session.table_locks.take().map(|locked| locked.kind) else {
        return result;
    };
    // If this fails, the statement has done its work, but the session has no locks any more.
    let lease_term = lease_term(&session.shared.engine.cluster);
    let locked = acquire_present(session, Purpose::LockTables, || {
        follow(session, &mut tables);
        add_tables_of_keys(session, &mut tables);
        Ok(ids(&tables))
    });
    match locked {
        Ok(_) if tables.is_empty() => result,
        Ok(locks) => {
            session
                .table_locks
                .set(locks, LockKind::Named(tables), lease_term);
            result
        }
        Err(error) => result.and(Err(error)),
    }
}

/// A definition, of another session too, may have added foreign keys.
fn add_tables_of_keys(session: &Session, tables: &mut Vec<LockedTable>) {
    for implied in tables_of_keys(&session.shared.engine.cluster.schema(), tables) {
        let is_there =
            |one: &LockedTable| one.is_implied && one.id == implied.id && one.write >= implied.write;
        if !tables.iter().any(is_there) {
            tables.push(implied);
        }
    }
}

/// Updates names and ids, because a table may have been renamed, replaced (TRUNCATE), or dropped.
fn follow(session: &Session, tables: &mut Vec<LockedTable>) {
    let schema = session.shared.engine.cluster.schema();
    tables.retain_mut(|locked| {
        if let Some(table) = schema.table_by_id(locked.id) {
            if locked.alias == locked.name.name {
                locked.alias.clone_from(&table.name);
            }
            locked.name = TableName {
                database: table.database.clone(),
                name: table.name.clone(),
            };
            return true;
        }
        match schema.table(&locked.name.database, &locked.name.name) {
            Some(table) => {
                locked.id = table.id;
                true
            }
            None => false,
        }
    });
}

/// The error of a SHOW or a maintenance statement for a table that is not locked.
pub fn check_name(session: &Session, name: &TableName, what: Use) -> Result<()> {
    let table = session.table(name)?;
    session.table_locks.check_table(&table, what)
}

#[cfg(test)]
mod tests;
