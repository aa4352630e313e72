//! Definition statements, which `ddl` carries out.

use accounts::Account;
use ddl::DdlContext;
use schema::definition::{AlterChange, Ddl};
use schema::view::Definer;
use types::{Result, Warning};

use super::{lock_tables, temporary};
use crate::errors::{self, ER_NO_SUCH_USER};
use crate::reply::Done;
use crate::session::Session;

/// Runs a definition, which is committed with its end. What was open has been committed
/// ([`Session::enter_statement`]).
pub fn run(session: &mut Session, ddl: &Ddl) -> Result<Done> {
    check_privileges(&session.client.account, ddl)?;
    if !session.temporary.is_empty()
        && let Some(done) = temporary::run_named(session, ddl)
    {
        return done;
    }
    let with_definer = with_definer(session, ddl)?;
    let ddl = with_definer.as_ref().unwrap_or(ddl);
    session.table_locks.check_ddl(ddl)?;
    session.shared.engine.check_writable()?;
    let context = context(session);
    let tables_before = tables_of_dropped(session, ddl);
    let shared = session.shared.clone();
    let warnings = match ddl {
        // ALTER TABLE ... DISABLE KEYS, as dumps have it between LOCK TABLES and UNLOCK TABLES.
        Ddl::AlterTable { changes, .. } if changes.is_empty() && session.table_locks.is_locked() => {
            Vec::new()
        }
        _ => lock_tables::unlocked(session, |_| shared.catalog.changer.execute(ddl, &context))?,
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
            if changes.is_empty()
                || changes
                    .iter()
                    .any(|c| !matches!(c, AlterChange::RenameTable { .. })) =>
        {
            done.info = format!(
                "Records: 0  Duplicates: 0  Warnings: {}",
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
        session.client.check_administer("SUPER or SET_USER_ID")?;
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

/// Fails with 1044 unless the account may use the databases that a definition changes or reads.
pub fn check_privileges(account: &Account, ddl: &Ddl) -> Result<()> {
    if account.privileges.everything {
        return Ok(());
    }
    let check = |name: &String| account.check_database(name);
    match ddl {
        Ddl::CreateDatabase { name, .. }
        | Ddl::AlterDatabase { name, .. }
        | Ddl::DropDatabase { name, .. } => check(name),
        Ddl::CreateTable { name, .. } | Ddl::TruncateTable { name } | Ddl::CreateView { name, .. } => {
            check(&name.database)
        }
        Ddl::CreateTableLike { name, source, .. } => {
            check(&name.database)?;
            check(&source.database)
        }
        Ddl::DropTable { names, .. } | Ddl::DropView { names, .. } => {
            names.iter().try_for_each(|n| check(&n.database))
        }
        Ddl::RenameTable { renames } => renames.iter().try_for_each(|(from, to)| {
            check(&from.database)?;
            check(&to.database)
        }),
        Ddl::AlterPartitions { name, .. } => check(&name.database),
        Ddl::ExchangePartition { name, other, .. } => {
            check(&name.database)?;
            check(&other.database)
        }
        Ddl::AlterTable { name, changes, .. } => {
            check(&name.database)?;
            changes.iter().try_for_each(|change| match change {
                AlterChange::RenameTable { to } => check(&to.database),
                _ => Ok(()),
            })
        }
    }
}
