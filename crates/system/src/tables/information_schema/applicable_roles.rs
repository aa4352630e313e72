//! The roles that the session's account can activate, and those within them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{text, yes};

pub(crate) struct ApplicableRoles;

impl SystemTable for ApplicableRoles {
    fn name(&self) -> &'static str {
        "information_schema.APPLICABLE_ROLES"
    }

    fn columns(&self) -> &'static str {
        r#"
USER varchar(97) ci NULL
HOST varchar(256) ci NULL
GRANTEE varchar(97) ai NULL
GRANTEE_HOST varchar(256) ai NULL
ROLE_NAME varchar(255) ai NULL
ROLE_HOST varchar(256) ai NULL
IS_GRANTABLE varchar(3) ci NOT ""
IS_DEFAULT varchar(3) ci NULL
IS_MANDATORY varchar(3) ci NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        Ok(rows(ctx, false))
    }
}

/// `administrable`: only those that the account may grant to others.
pub(super) fn rows(ctx: &Context<'_>, administrable: bool) -> Vec<Row> {
    let (account, _) = ctx.sources.server.account();
    let accounts = ctx.sources.accounts.current();
    let mut rows = Vec::new();
    let mut seen = BTreeSet::new();
    let mut pending = VecDeque::from([Arc::clone(account)]);
    while let Some(grantee) = pending.pop_front() {
        // Roles themselves do not get the mandatory ones.
        let is_account = Arc::ptr_eq(&grantee, account);
        for role in grantee.roles.iter().filter(|role| is_account || !role.mandatory) {
            if !administrable || role.with_admin {
                rows.push(vec![
                    text(&account.user),
                    text(&account.host),
                    text(&grantee.user),
                    text(&grantee.host),
                    text(&role.name.0),
                    text(&role.name.1),
                    yes(role.with_admin),
                    yes(account.default_roles.contains(&role.name)),
                    yes(ctx.sources.accounts.is_mandatory(&role.name)),
                ]);
            }
            if seen.insert(role.name.clone()) {
                pending.extend(accounts.get(&role.name.0, &role.name.1).cloned());
            }
        }
    }
    rows
}
