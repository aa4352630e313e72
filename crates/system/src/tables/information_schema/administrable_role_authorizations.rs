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
        r#"
USER varchar(97) ci NULL
HOST varchar(256) ci NULL
GRANTEE varchar(97) ai NULL
GRANTEE_HOST varchar(256) ai NULL
ROLE_NAME varchar(255) ai NULL
ROLE_HOST varchar(256) ai NULL
IS_GRANTABLE varchar(3) ci NOT ""
IS_DEFAULT varchar(3) ci NULL
IS_MANDATORY varchar(3) ci NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        Ok(applicable_roles::rows(ctx, true))
    }
}
