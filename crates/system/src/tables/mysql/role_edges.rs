//! Which roles have been granted to which accounts.

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{flag, text};

pub(crate) struct RoleEdges;

impl SystemTable for RoleEdges {
    fn name(&self) -> &'static str {
        "mysql.role_edges"
    }

    fn columns(&self) -> &'static str {
        r#"
FROM_HOST char(255) ascii NOT ""
FROM_USER char(32) bin NOT ""
TO_HOST char(255) ascii NOT ""
TO_USER char(32) bin NOT ""
WITH_ADMIN_OPTION enum('N','Y') ci NOT N
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.all_accounts() {
            for role in account.roles.iter().filter(|role| !role.mandatory) {
                rows.push(vec![
                    text(&role.name.1),
                    text(&role.name.0),
                    text(&account.host),
                    text(&account.user),
                    flag(role.with_admin),
                ]);
            }
        }
        Ok(rows)
    }
}
