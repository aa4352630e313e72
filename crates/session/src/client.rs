//! The client of the connection, and its account.

use std::borrow::Cow;
use std::sync::Arc;

use accounts::{Account, AccountName, AccountStore, Accounts, Privileges, names_in_backticks};
use cluster::message::Requester;
use functions::Identity;
use schema::privilege::Privilege;
use schema::view::Definer;
use syntax::ast::Roles;
use types::Result;
use wire::connection::ClientInfo;
use wire::host::{Origin, host_specificity, host_specificity_for_host};

use crate::account_limits::Guard;

/// The dynamic privilege that protects an account from those without it.
pub const SYSTEM_USER: &str = "SYSTEM_USER";

/// See the module. [`crate::privileges`] checks what the account may do.
pub struct Client {
    pub info: ClientInfo,
    /// USER(), CURRENT_USER() and CURRENT_ROLE().
    pub identity: Arc<Identity>,
    pub account: Arc<Account>,
    /// The privileges of the account and of its active roles.
    pub privileges: Arc<Privileges>,
    /// The active roles, without those that they include.
    pub roles: Vec<AccountName>,
    /// For an account with limits or with an expired password.
    pub guard: Option<Box<Guard>>,
    /// The version of the accounts from which the account was read.
    accounts: Arc<Accounts>,
}

impl Client {
    /// `all_roles`: `@@activate_all_roles_on_login`; otherwise the account's default roles are active.
    pub fn new(info: ClientInfo, accounts: &AccountStore, all_roles: bool) -> Self {
        let mut client = Self {
            identity: Arc::new(Identity {
                user: format!("{}@{}", info.user, info.host),
                current_user: info.account.clone(),
                ..Identity::default()
            }),
            info,
            account: Arc::new(Account::none()),
            privileges: Arc::default(),
            roles: Vec::new(),
            guard: None,
            accounts: Arc::default(),
        };
        client.refresh(accounts);
        let roles = match all_roles {
            true => granted_roles(&client.account),
            false => client.account.default_roles.clone(),
        };
        client.activate(roles);
        client
    }

    /// The client's host as SHOW PROCESSLIST shows it: with its port if it uses TCP.
    pub fn host_and_port(info: &ClientInfo) -> String {
        match info.peer {
            Some(peer) => format!("{}:{}", info.host, peer.port()),
            None => info.host.clone(),
        }
    }

    /// Applies the changes that GRANT and ALTER USER have made to the account since the last statement. Returns
    /// whether accounts were changed.
    pub fn refresh(&mut self, accounts: &AccountStore) -> bool {
        if accounts.is_current(&self.accounts) {
            return false;
        }
        let accounts = accounts.current();
        let (user, host) = self.account_parts();
        // As in MySQL, a dropped account keeps its connections, but has no privileges any more.
        self.account = accounts.get(&user, &host).cloned().unwrap_or_else(|| {
            let mut without = Account::clone(&self.account);
            without.privileges = Privileges::default();
            Arc::new(without)
        });
        self.accounts = accounts;
        if let Some(guard) = &mut self.guard {
            guard.refresh(&self.account, cluster::now_us());
        }
        self.apply_privileges();
        true
    }

    /// Makes the privileges and the identity anew, after the account or its active roles have changed.
    fn apply_privileges(&mut self) {
        let origin = Origin::from(self.info.peer);
        let specificity = |host: &str| host_specificity(host, origin);
        let privileges = self
            .accounts
            .privileges_of_client(&self.account, &self.roles, specificity);
        self.privileges = Arc::new(privileges);
        let current_role = match self.roles.as_slice() {
            [] => "NONE".to_owned(),
            roles => names_in_backticks(roles),
        };
        self.identity = Arc::new(Identity {
            current_role,
            reads_files: self.privileges.global.has(Privilege::File),
            sees_roles: self.privileges.has_dynamic("ROLE_ADMIN")
                || self.privileges.global.has(Privilege::Super),
            ..Identity::clone(&self.identity)
        });
    }

    fn activate(&mut self, roles: Vec<AccountName>) {
        self.roles = roles;
        self.apply_privileges();
    }

    /// SET ROLE.
    ///
    /// # Errors
    /// 3530 for a role that the account does not have.
    pub fn set_roles(&mut self, roles: &Roles) -> Result<()> {
        let roles = chosen_roles(&self.account, roles)?;
        self.activate(roles);
        Ok(())
    }

    pub fn has(&self, capability: u32) -> bool {
        self.info.capabilities & capability != 0
    }

    /// User and host of the matching account, separately.
    pub fn account_parts(&self) -> (String, String) {
        match self.info.account.rsplit_once('@') {
            Some((user, host)) => (user.to_owned(), host.to_owned()),
            None => (self.info.account.clone(), String::new()),
        }
    }

    /// The account that a statement names.
    pub fn named_account(&self, (user, host): &(String, String)) -> (String, String) {
        if syntax::ast::is_current_user((user, host)) {
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

    pub fn has_account(&self, user: &str, host: &str) -> bool {
        self.accounts.get(user, host).is_some()
    }

    pub fn is_system_user(&self, user: &str, host: &str) -> bool {
        let account = self.accounts.get(user, host);
        account.is_some_and(|account| account.privileges.has_dynamic(SYSTEM_USER))
    }

    /// Whether it is an account of the client's user, at any host.
    pub fn is_of_own_user(&self, user: &str) -> bool {
        user == self.account.user
    }

    /// The privileges of a view's definer; `None` if the definer does not exist.
    pub fn privileges_of(&self, definer: &Definer) -> Option<Cow<'_, Privileges>> {
        let account = self.accounts.get(&definer.user, &definer.host)?;
        let specificity = |pattern: &str| host_specificity_for_host(pattern, &definer.host);
        Some(self.accounts.privileges_of_definer(account, specificity))
    }

    /// Whether the client may see the connections of a user.
    pub fn may_see_connections_of(&self, user: &str) -> bool {
        self.privileges.global.has(Privilege::Process) || user == self.info.user
    }

    /// The client in a request to other nodes. `administers`: the request may apply to the connections of
    /// other accounts.
    fn requester(&self, administers: bool) -> Requester {
        Requester {
            user: self.info.user.clone(),
            administers,
            is_system_user: self.privileges.has_dynamic(SYSTEM_USER),
        }
    }

    /// The client, in a request to list connections.
    pub fn viewer(&self) -> Requester {
        self.requester(self.privileges.global.has(Privilege::Process))
    }

    /// The client, in a request to end a connection.
    pub fn killer(&self) -> Requester {
        self.requester(self.privileges.administers_connections())
    }
}

fn granted_roles(account: &Account) -> Vec<AccountName> {
    account.roles.iter().map(|role| role.name.clone()).collect()
}

/// The roles of an account that a statement names.
///
/// # Errors
/// As [`check_roles`].
pub fn chosen_roles(account: &Account, roles: &Roles) -> Result<Vec<AccountName>> {
    Ok(match roles {
        Roles::Default => account.default_roles.clone(),
        Roles::None => Vec::new(),
        Roles::All => granted_roles(account),
        Roles::AllExcept(without) => {
            let mut roles = granted_roles(account);
            roles.retain(|role| !without.contains(role));
            roles
        }
        Roles::List(roles) => {
            check_roles(account, roles)?;
            let mut roles = roles.clone();
            roles.sort();
            roles.dedup();
            roles
        }
    })
}

/// Fails with 3530 for a role that the account does not have.
pub fn check_roles(account: &Account, roles: &[AccountName]) -> Result<()> {
    match roles.iter().find(|role| !account.has_role(role)) {
        None => Ok(()),
        Some(role) => {
            let of = (account.user.clone(), account.host.clone());
            Err(accounts::change::not_granted(role, &of))
        }
    }
}
