//! All accounts: the list in memory, and its copy in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use cluster::Cluster;
use cluster::meta::{Meta, keys, read_all, read_counter};
use kv::{Durability, Store};
use parking_lot::Mutex;
use types::{Error, Result};

use crate::account::{Account, AccountName, GrantedRole, name_in_backticks};
use crate::privileges::Privileges;

/// All accounts at one moment, in the order of hosts and users.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    list: Vec<Arc<Account>>,
}

impl Accounts {
    pub(crate) fn new(accounts: impl IntoIterator<Item = Account>) -> Self {
        let mut list: Vec<Arc<Account>> = accounts.into_iter().map(Arc::new).collect();
        list.sort_by(|a, b| (&a.host, &a.user).cmp(&(&b.host, &b.user)));
        Self { list }
    }

    /// The same accounts with these roles, where they exist, and without those that they had so before.
    fn with_mandatory(mut self, roles: &[AccountName]) -> Self {
        let existing: Vec<AccountName> = roles
            .iter()
            .filter(|role| self.get(&role.0, &role.1).is_some())
            .cloned()
            .collect();
        for account in &mut self.list {
            let has_some = account.roles.iter().any(|role| role.mandatory);
            if existing.is_empty() && !has_some {
                continue;
            }
            let account = Arc::make_mut(account);
            account.roles.retain(|role| !role.mandatory);
            for name in &existing {
                let is_itself = (&account.user, &account.host) == (&name.0, &name.1);
                if !is_itself && !account.has_role(name) {
                    account.roles.push(GrantedRole {
                        name: name.clone(),
                        with_admin: false,
                        mandatory: true,
                    });
                }
            }
            account.roles.sort_by(|a, b| a.name.cmp(&b.name));
        }
        self
    }

    /// An account by its exact name.
    pub fn get(&self, user: &str, host: &str) -> Option<&Arc<Account>> {
        self.list
            .iter()
            .find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.list.iter()
    }

    /// Accounts that every client can use: unlocked and without a password.
    pub fn passwordless(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.list.iter().filter(|a| a.is_open())
    }
}

/// The accounts of a store. Nodes that share the store see the changes of the others within a second.
pub struct AccountStore {
    pub(crate) store: Store,
    current: ArcSwap<Accounts>,
    /// Held by the statement that changes accounts.
    pub(crate) changing: Mutex<()>,
    passwords_required: AtomicBool,
    /// `mandatory_roles`: each account has them, without a grant.
    mandatory: Mutex<Vec<AccountName>>,
}

impl AccountStore {
    /// Reads the accounts. In a new store, creates `root@localhost` first, which has all privileges and no
    /// password.
    ///
    /// # Errors
    /// 1105 when a stored account is damaged; those of the store.
    pub fn open(cluster: &Cluster) -> Result<Arc<Self>> {
        let store = cluster.store().clone();
        create_root(&store)?;
        let accounts = Arc::new(Self {
            current: ArcSwap::from_pointee(read(&store)?),
            store,
            changing: Mutex::default(),
            passwords_required: AtomicBool::new(false),
            mandatory: Mutex::default(),
        });
        let changed = Arc::clone(&accounts);
        cluster.watch(keys::accounts_version(), move |_| changed.reload());
        Ok(accounts)
    }

    /// All accounts as they are now.
    pub fn current(&self) -> Arc<Accounts> {
        self.current.load_full()
    }

    /// Whether `seen` is still current. It does not change the reference count, which all statements would
    /// share.
    pub fn is_current(&self, seen: &Arc<Accounts>) -> bool {
        Arc::ptr_eq(&self.current.load(), seen)
    }

    pub(crate) fn install(&self, accounts: Accounts) {
        let accounts = accounts.with_mandatory(&self.mandatory.lock());
        self.current.store(Arc::new(accounts));
    }

    /// Gives all accounts these roles, in place of those of the last call.
    pub fn set_mandatory(&self, roles: Vec<AccountName>) {
        let _changing = self.changing.lock();
        let mut mandatory = self.mandatory.lock();
        if *mandatory == roles {
            return;
        }
        *mandatory = roles;
        let accounts = Accounts::clone(&self.current()).with_mandatory(&mandatory);
        self.current.store(Arc::new(accounts));
    }

    /// Fails with 3628 for a role that all accounts have.
    ///
    /// # Errors
    /// 3628.
    pub fn check_not_mandatory(&self, roles: &[AccountName]) -> Result<()> {
        const ER_MANDATORY_ROLE: u16 = 3628;
        let mandatory = self.mandatory.lock();
        let Some((user, host)) = roles.iter().find(|role| mandatory.contains(role)) else {
            return Ok(());
        };
        let name = name_in_backticks(user, host);
        Err(Error::new(
            ER_MANDATORY_ROLE,
            format!(
                "The role {name} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by \
                 excluding the role identifier from the global variable mandatory_roles."
            ),
        ))
    }

    /// Whether all accounts have the role.
    pub fn is_mandatory(&self, role: &AccountName) -> bool {
        self.mandatory.lock().contains(role)
    }

    pub(crate) fn mandatory_roles(&self) -> Vec<AccountName> {
        self.mandatory.lock().clone()
    }

    /// Another node has changed the accounts.
    ///
    /// # Errors
    /// Those of the store.
    pub fn reload(&self) -> Result<()> {
        let _changing = self.changing.lock();
        self.install(read(&self.store)?);
        Ok(())
    }

    /// From now on no statement may leave an account that every client can use: other machines can reach the
    /// server.
    pub fn require_passwords(&self) {
        self.passwords_required.store(true, Ordering::Relaxed);
    }

    pub(crate) fn requires_passwords(&self) -> bool {
        self.passwords_required.load(Ordering::Relaxed)
    }
}

fn read(store: &Store) -> Result<Accounts> {
    let accounts: Vec<Account> = read_all(&store.latest(), &keys::accounts(), "account")?;
    Ok(Accounts::new(accounts))
}

/// Creates the first account of a new store: one where accounts have never been changed, and none exists.
fn create_root(store: &Store) -> Result<()> {
    let seen = store.latest();
    let is_new = read_counter(&seen, &keys::accounts_version())?.is_none();
    if !is_new || read(store)?.iter().next().is_some() {
        return Ok(());
    }
    let mut txn = Meta::begin(store)?;
    let mut meta = Meta::new(&mut txn);
    let version = meta.lock_counter(&keys::accounts_version())?;
    let key = keys::account("root", "localhost");
    // Another node may have been faster.
    if version.is_some() || kv::Reader::get(&meta.reader(), &key)?.is_some() {
        return Ok(());
    }
    let root = Account {
        privileges: Privileges::everything(true),
        ..Account::new(("root".to_owned(), "localhost".to_owned()), cluster::now_us())
    };
    meta.put(key, &root)?;
    txn.commit(Durability::Sync)?;
    Ok(())
}
