//! The tables that LOCK TABLES and FLUSH TABLES WITH READ LOCK have locked for a session, and which tables it
//! may use meanwhile.
//!
//! Until UNLOCK TABLES the session uses the tables it has locked, by the aliases it locked them by, and no
//! others (manual 13.3.6). The statements: `statement::lock_tables`. The locks themselves, and the
//! waits for them: `ddl::SchemaChanger::lock_tables`.

use cluster::Cluster;
use cluster::metadata_lock::Use;
use ddl::HeldTables;
use planner::object_access::{LockMode, ObjectAccess};
use runner::use_of;
use schema::definition::{AlterChange, Ddl, TableName};
use schema::model::Table;
use types::{Error, Result, errno};

const ER_TABLE_NOT_LOCKED_FOR_WRITE: u16 = 1099;
const ER_TABLE_NOT_LOCKED: u16 = 1100;
const ER_LOCK_OR_ACTIVE_TRANSACTION: u16 = 1192;
const ER_CANT_UPDATE_WITH_READLOCK: u16 = 1223;

/// The locked tables of a session, if any.
#[derive(Default)]
pub struct TableLocks(Option<LockedTables>);

/// Dropping it unlocks the tables.
pub struct LockedTables {
    /// Unlocks the tables when dropped. `None` while a definition statement runs.
    locks: Option<HeldTables>,
    pub kind: LockKind,
    /// The server's lease under which they were taken, if several servers share the store.
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
    /// LOCK TABLES does not name it: foreign keys of a table that it locks for writing lead to it.
    pub is_implied: bool,
}

/// How a statement comes to use a table.
#[derive(Clone, Copy)]
enum NamedBy<'a> {
    Alias(&'a str),
    /// A definition names the table itself.
    Name,
    /// Foreign keys of a table that the statement writes.
    ForeignKey,
}

impl LockedTable {
    fn is(&self, database: &str, name: &str, by: NamedBy<'_>) -> bool {
        self.name.database == database
            && self.name.name == name
            && match by {
                NamedBy::Alias(alias) => !self.is_implied && self.alias == alias,
                NamedBy::Name => !self.is_implied,
                NamedBy::ForeignKey => true,
            }
    }
}

impl LockedTables {
    /// Fails with 1099 or 1100 if a plan uses tables that are not locked for this use.
    fn check_plan(&self, accesses: &[ObjectAccess]) -> Result<()> {
        for access in accesses {
            let table = &access.table;
            // The tables of a view were locked with the view.
            let is_named = access.through.is_none();
            if let Some(lock) = access.lock.filter(|lock| is_named || *lock == LockMode::Write) {
                let by = match access.is_implied {
                    true => NamedBy::ForeignKey,
                    false => NamedBy::Alias(&access.alias),
                };
                self.check(&table.database, &table.name, by, use_of(lock))?;
            }
        }
        Ok(())
    }

    fn check(&self, database: &str, name: &str, by: NamedBy<'_>, what: Use) -> Result<()> {
        let tables = match &self.kind {
            LockKind::Named(tables) => tables,
            LockKind::AllForReading if what == Use::Read => return Ok(()),
            LockKind::AllForReading => return Err(all_locked_for_reading()),
        };
        let shown = match by {
            NamedBy::Alias(alias) => alias,
            NamedBy::Name | NamedBy::ForeignKey => name,
        };
        let mut found = tables
            .iter()
            .filter(|locked| locked.is(database, name, by))
            .peekable();
        if found.peek().is_none() {
            return Err(not_locked(shown));
        }
        if what == Use::Read || found.any(|locked| locked.write) {
            return Ok(());
        }
        Err(locked_for_reading(shown))
    }

    /// For an existing table that is locked, the error is that it exists.
    fn check_new(&self, name: &TableName) -> Result<()> {
        match self.kind {
            LockKind::AllForReading => Err(all_locked_for_reading()),
            LockKind::Named(_) => self.check(&name.database, &name.name, NamedBy::Name, Use::Read),
        }
    }

    /// [`Self::check_plan`] for a definition.
    fn check_ddl(&self, ddl: &Ddl) -> Result<()> {
        if let LockKind::AllForReading = self.kind {
            return Err(all_locked_for_reading());
        }
        let written = |table: &TableName| self.check(&table.database, &table.name, NamedBy::Name, Use::Write);
        match ddl {
            Ddl::CreateDatabase { .. }
            | Ddl::AlterDatabase { .. }
            | Ddl::DropDatabase { .. }
            | Ddl::CreateView { .. }
            | Ddl::DropView { .. } => Err(has_locks()),
            Ddl::CreateTable { name, .. } | Ddl::CreateTableLike { name, .. } => self.check_new(name),
            Ddl::TruncateTable { name } | Ddl::AlterPartitions { name, .. } => written(name),
            Ddl::ExchangePartition { name, other, .. } => written(name).and_then(|()| written(other)),
            Ddl::AlterTable { name, changes, .. } => {
                written(name)?;
                changes.iter().try_for_each(|change| match change {
                    AlterChange::RenameTable { to } if to.database != name.database => {
                        Err(not_locked(&to.name))
                    }
                    AlterChange::AddForeignKey(key) => {
                        self.check(&key.parent.database, &key.parent.name, NamedBy::Name, Use::Read)
                    }
                    _ => Ok(()),
                })
            }
            Ddl::DropTable { names, .. } => names.iter().try_for_each(written),
            Ddl::RenameTable { renames } => renames.iter().enumerate().try_for_each(|(at, (from, _))| {
                // A name that the statement itself has given is the table's that it has checked already.
                match renames[..at].iter().any(|(_, to)| to == from) {
                    true => Ok(()),
                    false => written(from),
                }
            }),
        }
    }
}

fn all_locked_for_reading() -> Error {
    Error::new(
        ER_CANT_UPDATE_WITH_READLOCK,
        "Can't execute the query because you have a conflicting read lock",
    )
}

/// Error 1192.
pub fn has_locks() -> Error {
    Error::new(
        ER_LOCK_OR_ACTIVE_TRANSACTION,
        "Can't execute the given command because you have active locked tables or an active transaction",
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
    /// `lease_term`: the server's lease term when it began to lock.
    pub fn set(&mut self, locks: HeldTables, kind: LockKind, lease_term: Option<u64>) {
        self.0 = Some(LockedTables {
            locks: Some(locks),
            kind,
            lease_term,
        });
    }

    /// Whether a schema change waits for one of the locked tables.
    pub fn delays_change(&self) -> bool {
        let locks = self.0.as_ref().and_then(|locked| locked.locks.as_ref());
        locks.is_some_and(HeldTables::delays_change)
    }

    pub fn is_locked(&self) -> bool {
        self.0.is_some()
    }

    /// Unlocks everything.
    pub fn unlock(&mut self) {
        self.0 = None;
    }

    /// Takes the locked tables out.
    pub fn take(&mut self) -> Option<LockedTables> {
        self.0.take()
    }

    /// Releases the locks of LOCK TABLES, because a transaction begins.
    pub fn unlock_named(&mut self) {
        if let Some(LockKind::Named(_)) = self.0.as_ref().map(|locked| &locked.kind) {
            self.0 = None;
        }
    }

    /// Releases the locks while a definition statement runs. They are taken again afterwards.
    pub fn suspend(&mut self) {
        if let Some(locked) = &mut self.0 {
            drop(locked.locks.take());
        }
    }

    /// Unlocks tables that were locked under an expired lease of the server, because other servers have not
    /// waited for these locks.
    ///
    /// # Errors
    /// 8027 if there were such tables.
    pub fn check_lease(&mut self, cluster: &Cluster) -> Result<()> {
        match &self.0 {
            Some(locked) if locked.lease_term != lease_term(cluster) => {
                self.0 = None;
                Err(cluster::lease::lease_is_over())
            }
            _ => Ok(()),
        }
    }

    /// Fails if a plan uses tables that the session has not locked. `true`: all tables of the plan are
    /// locked.
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

    /// Fails if the session has locked tables, but not this one for this use.
    pub fn check_table(&self, table: &Table, what: Use) -> Result<()> {
        match &self.0 {
            Some(locked) if !table.is_virtual() && !table.is_temporary() => {
                locked.check(&table.database, &table.name, NamedBy::Name, what)
            }
            _ => Ok(()),
        }
    }

    /// Fails if the session has locked tables, but not the one that has the accounts.
    pub fn check_accounts(&self, what: Use) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |locked| {
            locked.check("mysql", "user", NamedBy::Name, what)
        })
    }

    /// Fails if FLUSH TABLES would close tables with a READ lock, or tables that are not locked. `named`: none
    /// for all.
    pub fn check_flush(&self, named: &[TableName]) -> Result<()> {
        let Some(locked) = &self.0 else {
            return Ok(());
        };
        match &locked.kind {
            LockKind::Named(tables) if named.is_empty() => {
                match tables.iter().find(|locked| !locked.write && !locked.is_implied) {
                    Some(locked) => Err(locked_for_reading(&locked.alias)),
                    None => Ok(()),
                }
            }
            LockKind::Named(_) => named
                .iter()
                .try_for_each(|name| locked.check(&name.database, &name.name, NamedBy::Name, Use::Write)),
            LockKind::AllForReading => Ok(()),
        }
    }

    /// Whether all tables are locked for reading.
    ///
    /// # Errors
    /// 1192 if some tables are locked.
    pub fn are_all_locked(&self) -> Result<bool> {
        match self.0.as_ref().map(|locked| &locked.kind) {
            None => Ok(false),
            Some(LockKind::AllForReading) => Ok(true),
            Some(LockKind::Named(_)) => Err(has_locks()),
        }
    }

    /// Fails if any tables are locked, as definitions do that could not have locked what they change.
    pub fn check_none(&self) -> Result<()> {
        match self.are_all_locked()? {
            true => Err(all_locked_for_reading()),
            false => Ok(()),
        }
    }

    /// Fails if all tables are locked for reading.
    pub fn check_not_all(&self) -> Result<()> {
        match self.are_all_locked() {
            Ok(true) => Err(all_locked_for_reading()),
            _ => Ok(()),
        }
    }

    /// Fails unless CREATE TABLE of this name is allowed.
    pub fn check_new(&self, name: &TableName) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |locked| locked.check_new(name))
    }

    /// Fails unless the tables of a definition are locked for writing.
    pub fn check_ddl(&self, ddl: &Ddl) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |locked| locked.check_ddl(ddl))
    }
}

/// The server's present lease.
pub fn lease_term(cluster: &Cluster) -> Option<u64> {
    cluster.node().map(|node| node.term)
}

/// Whether the error is one of [`TableLocks`], or that of a table that does not exist. A maintenance
/// statement shows such errors as rows.
pub fn is_lock_error(error: &Error) -> bool {
    matches!(error.code, ER_TABLE_NOT_LOCKED | ER_TABLE_NOT_LOCKED_FOR_WRITE)
        || error.code == errno::ER_NO_SUCH_TABLE
}
