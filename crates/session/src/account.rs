//! Accounts: CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT and REVOKE; and what an account may do.
//!
//! The model is coarse and honest: an account has all privileges on everything, or on named databases, or none.
//! `catalog::accounts` keeps it.

use std::sync::Arc;

use catalog::accounts::change::AccountChange;
use catalog::accounts::{Account, CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD};
use catalog::definition::UserSpec;
use planner::command::Command;
use types::{Error, Result, errno};

use crate::session::Session;

impl Session {
    /// The account this session works under, as it is now.
    pub(crate) fn account(&self) -> Result<Arc<Account>> {
        let (user, host) = self.account_parts();
        let accounts = self.shared.catalog.accounts();
        accounts.get(&user, &host).cloned().ok_or_else(|| {
            Error::new(
                errno::ER_ACCESS_DENIED_ERROR,
                format!("Access denied for user '{}'@'{}' (the account has been dropped)", user, host),
            )
        })
    }

    pub(crate) fn account_command(&mut self, command: &Command) -> Result<()> {
        let now_us = self.now_us();
        let catalog = self.shared.catalog.clone();
        if !matches!(command, Command::SetPassword { .. }) && !self.account()?.privileges.may_manage_accounts() {
            return Err(Error::new(
                errno::ER_SPECIFIC_ACCESS_DENIED_ERROR,
                "Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
            ));
        }
        self.commit_transaction()?;
        let warnings = match command {
            Command::CreateUser { users, if_not_exists } => {
                let changes = users.iter().map(|u| change(u, true)).collect::<Result<Vec<_>>>()?;
                catalog.create_users(&changes, *if_not_exists, now_us)?
            }
            Command::AlterUser { users, if_exists } => {
                let changes = users.iter().map(|u| change(u, false)).collect::<Result<Vec<_>>>()?;
                catalog.alter_users(&changes, *if_exists, now_us)?
            }
            Command::DropUser { users, if_exists } => catalog.drop_users(users, *if_exists)?,
            Command::RenameUser { renames } => {
                catalog.rename_users(renames)?;
                Vec::new()
            }
            Command::Grant { scope, users } => {
                catalog.grant_all(scope, users)?;
                Vec::new()
            }
            Command::Revoke { scope, users } => {
                catalog.revoke_all(scope.as_ref(), users)?;
                Vec::new()
            }
            Command::SetPassword { user, password } => self.set_password(user.as_ref(), password, now_us)?,
            other => return Err(Error::internal(format_args!("no session statement: {other:?}"))),
        };
        for warning in warnings {
            self.diagnostics.add(warning);
        }
        Ok(())
    }

    fn set_password(
        &self,
        user: Option<&(String, String)>,
        password: &str,
        now_us: i64,
    ) -> Result<Vec<types::Warning>> {
        let own = self.account()?;
        let (name, host) = user.cloned().unwrap_or_else(|| self.account_parts());
        let is_own = (name.as_str(), host.as_str()) == (own.user.as_str(), own.host.as_str());
        if !is_own && !own.privileges.may_manage_accounts() {
            return Err(Error::new(
                errno::ER_DBACCESS_DENIED_ERROR,
                format!("Access denied for user '{}'@'{}' to database 'mysql'", own.user, own.host),
            ));
        }
        let plugin = self.shared.catalog.accounts().get(&name, &host).map(|a| a.plugin.clone());
        let spec = UserSpec {
            user: name,
            host,
            plugin,
            password: Some(password.to_owned()),
            ..UserSpec::default()
        };
        self.shared.catalog.alter_users(&[change(&spec, false)?], false, now_us)
    }
}

/// What a clause of CREATE or ALTER USER asks for, with the password hashed.
fn change(spec: &UserSpec, new: bool) -> Result<AccountChange> {
    let plugin = spec.plugin.as_deref().unwrap_or(CACHING_SHA2_PASSWORD);
    if plugin != CACHING_SHA2_PASSWORD && plugin != MYSQL_NATIVE_PASSWORD {
        return Err(Error::new(errno::ER_PLUGIN_IS_NOT_LOADED, format!("Plugin '{plugin}' is not loaded")));
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
    Err(Error::new(1827, "The password hash doesn't have the expected format."))
}
