//! The privileges of accounts on everything.

use schema::model::SystemTraits;
use types::Result;

use crate::privileges::GLOBAL;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text, yes};

pub(crate) struct UserPrivileges;

impl SystemTable for UserPrivileges {
    fn name(&self) -> &'static str {
        "information_schema.USER_PRIVILEGES"
    }

    fn columns(&self) -> &'static str {
        r#"
GRANTEE varchar(292) ci NOT ""
TABLE_CATALOG varchar(512) ci NOT ""
PRIVILEGE_TYPE varchar(64) ci NOT ""
IS_GRANTABLE varchar(3) ci NOT ""
"#
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.accounts() {
            let granted: &[&str] = if account.privileges.everything {
                &GLOBAL[..30]
            } else {
                &["USAGE"]
            };
            rows.extend(granted.iter().map(|privilege| {
                vec![
                    text(account.name()),
                    text(CATALOG),
                    text(*privilege),
                    yes(account.privileges.grant_option),
                ]
            }));
        }
        Ok(rows)
    }
}
