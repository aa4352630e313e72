//! Privileges: what an account can be granted (manual 6.2.2, "Privileges Provided by MySQL").

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub, SubAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::definition::TableName;

/// A static privilege. The order is that of the columns of `mysql.user` and of SHOW GRANTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Create,
    Drop,
    Reload,
    Shutdown,
    Process,
    File,
    /// GRANT OPTION.
    Grant,
    References,
    Index,
    Alter,
    ShowDatabases,
    Super,
    CreateTemporaryTables,
    LockTables,
    Execute,
    ReplicationSlave,
    ReplicationClient,
    CreateView,
    ShowView,
    CreateRoutine,
    AlterRoutine,
    CreateUser,
    Event,
    Trigger,
    CreateTablespace,
    CreateRole,
    DropRole,
}

/// Each privilege with its name.
const NAMES: [(Privilege, &str); 31] = [
    (Privilege::Select, "SELECT"),
    (Privilege::Insert, "INSERT"),
    (Privilege::Update, "UPDATE"),
    (Privilege::Delete, "DELETE"),
    (Privilege::Create, "CREATE"),
    (Privilege::Drop, "DROP"),
    (Privilege::Reload, "RELOAD"),
    (Privilege::Shutdown, "SHUTDOWN"),
    (Privilege::Process, "PROCESS"),
    (Privilege::File, "FILE"),
    (Privilege::Grant, "GRANT OPTION"),
    (Privilege::References, "REFERENCES"),
    (Privilege::Index, "INDEX"),
    (Privilege::Alter, "ALTER"),
    (Privilege::ShowDatabases, "SHOW DATABASES"),
    (Privilege::Super, "SUPER"),
    (Privilege::CreateTemporaryTables, "CREATE TEMPORARY TABLES"),
    (Privilege::LockTables, "LOCK TABLES"),
    (Privilege::Execute, "EXECUTE"),
    (Privilege::ReplicationSlave, "REPLICATION SLAVE"),
    (Privilege::ReplicationClient, "REPLICATION CLIENT"),
    (Privilege::CreateView, "CREATE VIEW"),
    (Privilege::ShowView, "SHOW VIEW"),
    (Privilege::CreateRoutine, "CREATE ROUTINE"),
    (Privilege::AlterRoutine, "ALTER ROUTINE"),
    (Privilege::CreateUser, "CREATE USER"),
    (Privilege::Event, "EVENT"),
    (Privilege::Trigger, "TRIGGER"),
    (Privilege::CreateTablespace, "CREATE TABLESPACE"),
    (Privilege::CreateRole, "CREATE ROLE"),
    (Privilege::DropRole, "DROP ROLE"),
];

/// The dynamic privileges that MySQL 8.0.33's server registers itself, in the order of SHOW GRANTS. They are
/// granted on `*.*` only.
pub const DYNAMIC_PRIVILEGES: [&str; 36] = [
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "XA_RECOVER_ADMIN",
];

impl Privilege {
    /// As GRANT and SHOW GRANTS write it.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The privilege of a name in upper case.
    pub fn of_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(privilege, _)| *privilege)
    }

    /// Every privilege, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(privilege, _)| *privilege)
    }
}

/// A set of static privileges. It is stored as a list of names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivilegeSet(u32);

impl PrivilegeSet {
    pub const NONE: Self = Self(0);
    pub const SELECT: Self = Self::of(&[Privilege::Select]);
    pub const INSERT: Self = Self::of(&[Privilege::Insert]);
    pub const UPDATE: Self = Self::of(&[Privilege::Update]);
    pub const DELETE: Self = Self::of(&[Privilege::Delete]);
    pub const GRANT: Self = Self::of(&[Privilege::Grant]);

    /// All that can be granted on `*.*`, except GRANT OPTION.
    pub const GLOBAL: Self = Self((1 << NAMES.len()) - 1).without(Self::GRANT);
    /// All that can be granted on a table, except GRANT OPTION.
    pub const TABLE: Self = Self::of(&[
        Privilege::Select,
        Privilege::Insert,
        Privilege::Update,
        Privilege::Delete,
        Privilege::Create,
        Privilege::Drop,
        Privilege::References,
        Privilege::Index,
        Privilege::Alter,
        Privilege::CreateView,
        Privilege::ShowView,
        Privilege::Trigger,
    ]);
    /// All that can be granted on a database, except GRANT OPTION.
    pub const DATABASE: Self = Self(
        Self::TABLE.0
            | Self::of(&[
                Privilege::CreateTemporaryTables,
                Privilege::LockTables,
                Privilege::Execute,
                Privilege::CreateRoutine,
                Privilege::AlterRoutine,
                Privilege::Event,
            ])
            .0,
    );
    /// All that can be granted on a column.
    pub const COLUMN: Self = Self::of(&[
        Privilege::Select,
        Privilege::Insert,
        Privilege::Update,
        Privilege::References,
    ]);

    pub const fn of(privileges: &[Privilege]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < privileges.len() {
            bits |= 1 << privileges[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are in it.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn has(self, privilege: Privilege) -> bool {
        self.contains(privilege.into())
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// In order.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::all().filter(move |privilege| self.has(*privilege))
    }
}

impl From<Privilege> for PrivilegeSet {
    fn from(privilege: Privilege) -> Self {
        Self::of(&[privilege])
    }
}

impl FromIterator<Privilege> for PrivilegeSet {
    fn from_iter<T: IntoIterator<Item = Privilege>>(privileges: T) -> Self {
        let sets = privileges.into_iter().map(Self::from);
        sets.fold(Self::NONE, |all, one| all | one)
    }
}

impl BitOr for PrivilegeSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for PrivilegeSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for PrivilegeSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for PrivilegeSet {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.without(other)
    }
}

impl SubAssign for PrivilegeSet {
    fn sub_assign(&mut self, other: Self) {
        *self = self.without(other);
    }
}

/// `SELECT, INSERT`. GRANT OPTION is GRANT, as in messages.
impl fmt::Display for PrivilegeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, privilege) in self.iter().enumerate() {
            let name = match privilege {
                Privilege::Grant => "GRANT",
                other => other.name(),
            };
            write!(f, "{}{name}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Serialize for PrivilegeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Privilege::name))
    }
}

impl<'de> Deserialize<'de> for PrivilegeSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        // A privilege of a later version means nothing here.
        Ok(names.iter().filter_map(|name| Privilege::of_name(name)).collect())
    }
}

/// `ON ...` of GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`
    Global,
    /// `db.*`: a pattern.
    Database(String),
    Table(TableName),
}

/// What one GRANT gives or one REVOKE takes, of accounts that are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivilegeGrant {
    /// ALL PRIVILEGES: those of the level, the dynamic ones included.
    pub all: bool,
    /// GRANT OPTION among them, or from WITH GRANT OPTION.
    pub privileges: PrivilegeSet,
    /// GRANT OPTION is in the list. ON *.* this is for all dynamic privileges that the account has, unlike WITH
    /// GRANT OPTION.
    pub lists_option: bool,
    /// In upper case.
    pub dynamic: Vec<String>,
    /// Privileges on single columns.
    pub columns: Vec<(String, PrivilegeSet)>,
    pub level: GrantLevel,
}

impl PrivilegeGrant {
    /// The static privileges on the whole level.
    pub fn wanted(&self) -> PrivilegeSet {
        let all = match (&self.level, self.all) {
            (_, false) => PrivilegeSet::NONE,
            (GrantLevel::Global, true) => PrivilegeSet::GLOBAL,
            (GrantLevel::Database(_), true) => PrivilegeSet::DATABASE,
            (GrantLevel::Table(_), true) => PrivilegeSet::TABLE,
        };
        all | self.privileges
    }

    /// The dynamic privileges.
    pub fn wanted_dynamic(&self) -> Vec<&str> {
        match self.all && self.level == GrantLevel::Global {
            true => DYNAMIC_PRIVILEGES.to_vec(),
            false => self.dynamic.iter().map(String::as_str).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_the_privileges() {
        for (at, (privilege, name)) in NAMES.iter().enumerate() {
            assert_eq!(*privilege as usize, at);
            assert_eq!(Privilege::of_name(name), Some(*privilege));
        }
    }

    #[test]
    fn levels_are_within_each_other() {
        assert!(PrivilegeSet::GLOBAL.contains(PrivilegeSet::DATABASE));
        assert!(PrivilegeSet::DATABASE.contains(PrivilegeSet::TABLE));
        assert!(PrivilegeSet::TABLE.contains(PrivilegeSet::COLUMN));
        assert!(!PrivilegeSet::GLOBAL.contains(PrivilegeSet::GRANT));
        assert_eq!(PrivilegeSet::GLOBAL.iter().count(), 30);
    }
}
