//! FLUSH: the only cache that could be stale is that of verified passwords. FLUSH TABLES may lock.

use std::sync::atomic::Ordering;

use cluster::metadata_lock::Use;
use schema::definition::TableName;
use schema::privilege::Privilege;
use syntax::ast::FlushKind;
use types::Result;

use super::lock_tables;
use crate::client::Client;
use crate::session::Session;

/// COM_REFRESH, which mysqladmin sends: a FLUSH for each bit that is set.
pub fn refresh(session: &mut Session, bits: u8) -> Result<()> {
    const TABLES: u8 = 4;
    const KINDS: [(u8, FlushKind); 4] = [
        (1, FlushKind::Privileges),
        (2, FlushKind::Logs),
        (8, FlushKind::Hosts),
        (16, FlushKind::Status),
    ];
    session.client.check_any("RELOAD", &[Privilege::Reload], &[])?;
    if bits & TABLES != 0 {
        tables(session, &[], false)?;
    }
    let asked = KINDS.iter().filter(|(bit, _)| bits & bit != 0);
    asked.for_each(|(_, kind)| flush(session, *kind));
    Ok(())
}

/// FLUSH of everything but tables.
///
/// # Errors
/// 1227 without the privilege for one of them, 1100 for FLUSH PRIVILEGES under LOCK TABLES of other tables.
pub fn run(session: &Session, kinds: &[FlushKind]) -> Result<()> {
    kinds.iter().try_for_each(|kind| check(&session.client, *kind))?;
    if kinds.contains(&FlushKind::Privileges) {
        session.table_locks.check_accounts(Use::Read)?;
    }
    kinds.iter().for_each(|kind| flush(session, *kind));
    Ok(())
}

fn check(client: &Client, kind: FlushKind) -> Result<()> {
    let (label, dynamic) = match kind {
        FlushKind::Status => ("RELOAD or FLUSH_STATUS", "FLUSH_STATUS"),
        FlushKind::UserResources => ("RELOAD or FLUSH_USER_RESOURCES", "FLUSH_USER_RESOURCES"),
        FlushKind::OptimizerCosts => ("RELOAD or FLUSH_OPTIMIZER_COSTS", "FLUSH_OPTIMIZER_COSTS"),
        _ => ("RELOAD", ""),
    };
    client.check_any(label, &[Privilege::Reload], &[dynamic])
}

fn flush(session: &Session, kind: FlushKind) {
    let shared = &session.shared;
    let events = &shared.events;
    match kind {
        FlushKind::Privileges => {
            if let Some(layer) = shared.connection_layer.get() {
                layer.forget_passwords();
            }
        }
        FlushKind::Status => shared.processes.reset_counters(&session.process),
        FlushKind::UserResources => shared.account_usage.reset(),
        FlushKind::Logs => {
            events.slow_log.reopen();
            events.general_log.reopen();
        }
        FlushKind::SlowLogs => events.slow_log.reopen(),
        FlushKind::GeneralLogs => events.general_log.reopen(),
        // The error log is standard error. The others, hosts' names and costs in tables are not there.
        FlushKind::BinaryLogs
        | FlushKind::EngineLogs
        | FlushKind::ErrorLogs
        | FlushKind::RelayLogs
        | FlushKind::Hosts
        | FlushKind::OptimizerCosts => {}
    }
}

/// FLUSH TABLES. `named`: none for all.
pub fn tables(session: &mut Session, named: &[TableName], read_lock: bool) -> Result<()> {
    session
        .client
        .check_any("RELOAD or FLUSH_TABLES", &[Privilege::Reload], &["FLUSH_TABLES"])?;
    let flushes = &session.shared.statistics.table_flushes;
    flushes.fetch_add(1, Ordering::Relaxed);
    match (named, read_lock) {
        ([], true) => lock_tables::lock_all(session),
        (named, true) => lock_tables::lock_flushed(session, named),
        (named, false) => session.table_locks.check_flush(named),
    }
}
