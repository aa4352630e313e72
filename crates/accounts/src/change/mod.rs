//! Statements about accounts: [`users`], [`grant`], [`role`]. Each takes effect as a whole or not at all.

mod grant;
mod role;
mod users;

use std::collections::BTreeMap;

use cluster::meta::{Meta, keys, read_all};
use kv::Durability;
use types::{Error, Result, Warning, errno};

use crate::account::{Account, AccountName, quoted_name};
use crate::store::{AccountStore, Accounts};

pub use grant::Grantor;
pub use role::not_granted;
pub use users::{AccountChange, NewPassword, SecondPassword};

const ER_NOT_VALID_PASSWORD: u16 = 1819;
const ER_USER_DOES_NOT_EXIST: u16 = 3162;

/// What REVOKE does where there is nothing to revoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leniency {
    /// IF EXISTS: what is not granted is a warning.
    pub if_exists: bool,
    /// IGNORE UNKNOWN USER.
    pub ignore_unknown: bool,
}

/// The accounts as a statement changes them.
struct Draft {
    accounts: BTreeMap<AccountName, Account>,
    /// Names the statement failed for.
    failed: Vec<String>,
    warnings: Vec<Warning>,
    /// The roles that all accounts have.
    mandatory: Vec<AccountName>,
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

    fn get_mut(&mut self, name: &AccountName) -> Option<&mut Account> {
        self.accounts.get_mut(&key(&name.0, &name.1))
    }
}

fn key(user: &str, host: &str) -> AccountName {
    (user.to_owned(), host.to_ascii_lowercase())
}

/// Runs one statement and stores its result in one transaction. New connections see it from then on.
fn run(
    store: &AccountStore,
    statement: &str,
    change: impl FnOnce(&mut Draft) -> Result<()>,
) -> Result<Vec<Warning>> {
    let _changing = store.changing.lock();
    let mut txn = Meta::begin(&store.store)?;
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
        mandatory: store.mandatory_roles(),
    };
    change(&mut draft)?;
    if !draft.failed.is_empty() {
        return Err(Error::new(
            errno::ER_CANNOT_USER,
            format!("Operation {statement} failed for {}", draft.failed.join(",")),
        ));
    }
    if store.requires_passwords() {
        refuse_open(&before, &draft.accounts)?;
    }
    put_accounts(&mut meta, &before, &draft.accounts)?;
    meta.put_counter(keys::accounts_version(), version + 1)?;
    txn.commit(Durability::Sync)?;
    store.install(Accounts::new(draft.accounts.into_values()));
    Ok(draft.warnings)
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

/// What IGNORE UNKNOWN USER warns of.
fn unknown_user((user, _): &AccountName) -> Warning {
    Warning::warning(
        ER_USER_DOES_NOT_EXIST,
        format!("Authorization ID {user} does not exist."),
    )
}
