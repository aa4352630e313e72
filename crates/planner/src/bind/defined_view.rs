//! What the query of a view cannot have while the view is being defined.

use schema::definition::TableName;
use schema::model::Table;
use types::{Error, Result, errno};

use super::Binder;
use crate::errno::ER_VIEW_SELECT_VARIABLE;

/// Fails where a view that is being defined could not mean the same in another session.
pub(super) fn check_in_view(binder: &Binder<'_>) -> Result<()> {
    match binder.resolution {
        None => Ok(()),
        Some(_) => Err(Error::new(
            ER_VIEW_SELECT_VARIABLE,
            "View's SELECT contains a variable or parameter",
        )),
    }
}

/// Error 1146 for the view that is being defined: its query cannot read it.
pub(super) fn check_not_defined(binder: &Binder<'_>, table: &Table) -> Result<()> {
    let is_defined = |name: &TableName| name.database == table.database && name.name == table.name;
    match binder.defined.as_ref().filter(|name| is_defined(name)) {
        None => Ok(()),
        Some(name) => {
            binder.reads_defined.set(true);
            Err(Error::new(
                errno::ER_NO_SUCH_TABLE,
                format!("Table '{}.{}' doesn't exist", name.database, name.name),
            ))
        }
    }
}
