//! The dynamic privileges of accounts.

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{flag, text};

pub(crate) struct GlobalGrants;

impl SystemTable for GlobalGrants {
    fn name(&self) -> &'static str {
        "mysql.global_grants"
    }

    fn columns(&self) -> &'static str {
        r#"
USER char(32) bin NOT ""
HOST char(255) ascii NOT ""
PRIV char(32) ci NOT ""
WITH_GRANT_OPTION enum('N','Y') ci NOT N
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.all_accounts() {
            for (name, with_option) in &account.privileges.dynamic {
                rows.push(vec![
                    text(&account.user),
                    text(&account.host),
                    text(name),
                    flag(*with_option),
                ]);
            }
        }
        Ok(rows)
    }
}
