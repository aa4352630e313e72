//! What roles add to an account.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::account::{Account, AccountName};
use crate::privileges::Privileges;
use crate::store::Accounts;

impl Accounts {
    /// The privileges of an account while some roles are active: its own, those of the roles, and those of
    /// the roles that have been granted to these roles, and so on. Roles that do not exist any more add
    /// nothing.
    pub fn privileges_with(&self, account: &Account, active: &[AccountName]) -> Privileges {
        let mut privileges = account.privileges.clone();
        for role in self.roles_within(active.iter()) {
            privileges.merge(&role.privileges);
        }
        privileges
    }

    /// [`Accounts::privileges_with`] for a client that has logged in to the account. As long as no role is active, it also has
    /// what has been granted on databases and tables to the same user at other hosts that match the client, and on
    /// databases to the anonymous user: the most specific host that has a grant decides (manual 6.2.7).
    /// `specificity`: how specific a host is for the client, and `None` if it does not match.
    pub fn privileges_of_client<S: Ord>(
        &self,
        account: &Account,
        active: &[AccountName],
        specificity: impl Fn(&str) -> Option<S>,
    ) -> Privileges {
        let mut privileges = self.privileges_with(account, active);
        if !active.is_empty() {
            return privileges;
        }
        let mut others: Vec<_> = self
            .namesakes(account)
            .filter_map(|other| Some((specificity(&other.host)?, other)))
            .collect();
        others.sort_by(|(a, _), (b, _)| b.cmp(a));
        for (_, other) in others {
            privileges.add_absent(&other.privileges, other.user == account.user);
        }
        privileges
    }

    /// The accounts of the same user at other hosts, and of the anonymous user.
    fn namesakes<'a>(&'a self, account: &'a Account) -> impl Iterator<Item = &'a Arc<Account>> {
        self.iter().filter(|other| {
            let is_of_user = other.user == account.user || other.user.is_empty();
            is_of_user && (&other.user, &other.host) != (&account.user, &account.host)
        })
    }

    /// The privileges of an account with its default roles, as if a client logged in to it from a host of that name:
    /// what a view's definer has.
    pub fn privileges_of_definer<'a, S: Ord>(
        &'a self,
        account: &'a Account,
        specificity: impl Fn(&str) -> Option<S>,
    ) -> Cow<'a, Privileges> {
        let roles = &account.default_roles;
        match roles.is_empty() && self.namesakes(account).next().is_none() {
            true => Cow::Borrowed(&account.privileges),
            false => Cow::Owned(self.privileges_of_client(account, roles, specificity)),
        }
    }

    /// The roles that an account may grant while some roles are active: those that it, or an active role, has been granted
    /// WITH ADMIN OPTION.
    pub fn administered_with(&self, account: &Account, active: &[AccountName]) -> Vec<AccountName> {
        let own = account.roles.iter();
        let within = self.roles_within(active.iter()).into_iter();
        let all = own.chain(within.flat_map(|role| &role.roles));
        let administered = all.filter(|granted| granted.with_admin);
        let sorted: BTreeSet<AccountName> = administered.map(|granted| granted.name.clone()).collect();
        sorted.into_iter().collect()
    }

    /// The roles, and the roles that have been granted to them, directly or not.
    fn roles_within<'a>(&'a self, roles: impl Iterator<Item = &'a AccountName>) -> Vec<&'a Account> {
        let mut pending: Vec<&AccountName> = roles.collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(name) = pending.pop() {
            if !seen.insert(name) {
                continue;
            }
            let Some(role) = self.get(&name.0, &name.1) else {
                continue;
            };
            found.push(role.as_ref());
            pending.extend(role.roles.iter().map(|granted| &granted.name));
        }
        found
    }

    /// Whether `role` has been granted to `account`, directly or through another role.
    pub fn has_role_within(&self, account: &Account, role: &AccountName) -> bool {
        let own = account.roles.iter().map(|granted| &granted.name);
        self.roles_within(own)
            .iter()
            .any(|found| (&found.user, &found.host) == (&role.0, &role.1))
    }
}
