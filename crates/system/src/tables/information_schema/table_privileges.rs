//! The privileges of accounts on tables.

use schema::model::SystemTraits;
use schema::privilege::Privilege;
use types::Result;

use super::user_privileges::{grant_row, listed};
use crate::table::{Context, Row, SystemTable};

pub(crate) struct TablePrivileges;

impl SystemTable for TablePrivileges {
    fn name(&self) -> &'static str {
        "information_schema.TABLE_PRIVILEGES"
    }

    fn columns(&self) -> &'static str {
        r#"
GRANTEE varchar(292) ci NOT ""
TABLE_CATALOG varchar(512) ci NOT ""
TABLE_SCHEMA varchar(64) ci NOT ""
TABLE_NAME varchar(64) ci NOT ""
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
            let granted = account.privileges.granted_tables();
            for (database, table, granted) in granted.filter(|(.., granted)| !granted.table.is_empty()) {
                let grantable = granted.table.has(Privilege::Grant);
                let row = |privilege: &str| grant_row(&account, &[database, table], privilege, grantable);
                rows.extend(listed(granted.table).into_iter().map(row));
            }
        }
        Ok(rows)
    }
}
