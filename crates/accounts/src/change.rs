//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT and REVOKE. Each statement takes effect as a
//! whole or not at all.

use std::collections::BTreeMap;

use cluster::meta::{Meta, keys, read_all};
use kv::Durability;
use types::{Error, Result, Warning, errno};

use crate::account::{Account, CACHING_SHA2_PASSWORD, Privileges, quoted_name};
use crate::store::{AccountStore, Accounts};

const ER_WRONG_STRING_LENGTH: u16 = 1470;
const ER_REVOKE_GRANTS: u16 = 1269;
const ER_NOT_VALID_PASSWORD: u16 = 1819;
const ER_USER_DOES_NOT_EXIST: u16 = 3162;
const ER_USER_ALREADY_EXISTS: u16 = 3163;

/// What CREATE USER or ALTER USER says about an account. ALTER USER does not change what is `None`.
#[derive(Debug, Clone)]
pub struct AccountChange {
    pub user: String,
    pub host: String,
    /// Plugin and authentication string (a finished hash, or empty for no password).
    pub authentication: Option<(String, String)>,
    pub locked: Option<bool>,
}

/// What GRANT ALL gives and REVOKE ALL takes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantScope {
    /// `*.*`
    Everything { grant_option: bool },
    /// `db.*`
    Database(String),
}

/// User and host.
pub type AccountName = (String, String);

/// The accounts as a statement changes them.
struct Draft {
    accounts: BTreeMap<AccountName, Account>,
    /// Names the statement failed for.
    failed: Vec<String>,
    warnings: Vec<Warning>,
}

impl Draft {
    fn fail(&mut self, user: &str, host: &str) {
        self.failed.push(quoted_name(user, host));
    }

    fn note(&mut self, code: u16, user: &str, host: &str, what: &str) {
        let name = quoted_name(user, host);
        self.warnings
            .push(Warning::note(code, format!("Authorization ID {name} {what}.")));
    }
}

fn key(user: &str, host: &str) -> AccountName {
    (user.to_owned(), host.to_ascii_lowercase())
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
                let (plugin, authentication) = new
                    .authentication
                    .clone()
                    .unwrap_or_else(|| (CACHING_SHA2_PASSWORD.to_owned(), String::new()));
                let account = Account {
                    user: key.0.clone(),
                    host: key.1.clone(),
                    plugin,
                    authentication,
                    locked: new.locked.unwrap_or(false),
                    password_changed_us: now_us,
                    privileges: Privileges::default(),
                };
                draft.accounts.insert(key, account);
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
                }
                account.locked = change.locked.unwrap_or(account.locked);
            }
            Ok(())
        })
    }

    /// DROP USER.
    ///
    /// # Errors
    /// 1396 naming the accounts that do not exist.
    pub fn drop_users(&self, users: &[AccountName], if_exists: bool) -> Result<Vec<Warning>> {
        self.change("DROP USER", |draft| {
            for (user, host) in users {
                if draft.accounts.remove(&key(user, host)).is_some() {
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

    /// `GRANT ALL [PRIVILEGES] ON *.* | db.* TO ...`.
    ///
    /// # Errors
    /// 1410 when an account does not exist.
    pub fn grant_all(&self, scope: &GrantScope, users: &[AccountName]) -> Result<()> {
        self.change("GRANT", |draft| {
            for (user, host) in users {
                let account = draft.accounts.get_mut(&key(user, host)).ok_or_else(|| {
                    Error::new(
                        errno::ER_CANT_CREATE_USER_WITH_GRANT,
                        "You are not allowed to create a user with GRANT",
                    )
                })?;
                match scope {
                    GrantScope::Everything { grant_option } => {
                        account.privileges.everything = true;
                        account.privileges.grant_option |= grant_option;
                    }
                    GrantScope::Database(database) => {
                        account.privileges.databases.insert(database.clone());
                    }
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// `REVOKE ALL [PRIVILEGES] ON *.* | db.* FROM ...`; `None`: `REVOKE ALL PRIVILEGES, GRANT OPTION FROM
    /// ...`.
    ///
    /// # Errors
    /// 1269 when an account does not exist, 1141 when it has nothing of the kind.
    pub fn revoke_all(&self, scope: Option<&GrantScope>, users: &[AccountName]) -> Result<()> {
        self.change("REVOKE", |draft| {
            for (user, host) in users {
                let account = draft.accounts.get_mut(&key(user, host)).ok_or_else(|| {
                    Error::new(
                        ER_REVOKE_GRANTS,
                        "Can't revoke all privileges for one or more of the requested users",
                    )
                })?;
                match scope {
                    None => account.privileges = Privileges::default(),
                    Some(GrantScope::Everything { grant_option }) => {
                        account.privileges.everything = false;
                        account.privileges.grant_option &= !grant_option;
                    }
                    Some(GrantScope::Database(database)) => {
                        if !account.privileges.databases.remove(database) {
                            return Err(Error::new(
                                errno::ER_NONEXISTING_GRANT,
                                format!("There is no such grant defined for user '{user}' on host '{host}'"),
                            ));
                        }
                    }
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Runs one statement and stores its result in one transaction. New connections see it from then on.
    fn change(&self, statement: &str, change: impl FnOnce(&mut Draft) -> Result<()>) -> Result<Vec<Warning>> {
        let _changing = self.changing.lock();
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        // Read from the store, since another node may have changed the accounts. The lock keeps them as they
        // are.
        let version = meta.lock_counter(&keys::accounts_version())?.unwrap_or(0);
        let accounts: Vec<Account> = read_all(&meta.reader(), &keys::accounts(), "account")?;
        let before: BTreeMap<_, _> = accounts.into_iter().map(|a| (key(&a.user, &a.host), a)).collect();
        let mut draft = Draft {
            accounts: before.clone(),
            failed: Vec::new(),
            warnings: Vec::new(),
        };
        change(&mut draft)?;
        if !draft.failed.is_empty() {
            return Err(Error::new(
                errno::ER_CANNOT_USER,
                format!("Operation {statement} failed for {}", draft.failed.join(",")),
            ));
        }
        if self.requires_passwords() {
            refuse_open(&before, &draft.accounts)?;
        }
        put_accounts(&mut meta, &before, &draft.accounts)?;
        meta.put_counter(keys::accounts_version(), version + 1)?;
        txn.commit(Durability::Sync)?;
        self.install(Accounts::new(draft.accounts.into_values()));
        Ok(draft.warnings)
    }
}

/// Fails with 1819 if the statement leaves an account without a password that was not so before.
fn refuse_open(
    before: &BTreeMap<AccountName, Account>,
    after: &BTreeMap<AccountName, Account>,
) -> Result<()> {
    let opened = |(key, account): &(&AccountName, &Account)| {
        account.is_open() && !before.get(*key).is_some_and(Account::is_open)
    };
    let Some((_, account)) = after.iter().find(opened) else {
        return Ok(());
    };
    Err(Error::new(
        ER_NOT_VALID_PASSWORD,
        format!(
            "Your password does not satisfy the current policy requirements: other machines can reach this server, so {} needs \
             a password (IDENTIFIED BY '...') or ACCOUNT LOCK; or start the server on 127.0.0.1",
            account.name()
        ),
    ))
}

/// Stores what has changed.
fn put_accounts(
    meta: &mut Meta,
    before: &BTreeMap<AccountName, Account>,
    after: &BTreeMap<AccountName, Account>,
) -> Result<()> {
    for (user, host) in before.keys().filter(|k| !after.contains_key(*k)) {
        meta.delete(keys::account(user, host))?;
    }
    for (key, account) in after {
        if before.get(key) != Some(account) {
            meta.put(keys::account(&account.user, &account.host), account)?;
        }
    }
    Ok(())
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
