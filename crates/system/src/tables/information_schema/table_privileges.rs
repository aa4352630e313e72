//! The privileges of accounts on tables.

use accounts::TablePrivileges as Granted;
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
        Ok(rows_of_tables(ctx, &|granted, row| {
            if !granted.table.is_empty() {
                let privileges = listed(granted.table).into_iter();
                privileges.for_each(|privilege| row(&[], privilege));
            }
        }))
    }
}

/// Takes a row: the names after that of the table, and the privilege.
type TakeRow<'r> = dyn FnMut(&[&str], &str) + 'r;

/// The rows of a table about grants on tables. `each` makes those of one grant.
pub(super) fn rows_of_tables(ctx: &Context<'_>, each: &dyn Fn(&Granted, &mut TakeRow<'_>)) -> Vec<Row> {
    let mut rows = Vec::new();
    for account in ctx.accounts() {
        for (database, table, granted) in account.privileges.granted_tables() {
            let grantable = granted.table.has(Privilege::Grant);
            each(granted, &mut |within, privilege| {
                let object = [&[database.as_str(), table.as_str()][..], within].concat();
                rows.push(grant_row(&account, &object, privilege, grantable));
            });
        }
    }
    rows
}
