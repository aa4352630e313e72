//! The trait of system tables, and the sources of their rows.

use std::ops::Range;
use std::sync::Arc;

use accounts::{Account, AccountName, AccountStore, Privileges};
use cluster::message::ProcessRow;
use cluster::{Cluster, TableUse};
use functions::TimeZone;
use kv::Interrupt;
use schema::model::{Database, INFORMATION_SCHEMA, Schema, SystemTraits, Table};
use schema::privilege::Privilege;
use types::temporal::DateTime;
use types::{Result, Value};

use crate::condition::Conditions;
use crate::statistics::StatisticsCatalog;

/// The value of each column.
pub type Row = Vec<Value>;

/// A table of the server. Each has a file of its own in [`crate::tables`].
pub(crate) trait SystemTable: Sync {
    /// `database.TABLE`.
    fn name(&self) -> &'static str;
    /// A line for each column, in the format of `empty_tables.txt`.
    fn columns(&self) -> &'static str;
    /// How MySQL treats the table.
    fn traits(&self) -> SystemTraits {
        traits_of_most(self.name())
    }
    /// All rows that satisfy [`Context::conditions`]; other rows may be among them. What is expensive to
    /// compute may be NULL in a column that the query does not read ([`Context::wants`]).
    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>>;
}

/// Views of `information_schema` whose columns have the names that a query uses. Source: MySQL 8.0.33's answers.
const NAMED_BY_QUERIES: [&str; 8] = [
    "APPLICABLE_ROLES",
    "COLLATIONS",
    "ENABLED_ROLES",
    "INNODB_FOREIGN",
    "ROLE_COLUMN_GRANTS",
    "ROLE_ROUTINE_GRANTS",
    "ROLE_TABLE_GRANTS",
    "TABLESPACES",
];

/// Most tables of `information_schema` are views of the data dictionary.
pub(crate) fn traits_of_most(name: &str) -> SystemTraits {
    let view = name.strip_prefix("information_schema.");
    SystemTraits {
        is_view: view.is_some_and(|view| !NAMED_BY_QUERIES.contains(&view)),
        is_transactional: view.is_some() || name.starts_with("mysql."),
    }
}

/// Whether a table of `information_schema` shows its rows to accounts with PROCESS only, and fails for others. Source:
/// MySQL 8.0.33's answers.
pub fn needs_process(table: &Table) -> bool {
    const FOR_ALL: [&str; 6] = [
        "INNODB_DATAFILES",
        "INNODB_FIELDS",
        "INNODB_FOREIGN",
        "INNODB_FOREIGN_COLS",
        "INNODB_FT_DEFAULT_STOPWORD",
        "INNODB_TABLESPACES_BRIEF",
    ];
    let name = table.name.as_str();
    table.database == INFORMATION_SCHEMA
        && (name == "FILES" || name.starts_with("INNODB_") && !FOR_ALL.contains(&name))
}

/// A session's transaction: what it uses, if it is open.
pub struct SessionTransaction {
    /// What its row locks are listed under.
    pub owner: u64,
    /// The number of the session.
    pub session: u64,
    /// What the session runs, and since when: microseconds since 1970.
    pub statement: Option<Arc<str>>,
    pub since_us: i64,
    pub tables: Vec<TableUse>,
    pub isolation: &'static str,
}

/// A lock of GET_LOCK(), or a request for one.
pub struct UserLock {
    pub name: String,
    /// The number of the session.
    pub session: u64,
    pub waits: bool,
}

/// The server's data that is not in the store.
pub trait Server {
    /// The connections that the session may see.
    fn processes(&self) -> Vec<ProcessRow>;
    /// The transactions of the sessions of this server; among them some that have ended, whose locks are no
    /// more.
    fn transactions(&self) -> Vec<SessionTransaction>;
    /// The locks of GET_LOCK() of the sessions of this server, and their requests that wait.
    fn user_locks(&self) -> Vec<UserLock>;
    /// The connections of all nodes that the session may see, each with its node's address.
    ///
    /// # Errors
    /// Those of the store.
    fn cluster_processes(&self) -> Result<Vec<(String, ProcessRow)>>;
    /// Names and values of the system variables, sorted by name.
    fn variables(&self, global: bool) -> Vec<(String, String)>;
    /// Names and values of the status variables, sorted by name.
    fn status(&self, global: bool) -> Vec<(String, String)>;
    /// The rows of a table that shows what the server measures of itself, as most of `performance_schema` do.
    /// None of other tables.
    fn measurements(&self, database: &str, table: &str) -> Vec<Row>;
    /// What the session's account may do, with its active roles.
    fn privileges(&self) -> &Privileges;
    /// The account, and its active roles.
    fn account(&self) -> (&Arc<Account>, &[AccountName]);
    fn time_zone(&self) -> TimeZone;
    /// Ends the statement that reads the table.
    fn interrupt(&self) -> &Arc<Interrupt>;
}

/// The sources of the rows of all tables.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub cluster: &'a Cluster,
    pub accounts: &'a AccountStore,
    pub statistics: &'a StatisticsCatalog,
    pub server: &'a dyn Server,
}

/// In place of a column's offset: there is no condition on it.
pub(crate) const NO_COLUMN: usize = usize::MAX;

/// One read of one table.
pub(crate) struct Context<'a> {
    pub(crate) sources: Sources<'a>,
    pub(crate) schema: &'a Schema,
    pub(crate) conditions: Conditions<'a>,
    /// Offsets of the columns that the query reads.
    pub(crate) wanted: &'a [usize],
}

impl Context<'_> {
    /// Whether the query reads any of these columns. On a cluster, a table's size is an estimate for which
    /// some of its rows are read, so it is computed only for a query that reads it.
    pub(crate) fn wants(&self, mut offsets: Range<usize>) -> bool {
        offsets.any(|offset| self.wanted.contains(&offset))
    }

    /// Microseconds since 1970 as a TIMESTAMP in the session's zone.
    pub(crate) fn timestamp(&self, us: i64) -> Value {
        let at = self.sources.server.time_zone().from_unix_us(us);
        Value::UInt(DateTime { microsecond: 0, ..at }.pack())
    }

    /// The databases that the session may see and whose names satisfy the conditions on column `name`, in the
    /// order of their names.
    ///
    /// # Errors
    /// Those of a condition.
    pub(crate) fn databases(&self, name: usize) -> Result<Vec<&Database>> {
        let mut found = Vec::new();
        for database in self.schema.databases.values() {
            let is_visible = self.sources.server.privileges().may_list(&database.name);
            if is_visible && self.conditions.admit(name, &database.name)? {
                found.push(database.as_ref());
            }
        }
        Ok(found)
    }

    /// The tables that the session may see and whose names satisfy the conditions on columns `database` and
    /// `name`, in the order of databases and names.
    ///
    /// # Errors
    /// Those of a condition.
    pub(crate) fn tables(&self, database: usize, name: usize) -> Result<Vec<&Table>> {
        let mut found = Vec::new();
        for database in self.databases(database)? {
            let first = found.len();
            for table in database.tables.values() {
                let privileges = self.sources.server.privileges();
                if privileges.may_see(&table.database, &table.name)
                    && self.conditions.admit(name, &table.name)?
                {
                    found.push(table.as_ref());
                }
            }
            found[first..].sort_by(|a: &&Table, b: &&Table| a.name.cmp(&b.name));
        }
        Ok(found)
    }

    pub(crate) fn all_accounts(&self) -> Vec<Arc<Account>> {
        self.sources.accounts.current().iter().cloned().collect()
    }

    /// The accounts whose privileges the session may see: all, or its own.
    pub(crate) fn accounts(&self) -> Vec<Arc<Account>> {
        let server = self.sources.server;
        match server.privileges().of_database("mysql").has(Privilege::Select) {
            true => self.all_accounts(),
            false => vec![Arc::clone(server.account().0)],
        }
    }
}

/// MySQL's `sys` has one table; the others are views.
pub fn is_view_of_sys(table: &Table) -> bool {
    table.database == "sys" && table.name != "sys_config"
}
