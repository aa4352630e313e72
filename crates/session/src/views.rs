//! Properties of views for SHOW and LOCK TABLES.

use planner::object_access::ObjectAccess;
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use types::{Error, Result, Warning};

use crate::compile;
use crate::compiled::Compiled;
use crate::errors::{ER_NO_SUCH_USER, ER_VIEW_INVALID};
use crate::session::Session;

/// The accesses of a query on a view: the view, for which no privilege is needed here, and the tables that
/// its query reads.
///
/// # Errors
/// 1356 if the view has become invalid, and other errors of such a query.
pub fn accesses(session: &Session, view: &Table) -> Result<Vec<ObjectAccess>> {
    let all = all_accesses(session, view)?;
    let (within, of_view): (Vec<_>, Vec<_>) = all.into_iter().partition(|access| access.through.is_some());
    session.client.check_privileges(&within)?;
    Ok([of_view, within].concat())
}

/// The same, whatever privileges the account and the view's definer have.
fn all_accesses(session: &Session, view: &Table) -> Result<Vec<ObjectAccess>> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let text = format!("SELECT * FROM {}.{}", quoted(&view.database), quoted(&view.name));
    match compile::compile_one(session, &text)? {
        Compiled::Plan(plan) => Ok(plan.accesses.to_vec()),
        _ => Err(Error::internal("a query without a plan")),
    }
}

/// The reason why a view cannot be read, as a warning of SHOW. `None` if it can be read.
pub fn problem(session: &Session, view: &Table) -> Option<Warning> {
    let needs = PrivilegeSet::SELECT.into();
    // The account may be allowed to see the definition, but not to read the view.
    session
        .client
        .check_needs(&view.database, &view.name, needs)
        .ok()?;
    let error = accesses(session, view).err()?;
    match error.code {
        ER_NO_SUCH_USER => Some(Warning::note(error.code, error.message)),
        // Without a warning if only privileges are missing.
        _ => broken(session, view).map(|error| Warning::warning(error.code, error.message)),
    }
}

/// The reason why nobody can read a view: what its query refers to is not there any more.
pub fn broken(session: &Session, view: &Table) -> Option<Error> {
    let error = all_accesses(session, view).err()?;
    (error.code == ER_VIEW_INVALID).then_some(error)
}
