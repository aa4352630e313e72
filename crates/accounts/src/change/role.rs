//! GRANT and REVOKE of roles, SET DEFAULT ROLE.

use types::{Error, Result, Warning};

use super::{Draft, Leniency, key, run, unknown_user};
use crate::account::{AccountName, GrantedRole, name_in_backticks};
use crate::store::{AccountStore, Accounts};

const ER_UNKNOWN_AUTHID: u16 = 3523;
const ER_ROLE_NOT_GRANTED: u16 = 3530;
const ER_ROLE_GRANT_LOOP: u16 = 4027;

impl Draft {
    /// Fails with 3523 for an account or role that does not exist.
    fn require(&self, (user, host): &AccountName) -> Result<()> {
        match self.accounts.contains_key(&key(user, host)) {
            true => Ok(()),
            false => Err(Error::new(
                ER_UNKNOWN_AUTHID,
                format!("Unknown authorization ID {}", name_in_backticks(user, host)),
            )),
        }
    }

    /// Fails with 3162 for a role that does not exist, as CREATE USER says it.
    pub fn require_roles(&self, roles: &[AccountName]) -> Result<()> {
        const ER_USER_DOES_NOT_EXIST: u16 = 3162;
        let is_missing = |role: &&AccountName| !self.accounts.contains_key(&key(&role.0, &role.1));
        match roles.iter().find(is_missing) {
            None => Ok(()),
            Some((user, host)) => Err(Error::new(
                ER_USER_DOES_NOT_EXIST,
                format!(
                    "Authorization ID {} does not exist.",
                    name_in_backticks(user, host)
                ),
            )),
        }
    }

    pub fn grant_roles(&mut self, roles: &[AccountName], to: &AccountName, with_admin: bool) -> Result<()> {
        self.require(to)?;
        for role in roles {
            self.require(role)?;
            let name = key(&role.0, &role.1);
            self.refuse_loop(&name, to)?;
            let Some(account) = self.get_mut(to) else { continue };
            match account.roles.iter_mut().find(|granted| granted.name == name) {
                Some(granted) => granted.with_admin |= with_admin,
                None => account.roles.push(GrantedRole {
                    name,
                    with_admin,
                    mandatory: false,
                }),
            }
            account.roles.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(())
    }

    /// Fails with 4027 if `to` is a role that `role` has, or `role` itself.
    fn refuse_loop(&self, role: &AccountName, to: &AccountName) -> Result<()> {
        let to = key(&to.0, &to.1);
        let accounts = Accounts::new(self.accounts.values().cloned());
        let is_within = accounts
            .get(&role.0, &role.1)
            .is_some_and(|account| accounts.has_role_within(account, &to));
        if *role != to && !is_within {
            return Ok(());
        }
        Err(Error::new(
            ER_ROLE_GRANT_LOOP,
            format!(
                "User account {} is directly or indirectly granted to the role {}. The GRANT would create a loop",
                name_in_backticks(&to.0, &to.1),
                name_in_backticks(&role.0, &role.1)
            ),
        ))
    }

    /// Fails with 3530 for a role that has not been granted to the account.
    pub fn set_default_roles(&mut self, account: &AccountName, roles: &[AccountName]) -> Result<()> {
        let mandatory = std::mem::take(&mut self.mandatory);
        let set = self.set_own_default_roles(account, roles, &mandatory);
        self.mandatory = mandatory;
        set
    }

    fn set_own_default_roles(
        &mut self,
        account: &AccountName,
        roles: &[AccountName],
        mandatory: &[AccountName],
    ) -> Result<()> {
        self.require(account)?;
        let Some(account) = self.get_mut(account) else {
            return Ok(());
        };
        let roles: Vec<AccountName> = roles.iter().map(|(user, host)| key(user, host)).collect();
        if let Some(missing) = roles
            .iter()
            .find(|role| !account.has_role(role) && !mandatory.contains(role))
        {
            return Err(not_granted(
                missing,
                &(account.user.clone(), account.host.clone()),
            ));
        }
        account.default_roles = roles;
        account.default_roles.sort();
        account.default_roles.dedup();
        Ok(())
    }

    /// No account has the role any more: it has been dropped.
    pub fn forget_role(&mut self, role: &AccountName) {
        for account in self.accounts.values_mut() {
            account.roles.retain(|granted| granted.name != *role);
            account.default_roles.retain(|name| name != role);
        }
    }

    /// Whether an account has the role.
    pub fn is_granted(&self, role: &AccountName) -> bool {
        let mut granted = self.accounts.values().flat_map(|account| &account.roles);
        granted.any(|granted| granted.name == *role)
    }
}

/// Error 3530.
pub fn not_granted(role: &AccountName, to: &AccountName) -> Error {
    Error::new(
        ER_ROLE_NOT_GRANTED,
        format!(
            "{} is not granted to {}",
            name_in_backticks(&role.0, &role.1),
            name_in_backticks(&to.0, &to.1)
        ),
    )
}

impl AccountStore {
    /// `GRANT role, ... TO user, ... [WITH ADMIN OPTION]`.
    ///
    /// # Errors
    /// 3523 for a name that does not exist, 4027 if a role would have itself.
    pub fn grant_roles(&self, roles: &[AccountName], to: &[AccountName], with_admin: bool) -> Result<()> {
        run(self, "GRANT", |draft| {
            to.iter()
                .try_for_each(|to| draft.grant_roles(roles, to, with_admin))
        })?;
        Ok(())
    }

    /// `REVOKE [IF EXISTS] role, ... FROM user, ... [IGNORE UNKNOWN USER]`.
    ///
    /// # Errors
    /// 3523 for a name that does not exist.
    pub fn revoke_roles(
        &self,
        roles: &[AccountName],
        from: &[AccountName],
        leniency: Leniency,
    ) -> Result<Vec<Warning>> {
        run(self, "REVOKE", |draft| {
            for account in from {
                if leniency.ignore_unknown && draft.require(account).is_err() {
                    draft.warnings.push(unknown_user(account));
                    continue;
                }
                draft.require(account)?;
                for role in roles {
                    match draft.require(role) {
                        Err(error) if leniency.if_exists => {
                            draft.warnings.push(Warning::warning(error.code, error.message));
                            continue;
                        }
                        other => other?,
                    }
                    let role = key(&role.0, &role.1);
                    if let Some(account) = draft.get_mut(account) {
                        account.roles.retain(|granted| granted.name != role);
                        account.default_roles.retain(|name| *name != role);
                    }
                }
            }
            Ok(())
        })
    }

    /// `SET DEFAULT ROLE ... TO user, ...`; `roles` of `None`: ALL.
    ///
    /// # Errors
    /// 3530 for a role that an account does not have, which may not exist; 3523 for ALL roles of one that does not
    /// exist.
    pub fn set_default_roles(&self, roles: Option<&[AccountName]>, accounts: &[AccountName]) -> Result<()> {
        run(self, "SET DEFAULT ROLE", |draft| {
            for name in accounts {
                match roles {
                    None => draft.require(name)?,
                    Some(_) if draft.get_mut(name).is_some() => {}
                    Some([]) => continue,
                    Some([role, ..]) => return Err(not_granted(&key(&role.0, &role.1), name)),
                }
                let all: Vec<AccountName> = draft
                    .get_mut(name)
                    .map(|account| account.roles.iter().map(|granted| granted.name.clone()).collect())
                    .unwrap_or_default();
                draft.set_default_roles(name, roles.unwrap_or(&all))?;
            }
            Ok(())
        })?;
        Ok(())
    }
}
