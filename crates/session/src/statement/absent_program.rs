//! CALL, ALTER and SHOW CREATE of stored programs. None exists, so these statements fail as in a MySQL server
//! without stored programs. MySQL has some in `sys`, which are refused by name.

use schema::definition::TableName;
use schema::privilege::Privilege;
use syntax::ast::{ObjectKind, ProgramAction};
use types::{Error, Result, errno};

use crate::client::Client;
use crate::errors;
use crate::session::Session;

/// The error of the statement.
pub fn failure(session: &Session, action: ProgramAction, kind: ObjectKind, name: &TableName) -> Error {
    let checked = match action {
        ProgramAction::Call => check_routine(&session.client, name, Privilege::Execute),
        ProgramAction::Alter => check_alter(session, kind, name),
        ProgramAction::ShowCreate => check_show(session, kind, name),
    };
    if let Err(error) = checked {
        return error;
    }
    if name.database.eq_ignore_ascii_case("sys")
        && matches!(kind, ObjectKind::Procedure | ObjectKind::Function)
    {
        return Error::not_supported(
            format!("stored programs such as {}", full(name)),
            "run the statements from the client",
        );
    }
    match action {
        // SHOW leaves the database out.
        ProgramAction::ShowCreate => missing(kind, &name.name, &name.name),
        ProgramAction::Call | ProgramAction::Alter => missing(kind, &name.name, &full(name)),
    }
}

fn check_alter(session: &Session, kind: ObjectKind, name: &TableName) -> Result<()> {
    match kind {
        ObjectKind::Event => session
            .client
            .check_on_database(&name.database, Privilege::Event)?,
        _ => check_routine(&session.client, name, Privilege::AlterRoutine)?,
    }
    session.table_locks.check_none()
}

fn check_show(session: &Session, kind: ObjectKind, name: &TableName) -> Result<()> {
    match kind {
        ObjectKind::Event => session.client.check_on_database(&name.database, Privilege::Event),
        ObjectKind::Trigger => {
            let schema = session.shared.engine.cluster.schema();
            match schema.database(&name.database) {
                Some(_) => Ok(()),
                None => Err(errors::unknown_database(&name.database)),
            }
        }
        _ => Ok(()),
    }
}

/// Fails with 1370 unless the account has the privilege on the database.
pub fn check_routine(client: &Client, name: &TableName, privilege: Privilege) -> Result<()> {
    client.check_on_database(&name.database, privilege).map_err(|_| {
        let command = match privilege {
            Privilege::Execute => "execute",
            _ => "alter routine",
        };
        let message = format!(
            "{command} command denied to user {} for routine '{}'",
            client.account.name(),
            full(name)
        );
        Error::new(errno::ER_PROCACCESS_DENIED_ERROR, message)
    })
}

/// `database.name`
pub fn full(name: &TableName) -> String {
    format!("{}.{}", name.database, name.name)
}

/// The error for a stored program that is not there. `shown`: a routine's name in it.
pub fn missing(kind: ObjectKind, name: &str, shown: &str) -> Error {
    let no_routine = |kind| {
        Error::new(
            errno::ER_SP_DOES_NOT_EXIST,
            format!("{kind} {shown} does not exist"),
        )
    };
    match kind {
        ObjectKind::View => Error::new(errno::ER_BAD_TABLE_ERROR, format!("Unknown table '{shown}'")),
        ObjectKind::Procedure => no_routine("PROCEDURE"),
        ObjectKind::Function => no_routine("FUNCTION"),
        ObjectKind::Trigger => Error::new(errno::ER_TRG_DOES_NOT_EXIST, "Trigger does not exist"),
        ObjectKind::Event => Error::new(errno::ER_EVENT_DOES_NOT_EXIST, format!("Unknown event '{name}'")),
    }
}
