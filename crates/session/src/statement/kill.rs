//! KILL of statements and connections.

use types::{Error, Result, Value, errno};

use crate::errors;
use crate::session::Session;

/// `KILL [QUERY]`.
pub fn kill(session: &mut Session, id: u64, query_only: bool) -> Result<()> {
    let requester = session.client.killer();
    let Some(process) = session.shared.processes.find(id) else {
        return session
            .shared
            .kill_elsewhere(requester, id, query_only, &session.process.interrupt);
    };
    if !process.may_be_killed_by(&requester) {
        return Err(errors::not_owner(id));
    }
    let own = id == session.process.id;
    match (query_only, own) {
        (true, _) => process.kill_query(),
        (false, true) => process.kill_self(),
        (false, false) => process.kill(),
    }
    if own {
        return Err(Error::new(
            errno::ER_QUERY_INTERRUPTED,
            "Query execution was interrupted",
        ));
    }
    Ok(())
}

/// The value of a KILL's expression.
pub fn connection_number(value: &Value) -> Result<u64> {
    match value {
        Value::Int(id) if *id >= 0 => Ok(*id as u64),
        Value::UInt(id) => Ok(*id),
        Value::String(text) => text.trim().parse().map_err(|_| errors::unknown_thread(0)),
        _ => Err(errors::unknown_thread(0)),
    }
}
