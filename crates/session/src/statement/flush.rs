//! FLUSH: the only cache that could be stale is that of verified passwords. FLUSH TABLES may lock.

use schema::privilege::Privilege;
use types::{Error, Result};

use super::lock_tables;
use crate::session::Session;

/// COM_REFRESH, which mysqladmin sends: a FLUSH for each bit that is set.
pub fn refresh(session: &mut Session, kinds: u8) -> Result<()> {
    const KINDS: [(u8, &str); 5] = [
        (1, "PRIVILEGES"),
        (2, "LOGS"),
        (4, "TABLES"),
        (8, "HOSTS"),
        (16, "STATUS"),
    ];
    session.client.check_any("RELOAD", &[Privilege::Reload], &[])?;
    let mut asked = KINDS.iter().filter(|(bit, _)| kinds & bit != 0);
    asked.try_for_each(|(_, what)| run(session, what))
}

/// `what` is in upper case.
pub fn run(session: &mut Session, what: &str) -> Result<()> {
    let words: Vec<&str> = what.split_whitespace().collect();
    let ["TABLE" | "TABLES", rest @ ..] = words.as_slice() else {
        let (label, dynamic) = match words.first() {
            Some(&"STATUS") => ("RELOAD or FLUSH_STATUS", "FLUSH_STATUS"),
            Some(&"USER_RESOURCES") => ("RELOAD or FLUSH_USER_RESOURCES", "FLUSH_USER_RESOURCES"),
            Some(&"OPTIMIZER_COSTS") => ("RELOAD or FLUSH_OPTIMIZER_COSTS", "FLUSH_OPTIMIZER_COSTS"),
            _ => ("RELOAD", ""),
        };
        session
            .client
            .check_any(label, &[Privilege::Reload], &[dynamic])?;
        if words.contains(&"PRIVILEGES")
            && let Some(layer) = session.shared.connection_layer.get()
        {
            layer.forget_passwords();
        }
        if words.contains(&"STATUS") {
            session.shared.processes.reset_counters(&session.process);
        }
        if words.contains(&"USER_RESOURCES") {
            session.shared.account_usage.reset();
        }
        if words.last() == Some(&"LOGS") {
            session.shared.events.slow_log.reopen();
            session.shared.events.general_log.reopen();
        }
        return Ok(());
    };
    session
        .client
        .check_any("RELOAD or FLUSH_TABLES", &[Privilege::Reload], &["FLUSH_TABLES"])?;
    match rest {
        ["WITH", "READ", "LOCK"] => lock_tables::lock_all(session),
        [.., "READ", "LOCK"] | [.., "FOR", "EXPORT"] => Err(Error::not_supported(
            "FLUSH TABLES of named tables WITH READ LOCK or FOR EXPORT",
            "use LOCK TABLES ... READ",
        )),
        _ => session.table_locks.check_flush(),
    }
}
