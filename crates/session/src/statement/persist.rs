//! SET PERSIST, SET PERSIST_ONLY and RESET PERSIST: values of system variables for the next start.
//!
//! They are in the store, where every node that starts finds them. On a store that several nodes share, what SET
//! GLOBAL has set survives restarts, too, and takes precedence.

use cluster::settings::Persisted;
use types::{Error, Result, Value, Warning, errno};

use crate::session::Session;
use crate::variables::definitions::Effect;
use crate::variables::{Definition, lookup};

const ER_VAR_DOES_NOT_EXIST: u16 = 3615;

/// Variables that can be set while the server runs, and that MySQL stores among the read-only ones, because it needs
/// them early in its start.
///
/// Source: MySQL 8.0.33's answers to RESET PERSIST without PERSIST_RO_VARIABLES_ADMIN.
const STORED_AS_READ_ONLY: [&str; 33] = [
    "admin_ssl_ca",
    "admin_ssl_capath",
    "admin_ssl_cert",
    "admin_ssl_cipher",
    "admin_ssl_crl",
    "admin_ssl_crlpath",
    "admin_ssl_key",
    "admin_tls_ciphersuites",
    "admin_tls_version",
    "binlog_checksum",
    "binlog_encryption",
    "enforce_gtid_consistency",
    "gtid_mode",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "log_error_services",
    "log_error_suppression_list",
    "log_error_verbosity",
    "replica_parallel_type",
    "replica_parallel_workers",
    "replica_preserve_commit_order",
    "server_id",
    "ssl_ca",
    "ssl_capath",
    "ssl_cert",
    "ssl_cipher",
    "ssl_crl",
    "ssl_crlpath",
    "ssl_key",
    "ssl_session_cache_mode",
    "ssl_session_cache_timeout",
    "tls_ciphersuites",
    "tls_version",
];

/// Fails unless the client may set the variable with SET PERSIST_ONLY.
///
/// # Errors
/// 1238 for a variable that no statement sets, 3630 without the privileges.
pub(super) fn check_only(session: &Session, definition: &Definition) -> Result<()> {
    if definition.canonical().effect == Effect::Fixed {
        return Err(Error::new(
            errno::ER_INCORRECT_GLOBAL_LOCAL_VAR,
            format!(
                "Variable '{}' is a non persistent read only variable",
                definition.name
            ),
        ));
    }
    check_persists_only(session)
}

/// Fails with 3630 without the privileges for variables that are set at the start only.
fn check_persists_only(session: &Session) -> Result<()> {
    let needed = ["SYSTEM_VARIABLES_ADMIN", "PERSIST_RO_VARIABLES_ADMIN"];
    match needed
        .iter()
        .all(|name| session.client.privileges.has_dynamic(name))
    {
        true => Ok(()),
        false => Err(Error::new(
            errno::ER_PERSIST_ONLY_ACCESS_DENIED_ERROR,
            "Access denied; you need SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN privileges for this \
             operation",
        )),
    }
}

/// SET PERSIST_ONLY. Returns the warnings if the value was adjusted.
pub(super) fn store_only(
    session: &Session,
    definition: &'static Definition,
    value: Option<Value>,
) -> Result<Vec<Warning>> {
    let (changes, warnings) = session.shared.variables.changes(definition, value)?;
    // Those that follow this one do so again when it is applied.
    if let Some((_, text)) = changes.into_iter().next() {
        store(session, definition, text)?;
    }
    Ok(warnings)
}

/// Stores a value in the form of SHOW VARIABLES; `None` is NULL.
pub(super) fn store(session: &Session, definition: &Definition, value: Option<String>) -> Result<()> {
    session.shared.engine.cluster.settings().persist(&Persisted {
        name: definition.canonical().name.to_owned(),
        value,
        at_us: session.view().clock_us(),
        user: session.client.account.user.clone(),
        host: session.client.info.host.clone(),
    })
}

/// RESET PERSIST.
///
/// # Errors
/// 3615 for a variable that is not stored; 1227 and 3630 without the privileges that the stored ones need.
pub(super) fn reset(session: &mut Session, name: Option<&str>, if_exists: bool) -> Result<()> {
    let shared = session.shared.clone();
    let settings = shared.engine.cluster.settings();
    let mut stored = settings.persisted()?;
    if let Some(name) = name {
        let stored_name = lookup(name).map_or(name, |definition| definition.canonical().name);
        stored.retain(|record| record.name.eq_ignore_ascii_case(stored_name));
        if stored.is_empty() {
            let message = format!("Variable {name} does not exist in persisted config file");
            if !if_exists {
                return Err(Error::new(ER_VAR_DOES_NOT_EXIST, message));
            }
            session
                .diagnostics
                .add(Warning::warning(ER_VAR_DOES_NOT_EXIST, message));
            return Ok(());
        }
    }
    check_forgets(session, &stored)?;
    settings.forget(stored.iter().map(|record| record.name.as_str()))
}

/// Nothing is needed to forget nothing. Variables that MySQL stores as read-only ones need more than others.
fn check_forgets(session: &Session, stored: &[Persisted]) -> Result<()> {
    let is_read_only = |record: &Persisted| STORED_AS_READ_ONLY.contains(&record.name.as_str());
    if !stored.iter().all(is_read_only) {
        session.client.check_sets_global()?;
    }
    match stored.iter().any(is_read_only) {
        true => check_persists_only(session),
        false => Ok(()),
    }
}
