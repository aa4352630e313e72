//! What a session says of views beyond their columns.

use planner::object_access::ObjectAccess;
use schema::model::Table;
use types::{Error, Result, Warning};

use crate::compiled::Compiled;
use crate::session::Session;

impl Session {
    /// What a query of a view uses: the view, for which it needs no privilege here, and what its query reads.
    ///
    /// # Errors
    /// 1356 where the view has become invalid, and the others of such a query.
    pub(crate) fn accesses_of_view(&self, view: &Table) -> Result<Vec<ObjectAccess>> {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let text = format!("SELECT * FROM {}.{}", quoted(&view.database), quoted(&view.name));
        match self.compile_one(&text)? {
            Compiled::Plan(plan) => {
                let (within, of_view): (Vec<_>, Vec<_>) = plan
                    .accesses
                    .iter()
                    .cloned()
                    .partition(|access| access.through.is_some());
                self.client.check_privileges(&within)?;
                Ok([of_view, within].concat())
            }
            _ => Err(Error::internal("a query that is none")),
        }
    }

    /// Why a view cannot be read, if it cannot: a warning of SHOW.
    pub(crate) fn problem_of_view(&self, view: &Table) -> Option<Warning> {
        let error = self.accesses_of_view(view).err()?;
        Some(Warning::warning(error.code, error.message))
    }
}
