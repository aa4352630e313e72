//! What SHOW and LOCK TABLES need to know about views beyond their columns.

use planner::object_access::ObjectAccess;
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use types::{Error, Result, Warning};

use crate::compile;
use crate::compiled::Compiled;
use crate::session::Session;

/// What a query of a view uses: the view, for which it needs no privilege here, and what its query reads.
///
/// # Errors
/// 1356 if the view has become invalid, and the others of such a query.
pub fn accesses(session: &Session, view: &Table) -> Result<Vec<ObjectAccess>> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let text = format!("SELECT * FROM {}.{}", quoted(&view.database), quoted(&view.name));
    match compile::compile_one(session, &text)? {
        Compiled::Plan(plan) => {
            let (within, of_view): (Vec<_>, Vec<_>) = plan
                .accesses
                .iter()
                .cloned()
                .partition(|access| access.through.is_some());
            session.client.check_privileges(&within)?;
            Ok([of_view, within].concat())
        }
        _ => Err(Error::internal("a query without a plan")),
    }
}

/// Why a view cannot be read, if it cannot: a warning of SHOW.
pub fn problem(session: &Session, view: &Table) -> Option<Warning> {
    let needs = PrivilegeSet::SELECT.into();
    // The account may see the definition without reading the view.
    session
        .client
        .check_needs(&view.database, &view.name, needs)
        .ok()?;
    let error = accesses(session, view).err()?;
    Some(Warning::warning(error.code, error.message))
}
