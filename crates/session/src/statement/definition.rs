//! Definition statements, which `ddl` carries out.

use std::sync::atomic::Ordering;

use ddl::Executed;
use schema::definition::{AlterChange, Ddl, PartitionChange};
use schema::privilege::Privilege;
use schema::view::Definer;
use types::{Result, Warning};

use super::definition_context::{check_privileges, context};
use super::lock_tables;
use crate::errors::{self, ER_NO_SUCH_USER};
use crate::events;
use crate::instance_lock;
use crate::reply::Done;
use crate::session::Session;

/// Runs a definition of permanent tables. It is committed when it ends. The open transaction was committed
/// before (`transaction_rules`).
pub fn run(session: &mut Session, ddl: &Ddl) -> Result<Done> {
    session.check_writable()?;
    check_privileges(&session.client, ddl, &session.shared.engine.cluster.schema())?;
    if let Ddl::TruncateTable { name } = ddl
        && events::tables::truncate(session.view(), &name.database, &name.name)?
    {
        return Ok(Done::default());
    }
    let with_definer = with_definer(session, ddl)?;
    let ddl = with_definer.as_ref().unwrap_or(ddl);
    session.table_locks.check_ddl(ddl)?;
    let _entered = instance_lock::enter(session)?;
    let context = context(session);
    let tables_before = tables_of_dropped(session, ddl);
    let shared = session.shared.clone();
    let Executed { warnings, rows } = match ddl {
        // ALTER TABLE ... DISABLE KEYS, which dumps contain between LOCK TABLES and UNLOCK TABLES.
        Ddl::AlterTable { changes, .. } if is_of_keys(changes) && session.table_locks.is_locked() => {
            Executed::default()
        }
        _ => {
            let executed = lock_tables::unlocked(session, |_| shared.catalog.changer.execute(ddl, &context));
            context.progress.store(0, Ordering::Relaxed);
            if executed.is_err() {
                let limits = session.settings.warnings;
                session.diagnostics.add_limited(context.warned.take(), limits);
            }
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
        Ddl::AlterPartitions {
            change: PartitionChange::Truncate(_),
            ..
        } => {}
        Ddl::AlterPartitions { .. } => {
            done.affected = rows;
            done.info = format!("Records: {rows}  Duplicates: 0  Warnings: 0").into();
        }
        _ => {}
    }
    Ok(done)
}

/// `DISABLE KEYS` or `ENABLE KEYS` alone.
fn is_of_keys(changes: &[AlterChange]) -> bool {
    changes.iter().all(|change| matches!(change, AlterChange::Keys))
}

/// CREATE VIEW with the session's account as definer, if the statement names none. Only an administrator can
/// define a view for another account, or alter the view of another account.
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
        session.client.check_not_above(&user, &host)?;
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

/// The number of tables that DROP DATABASE drops, which its reply reports.
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
