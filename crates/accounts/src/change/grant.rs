//! GRANT and REVOKE of privileges.

use schema::definition::TableName;
use schema::privilege::{GrantLevel, PrivilegeGrant, PrivilegeSet};
use types::{Error, Result, Warning, errno};

use super::{Draft, Leniency, key, unknown_user};
use crate::account::{Account, AccountName};
use crate::privileges::Privileges;
use crate::store::AccountStore;

const ER_REVOKE_GRANTS: u16 = 1269;

/// What a grant does to the privileges of one account.
trait Applied {
    fn give(&self, to: &mut Privileges, by: (&str, i64));
    fn take(&self, from: &mut Privileges) -> bool;
    fn nothing_to_revoke(&self, of: &AccountName) -> Error;
}

impl Applied for PrivilegeGrant {
    fn give(&self, to: &mut Privileges, (grantor, now_us): (&str, i64)) {
        let wanted = self.wanted();
        match &self.level {
            GrantLevel::Global => {
                // Dynamic privileges have grant options of their own.
                let only_dynamic = wanted == PrivilegeSet::GRANT && !self.dynamic.is_empty();
                if !only_dynamic {
                    to.global |= wanted;
                }
                let with_option = wanted.contains(PrivilegeSet::GRANT);
                for name in self.wanted_dynamic() {
                    *to.dynamic.entry(name.to_owned()).or_default() |= with_option;
                }
            }
            GrantLevel::Database(name) => *to.on_databases.entry(name.clone()).or_default() |= wanted,
            GrantLevel::Table(TableName {
                database,
                name: table,
            }) => {
                let of_table = to.table_mut(database, table);
                of_table.table |= wanted;
                for (column, privileges) in &self.columns {
                    *of_table.columns.entry(column.clone()).or_default() |= *privileges;
                }
                grantor.clone_into(&mut of_table.grantor);
                of_table.granted_us = now_us;
            }
        }
        to.tidy();
    }

    /// Whether there was anything of the kind to take. ALL ON *.* takes what is granted on any level.
    fn take(&self, from: &mut Privileges) -> bool {
        let wanted = self.wanted();
        let found = match &self.level {
            GrantLevel::Global if self.all => {
                *from = Privileges::default();
                true
            }
            GrantLevel::Global => {
                from.global -= wanted;
                for name in self.wanted_dynamic() {
                    from.dynamic.remove(name);
                }
                true
            }
            GrantLevel::Database(name) => match from.on_databases.get_mut(name) {
                Some(privileges) => {
                    *privileges -= wanted;
                    true
                }
                None => false,
            },
            GrantLevel::Table(TableName {
                database,
                name: table,
            }) => {
                let known = from
                    .on_tables
                    .get_mut(database)
                    .and_then(|tables| tables.get_mut(table));
                match known {
                    Some(of_table) => {
                        of_table.table -= wanted;
                        // A privilege on the table that is revoked is revoked on its columns, too.
                        for privileges in of_table.columns.values_mut() {
                            *privileges -= wanted;
                        }
                        for (column, revoked) in &self.columns {
                            if let Some(privileges) = of_table.columns.get_mut(column) {
                                *privileges -= *revoked;
                            }
                        }
                        true
                    }
                    None => false,
                }
            }
        };
        from.tidy();
        found
    }

    fn nothing_to_revoke(&self, (user, host): &AccountName) -> Error {
        match &self.level {
            GrantLevel::Table(TableName { name: table, .. }) => Error::new(
                errno::ER_NONEXISTING_TABLE_GRANT,
                format!(
                    "There is no such grant defined for user '{user}' on host '{host}' on table '{table}'"
                ),
            ),
            _ => no_such_grant(user, host),
        }
    }
}

fn no_such_grant(user: &str, host: &str) -> Error {
    Error::new(
        errno::ER_NONEXISTING_GRANT,
        format!("There is no such grant defined for user '{user}' on host '{host}'"),
    )
}

impl AccountStore {
    /// `GRANT ... ON ... TO ...`. `grantor`: `user@host`; `now_us`: microseconds since 1970.
    ///
    /// # Errors
    /// 1410 when an account does not exist.
    pub fn grant(
        &self,
        grant: &PrivilegeGrant,
        users: &[AccountName],
        (grantor, now_us): (&str, i64),
    ) -> Result<()> {
        self.change("GRANT", |draft| {
            for name in users {
                let account = draft.get_mut(name).ok_or_else(|| {
                    Error::new(
                        errno::ER_CANT_CREATE_USER_WITH_GRANT,
                        "You are not allowed to create a user with GRANT",
                    )
                })?;
                grant.give(&mut account.privileges, (grantor, now_us));
            }
            Ok(())
        })?;
        Ok(())
    }

    /// `REVOKE ... ON ... FROM ...`.
    ///
    /// # Errors
    /// 1141 (of a table 1147) when an account does not exist or has nothing of the kind.
    pub fn revoke(
        &self,
        revoked: &PrivilegeGrant,
        users: &[AccountName],
        leniency: Leniency,
    ) -> Result<Vec<Warning>> {
        self.change("REVOKE", |draft| {
            for name in users {
                let Some(account) = known_account(draft, name, leniency) else {
                    match leniency.ignore_unknown {
                        true => continue,
                        false => return Err(no_such_grant(&name.0, &name.1)),
                    }
                };
                if revoked.take(&mut account.privileges) {
                    continue;
                }
                let error = revoked.nothing_to_revoke(name);
                match leniency.if_exists {
                    true => draft.warnings.push(Warning::warning(error.code, error.message)),
                    false => return Err(error),
                }
            }
            Ok(())
        })
    }

    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ...`.
    ///
    /// # Errors
    /// 1269 when an account does not exist.
    pub fn revoke_everything(&self, users: &[AccountName], leniency: Leniency) -> Result<Vec<Warning>> {
        self.change("REVOKE", |draft| {
            for name in users {
                match known_account(draft, name, leniency) {
                    Some(account) => account.privileges = Privileges::default(),
                    None if leniency.ignore_unknown => {}
                    None => {
                        return Err(Error::new(
                            ER_REVOKE_GRANTS,
                            "Can't revoke all privileges for one or more of the requested users",
                        ));
                    }
                }
            }
            Ok(())
        })
    }
}

/// The account, or a warning where the statement ignores unknown ones.
fn known_account<'d>(
    draft: &'d mut Draft,
    name: &AccountName,
    leniency: Leniency,
) -> Option<&'d mut Account> {
    let name_of = key(&name.0, &name.1);
    if leniency.ignore_unknown && !draft.accounts.contains_key(&name_of) {
        draft.warnings.push(unknown_user(name));
    }
    draft.accounts.get_mut(&name_of)
}
