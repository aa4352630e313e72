//! What roles add to an account.

use std::collections::BTreeSet;

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
