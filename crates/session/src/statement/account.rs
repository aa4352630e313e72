//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT and REVOKE.
//!
//! The model is coarse: an account has all privileges on everything, or on named databases, or none.
//! `accounts` stores it.

use accounts::change::{AccountChange, GrantScope};
use accounts::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD};
use planner::command::{self, Command};
use syntax::ast::{UserSpec, UserStatement};
use types::{Error, Result, Warning, errno};

use crate::client::Client;
use crate::session::Session;

const ER_ROLE_NOT_GRANTED: u16 = 3530;

/// Runs a statement about accounts.
pub fn run(session: &mut Session, command: &Command) -> Result<()> {
    match command {
        Command::User(UserStatement::SetPassword { .. } | UserStatement::SetRole { .. }) => {}
        _ if !session.client.account.may_manage_accounts() => {
            return Err(Error::new(
                errno::ER_SPECIFIC_ACCESS_DENIED_ERROR,
                "Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
            ));
        }
        _ => {}
    }
    let accounts = &session.shared.catalog.accounts;
    let warnings = match command {
        Command::User(statement) => user_statement(session, statement)?,
        Command::Grant { scope, users } => {
            accounts.grant_all(&granted(scope), users)?;
            Vec::new()
        }
        Command::Revoke { scope, users } => {
            accounts.revoke_all(scope.as_ref().map(granted).as_ref(), users)?;
            Vec::new()
        }
        other => return Err(Error::internal(format_args!("no session statement: {other:?}"))),
    };
    session.diagnostics.add_all(warnings);
    Ok(())
}

fn user_statement(session: &Session, statement: &UserStatement) -> Result<Vec<Warning>> {
    let now_us = session.view().now_us();
    let accounts = &session.shared.catalog.accounts;
    match statement {
        UserStatement::Create { users, if_not_exists } => {
            let changes = users
                .iter()
                .map(|u| change(u, true))
                .collect::<Result<Vec<_>>>()?;
            accounts.create_users(&changes, *if_not_exists, now_us)
        }
        UserStatement::Alter { users, if_exists } => {
            let changes = users
                .iter()
                .map(|u| change(&named_spec(&session.client, u), false))
                .collect::<Result<Vec<_>>>()?;
            accounts.alter_users(&changes, *if_exists, now_us)
        }
        UserStatement::Drop { users, if_exists } => accounts.drop_users(users, *if_exists),
        UserStatement::Rename(renames) => accounts.rename_users(renames).map(|()| Vec::new()),
        UserStatement::SetPassword { user, password } => {
            set_password(session, user.as_ref(), password, now_us)
        }
        UserStatement::SetRole { role, user } => Err(no_role(&session.client, role, user.as_ref())),
    }
}

fn granted(scope: &command::GrantScope) -> GrantScope {
    match scope {
        command::GrantScope::Everything { grant_option } => GrantScope::Everything {
            grant_option: *grant_option,
        },
        command::GrantScope::Database(name) => GrantScope::Database(name.clone()),
    }
}

/// ALTER USER CURRENT_USER() with the account's name in it.
fn named_spec(client: &Client, spec: &UserSpec) -> UserSpec {
    let (user, host) = client.named_account(&(spec.user.clone(), spec.host.clone()));
    UserSpec {
        user,
        host,
        ..spec.clone()
    }
}

/// SET ROLE and SET DEFAULT ROLE of a role with a name: no account has one.
fn no_role(client: &Client, role: &(String, String), user: Option<&(String, String)>) -> Error {
    let (name, host) = client.named_or_own(user);
    Error::new(
        ER_ROLE_NOT_GRANTED,
        format!("`{}`@`{}` is not granted to `{name}`@`{host}`", role.0, role.1),
    )
}

fn set_password(
    session: &Session,
    user: Option<&(String, String)>,
    password: &str,
    now_us: i64,
) -> Result<Vec<Warning>> {
    let own = &session.client.account;
    let (name, host) = session.client.named_or_own(user);
    let is_own = session.client.is_own(&name, &host);
    if !is_own && !own.may_manage_accounts() {
        return Err(Error::new(
            errno::ER_DBACCESS_DENIED_ERROR,
            format!(
                "Access denied for user '{}'@'{}' to database 'mysql'",
                own.user, own.host
            ),
        ));
    }
    let accounts = session.shared.catalog.accounts.current();
    let account = accounts.get(&name, &host).ok_or_else(|| {
        Error::new(
            errno::ER_PASSWORD_NO_MATCH,
            "Can't find any matching row in the user table",
        )
    })?;
    let plugin = Some(account.plugin.clone());
    let spec = UserSpec {
        user: name,
        host,
        plugin,
        password: Some(password.to_owned()),
        ..UserSpec::default()
    };
    session
        .shared
        .catalog
        .accounts
        .alter_users(&[change(&spec, false)?], false, now_us)
}

/// The change that a clause of CREATE or ALTER USER makes, with the password hashed.
fn change(spec: &UserSpec, new: bool) -> Result<AccountChange> {
    let plugin = spec.plugin.as_deref().unwrap_or(CACHING_SHA2_PASSWORD);
    if plugin != CACHING_SHA2_PASSWORD && plugin != MYSQL_NATIVE_PASSWORD {
        return Err(Error::new(
            errno::ER_PLUGIN_IS_NOT_LOADED,
            format!("Plugin '{plugin}' is not loaded"),
        ));
    }
    let stored = match (&spec.password, &spec.hash) {
        (_, Some(hash)) => Some(checked_hash(plugin, hash)?),
        (Some(password), None) if password.is_empty() => Some(String::new()),
        (Some(password), None) => Some(hash(plugin, password)?),
        (None, None) if new || spec.plugin.is_some() => Some(String::new()),
        (None, None) => None,
    };
    Ok(AccountChange {
        user: spec.user.clone(),
        host: spec.host.clone(),
        authentication: stored.map(|stored| (plugin.to_owned(), stored)),
        locked: spec.locked,
    })
}

fn hash(plugin: &str, password: &str) -> Result<String> {
    if plugin == MYSQL_NATIVE_PASSWORD {
        return Ok(wire::auth::native::stored(password.as_bytes()));
    }
    wire::auth::caching_sha2::stored(password.as_bytes()).map_err(Error::internal)
}

/// `IDENTIFIED WITH plugin AS 'hash'`: taken as it is, if it is one.
fn checked_hash(plugin: &str, hash: &str) -> Result<String> {
    let good = hash.is_empty()
        || if plugin == MYSQL_NATIVE_PASSWORD {
            wire::auth::native::is_stored_form(hash)
        } else {
            wire::auth::caching_sha2::is_stored_form(hash)
        };
    if good {
        return Ok(hash.to_owned());
    }
    Err(Error::new(
        1827,
        "The password hash doesn't have the expected format.",
    ))
}
