//! GRANT and REVOKE of privileges.
//!
//! `accounts` stores what they change. Of roles: [`super::account`].

use std::collections::BTreeMap;

use accounts::change::{Grantor, Leniency};
use accounts::{AccountName, Accounts, name_in_backticks};
use schema::definition::TableName;
use schema::model::INFORMATION_SCHEMA;
use schema::privilege::{GrantLevel, Privilege, PrivilegeGrant, PrivilegeSet};
use syntax::ast::GrantAs;
use types::{Error, Result, errno};

use super::account::{check_manages_accounts, check_system_users, named, named_roles, tell_other_nodes};
use crate::client::{Client, SYSTEM_USER, chosen_roles};
use crate::instance_lock::accounts_to_change;
use crate::session::Session;

/// GRANT.
pub fn grant(
    session: &mut Session,
    grant: &PrivilegeGrant,
    users: &[AccountName],
    grantor: Option<&GrantAs>,
) -> Result<()> {
    let client = &session.client;
    let accounts = &session.shared.catalog.accounts;
    let users = named(client, users);
    check_may_grant(client, grant)?;
    check_system_users(session, &users)?;
    check_not_mandatory(session, grant, &users)?;
    let restrictions = match grantor {
        None => client.privileges.restrictions.clone(),
        Some(named) => restrictions_as(client, named, grant, &accounts.current())?,
    };
    let name = format!("{}@{}", client.account.user, client.account.host);
    let by = Grantor {
        name: &name,
        now_us: session.view().now_us(),
        restrictions: &restrictions,
        partial_revokes: partial_revokes(session),
    };
    accounts_to_change(session)?.grant(grant, &users, by)?;
    tell_other_nodes(session)
}

/// REVOKE. `what`: `None` for everything that the accounts have.
pub fn revoke(
    session: &mut Session,
    what: Option<&PrivilegeGrant>,
    users: &[AccountName],
    leniency: Leniency,
) -> Result<()> {
    let client = &session.client;
    let accounts = &session.shared.catalog.accounts;
    let users = named(client, users);
    check_system_users(session, &users)?;
    let warnings = match what {
        Some(grant) => {
            check_may_grant(client, grant)?;
            check_revokes_within_restrictions(client, grant, &users, &accounts.current())?;
            accounts_to_change(session)?.revoke(grant, &users, leniency, partial_revokes(session))?
        }
        None => {
            check_manages_accounts(client)?;
            accounts_to_change(session)?.revoke_everything(&users, leniency)?
        }
    };
    session.diagnostics.add_all(warnings);
    tell_other_nodes(session)
}

fn partial_revokes(session: &Session) -> bool {
    session.shared.variables.boolean("partial_revokes")
}

/// Fails with 1044, 1045, 1142 or 1227 unless the client has the privileges that it grants or revokes, with
/// GRANT OPTION.
fn check_may_grant(client: &Client, grant: &PrivilegeGrant) -> Result<()> {
    if let GrantLevel::Database(database) | GrantLevel::Table(TableName { database, .. }) = &grant.level
        && database == INFORMATION_SCHEMA
    {
        return Err(client.account.denied_database(database));
    }
    let own = &client.privileges;
    let wanted = grant.wanted() | PrivilegeSet::GRANT;
    match &grant.level {
        GrantLevel::Global => {
            // Dynamic privileges have their own grant option.
            let only_dynamic = (wanted - PrivilegeSet::GRANT).is_empty() && !grant.dynamic.is_empty();
            if !only_dynamic {
                client.check_everywhere(wanted)?;
            }
            let lacks =
                |name: &&String| own.dynamic.get(*name) != Some(&true) && !own.global.has(Privilege::Super);
            match grant.dynamic.iter().find(lacks) {
                None => Ok(()),
                Some(_) => Err(Error::new(
                    errno::ER_SPECIFIC_ACCESS_DENIED_ERROR,
                    "Access denied; you need (at least one of) the GRANT OPTION privilege(s) for this operation",
                )),
            }
        }
        GrantLevel::Database(pattern) => match own.of_databases(pattern).contains(wanted) {
            true => Ok(()),
            false => Err(client.account.denied_database(pattern)),
        },
        GrantLevel::Table(name) => {
            let (database, table) = (&name.database, &name.name);
            let of_table = own.of_table(database, table);
            let of_columns = grant.columns.iter().map(|(_, privileges)| *privileges);
            let on_columns = of_columns.fold(PrivilegeSet::NONE, |all, one| all | one);
            let missing = (wanted - of_table) | (on_columns - of_table - own.of_columns(database, table));
            if !missing.is_empty() {
                return Err(client.table_denied(&missing.to_string(), table));
            }
            for (column, privileges) in &grant.columns {
                let missing = *privileges - own.of_column(database, table, column);
                if let Some(privilege) = missing.iter().next() {
                    return Err(client.column_denied(privilege, table, column));
                }
            }
            Ok(())
        }
    }
}

/// Fails with 3879 if a client with restrictions revokes from an account ON *.* what that has in a database in which the
/// client has not.
fn check_revokes_within_restrictions(
    client: &Client,
    grant: &PrivilegeGrant,
    users: &[AccountName],
    accounts: &Accounts,
) -> Result<()> {
    const ER_DB_ACCESS_DENIED: u16 = 3879;
    if grant.level != GrantLevel::Global {
        return Ok(());
    }
    let wanted = grant.wanted();
    for (database, restricted) in &client.privileges.restrictions {
        let reaches_further = |(user, host): &AccountName| {
            accounts.get(user, host).is_some_and(|account| {
                let of_account = &account.privileges;
                let revoked = wanted & of_account.global & *restricted;
                !(revoked - of_account.restricted_in(database)).is_empty()
            })
        };
        if users.iter().any(reaches_further) {
            let name = name_in_backticks(&client.account.user, &client.account.host);
            return Err(Error::new(
                ER_DB_ACCESS_DENIED,
                format!("Access denied for AuthId {name} to database '{database}'."),
            ));
        }
    }
    Ok(())
}

/// Fails with 3897 if a role that all accounts have gets SYSTEM_USER.
fn check_not_mandatory(session: &Session, grant: &PrivilegeGrant, users: &[AccountName]) -> Result<()> {
    const ER_SYSTEM_USER_OF_MANDATORY_ROLE: u16 = 3897;
    let accounts = &session.shared.catalog.accounts;
    if !grant.wanted_dynamic().contains(&SYSTEM_USER) {
        return Ok(());
    }
    match users.iter().find(|user| accounts.is_mandatory(user)) {
        None => Ok(()),
        Some((user, host)) => Err(Error::new(
            ER_SYSTEM_USER_OF_MANDATORY_ROLE,
            format!(
                "AuthId {} is set as mandatory_roles. Cannot grant the 'SYSTEM_USER' privilege.",
                name_in_backticks(user, host)
            ),
        )),
    }
}

/// The restrictions of the account that GRANT names after AS, with the roles it names.
///
/// # Errors
/// 3836 if the account does not exist or does not have a role, and if the client has a restriction of what is
/// granted that they do not have: no account can grant more than it has.
fn restrictions_as(
    client: &Client,
    named_as: &GrantAs,
    grant: &PrivilegeGrant,
    accounts: &Accounts,
) -> Result<BTreeMap<String, PrivilegeSet>> {
    const ER_INVALID_GRANT_AS: u16 = 3836;
    let invalid = || {
        Error::new(
            ER_INVALID_GRANT_AS,
            "Either some of the authorization IDs in the AS clause are invalid or the current user lacks privileges to \
             execute the statement.",
        )
    };
    let (user, host) = client.named_account(&named_as.user);
    let account = accounts.get(&user, &host).ok_or_else(invalid)?;
    let roles = chosen_roles(account, &named_roles(client, &named_as.roles)).map_err(|_| invalid())?;
    let privileges = accounts.privileges_with(account, &roles);
    let wanted = grant.wanted();
    let mut own = client.privileges.restrictions.iter();
    let is_lifted = |(database, restricted): (&String, &PrivilegeSet)| {
        !((*restricted & wanted) - privileges.restricted_in(database)).is_empty()
    };
    match own.any(is_lifted) {
        false => Ok(privileges.restrictions),
        true => Err(invalid()),
    }
}
