//! Accounts: CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT and REVOKE; and what an account may do.
//!
//! The model is coarse and honest: an account has all privileges on everything, or on named databases, or none.
//! `accounts` keeps it.

use std::sync::Arc;

use accounts::change::{AccountChange, GrantScope};
use accounts::{Account, CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Privileges};
use planner::command::{self, Command};
use planner::plan::Plan;
use schema::definition::{AlterChange, Ddl};
use syntax::ast::{UserSpec, UserStatement};
use types::{Error, Result, Warning, errno};

use crate::run::plan_uses;
use crate::session::Session;

const ER_ROLE_NOT_GRANTED: u16 = 3530;

impl Session {
    /// Brings the account up to date with what GRANT and ALTER USER have made of it since the last statement.
    pub(crate) fn refresh_account(&mut self) {
        if self.shared.catalog.accounts.is_current(&self.accounts) {
            return;
        }
        let accounts = self.shared.catalog.accounts.current();
        let (user, host) = self.account_parts();
        // An account that has been dropped keeps its connections, as in MySQL, but may do nothing more.
        self.account = accounts.get(&user, &host).cloned().unwrap_or_else(|| {
            let mut without = Account::clone(&self.account);
            without.privileges = Privileges::default();
            Arc::new(without)
        });
        self.accounts = accounts;
    }

    /// Fails with 1044 unless the account may use the databases of all stored tables of a plan.
    pub(crate) fn check_plan(&self, plan: &Plan) -> Result<()> {
        if self.account.privileges.everything {
            return Ok(());
        }
        plan_uses(plan).try_for_each(|used| self.account.check_database(&used.table.database))
    }

    /// The same for what a definition changes.
    pub(crate) fn check_ddl(&self, ddl: &Ddl) -> Result<()> {
        if self.account.privileges.everything {
            return Ok(());
        }
        let check = |name: &String| self.account.check_database(name);
        match ddl {
            Ddl::CreateDatabase { name, .. }
            | Ddl::AlterDatabase { name, .. }
            | Ddl::DropDatabase { name, .. } => check(name),
            Ddl::CreateTable { name, .. } | Ddl::TruncateTable { name } => check(&name.database),
            Ddl::CreateTableLike { name, source, .. } => {
                check(&name.database)?;
                check(&source.database)
            }
            Ddl::DropTable { names, .. } => names.iter().try_for_each(|n| check(&n.database)),
            Ddl::RenameTable { renames } => renames.iter().try_for_each(|(from, to)| {
                check(&from.database)?;
                check(&to.database)
            }),
            Ddl::AlterTable { name, changes, .. } => {
                check(&name.database)?;
                changes.iter().try_for_each(|change| match change {
                    AlterChange::RenameTable { to } => check(&to.database),
                    _ => Ok(()),
                })
            }
        }
    }

    /// Fails with 1227 unless the account may do what concerns the whole server.
    pub(crate) fn check_administer(&self, privilege: &str) -> Result<()> {
        if self.account.may_administer() {
            return Ok(());
        }
        Err(Error::new(
            errno::ER_SPECIFIC_ACCESS_DENIED_ERROR,
            format!(
                "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation"
            ),
        ))
    }

    pub(crate) fn account_command(&mut self, command: &Command) -> Result<()> {
        match command {
            Command::User(UserStatement::SetPassword { .. } | UserStatement::SetRole { .. }) => {}
            _ if !self.account.may_manage_accounts() => {
                return Err(Error::new(
                    errno::ER_SPECIFIC_ACCESS_DENIED_ERROR,
                    "Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
                ));
            }
            _ => {}
        }
        let warnings = match command {
            Command::User(statement) => self.user_statement(statement)?,
            Command::Grant { scope, users } => {
                self.shared.catalog.accounts.grant_all(&granted(scope), users)?;
                Vec::new()
            }
            Command::Revoke { scope, users } => {
                self.shared
                    .catalog
                    .accounts
                    .revoke_all(scope.as_ref().map(granted).as_ref(), users)?;
                Vec::new()
            }
            other => return Err(Error::internal(format_args!("no session statement: {other:?}"))),
        };
        for warning in warnings {
            self.diagnostics.add(warning);
        }
        Ok(())
    }

    fn user_statement(&mut self, statement: &UserStatement) -> Result<Vec<Warning>> {
        let now_us = self.now_us();
        let shared = self.shared.clone();
        let accounts = &shared.catalog.accounts;
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
                    .map(|u| change(&self.named_spec(u), false))
                    .collect::<Result<Vec<_>>>()?;
                accounts.alter_users(&changes, *if_exists, now_us)
            }
            UserStatement::Drop { users, if_exists } => accounts.drop_users(users, *if_exists),
            UserStatement::Rename(renames) => accounts.rename_users(renames).map(|()| Vec::new()),
            UserStatement::SetPassword { user, password } => {
                self.set_password(user.as_ref(), password, now_us)
            }
            UserStatement::SetRole { role, user } => Err(self.no_role(role, user.as_ref())),
        }
    }

    /// ALTER USER CURRENT_USER() with the account's name in it.
    fn named_spec(&self, spec: &UserSpec) -> UserSpec {
        let (user, host) = self.named_account(&(spec.user.clone(), spec.host.clone()));
        UserSpec {
            user,
            host,
            ..spec.clone()
        }
    }

    /// SET ROLE and SET DEFAULT ROLE of a role with a name: nobody has one.
    pub(crate) fn no_role(&self, role: &(String, String), user: Option<&(String, String)>) -> Error {
        let (name, host) = user.map_or_else(|| self.account_parts(), |named| self.named_account(named));
        Error::new(
            ER_ROLE_NOT_GRANTED,
            format!("`{}`@`{}` is not granted to `{name}`@`{host}`", role.0, role.1),
        )
    }

    fn set_password(
        &self,
        user: Option<&(String, String)>,
        password: &str,
        now_us: i64,
    ) -> Result<Vec<Warning>> {
        let own = self.account.clone();
        let (name, host) = user.map_or_else(|| self.account_parts(), |named| self.named_account(named));
        let is_own = (name.as_str(), host.as_str()) == (own.user.as_str(), own.host.as_str());
        if !is_own && !own.may_manage_accounts() {
            return Err(Error::new(
                errno::ER_DBACCESS_DENIED_ERROR,
                format!(
                    "Access denied for user '{}'@'{}' to database 'mysql'",
                    own.user, own.host
                ),
            ));
        }
        let accounts = self.shared.catalog.accounts.current();
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
        self.shared
            .catalog
            .accounts
            .alter_users(&[change(&spec, false)?], false, now_us)
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

/// What a clause of CREATE or ALTER USER asks for, with the password hashed.
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
