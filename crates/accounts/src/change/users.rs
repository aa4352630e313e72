//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, CREATE and DROP ROLE.

use types::{Error, Result, Warning};

use super::{ER_USER_DOES_NOT_EXIST, key, run};
use crate::account::{Account, AccountName};
use crate::options::{OptionChanges, PastPassword};
use crate::store::AccountStore;

const ER_RENAME_ROLE: u16 = 3532;

const ER_USER_ALREADY_EXISTS: u16 = 3163;

const ER_CREDENTIALS_CONTRADICT_TO_HISTORY: u16 = 3638;
const ER_SECOND_PASSWORD_CANNOT_BE_EMPTY: u16 = 3878;
const ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE: u16 = 3894;
const ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED: u16 = 3895;

/// A password as the statement has it, for the account's history.
#[derive(Debug, Clone)]
pub struct NewPassword {
    pub text: String,
    /// Whether a plugin's stored form is that of a password.
    pub is_stored_form_of: fn(plugin: &str, stored: &str, password: &[u8]) -> bool,
    /// `@@password_history` and `@@password_reuse_interval`.
    pub defaults: (u16, u16),
}

/// What a statement does to an account's second password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondPassword {
    #[default]
    Keep,
    /// What was the password becomes it.
    Retain,
    Discard,
}

/// What CREATE USER or ALTER USER says about an account. ALTER USER does not change what is `None`.
#[derive(Debug, Clone, Default)]
pub struct AccountChange {
    pub user: String,
    pub host: String,
    /// Plugin and authentication string (a finished hash, or empty for no password).
    pub authentication: Option<(String, String)>,
    /// `None` if the statement has a hash.
    pub new_password: Option<NewPassword>,
    pub second_password: SecondPassword,
    pub options: OptionChanges,
    pub locked: Option<bool>,
    /// DEFAULT ROLE: names, of roles that have been granted to the account or, in CREATE USER, are granted to
    /// it.
    pub default_roles: Option<Vec<AccountName>>,
}

impl AccountChange {
    /// Everything but the roles.
    fn apply(&self, account: &mut Account, now_us: i64) -> Result<()> {
        let unlocks = self.locked == Some(false);
        account.options.change(&self.options, unlocks, now_us)?;
        account.locked = self.locked.unwrap_or(account.locked);
        if let Some((plugin, authentication)) = &self.authentication {
            self.change_password(account, (plugin, authentication), now_us)?;
        }
        if self.second_password == SecondPassword::Discard {
            account.options.second_authentication.clear();
        }
        account.password_expired |= self.options.expires_now;
        Ok(())
    }

    /// # Errors
    /// 3638 for a password that the account has had, 3878, 3894 and 3895 if the current one cannot be
    /// retained.
    fn change_password(
        &self,
        account: &mut Account,
        (plugin, authentication): (&str, &str),
        now_us: i64,
    ) -> Result<()> {
        let changes_plugin = account.plugin != plugin;
        let second = match self.second_password {
            SecondPassword::Retain => {
                check_retained(account, authentication.is_empty(), changes_plugin)?;
                account.authentication.clone()
            }
            SecondPassword::Keep if !changes_plugin && !authentication.is_empty() => {
                account.options.second_authentication.clone()
            }
            SecondPassword::Keep | SecondPassword::Discard => String::new(),
        };
        if let Some(new) = &self.new_password {
            let password = PastPassword {
                plugin: plugin.to_owned(),
                authentication: authentication.to_owned(),
                set_us: now_us,
            };
            // As in MySQL, the passwords of another plugin do not count.
            let is_same = |past: &PastPassword| {
                past.plugin == plugin
                    && (new.is_stored_form_of)(plugin, &past.authentication, new.text.as_bytes())
            };
            if !account.options.remember(password, new.defaults, is_same) {
                return Err(Error::new(
                    ER_CREDENTIALS_CONTRADICT_TO_HISTORY,
                    format!(
                        "Cannot use these credentials for '{}@{}' because they contradict the password history policy",
                        account.user, account.host
                    ),
                ));
            }
        }
        account.options.second_authentication = second;
        plugin.clone_into(&mut account.plugin);
        authentication.clone_into(&mut account.authentication);
        account.password_changed_us = now_us;
        account.password_expired = false;
        Ok(())
    }
}

fn check_retained(account: &Account, is_empty: bool, changes_plugin: bool) -> Result<()> {
    let name = account.name();
    let refused = |code, message| Err(Error::new(code, message));
    if is_empty {
        return refused(
            ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED,
            format!("Current password can not be retained for user {name} because new password is empty."),
        );
    }
    if changes_plugin {
        return refused(
            ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE,
            format!(
                "Current password can not be retained for user {name} because authentication plugin is being changed."
            ),
        );
    }
    if !account.has_password() {
        return refused(
            ER_SECOND_PASSWORD_CANNOT_BE_EMPTY,
            format!("Empty password can not be retained as second password for user {name}."),
        );
    }
    Ok(())
}

impl AccountStore {
    /// CREATE USER. Accounts start with no privileges. `now_us`: microseconds since 1970.
    ///
    /// # Errors
    /// 1396 naming the accounts that exist already.
    pub fn create_users(
        &self,
        users: &[AccountChange],
        if_not_exists: bool,
        now_us: i64,
    ) -> Result<Vec<Warning>> {
        run(self, "CREATE USER", |draft| {
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
                new.apply(&mut account, now_us)?;
                draft.accounts.insert(key.clone(), account);
                if let Some(roles) = &new.default_roles {
                    draft.require_roles(roles)?;
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
        run(self, "ALTER USER", |draft| {
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
                change.apply(account, now_us)?;
                if let Some(roles) = &change.default_roles {
                    draft.set_default_roles(&(change.user.clone(), change.host.clone()), roles)?;
                }
            }
            Ok(())
        })
    }

    /// CREATE ROLE: accounts that no client can log in to.
    ///
    /// # Errors
    /// 1396 naming the accounts that exist already.
    pub fn create_roles(
        &self,
        roles: &[AccountName],
        if_not_exists: bool,
        now_us: i64,
    ) -> Result<Vec<Warning>> {
        run(self, "CREATE ROLE", |draft| {
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
        run(self, statement, |draft| {
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
    /// 1396 naming old accounts that do not exist, or whose new name does; 3532 for a role that an account has.
    pub fn rename_users(&self, renames: &[(AccountName, AccountName)]) -> Result<()> {
        run(self, "RENAME USER", |draft| {
            for ((user, host), (new_user, new_host)) in renames {
                let to = key(new_user, new_host);
                let taken = draft.accounts.contains_key(&to);
                let from = key(user, host);
                if draft.is_granted(&from) {
                    return Err(Error::new(
                        ER_RENAME_ROLE,
                        "Renaming of a role identifier is forbidden",
                    ));
                }
                match draft.accounts.remove(&from) {
                    Some(mut account) if !taken => {
                        (account.user, account.host) = to.clone();
                        draft.accounts.insert(to, account);
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
