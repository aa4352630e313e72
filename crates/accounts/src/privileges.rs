//! What an account or a role has been granted, level by level (manual 6.2.2).

use std::collections::{BTreeMap, BTreeSet};

use schema::privilege::{DYNAMIC_PRIVILEGES, Privilege, PrivilegeSet};
use serde::{Deserialize, Serialize};

use crate::pattern::{self, plain_name};

/// The privileges of an account, or of an account together with its active roles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredPrivileges")]
pub struct Privileges {
    /// ON *.*, GRANT OPTION included.
    pub global: PrivilegeSet,
    /// The dynamic ones, each with or without GRANT OPTION.
    pub dynamic: BTreeMap<String, bool>,
    /// What of the global privileges does not count in some databases: partial revokes (manual 6.2.12), by the
    /// databases' names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub restrictions: BTreeMap<String, PrivilegeSet>,
    /// ON db.*, by the name as it was granted: a pattern with `%` and `_`.
    pub on_databases: BTreeMap<String, PrivilegeSet>,
    /// ON db.table, by database and table.
    pub on_tables: BTreeMap<String, BTreeMap<String, TablePrivileges>>,
}

/// The privileges on one table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TablePrivileges {
    pub table: PrivilegeSet,
    /// Those on single columns, by the columns' names.
    pub columns: BTreeMap<String, PrivilegeSet>,
    /// `user@host` of the last account that granted some.
    pub grantor: String,
    /// Microseconds since 1970.
    pub granted_us: i64,
}

/// All forms in which privileges have been stored.
#[derive(Deserialize)]
struct StoredPrivileges {
    #[serde(default)]
    global: PrivilegeSet,
    #[serde(default)]
    dynamic: BTreeMap<String, bool>,
    #[serde(default)]
    restrictions: BTreeMap<String, PrivilegeSet>,
    #[serde(default)]
    on_databases: BTreeMap<String, PrivilegeSet>,
    #[serde(default)]
    on_tables: BTreeMap<String, BTreeMap<String, TablePrivileges>>,
    /// The first form had ALL PRIVILEGES only: on everything, and on databases by their plain names.
    #[serde(default)]
    everything: bool,
    #[serde(default)]
    grant_option: bool,
    #[serde(default)]
    databases: Vec<String>,
}

impl From<StoredPrivileges> for Privileges {
    fn from(stored: StoredPrivileges) -> Self {
        let mut privileges = Self {
            global: stored.global,
            dynamic: stored.dynamic,
            restrictions: stored.restrictions,
            on_databases: stored.on_databases,
            on_tables: stored.on_tables,
        };
        if stored.everything {
            privileges.merge(&Self::everything(stored.grant_option));
        }
        for database in &stored.databases {
            let name = pattern::escaped(database);
            privileges.on_databases.insert(name, PrivilegeSet::DATABASE);
        }
        privileges
    }
}

impl TablePrivileges {
    /// Those that at least one column has.
    /// On a column alone.
    pub fn of_column(&self, column: &str) -> PrivilegeSet {
        let mut columns = self.columns.iter();
        let found = columns.find(|(name, _)| types::same_name(name, column));
        found.map_or(PrivilegeSet::NONE, |(_, privileges)| *privileges)
    }

    /// The privileges on a column, under the name that it was granted by first.
    pub fn column_mut(&mut self, column: &str) -> &mut PrivilegeSet {
        let known = self.columns.keys().find(|name| types::same_name(name, column));
        let name = known.cloned().unwrap_or_else(|| column.to_owned());
        self.columns.entry(name).or_default()
    }

    pub fn of_columns(&self) -> PrivilegeSet {
        self.columns
            .values()
            .fold(PrivilegeSet::NONE, |all, one| all | *one)
    }

    fn is_empty(&self) -> bool {
        self.table.is_empty() && self.columns.is_empty()
    }
}

impl Privileges {
    /// What is granted on tables and their columns: database, table, privileges.
    pub fn granted_tables(&self) -> impl Iterator<Item = (&String, &String, &TablePrivileges)> {
        let databases = self.on_tables.iter();
        databases.flat_map(|(database, tables)| {
            let tables = tables.iter();
            tables.map(move |(table, granted)| (database, table, granted))
        })
    }

    /// ALL PRIVILEGES ON *.*
    pub fn everything(grant_option: bool) -> Self {
        let option = match grant_option {
            true => PrivilegeSet::GRANT,
            false => PrivilegeSet::NONE,
        };
        Self {
            global: PrivilegeSet::GLOBAL | option,
            dynamic: DYNAMIC_PRIVILEGES
                .iter()
                .map(|name| ((*name).to_owned(), grant_option))
                .collect(),
            ..Self::default()
        }
    }

    /// Adds what another account has: that of a role.
    pub fn merge(&mut self, other: &Self) {
        self.merge_restrictions(other);
        self.global |= other.global;
        for (name, grant_option) in &other.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= grant_option;
        }
        for (database, privileges) in &other.on_databases {
            *self.on_databases.entry(database.clone()).or_default() |= *privileges;
        }
        for (database, tables) in &other.on_tables {
            for (table, privileges) in tables {
                let of_table = self.table_mut(database, table);
                of_table.table |= privileges.table;
                for (column, privileges) in &privileges.columns {
                    *of_table.column_mut(column) |= *privileges;
                }
            }
        }
    }

    /// Adds what another account has on databases and, with `tables`, on tables and columns that this one has no entry for.
    /// An own pattern comes before another account's pattern for each database that both match, however specific they are.
    /// Of patterns that only overlap, the other one is left out for all databases, so that nothing is allowed too much.
    pub(crate) fn add_absent(&mut self, other: &Self, tables: bool) {
        for (database, privileges) in &other.on_databases {
            let is_behind = |own: &String| match plain_name(own) {
                Some(_) => pattern::covers(own, database),
                None => pattern::overlap(own, database),
            };
            if !self.on_databases.keys().any(is_behind) {
                self.on_databases.insert(database.clone(), *privileges);
            }
        }
        for (database, table, privileges) in other.granted_tables().filter(|_| tables) {
            let own = self.on_tables.entry(database.clone()).or_default();
            own.entry(table.clone()).or_insert_with(|| privileges.clone());
        }
    }

    /// A restriction stays unless one of both has the privilege without it. Before the global ones are merged.
    fn merge_restrictions(&mut self, other: &Self) {
        if self.restrictions.is_empty() && other.restrictions.is_empty() {
            return;
        }
        let databases: BTreeSet<&String> = self
            .restrictions
            .keys()
            .chain(other.restrictions.keys())
            .collect();
        let merged = databases.into_iter().map(|database| {
            let (own, others) = (self.restricted_in(database), other.restricted_in(database));
            let both = (own & others) | (own - other.global) | (others - self.global);
            (database.clone(), both)
        });
        self.restrictions = merged.filter(|(_, restricted)| !restricted.is_empty()).collect();
    }

    /// What of the global privileges does not count in a database.
    pub fn restricted_in(&self, database: &str) -> PrivilegeSet {
        self.restrictions
            .get(database)
            .copied()
            .unwrap_or(PrivilegeSet::NONE)
    }

    /// Those ON *.* that no database is excepted from.
    pub fn everywhere(&self) -> PrivilegeSet {
        let restrictions = self.restrictions.values();
        restrictions.fold(self.global, |left, restricted| left - *restricted)
    }

    pub(crate) fn table_mut(&mut self, database: &str, table: &str) -> &mut TablePrivileges {
        let tables = self.on_tables.entry(database.to_owned()).or_default();
        tables.entry(table.to_owned()).or_default()
    }

    /// Removes entries that grant nothing any more.
    pub(crate) fn tidy(&mut self) {
        self.on_databases.retain(|_, privileges| !privileges.is_empty());
        self.restrictions.retain(|_, privileges| !privileges.is_empty());
        for tables in self.on_tables.values_mut() {
            for table in tables.values_mut() {
                table.columns.retain(|_, privileges| !privileges.is_empty());
            }
            tables.retain(|_, table| !table.is_empty());
        }
        self.on_tables.retain(|_, tables| !tables.is_empty());
    }

    /// The privileges ON db.* that concern a database: those under its own name, else those of the pattern
    /// that is the most specific one that it matches.
    fn of_database_alone(&self, database: &str) -> PrivilegeSet {
        if self.on_databases.is_empty() {
            return PrivilegeSet::NONE;
        }
        let is_plain = !database.contains(['_', '%', '\\']);
        if is_plain && let Some(privileges) = self.on_databases.get(database) {
            return *privileges;
        }
        let matching = self.on_databases.iter().filter(|(granted, _)| {
            plain_name(granted).map_or_else(|| pattern::is_match(granted, database), |name| name == database)
        });
        matching
            .max_by_key(|(granted, _)| pattern::specificity(granted))
            .map_or(PrivilegeSet::NONE, |(_, privileges)| *privileges)
    }

    /// On a whole database.
    pub fn of_database(&self, database: &str) -> PrivilegeSet {
        let open = match is_open(database) {
            true => PrivilegeSet::SELECT,
            false => PrivilegeSet::NONE,
        };
        let global = match self.restrictions.is_empty() {
            true => self.global,
            false => self.global - self.restricted_in(database),
        };
        global | open | self.of_database_alone(database)
    }

    /// On all databases that a pattern of GRANT matches.
    pub fn of_databases(&self, pattern: &str) -> PrivilegeSet {
        let covering = self.on_databases.iter();
        let covering = covering.filter(|(granted, _)| pattern::covers(granted, pattern));
        let closest = covering.max_by_key(|(granted, _)| pattern::specificity(granted));
        let on_databases = closest.map_or(PrivilegeSet::NONE, |(_, privileges)| *privileges);
        let restricted = self.restrictions.iter();
        let restricted = restricted.filter(|(database, _)| pattern::is_match(pattern, database));
        let global = restricted.fold(self.global, |left, (_, restricted)| left - *restricted);
        global | on_databases
    }

    /// On a whole table.
    pub fn of_table(&self, database: &str, table: &str) -> PrivilegeSet {
        let open = match is_open_table(database, table) {
            true => PrivilegeSet::SELECT,
            false => PrivilegeSet::NONE,
        };
        let of_database = self.of_database(database) | open;
        match self.on_table(database, table) {
            Some(privileges) => of_database | privileges.table,
            None => of_database,
        }
    }

    /// Those that at least one column of a table has.
    pub fn of_columns(&self, database: &str, table: &str) -> PrivilegeSet {
        self.on_table(database, table)
            .map_or(PrivilegeSet::NONE, TablePrivileges::of_columns)
    }

    /// On one column: those on its table included.
    pub fn of_column(&self, database: &str, table: &str, column: &str) -> PrivilegeSet {
        let of_table = self.of_table(database, table);
        let Some(granted) = self.on_table(database, table) else {
            return of_table;
        };
        of_table | granted.of_column(column)
    }

    /// Whether there is anything that the account may do with a column.
    pub fn may_see_column(&self, database: &str, table: &str, column: &str) -> bool {
        !(self.of_column(database, table, column) & PrivilegeSet::COLUMN).is_empty()
    }

    /// What SHOW FULL COLUMNS and `information_schema` list: `select,insert`.
    pub fn listed_of_column(&self, database: &str, table: &str, column: &str) -> String {
        let privileges = self.of_column(database, table, column) & PrivilegeSet::COLUMN;
        let names: Vec<String> = privileges.iter().map(|one| one.name().to_lowercase()).collect();
        names.join(",")
    }

    /// What has been granted on a table and its columns.
    pub fn on_table(&self, database: &str, table: &str) -> Option<&TablePrivileges> {
        self.on_tables.get(database)?.get(table)
    }

    /// Whether there is anything that the account may do with a database or in it. To grant is not enough.
    pub fn may_enter(&self, database: &str) -> bool {
        !(self.of_database(database) & PrivilegeSet::DATABASE).is_empty()
            || self.on_tables.contains_key(database)
    }

    /// Whether the account is shown that the database is there.
    pub fn may_list(&self, database: &str) -> bool {
        database == PERFORMANCE_SCHEMA
            || self.global.has(Privilege::ShowDatabases)
            || self.may_enter(database)
            || !self.of_database_alone(database).is_empty()
    }

    /// Whether there is anything that the account may do with a table.
    pub fn may_see(&self, database: &str, table: &str) -> bool {
        !(self.of_database(database) & PrivilegeSet::TABLE).is_empty()
            || self.on_table(database, table).is_some()
    }

    /// Whether the account may end the connections of others, connect where there are too many, and write
    /// while the server is read only.
    pub fn administers_connections(&self) -> bool {
        self.global.has(Privilege::Super) || self.has_dynamic("CONNECTION_ADMIN")
    }

    pub fn has_dynamic(&self, name: &str) -> bool {
        self.dynamic.contains_key(name)
    }
}

const PERFORMANCE_SCHEMA: &str = "performance_schema";

/// Every account may read it: it shows only what the account may see.
fn is_open(database: &str) -> bool {
    database.eq_ignore_ascii_case("information_schema")
}

/// The tables of `performance_schema` that every account may read, for the same reason (MySQL's
/// `PFS_readonly_world_acl`).
fn is_open_table(database: &str, table: &str) -> bool {
    const OPEN: [&str; 8] = [
        "global_status",
        "global_variables",
        "persisted_variables",
        "processlist",
        "session_account_connect_attrs",
        "session_status",
        "session_variables",
        "variables_info",
    ];
    database == PERFORMANCE_SCHEMA && OPEN.contains(&table)
}
