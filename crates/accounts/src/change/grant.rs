//! GRANT and REVOKE of privileges.

use std::collections::BTreeMap;

use schema::definition::TableName;
use schema::privilege::{GrantLevel, PrivilegeGrant, PrivilegeSet};
use types::{Error, Result, Warning, errno};

use super::{Draft, Leniency, key, run, unknown_user};
use crate::account::{Account, AccountName};
use crate::pattern::{escaped, plain_name};
use crate::privileges::Privileges;
use crate::store::AccountStore;

const ER_REVOKE_GRANTS: u16 = 1269;

/// The account that grants, and when.
#[derive(Debug, Clone, Copy)]
pub struct Grantor<'a> {
    /// `user@host`.
    pub name: &'a str,
    /// Microseconds since 1970.
    pub now_us: i64,
    /// Its own: what it grants on `*.*` comes with them.
    pub restrictions: &'a BTreeMap<String, PrivilegeSet>,
    /// `@@partial_revokes`
    pub partial_revokes: bool,
}

/// What a grant does to the privileges of one account.
trait Applied {
    fn give(&self, to: &mut Privileges, by: Grantor<'_>);
    /// `partial_revokes`: what an account has ON *.* is taken back for one database by a restriction.
    fn take(&self, from: &mut Privileges, partial_revokes: bool) -> bool;
    fn nothing_to_revoke(&self, of: &AccountName) -> Error;
}

impl Applied for PrivilegeGrant {
    fn give(&self, to: &mut Privileges, by: Grantor<'_>) {
        let wanted = self.wanted();
        match &self.level {
            GrantLevel::Global => {
                // Dynamic privileges have grant options of their own.
                let only_dynamic = wanted == PrivilegeSet::GRANT && !self.dynamic.is_empty();
                if !only_dynamic {
                    restrict(to, wanted, by.restrictions);
                    to.global |= wanted;
                }
                let with_option = wanted.contains(PrivilegeSet::GRANT);
                for name in self.wanted_dynamic() {
                    *to.dynamic.entry(name.to_owned()).or_default() |= with_option;
                }
                if self.lists_option {
                    to.dynamic.values_mut().for_each(|option| *option = true);
                }
            }
            GrantLevel::Database(name) => {
                let name = pattern_of(name, by.partial_revokes);
                // What ends a restriction is granted ON *.* already.
                let restricted = plain_name(&name).and_then(|name| to.restrictions.get_mut(&name));
                let lifted = restricted.map_or(PrivilegeSet::NONE, |restricted| {
                    let lifted = *restricted & wanted;
                    *restricted -= lifted;
                    lifted
                });
                *to.on_databases.entry(name).or_default() |= wanted - lifted;
            }
            GrantLevel::Table(TableName {
                database,
                name: table,
            }) => {
                let of_table = to.table_mut(database, table);
                of_table.table |= wanted;
                for (column, privileges) in &self.columns {
                    *of_table.column_mut(column) |= *privileges;
                }
                by.name.clone_into(&mut of_table.grantor);
                of_table.granted_us = by.now_us;
            }
        }
        to.tidy();
    }

    /// Whether there was anything of the kind to take. ALL ON *.* takes what is granted on any level.
    fn take(&self, from: &mut Privileges, partial_revokes: bool) -> bool {
        let wanted = self.wanted();
        let found = match &self.level {
            GrantLevel::Global if self.all => {
                *from = Privileges::default();
                true
            }
            GrantLevel::Global => {
                from.global -= wanted;
                for restricted in from.restrictions.values_mut() {
                    *restricted -= wanted;
                }
                for name in self.wanted_dynamic() {
                    from.dynamic.remove(name);
                }
                true
            }
            GrantLevel::Database(name) => {
                let name = pattern_of(name, partial_revokes);
                let on_database = from.on_databases.get_mut(&name).map(|granted| *granted -= wanted);
                let restricted = wanted & from.global;
                let has_all = self.all || restricted == wanted;
                let is_restricted = partial_revokes && has_all && !restricted.is_empty();
                if is_restricted && let Some(name) = plain_name(&name) {
                    *from.restrictions.entry(name).or_default() |= restricted;
                }
                on_database.is_some() || is_restricted
            }
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
                            *of_table.column_mut(column) -= *revoked;
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

/// What an account gets ON *.* from a grantor with restrictions: they are the account's, too, unless it has the
/// privilege without them.
fn restrict(to: &mut Privileges, wanted: PrivilegeSet, grantors: &BTreeMap<String, PrivilegeSet>) {
    let new = wanted - to.global;
    for (database, restricted) in &mut to.restrictions {
        let of_grantor = grantors.get(database).copied().unwrap_or(PrivilegeSet::NONE);
        *restricted = *restricted & (of_grantor | (to.global - wanted));
    }
    for (database, restricted) in grantors {
        *to.restrictions.entry(database.clone()).or_default() |= *restricted & new;
    }
}

/// A database's name in a grant. Without partial revokes it is a pattern.
fn pattern_of(name: &str, partial_revokes: bool) -> String {
    match partial_revokes {
        true => escaped(&plain_name(name).unwrap_or_else(|| name.to_owned())),
        false => name.to_owned(),
    }
}

fn no_such_grant(user: &str, host: &str) -> Error {
    Error::new(
        errno::ER_NONEXISTING_GRANT,
        format!("There is no such grant defined for user '{user}' on host '{host}'"),
    )
}

impl AccountStore {
    /// `GRANT ... ON ... TO ...`.
    ///
    /// # Errors
    /// 1410 when an account does not exist.
    pub fn grant(&self, grant: &PrivilegeGrant, users: &[AccountName], by: Grantor<'_>) -> Result<()> {
        run(self, "GRANT", |draft| {
            for name in users {
                let account = draft.get_mut(name).ok_or_else(|| {
                    Error::new(
                        errno::ER_CANT_CREATE_USER_WITH_GRANT,
                        "You are not allowed to create a user with GRANT",
                    )
                })?;
                grant.give(&mut account.privileges, by);
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
        partial_revokes: bool,
    ) -> Result<Vec<Warning>> {
        run(self, "REVOKE", |draft| {
            for name in users {
                let Some(account) = known_account(draft, name, leniency) else {
                    match leniency.ignore_unknown {
                        true => continue,
                        false => return Err(revoked.nothing_to_revoke(name)),
                    }
                };
                if revoked.take(&mut account.privileges, partial_revokes) {
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
        run(self, "REVOKE", |draft| {
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
