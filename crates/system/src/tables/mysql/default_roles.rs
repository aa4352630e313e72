//! The roles that accounts have when a session begins.

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct DefaultRoles;

impl SystemTable for DefaultRoles {
    fn name(&self) -> &'static str {
        "mysql.default_roles"
    }

    fn columns(&self) -> &'static str {
        r#"
HOST char(255) ascii NOT ""
USER char(32) bin NOT ""
DEFAULT_ROLE_HOST char(255) ascii NOT %
DEFAULT_ROLE_USER char(32) bin NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.all_accounts() {
            for (user, host) in &account.default_roles {
                rows.push(vec![
                    text(&account.host),
                    text(&account.user),
                    text(host),
                    text(user),
                ]);
            }
        }
        Ok(rows)
    }
}
