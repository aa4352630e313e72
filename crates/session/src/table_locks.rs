//! The tables that LOCK TABLES and FLUSH TABLES WITH READ LOCK have locked for a session, and what it may do
//! meanwhile.
//!
//! Until UNLOCK TABLES the session uses the tables it has locked, by the aliases it locked them by, and no
//! others (manual 13.3.6). The statements: `statement::lock_tables`. The locks themselves, and the
//! waits for them: `cluster::metadata_lock`.

use cluster::Cluster;
use cluster::metadata_lock::{SessionLocks, Use};
use planner::object_access::{LockMode, ObjectAccess};
use runner::use_of;
use schema::definition::{AlterChange, Ddl, TableName};
use schema::model::Table;
use types::{Error, Result, errno};

const ER_TABLE_NOT_LOCKED_FOR_WRITE: u16 = 1099;
const ER_TABLE_NOT_LOCKED: u16 = 1100;
const ER_LOCK_OR_ACTIVE_TRANSACTION: u16 = 1192;
const ER_CANT_UPDATE_WITH_READLOCK: u16 = 1223;

/// What a session has locked, if anything.
#[derive(Default)]
pub struct TableLocks(Option<LockedTables>);

/// Dropping it unlocks the tables.
pub struct LockedTables {
    /// Unlocks the tables when dropped; a definition statement runs without.
    locks: Option<SessionLocks>,
    pub kind: LockKind,
    /// The server's lease that they were taken under, where several servers share the store.
    lease_term: Option<u64>,
}

pub enum LockKind {
    /// LOCK TABLES.
    Named(Vec<LockedTable>),
    /// FLUSH TABLES WITH READ LOCK.
    AllForReading,
}

pub struct LockedTable {
    pub id: i64,
    pub name: TableName,
    pub alias: String,
    pub write: bool,
}

impl LockedTable {
    fn is(&self, database: &str, name: &str) -> bool {
        self.name.database == database && self.name.name == name
    }
}

impl LockedTables {
    /// Fails with 1099 or 1100 when a plan uses what has not been locked for that.
    fn check_plan(&self, accesses: &[ObjectAccess]) -> Result<()> {
        for access in accesses {
            let table = &access.table;
            // What a view reads was locked with the view.
            let is_named = access.through.is_none();
            if let Some(lock) = access.lock.filter(|lock| is_named || *lock == LockMode::Write) {
                let alias = (!access.is_implied).then_some(access.alias.as_str());
                self.check(&table.database, &table.name, alias, use_of(lock))?;
            }
        }
        Ok(())
    }

    /// `alias`: what a statement calls the table; definitions name the table itself.
    fn check(&self, database: &str, name: &str, alias: Option<&str>, what: Use) -> Result<()> {
        let tables = match &self.kind {
            LockKind::Named(tables) => tables,
            LockKind::AllForReading if what == Use::Read => return Ok(()),
            LockKind::AllForReading => return Err(all_locked_for_reading()),
        };
        let shown = alias.unwrap_or(name);
        let mut found = tables
            .iter()
            .filter(|locked| locked.is(database, name) && alias.is_none_or(|alias| alias == locked.alias))
            .peekable();
        if found.peek().is_none() {
            return Err(not_locked(shown));
        }
        if what == Use::Read || found.any(|locked| locked.write) {
            return Ok(());
        }
        Err(locked_for_reading(shown))
    }

    /// The same for a definition.
    fn check_ddl(&self, ddl: &Ddl) -> Result<()> {
        if let LockKind::AllForReading = self.kind {
            return Err(all_locked_for_reading());
        }
        let written = |table: &TableName| self.check(&table.database, &table.name, None, Use::Write);
        match ddl {
            Ddl::CreateDatabase { .. }
            | Ddl::AlterDatabase { .. }
            | Ddl::DropDatabase { .. }
            | Ddl::CreateView { .. }
            | Ddl::DropView { .. } => Err(Error::new(
                ER_LOCK_OR_ACTIVE_TRANSACTION,
                "Can't execute the given command because you have active locked tables or an active transaction",
            )),
            // Of a table that is there and locked, it says that it is there.
            Ddl::CreateTable { name, .. } | Ddl::CreateTableLike { name, .. } => {
                self.check(&name.database, &name.name, None, Use::Read)
            }
            Ddl::TruncateTable { name } | Ddl::AlterPartitions { name, .. } => written(name),
            Ddl::ExchangePartition { name, other, .. } => written(name).and_then(|()| written(other)),
            Ddl::AlterTable { name, changes, .. } => {
                written(name)?;
                changes.iter().try_for_each(|change| match change {
                    AlterChange::RenameTable { to } if to.database != name.database => {
                        Err(not_locked(&to.name))
                    }
                    _ => Ok(()),
                })
            }
            Ddl::DropTable { names, .. } => names.iter().try_for_each(written),
            Ddl::RenameTable { renames } => renames.iter().try_for_each(|(from, _)| written(from)),
        }
    }
}

fn all_locked_for_reading() -> Error {
    Error::new(
        ER_CANT_UPDATE_WITH_READLOCK,
        "Can't execute the query because you have a conflicting read lock",
    )
}

fn not_locked(table: &str) -> Error {
    Error::new(
        ER_TABLE_NOT_LOCKED,
        format!("Table '{table}' was not locked with LOCK TABLES"),
    )
}

fn locked_for_reading(table: &str) -> Error {
    Error::new(
        ER_TABLE_NOT_LOCKED_FOR_WRITE,
        format!("Table '{table}' was locked with a READ lock and can't be updated"),
    )
}

impl TableLocks {
    /// `lease_term`: that of the server when it began to lock.
    pub fn set(&mut self, locks: SessionLocks, kind: LockKind, lease_term: Option<u64>) {
        self.0 = Some(LockedTables {
            locks: Some(locks),
            kind,
            lease_term,
        });
    }

    pub fn is_locked(&self) -> bool {
        self.0.is_some()
    }

    /// Unlocks everything.
    pub fn unlock(&mut self) {
        self.0 = None;
    }

    /// Hands out what is locked.
    pub fn take(&mut self) -> Option<LockedTables> {
        self.0.take()
    }

    /// Unlocks what LOCK TABLES has locked: a transaction begins.
    pub fn unlock_named(&mut self) {
        if let Some(LockKind::Named(_)) = self.0.as_ref().map(|locked| &locked.kind) {
            self.0 = None;
        }
    }

    /// Unlocks what LOCK TABLES has locked until it is locked again, for the time of a definition statement.
    pub fn suspend(&mut self) {
        if let Some(locked) = &mut self.0 {
            drop(locked.locks.take());
        }
    }

    /// Unlocks tables that were locked under a lease of the server that has expired: other servers have not
    /// waited for it.
    ///
    /// # Errors
    /// 8027 if there were such.
    pub fn check_lease(&mut self, cluster: &Cluster) -> Result<()> {
        match &self.0 {
            Some(locked) if locked.lease_term != lease_term(cluster) => {
                self.0 = None;
                Err(cluster::lease::lease_is_over())
            }
            _ => Ok(()),
        }
    }

    /// Fails when a plan uses tables that the session has not locked. `true`: those it uses are locked.
    pub fn check_plan(&self, accesses: &[ObjectAccess]) -> Result<bool> {
        match &self.0 {
            None => Ok(false),
            Some(locked) => {
                locked.check_plan(accesses)?;
                // Tables that were created since FLUSH TABLES WITH READ LOCK are not locked by it.
                Ok(matches!(locked.kind, LockKind::Named(_)))
            }
        }
    }

    /// Fails when the session has locked tables, and not this one for this use.
    pub fn check_table(&self, table: &Table, what: Use) -> Result<()> {
        match &self.0 {
            Some(locked) if !table.is_virtual() && !table.is_temporary() => {
                locked.check(&table.database, &table.name, None, what)
            }
            _ => Ok(()),
        }
    }

    /// FLUSH TABLES closes tables, which a READ lock does not allow.
    pub fn check_flush(&self) -> Result<()> {
        match self.0.as_ref().map(|locked| &locked.kind) {
            Some(LockKind::Named(tables)) => match tables.iter().find(|locked| !locked.write) {
                Some(locked) => Err(locked_for_reading(&locked.alias)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Fails unless a definition is about what the session has locked for writing.
    pub fn check_ddl(&self, ddl: &Ddl) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |locked| locked.check_ddl(ddl))
    }
}

/// The server's lease of now.
pub fn lease_term(cluster: &Cluster) -> Option<u64> {
    cluster.node().map(|node| node.term)
}

/// Whether the error is one of [`TableLocks`], or of a table that does not exist: a maintenance statement
/// shows them as rows.
pub fn is_lock_error(error: &Error) -> bool {
    matches!(error.code, ER_TABLE_NOT_LOCKED | ER_TABLE_NOT_LOCKED_FOR_WRITE)
        || error.code == errno::ER_NO_SUCH_TABLE
}
