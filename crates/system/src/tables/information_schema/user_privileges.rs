//! The privileges of accounts on everything.

use accounts::Account;
use schema::model::SystemTraits;
use schema::privilege::{Privilege, PrivilegeSet};
use types::Result;

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
            let privileges = &account.privileges;
            let mut push = |privilege: &str, grantable: bool| {
                rows.push(grant_row(&account, &[], privilege, grantable));
            };
            let with_option = privileges.global.has(Privilege::Grant);
            listed(privileges.global)
                .iter()
                .for_each(|privilege| push(privilege, with_option));
            privileges
                .dynamic
                .iter()
                .for_each(|(privilege, with_option)| push(privilege, *with_option));
        }
        Ok(rows)
    }
}

/// The names of privileges on one level; USAGE for none. GRANT OPTION is not one of them.
pub(super) fn listed(granted: PrivilegeSet) -> Vec<&'static str> {
    let granted = granted - PrivilegeSet::GRANT;
    match granted.is_empty() {
        true => vec!["USAGE"],
        false => granted.iter().map(Privilege::name).collect(),
    }
}

/// A row of the tables of privileges: `object` is what the privilege is on.
pub(super) fn grant_row(account: &Account, object: &[&str], privilege: &str, grantable: bool) -> Row {
    let mut row = vec![text(account.name()), text(CATALOG)];
    row.extend(object.iter().map(|name| text(*name)));
    row.extend([text(privilege), yes(grantable)]);
    row
}
