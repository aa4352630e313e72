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
/// 3615 for a variable that is not stored, 1227 without the privilege.
pub(super) fn reset(session: &mut Session, name: Option<&str>, if_exists: bool) -> Result<()> {
    session.client.check_sets_global()?;
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
    settings.forget(stored.iter().map(|record| record.name.as_str()))
}
