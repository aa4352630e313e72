//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, CREATE and DROP ROLE.

use types::{Error, Result, Warning};

use super::{ER_USER_DOES_NOT_EXIST, key};
use crate::account::{Account, AccountName};
use crate::store::AccountStore;

const ER_WRONG_STRING_LENGTH: u16 = 1470;
const ER_USER_ALREADY_EXISTS: u16 = 3163;

/// What CREATE USER or ALTER USER says about an account. ALTER USER does not change what is `None`.
#[derive(Debug, Clone)]
pub struct AccountChange {
    pub user: String,
    pub host: String,
    /// Plugin and authentication string (a finished hash, or empty for no password).
    pub authentication: Option<(String, String)>,
    pub locked: Option<bool>,
    /// DEFAULT ROLE: names, of roles that have been granted to the account or, in CREATE USER, are granted to it.
    pub default_roles: Option<Vec<AccountName>>,
}

impl AccountStore {
    /// CREATE USER. Accounts start with no privileges. `now_us`: microseconds since 1970.
    ///
    /// # Errors
    /// 1396 naming the accounts that exist already, 1470 for names that are too long.
    pub fn create_users(
        &self,
        users: &[AccountChange],
        if_not_exists: bool,
        now_us: i64,
    ) -> Result<Vec<Warning>> {
        for user in users {
            check_length(&user.user, 32, "user name")?;
            check_length(&user.host, 255, "host name")?;
        }
        self.change("CREATE USER", |draft| {
            for new in users {
                let key = key(&new.user, &new.host);
                if draft.accounts.contains_key(&key) {
                    if if_not_exists {
                        draft.note(ER_USER_ALREADY_EXISTS, &new.user, &key.1, "already exists");
                    } else {
                        draft.fail(&new.user, &key.1);
                    }
                    continue;
                }
                let mut account = Account::new(key.clone(), now_us);
                if let Some((plugin, authentication)) = new.authentication.clone() {
                    account.plugin = plugin;
                    account.authentication = authentication;
                }
                account.locked = new.locked.unwrap_or(false);
                draft.accounts.insert(key.clone(), account);
                if let Some(roles) = &new.default_roles {
                    draft.grant_roles(roles, &key, false)?;
                    draft.set_default_roles(&key, roles)?;
                }
            }
            Ok(())
        })
    }

    /// ALTER USER and SET PASSWORD.
    ///
    /// # Errors
    /// 1396 naming the accounts that do not exist.
    pub fn alter_users(&self, users: &[AccountChange], if_exists: bool, now_us: i64) -> Result<Vec<Warning>> {
        self.change("ALTER USER", |draft| {
            for change in users {
                let Some(account) = draft.accounts.get_mut(&key(&change.user, &change.host)) else {
                    if if_exists {
                        draft.note(
                            ER_USER_DOES_NOT_EXIST,
                            &change.user,
                            &change.host,
                            "does not exist",
                        );
                    } else {
                        draft.fail(&change.user, &change.host);
                    }
                    continue;
                };
                if let Some((plugin, authentication)) = &change.authentication {
                    account.plugin.clone_from(plugin);
                    account.authentication.clone_from(authentication);
                    account.password_changed_us = now_us;
                    account.password_expired = false;
                }
                account.locked = change.locked.unwrap_or(account.locked);
                if let Some(roles) = &change.default_roles {
                    draft.set_default_roles(&(change.user.clone(), change.host.clone()), roles)?;
                }
            }
            Ok(())
        })
    }

    /// CREATE ROLE: accounts that nobody can log in to.
    ///
    /// # Errors
    /// 1396 naming the accounts that exist already, 1470 for names that are too long.
    pub fn create_roles(
        &self,
        roles: &[AccountName],
        if_not_exists: bool,
        now_us: i64,
    ) -> Result<Vec<Warning>> {
        for (user, host) in roles {
            check_length(user, 32, "user name")?;
            check_length(host, 255, "host name")?;
        }
        self.change("CREATE ROLE", |draft| {
            for (user, host) in roles {
                let key = key(user, host);
                if draft.accounts.contains_key(&key) {
                    if if_not_exists {
                        draft.note(ER_USER_ALREADY_EXISTS, user, &key.1, "already exists");
                    } else {
                        draft.fail(user, &key.1);
                    }
                    continue;
                }
                let mut role = Account::new(key.clone(), now_us);
                role.locked = true;
                role.password_expired = true;
                draft.accounts.insert(key, role);
            }
            Ok(())
        })
    }

    /// DROP USER and DROP ROLE (`statement`).
    ///
    /// # Errors
    /// 1396 naming the accounts that do not exist.
    pub fn drop_users(
        &self,
        statement: &str,
        users: &[AccountName],
        if_exists: bool,
    ) -> Result<Vec<Warning>> {
        self.change(statement, |draft| {
            for (user, host) in users {
                let key = key(user, host);
                if draft.accounts.remove(&key).is_some() {
                    draft.forget_role(&key);
                    continue;
                }
                if if_exists {
                    draft.note(ER_USER_DOES_NOT_EXIST, user, host, "does not exist");
                } else {
                    draft.fail(user, host);
                }
            }
            Ok(())
        })
    }

    /// RENAME USER: pairs of old and new names, `(user, host)` each.
    ///
    /// # Errors
    /// 1396 naming old accounts that do not exist, or whose new name does.
    pub fn rename_users(&self, renames: &[(AccountName, AccountName)]) -> Result<()> {
        for (_, (user, host)) in renames {
            check_length(user, 32, "user name")?;
            check_length(host, 255, "host name")?;
        }
        self.change("RENAME USER", |draft| {
            for ((user, host), (new_user, new_host)) in renames {
                let to = key(new_user, new_host);
                let taken = draft.accounts.contains_key(&to);
                let from = key(user, host);
                match draft.accounts.remove(&from) {
                    Some(mut account) if !taken => {
                        (account.user, account.host) = to.clone();
                        draft.accounts.insert(to.clone(), account);
                        draft.rename_role(&from, &to);
                    }
                    Some(account) => {
                        draft.accounts.insert(from, account);
                        draft.fail(user, host);
                    }
                    None => draft.fail(user, host),
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn check_length(text: &str, longest: usize, what: &str) -> Result<()> {
    if text.chars().count() <= longest {
        return Ok(());
    }
    Err(Error::new(
        ER_WRONG_STRING_LENGTH,
        format!("String '{text}' is too long for {what} (should be no longer than {longest})"),
    ))
}
