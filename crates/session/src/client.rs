//! The client at the other end of the connection, and the account that it works under.

use std::sync::Arc;

use accounts::AccountStore;
use accounts::{Account, Accounts, Privileges};
use cluster::message::Requester;
use planner::object_access::{ObjectAccess, ThroughView};
use schema::view::Definer;
use types::{Error, Result, errno};
use wire::connection::ClientInfo;

use crate::errors;

/// See the module.
pub struct Client {
    pub info: ClientInfo,
    /// USER() and CURRENT_USER().
    pub user: Arc<str>,
    pub current_user: Arc<str>,
    pub account: Arc<Account>,
    /// The list that the account was found in.
    accounts: Arc<Accounts>,
}

impl Client {
    pub fn new(info: ClientInfo, accounts: &AccountStore) -> Self {
        let mut client = Self {
            user: format!("{}@{}", info.user, info.host).into(),
            current_user: info.account.as_str().into(),
            info,
            account: Arc::new(no_account()),
            accounts: Arc::default(),
        };
        client.refresh(accounts);
        client
    }

    /// Where the client is, as SHOW PROCESSLIST has it: with its port, if it came by TCP.
    pub fn host_and_port(info: &ClientInfo) -> String {
        match info.peer {
            Some(peer) => format!("{}:{}", info.host, peer.port()),
            None => info.host.clone(),
        }
    }

    /// Brings the account up to date with what GRANT and ALTER USER have made of it since the last statement.
    pub fn refresh(&mut self, accounts: &AccountStore) {
        if accounts.is_current(&self.accounts) {
            return;
        }
        let accounts = accounts.current();
        let (user, host) = self.account_parts();
        // An account that has been dropped keeps its connections, as in MySQL, but may do nothing more.
        self.account = accounts.get(&user, &host).cloned().unwrap_or_else(|| {
            let mut without = Account::clone(&self.account);
            without.privileges = Privileges::default();
            Arc::new(without)
        });
        self.accounts = accounts;
    }

    pub fn has(&self, capability: u32) -> bool {
        self.info.capabilities & capability != 0
    }

    /// User and host of the account that matched, apart.
    pub fn account_parts(&self) -> (String, String) {
        match self.info.account.rsplit_once('@') {
            Some((user, host)) => (user.to_owned(), host.to_owned()),
            None => (self.info.account.clone(), String::new()),
        }
    }

    /// The account that a statement names; CURRENT_USER() arrives as two empty names.
    pub fn named_account(&self, (user, host): &(String, String)) -> (String, String) {
        if user.is_empty() && host.is_empty() {
            return self.account_parts();
        }
        (user.clone(), host.clone())
    }

    /// The account that a statement names, else the client's own.
    pub fn named_or_own(&self, user: Option<&(String, String)>) -> (String, String) {
        user.map_or_else(|| self.account_parts(), |named| self.named_account(named))
    }

    /// Whether it is the client's own account.
    pub fn is_own(&self, user: &str, host: &str) -> bool {
        (user, host) == (self.account.user.as_str(), self.account.host.as_str())
    }

    /// Fails with 1044 unless the account has the privileges that a plan needs. Accounts have privileges on
    /// whole databases only, so far.
    pub fn check_privileges(&self, accesses: &[ObjectAccess]) -> Result<()> {
        accesses.iter().try_for_each(|access| match &access.through {
            None if access.is_implied => Ok(()),
            None => self.account.check_database(&access.table.database),
            Some(through) => self.check_through(through, access),
        })
    }

    /// What a view's query names is checked for the view's definer, or for the account that uses the view.
    fn check_through(&self, through: &ThroughView, access: &ObjectAccess) -> Result<()> {
        let account = match &through.definer {
            None => &self.account,
            Some(Definer { user, host }) => self
                .accounts
                .get(user, host)
                .ok_or_else(|| errors::no_such_definer(user, host))?,
        };
        match account.may_use(&access.table.database) {
            true => Ok(()),
            false => Err(errors::invalid_view(&through.view)),
        }
    }

    pub fn has_account(&self, user: &str, host: &str) -> bool {
        self.accounts.get(user, host).is_some()
    }

    /// Fails with 1227 unless the account may do what concerns the whole server.
    pub fn check_administer(&self, privilege: &str) -> Result<()> {
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

    /// Whether the client may see and end the connections of a user.
    pub fn may_see_connections_of(&self, user: &str) -> bool {
        self.account.may_administer() || user == self.info.user
    }

    /// The client, as a request to other nodes names it.
    pub fn requester(&self) -> Requester {
        Requester {
            user: self.info.user.clone(),
            administers: self.account.may_administer(),
        }
    }
}

/// Stands in for an account that does not exist.
fn no_account() -> Account {
    Account {
        user: String::new(),
        host: String::new(),
        plugin: String::new(),
        authentication: String::new(),
        locked: true,
        password_changed_us: 0,
        privileges: Privileges::default(),
    }
}
