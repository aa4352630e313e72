//! The active roles of the session.

use accounts::AccountName;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{text, yes};

pub(crate) struct EnabledRoles;

impl SystemTable for EnabledRoles {
    fn name(&self) -> &'static str {
        "information_schema.ENABLED_ROLES"
    }

    fn columns(&self) -> &'static str {
        r#"
ROLE_NAME varchar(255) ai NULL
ROLE_HOST varchar(255) ai NULL
IS_DEFAULT varchar(3) ci NULL
IS_MANDATORY varchar(3) ci NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let (account, active) = ctx.sources.server.account();
        let row = |role: &AccountName| {
            vec![
                text(&role.0),
                text(&role.1),
                yes(account.default_roles.contains(role)),
                yes(false),
            ]
        };
        Ok(active.iter().map(row).collect())
    }
}
