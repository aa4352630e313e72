//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, roles, GRANT and REVOKE.
//!
//! `accounts` stores what they change.

use accounts::change::{AccountChange, Leniency};
use accounts::{AccountName, CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD};
use planner::command::Command;
use schema::privilege::{GrantLevel, Privilege, PrivilegeGrant, PrivilegeSet};
use syntax::ast::{Roles, UserSpec, UserStatement};
use types::{Error, Result, Warning, errno};

use crate::client::Client;
use crate::session::Session;

/// Runs a statement about accounts.
pub fn run(session: &mut Session, command: &Command) -> Result<()> {
    let warnings = match command {
        Command::User(UserStatement::SetRole(roles)) => {
            let roles = named_roles(&session.client, roles);
            session.client.set_roles(&roles)?;
            Vec::new()
        }
        Command::User(statement) => user_statement(session, statement)?,
        Command::Grant { grant, users } => {
            let users = named(&session.client, users);
            check_may_grant(&session.client, grant)?;
            check_system_users(session, &users)?;
            let grantor = format!("{}@{}", session.client.account.user, session.client.account.host);
            let by = (grantor.as_str(), session.view().now_us());
            session.shared.catalog.accounts.grant(grant, &users, by)?;
            Vec::new()
        }
        Command::Revoke {
            what,
            users,
            if_exists,
            ignore_unknown,
        } => {
            let users = named(&session.client, users);
            let leniency = Leniency {
                if_exists: *if_exists,
                ignore_unknown: *ignore_unknown,
            };
            check_system_users(session, &users)?;
            let accounts = &session.shared.catalog.accounts;
            match what {
                Some(grant) => {
                    check_may_grant(&session.client, grant)?;
                    accounts.revoke(grant, &users, leniency)?
                }
                None => {
                    check_creates_users(&session.client)?;
                    accounts.revoke_everything(&users, leniency)?
                }
            }
        }
        other => return Err(Error::internal(format_args!("no session statement: {other:?}"))),
    };
    session.diagnostics.add_all(warnings);
    Ok(())
}

fn user_statement(session: &Session, statement: &UserStatement) -> Result<Vec<Warning>> {
    let now_us = session.view().now_us();
    let client = &session.client;
    let accounts = &session.shared.catalog.accounts;
    match statement {
        UserStatement::Create { users, if_not_exists } => {
            check_creates_users(client)?;
            for user in users {
                if let Some(Roles::List(roles)) = &user.default_roles {
                    check_gives_roles(client, roles)?;
                }
            }
            let changes = users
                .iter()
                .map(|u| change(u, true))
                .collect::<Result<Vec<_>>>()?;
            accounts.create_users(&changes, *if_not_exists, now_us)
        }
        UserStatement::Alter { users, if_exists } => alter_users(session, users, *if_exists, now_us),
        UserStatement::Drop { users, if_exists } => {
            check_creates_users(client)?;
            let users = named(client, users);
            check_system_users(session, &users)?;
            accounts.drop_users("DROP USER", &users, *if_exists)
        }
        UserStatement::Rename(renames) => {
            check_creates_users(client)?;
            let old: Vec<AccountName> = renames.iter().map(|(from, _)| from.clone()).collect();
            check_system_users(session, &old)?;
            accounts.rename_users(renames).map(|()| Vec::new())
        }
        UserStatement::SetPassword { user, password } => {
            set_password(session, user.as_ref(), password, now_us)
        }
        UserStatement::CreateRole { roles, if_not_exists } => {
            let privileges = [Privilege::CreateUser, Privilege::CreateRole];
            client.check_any("CREATE USER, CREATE ROLE", &privileges, &[])?;
            accounts.create_roles(roles, *if_not_exists, now_us)
        }
        UserStatement::DropRole { roles, if_exists } => {
            let privileges = [Privilege::CreateUser, Privilege::DropRole];
            client.check_any("CREATE USER, DROP ROLE", &privileges, &[])?;
            check_system_users(session, roles)?;
            accounts.drop_users("DROP ROLE", roles, *if_exists)
        }
        UserStatement::SetRole(_) => Err(Error::internal("SET ROLE is about the session")),
        UserStatement::SetDefaultRole { roles, users } => {
            let users = named(client, users);
            if !users.iter().all(|(user, host)| client.is_own(user, host)) {
                check_creates_users(client)?;
            }
            let listed = match roles {
                Roles::All => None,
                Roles::List(roles) => Some(roles.as_slice()),
                Roles::None | Roles::Default | Roles::AllExcept(_) => Some(&[][..]),
            };
            accounts.set_default_roles(listed, &users).map(|()| Vec::new())
        }
        UserStatement::GrantRoles {
            roles,
            to,
            with_admin,
        } => {
            check_gives_roles(client, roles)?;
            accounts
                .grant_roles(roles, &named(client, to), *with_admin)
                .map(|()| Vec::new())
        }
        UserStatement::RevokeRoles {
            roles,
            from,
            if_exists,
            ignore_unknown,
        } => {
            check_gives_roles(client, roles)?;
            let leniency = Leniency {
                if_exists: *if_exists,
                ignore_unknown: *ignore_unknown,
            };
            accounts.revoke_roles(roles, &named(client, from), leniency)
        }
    }
}

/// The accounts with CURRENT_USER() as the client's own.
fn named(client: &Client, names: &[AccountName]) -> Vec<AccountName> {
    names.iter().map(|name| client.named_account(name)).collect()
}

fn named_roles(client: &Client, roles: &Roles) -> Roles {
    match roles {
        Roles::List(roles) => Roles::List(named(client, roles)),
        Roles::AllExcept(roles) => Roles::AllExcept(named(client, roles)),
        other => other.clone(),
    }
}

fn check_creates_users(client: &Client) -> Result<()> {
    client.check_any("CREATE USER", &[Privilege::CreateUser], &[])
}

/// Fails with 1227 unless the client may grant the roles: it has each WITH ADMIN OPTION, or may grant all.
fn check_gives_roles(client: &Client, roles: &[AccountName]) -> Result<()> {
    let administers = |role: &AccountName| {
        let granted = &client.account.roles;
        granted
            .iter()
            .any(|granted| granted.name == *role && granted.with_admin)
    };
    if roles.iter().all(administers) {
        return Ok(());
    }
    client.check_any(
        "WITH ADMIN, ROLE_ADMIN, SUPER",
        &[Privilege::Super],
        &["ROLE_ADMIN"],
    )
}

/// Fails with 1227 where a statement changes an account that has SYSTEM_USER, and the client has not.
fn check_system_users(session: &Session, users: &[AccountName]) -> Result<()> {
    let accounts = session.shared.catalog.accounts.current();
    let is_system = |(user, host): &AccountName| {
        let account = accounts.get(user, host);
        account.is_some_and(|account| account.privileges.has_dynamic("SYSTEM_USER"))
    };
    match users.iter().any(is_system) {
        true => session.client.check_any("SYSTEM_USER", &[], &["SYSTEM_USER"]),
        false => Ok(()),
    }
}

/// Fails with 1044, 1045, 1142 or 1227 unless the client has what it grants or revokes, with GRANT OPTION.
fn check_may_grant(client: &Client, grant: &PrivilegeGrant) -> Result<()> {
    let own = &client.privileges;
    let wanted = grant.wanted() | PrivilegeSet::GRANT;
    match &grant.level {
        GrantLevel::Global => {
            // Dynamic privileges have grant options of their own.
            let only_dynamic = (wanted - PrivilegeSet::GRANT).is_empty() && !grant.dynamic.is_empty();
            if !only_dynamic && !own.global.contains(wanted) {
                return Err(Error::new(
                    errno::ER_ACCESS_DENIED_ERROR,
                    format!(
                        "Access denied for user {} (using password: {})",
                        client.account.name(),
                        if client.account.has_password() {
                            "YES"
                        } else {
                            "NO"
                        }
                    ),
                ));
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
        GrantLevel::Database(name) => match own.of_database(name).contains(wanted) {
            true => Ok(()),
            false => Err(client.account.denied_database(name)),
        },
        GrantLevel::Table(name) => {
            let of_columns = grant.columns.iter().map(|(_, privileges)| *privileges);
            let wanted = of_columns.fold(wanted, |all, one| all | one);
            let missing = wanted - own.of_table(&name.database, &name.name);
            match missing.is_empty() {
                true => Ok(()),
                false if missing.has(Privilege::Grant) => Err(client.table_denied("GRANT", &name.name)),
                false => Err(client.table_denied(&missing.to_string(), &name.name)),
            }
        }
    }
}

/// ALTER USER. Every account may change its own password.
fn alter_users(session: &Session, users: &[UserSpec], if_exists: bool, now_us: i64) -> Result<Vec<Warning>> {
    let client = &session.client;
    let specs: Vec<UserSpec> = users.iter().map(|user| named_spec(client, user)).collect();
    let changes_own_password = |spec: &UserSpec| {
        client.is_own(&spec.user, &spec.host) && spec.locked.is_none() && spec.default_roles.is_none()
    };
    if !specs.iter().all(changes_own_password) {
        check_creates_users(client)?;
    }
    let names: Vec<AccountName> = specs
        .iter()
        .map(|spec| (spec.user.clone(), spec.host.clone()))
        .collect();
    check_system_users(session, &names)?;
    let accounts = session.shared.catalog.accounts.current();
    let mut changes = Vec::with_capacity(specs.len());
    for spec in &specs {
        let mut change = change(spec, false)?;
        if spec.default_roles == Some(Roles::All) {
            let account = accounts.get(&spec.user, &spec.host);
            let roles = account.map(|account| account.roles.iter().map(|role| role.name.clone()).collect());
            change.default_roles = roles;
        }
        changes.push(change);
    }
    session
        .shared
        .catalog
        .accounts
        .alter_users(&changes, if_exists, now_us)
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

fn set_password(
    session: &Session,
    user: Option<&(String, String)>,
    password: &str,
    now_us: i64,
) -> Result<Vec<Warning>> {
    let own = &session.client.account;
    let (name, host) = session.client.named_or_own(user);
    let is_own = session.client.is_own(&name, &host);
    let manages = session.client.privileges.global.has(Privilege::CreateUser)
        || session
            .client
            .privileges
            .of_database("mysql")
            .has(Privilege::Update);
    if !is_own && !manages {
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
    check_system_users(session, &[(name.clone(), host.clone())])?;
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
        default_roles: match &spec.default_roles {
            Some(Roles::List(roles)) => Some(roles.clone()),
            Some(Roles::None) => Some(Vec::new()),
            _ => None,
        },
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
