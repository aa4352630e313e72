//! DROP of stored programs, which never exist. Scripts use DROP ... IF EXISTS to clean up, even if they have
//! never created any.

use schema::definition::TableName;
use schema::privilege::Privilege;
use syntax::ast::ObjectKind;
use types::{Error, Result, Warning, errno};

use crate::session::Session;

pub fn run(session: &mut Session, kind: ObjectKind, names: &[TableName], if_exists: bool) -> Result<()> {
    names.iter().try_for_each(|name| check(session, kind, name))?;
    let (mut missing, mut notes) = (Vec::new(), Vec::new());
    for name in names {
        let schema = session.shared.engine.cluster.schema();
        if if_exists {
            let (code, message) = note(kind, name);
            notes.push(Warning::note(code, message));
        } else if kind == ObjectKind::Trigger && schema.database(&name.database).is_none() {
            return Err(crate::errors::unknown_database(&name.database));
        } else {
            missing.push(full(name));
        }
    }
    let count = notes.len() as u64;
    let limits = session.settings.warnings;
    session.diagnostics.add_limited((notes, count), limits);
    match names.first() {
        Some(first) if !if_exists => Err(error(kind, first, &missing)),
        _ => Ok(()),
    }
}

/// Fails with 1044, or 1370 for a routine. For a trigger, MySQL reports that it is missing before it checks
/// privileges.
fn check(session: &Session, kind: ObjectKind, name: &TableName) -> Result<()> {
    let client = &session.client;
    match kind {
        ObjectKind::View => client.check_database(&name.database),
        ObjectKind::Trigger => Ok(()),
        ObjectKind::Event => client.check_on_database(&name.database, Privilege::Event),
        ObjectKind::Procedure | ObjectKind::Function => client
            .check_on_database(&name.database, Privilege::AlterRoutine)
            .map_err(|_| {
                let message = format!(
                    "alter routine command denied to user {} for routine '{}'",
                    client.account.name(),
                    full(name)
                );
                Error::new(errno::ER_PROCACCESS_DENIED_ERROR, message)
            }),
    }
}

fn full(name: &TableName) -> String {
    format!("{}.{}", name.database, name.name)
}

fn note(kind: ObjectKind, name: &TableName) -> (u16, String) {
    if kind == ObjectKind::Event {
        return (
            errno::ER_SP_DOES_NOT_EXIST,
            format!("Event {} does not exist", name.name),
        );
    }
    let error = error(kind, name, &[full(name)]);
    (error.code, error.message)
}

fn error(kind: ObjectKind, name: &TableName, missing: &[String]) -> Error {
    match kind {
        ObjectKind::View => Error::new(
            errno::ER_BAD_TABLE_ERROR,
            format!("Unknown table '{}'", missing.join(",")),
        ),
        ObjectKind::Procedure => Error::new(
            errno::ER_SP_DOES_NOT_EXIST,
            format!("PROCEDURE {} does not exist", full(name)),
        ),
        ObjectKind::Function => Error::new(
            errno::ER_SP_DOES_NOT_EXIST,
            format!("FUNCTION {} does not exist", full(name)),
        ),
        ObjectKind::Trigger => Error::new(errno::ER_TRG_DOES_NOT_EXIST, "Trigger does not exist"),
        ObjectKind::Event => Error::new(
            errno::ER_EVENT_DOES_NOT_EXIST,
            format!("Unknown event '{}'", name.name),
        ),
    }
}
