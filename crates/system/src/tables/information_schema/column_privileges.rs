//! The privileges of accounts on columns.

use schema::model::SystemTraits;
use schema::privilege::Privilege;
use types::Result;

use super::user_privileges::grant_row;
use crate::table::{Context, Row, SystemTable};

pub(crate) struct ColumnPrivileges;

impl SystemTable for ColumnPrivileges {
    fn name(&self) -> &'static str {
        "information_schema.COLUMN_PRIVILEGES"
    }

    fn columns(&self) -> &'static str {
        r#"
GRANTEE varchar(292) ci NOT ""
TABLE_CATALOG varchar(512) ci NOT ""
TABLE_SCHEMA varchar(64) ci NOT ""
TABLE_NAME varchar(64) ci NOT ""
COLUMN_NAME varchar(64) ci NOT ""
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
            for (database, table, granted) in account.privileges.granted_tables() {
                for privilege in granted.of_columns().iter() {
                    let with_it = granted
                        .columns
                        .iter()
                        .filter(|(_, granted)| granted.has(privilege));
                    let grantable = granted.table.has(Privilege::Grant);
                    rows.extend(with_it.map(|(column, _)| {
                        grant_row(&account, &[database, table, column], privilege.name(), grantable)
                    }));
                }
            }
        }
        Ok(rows)
    }
}
