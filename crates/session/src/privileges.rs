//! Whether the client's account may do what a statement does, and MySQL's errors where it may not.

use accounts::Privileges;
use planner::object_access::{ObjectAccess, ThroughView};
use schema::definition::TableName;
use schema::privilege::{Privilege, PrivilegeSet};
use types::{Error, Result, errno};

use crate::client::Client;
use crate::errors;

const ER_COLUMNACCESS_DENIED_ERROR: u16 = 1143;

/// What is missing for one use of a table.
enum Missing {
    Table(PrivilegeSet),
    /// By its offset.
    Column(Privilege, usize),
}

impl Client {
    /// Fails with 1142 or 1143 unless the account has the privileges that a plan needs.
    pub fn check_privileges(&self, accesses: &[ObjectAccess]) -> Result<()> {
        accesses.iter().try_for_each(|access| match &access.through {
            _ if access.is_implied => Ok(()),
            None => match missing(&self.privileges, access) {
                None => Ok(()),
                Some(missing) => Err(self.denied(access, &missing)),
            },
            Some(through) => self.check_through(through, access),
        })
    }

    /// What a view's query names is checked for the view's definer, or for the account that uses the view.
    fn check_through(&self, through: &ThroughView, access: &ObjectAccess) -> Result<()> {
        let missing = match &through.definer {
            None => missing(&self.privileges, access),
            Some(definer) => {
                let privileges = self
                    .privileges_of(definer)
                    .ok_or_else(|| errors::no_such_definer(&definer.user, &definer.host))?;
                missing(&privileges, access)
            }
        };
        match missing {
            None => Ok(()),
            Some(_) => Err(errors::invalid_view(&through.view)),
        }
    }

    fn denied(&self, access: &ObjectAccess, missing: &Missing) -> Error {
        match missing {
            Missing::Table(privileges) => self.table_denied(&privileges.to_string(), &access.table.name),
            Missing::Column(privilege, column) => Error::new(
                ER_COLUMNACCESS_DENIED_ERROR,
                format!(
                    "{} command denied to user '{}'@'{}' for column '{}' in table '{}'",
                    privilege.name(),
                    self.account.user,
                    self.info.host,
                    access.table.columns[*column].name,
                    access.table.name
                ),
            ),
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

    /// Fails with 1142 unless the account has all of these privileges on the whole table.
    pub fn check_table(&self, name: &TableName, wanted: PrivilegeSet) -> Result<()> {
        let missing = wanted - self.privileges.of_table(&name.database, &name.name);
        match missing.is_empty() {
            true => Ok(()),
            false => Err(self.table_denied(&missing.to_string(), &name.name)),
        }
    }

    /// Fails with 1142, which names `command`, unless the account may do anything with the table.
    pub fn check_sees(&self, database: &str, table: &str, command: &str) -> Result<()> {
        match self.privileges.may_see(database, table) {
            true => Ok(()),
            false => Err(self.table_denied(command, table)),
        }
    }

    /// Fails with 1044 unless the account may do anything in the database.
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

    /// Fails with 1227, which names `label`, unless the account has one of these privileges on everything.
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

    /// SET GLOBAL and its like.
    pub fn check_sets_global(&self) -> Result<()> {
        self.check_any(
            "SUPER or SYSTEM_VARIABLES_ADMIN",
            &[Privilege::Super],
            &["SYSTEM_VARIABLES_ADMIN"],
        )
    }
}

/// Privileges that may be granted on columns instead of the table.
fn missing(privileges: &Privileges, access: &ObjectAccess) -> Option<Missing> {
    if privileges.global.contains(access.privileges) {
        return None;
    }
    let table = &access.table;
    // A session may do everything with its own temporary tables.
    if table.is_temporary() {
        return None;
    }
    let missing = access.privileges - privileges.of_table(&table.database, &table.name);
    if missing.is_empty() {
        return None;
    }
    // A statement that writes needs SELECT for the columns that it reads.
    let reads_only = access.privileges == PrivilegeSet::SELECT;
    if !reads_only
        && missing == PrivilegeSet::SELECT
        && privileges
            .on_table(&table.database, &table.name)
            .is_none_or(|on| on.of_columns() & missing != missing)
        && let Some((column, _)) = access
            .columns
            .iter()
            .find(|(_, needed)| needed.has(Privilege::Select))
    {
        return Some(Missing::Column(Privilege::Select, *column));
    }
    let Some(granted) = privileges.on_table(&table.database, &table.name) else {
        return Some(Missing::Table(missing));
    };
    let on_no_column = missing - granted.of_columns();
    if !on_no_column.is_empty() {
        return Some(Missing::Table(on_no_column));
    }
    for privilege in missing.iter() {
        let mut needed = access
            .columns
            .iter()
            .filter(|(_, needed)| needed.has(privilege))
            .peekable();
        // COUNT(*) reads no column: one that can be read is enough. What writes names its columns.
        if needed.peek().is_none() && privilege != Privilege::Select {
            return Some(Missing::Table(privilege.into()));
        }
        let lacks = |offset: usize| {
            let name = &table.columns[offset].name;
            let of_column = granted
                .columns
                .iter()
                .find(|(column, _)| column.eq_ignore_ascii_case(name));
            !of_column.is_some_and(|(_, granted)| granted.has(privilege))
        };
        if let Some((offset, _)) = needed.find(|(offset, _)| lacks(*offset)) {
            return Some(Missing::Column(privilege, *offset));
        }
    }
    None
}
