//! The roles that the session's account may grant to others.

use types::Result;

use super::applicable_roles;
use crate::table::{Context, Row, SystemTable};

pub(crate) struct AdministrableRoleAuthorizations;

impl SystemTable for AdministrableRoleAuthorizations {
    fn name(&self) -> &'static str {
        "information_schema.ADMINISTRABLE_ROLE_AUTHORIZATIONS"
    }

    fn columns(&self) -> &'static str {
        applicable_roles::ApplicableRoles.columns()
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        Ok(applicable_roles::rows(ctx, true))
    }
}
