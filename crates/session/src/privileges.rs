//! Checks whether the client's account has the privileges for a statement, with MySQL's errors.

use accounts::Privileges;
use planner::object_access::{ObjectAccess, OneOf, TableNeeds};
use schema::definition::TableName;
use schema::model::{INFORMATION_SCHEMA, Schema};
use schema::privilege::{Privilege, PrivilegeSet};
use types::{Error, Result, errno};

use crate::client::{Client, SYSTEM_USER};
use crate::errors;

const ER_VIEW_NO_EXPLAIN: u16 = 1345;

/// The missing privileges for one use of a table.
enum Missing {
    /// The privileges that error 1142 names.
    Table(String),
    /// On the column at an offset.
    Column(Privilege, usize),
}

impl Client {
    /// Fails with 1142 or 1143 unless the account has the privileges that a plan needs: first those on all of its
    /// tables, then those on their columns.
    pub fn check_privileges(&self, accesses: &[ObjectAccess]) -> Result<()> {
        let own = &self.privileges;
        // The usual case: all that is needed is granted globally, on the database or on the table.
        let is_covered = |access: &ObjectAccess| {
            let table = &access.table;
            let needed = access.everything;
            access.through.is_none()
                && (own.everywhere().contains(needed)
                    || own.of_table(&table.database, &table.name).contains(needed))
        };
        if accesses.iter().all(is_covered) {
            return Ok(());
        }
        self.check_each(accesses, missing_on_table)?;
        self.check_each(accesses, missing_on_columns)
    }

    fn check_each(
        &self,
        accesses: &[ObjectAccess],
        missing: impl Fn(&Privileges, &ObjectAccess) -> Option<Missing>,
    ) -> Result<()> {
        for access in accesses {
            // A session may do everything with its own temporary tables.
            if access.is_implied || access.table.is_temporary() {
                continue;
            }
            let Some(through) = &access.through else {
                match missing(&self.privileges, access) {
                    None => continue,
                    Some(missing) => return Err(self.denied(access, &missing)),
                }
            };
            // Tables in a view's query are checked for the view's definer, or for the account that uses the
            // view.
            let found = match &through.definer {
                None => missing(&self.privileges, access),
                Some(definer) => {
                    let privileges = self
                        .privileges_of(definer)
                        .ok_or_else(|| errors::no_such_definer(&definer.user, &definer.host))?;
                    missing(&privileges, access)
                }
            };
            if found.is_some() {
                return Err(errors::invalid_view(&through.view));
            }
        }
        Ok(())
    }

    /// Fails with 1345 if a plan would show the tables of a view to an account that may not see them.
    pub fn check_explains(&self, accesses: &[ObjectAccess]) -> Result<()> {
        let is_hidden = |access: &ObjectAccess| {
            let table = &access.table;
            let shows_view = table.view.is_none()
                || self
                    .privileges
                    .of_table(&table.database, &table.name)
                    .has(Privilege::ShowView);
            !shows_view || (access.through.is_some() && missing_on_table(&self.privileges, access).is_some())
        };
        match accesses.iter().any(is_hidden) {
            false => Ok(()),
            true => Err(Error::new(
                ER_VIEW_NO_EXPLAIN,
                "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table",
            )),
        }
    }

    /// The error of a foreign key. It does not name the other table to an account without any privilege on
    /// that table.
    #[cold]
    pub fn without_foreign_table(&self, error: Error, accesses: &[ObjectAccess], schema: &Schema) -> Error {
        let (code, message) = match error.code {
            errno::ER_NO_REFERENCED_ROW_2 => (
                errno::ER_NO_REFERENCED_ROW,
                "Cannot add or update a child row: a foreign key constraint fails",
            ),
            errno::ER_ROW_IS_REFERENCED_2 => (
                errno::ER_ROW_IS_REFERENCED,
                "Cannot delete or update a parent row: a foreign key constraint fails",
            ),
            _ => return error,
        };
        let is_hidden = |(database, table): (&str, &str)| !self.privileges.may_see(database, table);
        let written = accesses.iter().filter(|access| !access.is_implied);
        let hides = written.map(|access| &access.table).any(|table| {
            let mut parents = table.foreign_keys.iter().map(|key| &key.parent);
            let mut children = schema.references_to(&table.database, &table.name).iter();
            match code {
                errno::ER_NO_REFERENCED_ROW => {
                    parents.any(|parent| is_hidden((&parent.database, &parent.name)))
                }
                _ => children.any(|key| is_hidden((&key.child.database, &key.child.name))),
            }
        });
        match hides {
            true => Error::new(code, message),
            false => error,
        }
    }

    fn denied(&self, access: &ObjectAccess, missing: &Missing) -> Error {
        let table = &access.table;
        match missing {
            Missing::Table(command) => self.table_denied(command, &table.name),
            Missing::Column(privilege, column) => {
                self.column_denied(*privilege, &table.name, &table.columns[*column].name)
            }
        }
    }

    /// Error 1143.
    pub fn column_denied(&self, privilege: Privilege, table: &str, column: &str) -> Error {
        Error::new(
            errno::ER_COLUMNACCESS_DENIED_ERROR,
            format!(
                "{} command denied to user '{}'@'{}' for column '{column}' in table '{table}'",
                privilege.name(),
                self.account.user,
                self.info.host,
            ),
        )
    }

    /// Error 1143 for a column that was not found, unless the account may read a column of this name.
    pub fn denied_column(&self, database: &str, table: &str, column: &str) -> Option<Error> {
        let granted = self.privileges.of_column(database, table, column);
        (!granted.has(Privilege::Select)).then(|| self.column_denied(Privilege::Select, table, column))
    }

    /// Fails with 1227 if a statement changes an account with SYSTEM_USER and the client does not have
    /// SYSTEM_USER.
    pub fn check_not_above(&self, user: &str, host: &str) -> Result<()> {
        match self.is_system_user(user, host) {
            true => self.check_any(SYSTEM_USER, &[], &[SYSTEM_USER]),
            false => Ok(()),
        }
    }

    /// Fails with 1142 unless the account has the privileges that a statement needs on a table or on one of
    /// its columns. Fails with 1044 for a table that no account may change.
    pub fn check_needs(&self, database: &str, table: &str, needs: TableNeeds) -> Result<()> {
        if database == INFORMATION_SCHEMA && !(needs.all - PrivilegeSet::SELECT).is_empty() {
            return Err(self.account.denied_database(database));
        }
        let on_database = Privilege::CreateTemporaryTables;
        if needs.all.has(on_database) {
            return self.check_on_database(database, on_database);
        }
        match missing_of_needs(&self.privileges, (database, table), needs) {
            None => Ok(()),
            Some(command) if needs.one_of == Some(OneOf::OfViews) => Err(Error::new(
                errno::ER_TABLEACCESS_DENIED_ERROR,
                format!(
                    "{command} command denied to user {} for table '{table}'",
                    self.account.name()
                ),
            )),
            Some(command) => Err(self.table_denied(&command, table)),
        }
    }

    /// Error 1142.
    pub fn table_denied(&self, command: &str, table: &str) -> Error {
        Error::new(
            errno::ER_TABLEACCESS_DENIED_ERROR,
            format!(
                "{command} command denied to user '{}'@'{}' for table '{table}'",
                self.account.user, self.info.host
            ),
        )
    }

    /// Fails with 1142 unless the account may make foreign keys that refer to the table.
    pub fn check_parent(&self, parent: &TableName) -> Result<()> {
        let privileges = self.privileges.of_table(&parent.database, &parent.name);
        match privileges.has(Privilege::References) {
            true => Ok(()),
            false => Err(self.table_denied("REFERENCES", &format!("{}.{}", parent.database, parent.name))),
        }
    }

    /// Fails with 1142 unless the account has all of these privileges on the table or on some of its columns.
    pub fn check_table(&self, name: &TableName, wanted: PrivilegeSet) -> Result<()> {
        if name.database == INFORMATION_SCHEMA && !(wanted - PrivilegeSet::SELECT).is_empty() {
            return Err(self.account.denied_database(&name.database));
        }
        let (database, table) = (name.database.as_str(), name.name.as_str());
        let granted = self.privileges.of_table(database, table) | self.privileges.of_columns(database, table);
        let missing = wanted - granted;
        match missing.is_empty() {
            true => Ok(()),
            false => Err(self.table_denied(&missing.to_string(), &name.name)),
        }
    }

    /// Fails with 1142, which names `command`, unless the account has any privilege on the table.
    pub fn check_sees(&self, database: &str, table: &str, command: &str) -> Result<()> {
        match self.privileges.may_see(database, table) {
            true => Ok(()),
            false => Err(self.table_denied(command, table)),
        }
    }

    /// Fails with 1044 unless the account has any privilege in the database.
    pub fn check_database(&self, database: &str) -> Result<()> {
        match self.privileges.may_enter(database) {
            true => Ok(()),
            false => Err(self.account.denied_database(database)),
        }
    }

    /// Fails with 1044 unless the account has the privilege on the whole database.
    pub fn check_on_database(&self, database: &str, privilege: Privilege) -> Result<()> {
        match self.privileges.of_database(database).has(privilege) {
            true => Ok(()),
            false => Err(self.account.denied_database(database)),
        }
    }

    /// Fails with 1045 unless the account has the global privileges.
    pub fn check_everywhere(&self, wanted: PrivilegeSet) -> Result<()> {
        if self.privileges.global.contains(wanted) {
            return Ok(());
        }
        let using = if self.account.has_password() { "YES" } else { "NO" };
        Err(Error::new(
            errno::ER_ACCESS_DENIED_ERROR,
            format!(
                "Access denied for user {} (using password: {using})",
                self.account.name()
            ),
        ))
    }

    /// Fails with 1227, which names `label`, unless the account has one of these privileges globally.
    pub fn check_any(&self, label: &str, privileges: &[Privilege], dynamic: &[&str]) -> Result<()> {
        let has_static = privileges.iter().any(|one| self.privileges.global.has(*one));
        if has_static || dynamic.iter().any(|one| self.privileges.has_dynamic(one)) {
            return Ok(());
        }
        Err(Error::new(
            errno::ER_SPECIFIC_ACCESS_DENIED_ERROR,
            format!("Access denied; you need (at least one of) the {label} privilege(s) for this operation"),
        ))
    }

    /// Fails with 1227 unless the account may run SET GLOBAL and similar statements.
    pub fn check_sets_global(&self) -> Result<()> {
        self.check_any(
            "SUPER or SYSTEM_VARIABLES_ADMIN",
            &[Privilege::Super],
            &["SYSTEM_VARIABLES_ADMIN"],
        )
    }
}

/// The privileges that error 1142 names if an account lacks those that a statement needs on a table or on one
/// of its columns.
fn missing_of_needs(
    privileges: &Privileges,
    (database, table): (&str, &str),
    needs: TableNeeds,
) -> Option<String> {
    let is_enough = |granted: PrivilegeSet| {
        let one_of = needs.one_of.map(OneOf::privileges);
        granted.contains(needs.all) && one_of.is_none_or(|one| !(granted & one).is_empty())
    };
    if is_enough(privileges.everywhere()) {
        return None;
    }
    let granted = privileges.of_table(database, table) | privileges.of_columns(database, table);
    if is_enough(granted) {
        return None;
    }
    let missing = needs.all - granted;
    match needs.one_of {
        Some(one) if missing.is_empty() => Some(one.command().to_owned()),
        _ => Some(missing.to_string()),
    }
}

fn missing_on_table(privileges: &Privileges, access: &ObjectAccess) -> Option<Missing> {
    let table = &access.table;
    missing_of_needs(privileges, (&table.database, &table.name), access.needs).map(Missing::Table)
}

fn missing_on_columns(privileges: &Privileges, access: &ObjectAccess) -> Option<Missing> {
    let is_granted = |on: PrivilegeSet| access.columns.iter().all(|(_, needed)| on.contains(*needed));
    if is_granted(privileges.everywhere()) {
        return None;
    }
    let table = &access.table;
    let on_table = privileges.of_table(&table.database, &table.name);
    if is_granted(on_table) {
        return None;
    }
    let granted = privileges.on_table(&table.database, &table.name);
    let has = |offset: usize, privilege: Privilege| {
        let name = &table.columns[offset].name;
        on_table.has(privilege) || granted.is_some_and(|granted| granted.of_column(name).has(privilege))
    };
    for (at, (offset, needed)) in access.columns.iter().enumerate() {
        let Some(privilege) = needed.iter().find(|privilege| !has(*offset, *privilege)) else {
            continue;
        };
        // If a statement lists no columns, the error names a column only if nothing was granted on that one and
        // those before it.
        let mut before = access.columns[..at].iter();
        let name = &table.columns[*offset].name;
        let has_some = before.any(|(_, needed)| needed.has(privilege))
            || granted.is_some_and(|granted| !granted.of_column(name).is_empty());
        return Some(match access.on_all_columns.has(privilege) && has_some {
            true => Missing::Table(privilege.name().to_owned()),
            false => Missing::Column(privilege, *offset),
        });
    }
    None
}
