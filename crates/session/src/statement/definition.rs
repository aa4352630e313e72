//! Definition statements, which `ddl` carries out.

use std::sync::atomic::Ordering;

use ddl::{DdlContext, Executed};
use schema::definition::{AlterChange, Ddl, TableName, ViewVerb};
use schema::privilege::Privilege;
use schema::view::Definer;
use types::{Result, Warning};

use super::{lock_tables, temporary};
use crate::client::Client;
use crate::errors::{self, ER_NO_SUCH_USER};
use crate::reply::Done;
use crate::session::Session;

/// Runs a definition, which is committed with its end. What was open has been committed
/// ([`Session::enter_statement`]).
pub fn run(session: &mut Session, ddl: &Ddl) -> Result<Done> {
    if !session.temporary.is_empty()
        && let Some(done) = temporary::run_named(session, ddl)
    {
        return done;
    }
    check_privileges(&session.client, ddl)?;
    let with_definer = with_definer(session, ddl)?;
    let ddl = with_definer.as_ref().unwrap_or(ddl);
    session.table_locks.check_ddl(ddl)?;
    session.shared.engine.check_writable()?;
    let context = context(session);
    let tables_before = tables_of_dropped(session, ddl);
    let shared = session.shared.clone();
    let Executed { warnings, rows } = match ddl {
        // ALTER TABLE ... DISABLE KEYS, as dumps have it between LOCK TABLES and UNLOCK TABLES.
        Ddl::AlterTable { changes, .. } if is_of_keys(changes) && session.table_locks.is_locked() => {
            Executed::default()
        }
        _ => {
            let executed = lock_tables::unlocked(session, |_| shared.catalog.changer.execute(ddl, &context));
            context.progress.store(0, Ordering::Relaxed);
            executed?
        }
    };
    let count = warnings.len() as u64;
    let limits = session.settings.warnings;
    session.diagnostics.add_limited((warnings, count), limits);
    let mut done = Done::default();
    match ddl {
        Ddl::DropDatabase { name, .. } => {
            done.affected = tables_before;
            if session.database.as_deref() == Some(name.as_str()) {
                session.leave_database();
            }
        }
        Ddl::CreateDatabase { .. } | Ddl::AlterDatabase { .. } => done.affected = 1,
        Ddl::AlterTable { changes, .. }
            if changes
                .iter()
                .any(|c| !matches!(c, AlterChange::RenameTable { .. } | AlterChange::Keys)) =>
        {
            done.affected = rows;
            done.info = format!(
                "Records: {rows}  Duplicates: 0  Warnings: {}",
                session.diagnostics.count
            )
            .into();
        }
        Ddl::AlterPartitions { .. } | Ddl::ExchangePartition { .. } => {
            done.info = "Records: 0  Duplicates: 0  Warnings: 0".into();
        }
        _ => {}
    }
    Ok(done)
}

/// `DISABLE KEYS` or `ENABLE KEYS` alone.
fn is_of_keys(changes: &[AlterChange]) -> bool {
    changes.iter().all(|change| matches!(change, AlterChange::Keys))
}

pub fn context(session: &Session) -> DdlContext {
    DdlContext {
        interrupt: session.process.interrupt.clone(),
        lock_wait: session.settings.run.metadata_lock_wait,
        now_us: session.view().now_us(),
        time_zone: session.settings.time_zone,
        sql_mode: session.settings.sql_mode,
        server_collation: session.settings.collation_server,
        user: session.client.account.name(),
        foreign_key_checks: session.settings.foreign_key_checks,
        progress: session.process.progress(),
        require_primary_key: session.settings.require_primary_key,
    }
}

/// CREATE VIEW with the account that defines it, where the statement does not name one. Only an administrator can
/// define a view for another account than its own, or alter the view of another account.
fn with_definer(session: &mut Session, ddl: &Ddl) -> Result<Option<Ddl>> {
    let Ddl::CreateView { view, .. } = ddl else {
        return Ok(None);
    };
    let named = (view.definer.user.clone(), view.definer.host.clone());
    let (user, host) = session.client.named_account(&named);
    if !session.client.is_own(&user, &host) {
        session
            .client
            .check_any("SUPER or SET_USER_ID", &[Privilege::Super], &["SET_USER_ID"])?;
        if !session.client.has_account(&user, &host) {
            let note = Warning::note(ER_NO_SUCH_USER, errors::no_such_definer(&user, &host).message);
            let limits = session.settings.warnings;
            session.diagnostics.add_limited((vec![note], 1), limits);
        }
    }
    let mut ddl = ddl.clone();
    if let Ddl::CreateView { view, .. } = &mut ddl {
        view.definer = Definer { user, host };
    }
    Ok(Some(ddl))
}

/// DROP DATABASE reports the number of tables that it drops.
fn tables_of_dropped(session: &Session, ddl: &Ddl) -> u64 {
    let Ddl::DropDatabase { name, .. } = ddl else {
        return 0;
    };
    session
        .shared
        .engine
        .cluster
        .schema()
        .database(name)
        .map_or(0, |d| d.tables.len() as u64)
}

/// Fails with 1044 or 1142 unless the account may make the definition.
pub fn check_privileges(client: &Client, ddl: &Ddl) -> Result<()> {
    let on_table = |name: &TableName, privileges: &[Privilege]| {
        client.check_table(name, privileges.iter().copied().collect())
    };
    match ddl {
        Ddl::CreateDatabase { name, .. } => client.check_on_database(name, Privilege::Create),
        Ddl::AlterDatabase { name, .. } => client.check_on_database(name, Privilege::Alter),
        Ddl::DropDatabase { name, .. } => client.check_on_database(name, Privilege::Drop),
        Ddl::CreateTable { name, .. } => on_table(name, &[Privilege::Create]),
        Ddl::CreateTableLike { name, source, .. } => {
            on_table(name, &[Privilege::Create])?;
            on_table(source, &[Privilege::Select])
        }
        Ddl::CreateView { name, verb, .. } => match verb {
            ViewVerb::Create => on_table(name, &[Privilege::CreateView]),
            ViewVerb::Replace | ViewVerb::Alter => on_table(name, &[Privilege::CreateView, Privilege::Drop]),
        },
        Ddl::TruncateTable { name } => on_table(name, &[Privilege::Drop]),
        Ddl::DropTable { names, .. } | Ddl::DropView { names, .. } => {
            names.iter().try_for_each(|name| on_table(name, &[Privilege::Drop]))
        }
        Ddl::RenameTable { renames } => renames.iter().try_for_each(|(from, to)| {
            on_table(from, &[Privilege::Alter, Privilege::Drop])?;
            on_table(to, &[Privilege::Create, Privilege::Insert])
        }),
        Ddl::AlterPartitions { name, .. } => on_table(name, &[Privilege::Alter]),
        Ddl::ExchangePartition { name, other, .. } => [name, other].into_iter().try_for_each(|name| {
            let needed = [Privilege::Insert, Privilege::Create, Privilege::Drop, Privilege::Alter];
            on_table(name, &needed)
        }),
        Ddl::AlterTable { name, changes, .. } => {
            let only_indexes = !changes.is_empty()
                && changes.iter().all(|change| {
                    matches!(change, AlterChange::AddIndex { .. } | AlterChange::DropIndex { .. })
                });
            // CREATE INDEX and DROP INDEX are the same definitions as ALTER TABLE's.
            if !only_indexes || on_table(name, &[Privilege::Alter]).is_err() {
                let needed = if only_indexes { Privilege::Index } else { Privilege::Alter };
                on_table(name, &[needed])?;
            }
            changes.iter().try_for_each(|change| match change {
                AlterChange::RenameTable { to } => {
                    on_table(name, &[Privilege::Drop])?;
                    on_table(to, &[Privilege::Create, Privilege::Insert])
                }
                _ => Ok(()),
            })
        }
    }
}
