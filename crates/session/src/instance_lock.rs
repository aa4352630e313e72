//! LOCK INSTANCE FOR BACKUP: while a session has it, no other session can define or maintain anything, or change
//! accounts. Rows can be written.

use std::ops::Deref;

use accounts::AccountStore;
use cluster::InstanceUse;
use cluster::metadata_lock::Use;
use cluster::wait::WaitLimit;
use types::{Error, Result};

use crate::session::Session;

fn check_privilege(session: &Session) -> Result<()> {
    session.client.check_any("BACKUP_ADMIN", &[], &["BACKUP_ADMIN"])
}

fn limit(session: &Session) -> WaitLimit<'_> {
    WaitLimit {
        timeout: session.settings.run.metadata_lock_wait,
        interrupt: &session.process.interrupt,
    }
}

/// LOCK INSTANCE FOR BACKUP: waits for the definitions that run.
///
/// # Errors
/// 1227 without the privilege, 1205 after the timeout, 1213 if one of these definitions waits for the session, 1235 on a store that other nodes may use.
pub fn lock(session: &mut Session) -> Result<()> {
    check_privilege(session)?;
    let cluster = &session.shared.engine.cluster;
    if cluster.is_shared() {
        return Err(Error::not_supported(
            "LOCK INSTANCE on a store that several nodes share",
            "use FLUSH TABLES WITH READ LOCK",
        ));
    }
    if session.instance_lock.is_none() {
        let delays_change = || session.transaction.delays_change() || session.table_locks.delays_change();
        let locks = cluster
            .metadata_locks()
            .lock_instance(&limit(session), &delays_change)?;
        session.instance_lock = Some(locks);
    }
    Ok(())
}

/// UNLOCK INSTANCE.
///
/// # Errors
/// 1227 without the privilege.
pub fn unlock(session: &mut Session) -> Result<()> {
    check_privilege(session)?;
    session.instance_lock = None;
    Ok(())
}

/// Keeps other sessions from LOCK INSTANCE until the result is dropped. Waits for those that have it.
///
/// # Errors
/// 1205 after the timeout, 1317 when interrupted.
pub fn enter(session: &Session) -> Result<Option<InstanceUse>> {
    if session.instance_lock.is_some() {
        return Ok(None);
    }
    let locks = session.shared.engine.cluster.metadata_locks();
    InstanceUse::enter(locks, &limit(session)).map(Some)
}

/// The accounts, for a statement that changes them and has checked that the client may do so. Keeps other sessions
/// from LOCK INSTANCE, as [`enter`] does.
pub struct AccountsToChange<'a> {
    accounts: &'a AccountStore,
    _entered: Option<InstanceUse>,
}

/// # Errors
/// 1100 and 1223 if the session has locked other tables, and those of [`enter`].
pub fn accounts_to_change(session: &Session) -> Result<AccountsToChange<'_>> {
    session.table_locks.check_accounts(Use::Write)?;
    Ok(AccountsToChange {
        _entered: enter(session)?,
        accounts: &session.shared.catalog.accounts,
    })
}

impl Deref for AccountsToChange<'_> {
    type Target = AccountStore;

    fn deref(&self) -> &AccountStore {
        self.accounts
    }
}
