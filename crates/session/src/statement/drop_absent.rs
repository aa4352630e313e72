//! DROP of stored programs, which never exist. Scripts use DROP ... IF EXISTS to clean up, even if they have
//! never created any.

use schema::definition::TableName;
use schema::privilege::Privilege;
use syntax::ast::ObjectKind;
use types::{Result, Warning, errno};

use super::absent_program::{check_routine, full, missing};
use crate::session::Session;

pub fn run(session: &mut Session, kind: ObjectKind, names: &[TableName], if_exists: bool) -> Result<()> {
    names.iter().try_for_each(|name| check(session, kind, name))?;
    let (mut absent, mut notes) = (Vec::new(), Vec::new());
    for name in names {
        let schema = session.shared.engine.cluster.schema();
        if if_exists {
            let (code, message) = note(kind, name);
            notes.push(Warning::note(code, message));
        } else if kind == ObjectKind::Trigger && schema.database(&name.database).is_none() {
            return Err(crate::errors::unknown_database(&name.database));
        } else {
            absent.push(full(name));
        }
    }
    let count = notes.len() as u64;
    let limits = session.settings.warnings;
    session.diagnostics.add_limited((notes, count), limits);
    match names.first() {
        Some(first) if !if_exists => Err(missing(kind, &first.name, &absent.join(","))),
        _ => Ok(()),
    }
}

/// Fails without the privilege. For a trigger, MySQL reports that it is missing before it checks
/// privileges.
fn check(session: &Session, kind: ObjectKind, name: &TableName) -> Result<()> {
    let client = &session.client;
    match kind {
        ObjectKind::View => client.check_database(&name.database),
        ObjectKind::Trigger => session.table_locks.check_not_all(),
        ObjectKind::Event => {
            client.check_on_database(&name.database, Privilege::Event)?;
            session.table_locks.check_none()
        }
        ObjectKind::Procedure | ObjectKind::Function => {
            check_routine(client, name, Privilege::AlterRoutine)?;
            session.table_locks.check_none()
        }
    }
}

fn note(kind: ObjectKind, name: &TableName) -> (u16, String) {
    if kind == ObjectKind::Event {
        return (
            errno::ER_SP_DOES_NOT_EXIST,
            format!("Event {} does not exist", name.name),
        );
    }
    let error = missing(kind, &name.name, &full(name));
    (error.code, error.message)
}
