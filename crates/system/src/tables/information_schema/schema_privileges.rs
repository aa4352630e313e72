//! The privileges of accounts on databases.

use schema::model::SystemTraits;
use schema::privilege::Privilege;
use types::Result;

use super::user_privileges::{grant_row, listed};
use crate::table::{Context, Row, SystemTable};

pub(crate) struct SchemaPrivileges;

impl SystemTable for SchemaPrivileges {
    fn name(&self) -> &'static str {
        "information_schema.SCHEMA_PRIVILEGES"
    }

    fn columns(&self) -> &'static str {
        r#"
GRANTEE varchar(292) ci NOT ""
TABLE_CATALOG varchar(512) ci NOT ""
TABLE_SCHEMA varchar(64) ci NOT ""
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
            for (database, granted) in &account.privileges.on_databases {
                let grantable = granted.has(Privilege::Grant);
                let row = |privilege: &str| grant_row(&account, &[database], privilege, grantable);
                rows.extend(listed(*granted).into_iter().map(row));
            }
        }
        Ok(rows)
    }
}
