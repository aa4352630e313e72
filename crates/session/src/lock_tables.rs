//! LOCK TABLES, UNLOCK TABLES and FLUSH TABLES WITH READ LOCK: what the session has locked, and what it may do meanwhile.
//!
//! Until UNLOCK TABLES the session uses the tables it has locked, by the aliases it locked them by, and no others
//! (manual 13.3.6). The locks themselves, and who waits for them: `cluster::metadata_lock`.
//!
//! Other than in MySQL, a definition statement gives the locks back while it runs, and takes them again before it
//! answers; and FLUSH TABLES WITH READ LOCK is a READ lock on each table there is, so that it waits for the transactions
//! that have written, and new tables can be created under it.

use cluster::metadata_lock::{SessionLocks, Use};
use cluster::wait::WaitLimit;
use planner::command::TableToLock;
use planner::plan::Plan;
use schema::definition::{AlterChange, Ddl, TableName};
use schema::model::{INFORMATION_SCHEMA, Table};
use types::{Error, Result, errno};

use crate::errors;
use crate::run::plan_uses;
use crate::session::Session;

const ER_TABLE_NOT_LOCKED_FOR_WRITE: u16 = 1099;
const ER_TABLE_NOT_LOCKED: u16 = 1100;
const ER_LOCK_OR_ACTIVE_TRANSACTION: u16 = 1192;
const ER_CANT_UPDATE_WITH_READLOCK: u16 = 1223;

/// What a session has locked.
pub struct LockedTables {
    /// Gives the locks back when dropped.
    locks: Option<SessionLocks>,
    kind: LockKind,
    /// The server's lease that they were taken under, where several servers share the store.
    lease: Option<u64>,
}

enum LockKind {
    /// LOCK TABLES.
    Named(Vec<LockedTable>),
    /// FLUSH TABLES WITH READ LOCK.
    AllForReading,
}

struct LockedTable {
    id: i64,
    name: TableName,
    alias: String,
    write: bool,
}

impl LockedTable {
    fn is(&self, database: &str, name: &str) -> bool {
        self.name.database == database && self.name.name == name
    }
}

impl LockedTables {
    /// Fails with 1099 or 1100 when a plan uses what has not been locked for that.
    fn check_plan(&self, plan: &Plan) -> Result<()> {
        for used in plan_uses(plan).filter(|used| !used.table.is_virtual()) {
            self.check(
                &used.table.database,
                &used.table.name,
                Some(used.alias),
                used.what,
            )?;
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
            Ddl::CreateDatabase { .. } | Ddl::AlterDatabase { .. } | Ddl::DropDatabase { .. } => {
                Err(Error::new(
                    ER_LOCK_OR_ACTIVE_TRANSACTION,
                    "Can't execute the given command because you have active locked tables or an active transaction",
                ))
            }
            // Of a table that is there and locked, it says that it is there.
            Ddl::CreateTable { name, .. } | Ddl::CreateTableLike { name, .. } => {
                self.check(&name.database, &name.name, None, Use::Read)
            }
            Ddl::TruncateTable { name } => written(name),
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

impl Session {
    /// LOCK TABLES: gives back what was locked before, and waits for all tables at once.
    pub(crate) fn lock_named_tables(&mut self, tables: &[TableToLock]) -> Result<()> {
        self.locked = None;
        if tables.iter().any(|one| one.write) {
            self.transaction.check_read_write(&self.settings)?;
        }
        for (position, one) in tables.iter().enumerate() {
            if one.table.database == INFORMATION_SCHEMA {
                return Err(errors::database_access(&self.account.name(), &one.table.database));
            }
            self.account.check_database(&one.table.database)?;
            let is_same =
                |other: &&TableToLock| other.alias == one.alias && other.table.database == one.table.database;
            if tables[..position].iter().any(|other| is_same(&other)) {
                return Err(errors::not_unique(&one.alias));
            }
        }
        let mut named = tables
            .iter()
            .map(|one| {
                Ok(LockedTable {
                    id: self.table(&one.table)?.id,
                    name: one.table.clone(),
                    alias: one.alias.clone(),
                    write: one.write,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let lease = self.lease_term();
        let locks = loop {
            let locks = self.session_locks(named.iter().map(|one| (one.id, one.write)))?;
            // A table may have become another one while this waited.
            let mut moved = false;
            for one in &mut named {
                let now = self.table(&one.name)?.id;
                moved |= now != one.id;
                one.id = now;
            }
            if !moved {
                break locks;
            }
        };
        self.locked = Some(LockedTables {
            locks: Some(locks),
            kind: LockKind::Named(named),
            lease,
        });
        Ok(())
    }

    /// FLUSH TABLES WITH READ LOCK.
    pub(crate) fn lock_all_tables(&mut self) -> Result<()> {
        self.locked = None;
        let ids: Vec<i64> = {
            let schema = self.shared.catalog.cluster.schema();
            let tables = schema.databases.values().flat_map(|d| d.tables.values());
            tables.map(|table| table.id).collect()
        };
        let lease = self.lease_term();
        let locks = self.session_locks(ids.into_iter().map(|id| (id, false)))?;
        self.locked = Some(LockedTables {
            locks: Some(locks),
            kind: LockKind::AllForReading,
            lease,
        });
        Ok(())
    }

    /// Locks stored tables; one that is named twice as its strongest use wants it.
    fn session_locks(&self, tables: impl Iterator<Item = (i64, bool)>) -> Result<SessionLocks> {
        let mut wanted: Vec<(i64, bool)> = tables.filter(|(id, _)| *id >= 0).collect();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        wanted.dedup_by_key(|(id, _)| *id);
        let limit = WaitLimit {
            timeout: self.settings.metadata_lock_wait,
            interrupt: &self.process.interrupt,
        };
        self.shared
            .catalog
            .cluster
            .metadata_locks()
            .lock_for_session(&wanted, &limit)
    }

    /// UNLOCK TABLES: commits, if LOCK TABLES has locked something.
    pub(crate) fn unlock_tables(&mut self) -> Result<()> {
        let Some(locked) = self.locked.take() else {
            return Ok(());
        };
        let committed = match locked.kind {
            LockKind::Named(_) => self.commit_implicitly(),
            LockKind::AllForReading => Ok(()),
        };
        drop(locked);
        committed
    }

    /// A transaction that begins gives back what LOCK TABLES has locked.
    pub(crate) fn unlock_for_transaction(&mut self) {
        if let Some(LockedTables {
            kind: LockKind::Named(_),
            ..
        }) = self.locked
        {
            self.locked = None;
        }
    }

    fn lease_term(&self) -> Option<u64> {
        self.shared.catalog.cluster.node().map(|node| node.term)
    }

    /// Unlocks tables that were locked under a lease of the server which is over: other servers have not waited for it.
    ///
    /// # Errors
    /// 8027 if there were such.
    pub(crate) fn check_locked_lease(&mut self) -> Result<()> {
        let Some(locked) = &self.locked else { return Ok(()) };
        if locked.lease == self.lease_term() {
            return Ok(());
        }
        self.locked = None;
        Err(cluster::lease::lease_is_over())
    }

    /// Fails when a plan uses tables that the session has not locked. `true`: those it uses are locked.
    pub(crate) fn check_locked(&self, plan: &Plan) -> Result<bool> {
        match &self.locked {
            None => Ok(false),
            Some(locked) => {
                locked.check_plan(plan)?;
                // Tables made since FLUSH TABLES WITH READ LOCK are not held by it.
                Ok(matches!(locked.kind, LockKind::Named(_)))
            }
        }
    }

    /// Fails when the session has locked tables, and not this one for this use.
    pub(crate) fn check_locked_table(&self, table: &Table, what: Use) -> Result<()> {
        match &self.locked {
            Some(locked) if !table.is_virtual() => locked.check(&table.database, &table.name, None, what),
            _ => Ok(()),
        }
    }

    /// FLUSH TABLES closes tables, which a READ lock does not allow.
    pub(crate) fn check_locked_for_flush(&self) -> Result<()> {
        match self.locked.as_ref().map(|locked| &locked.kind) {
            Some(LockKind::Named(tables)) => match tables.iter().find(|locked| !locked.write) {
                Some(locked) => Err(locked_for_reading(&locked.alias)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Fails unless a definition is about what the session has locked for writing.
    pub(crate) fn check_locked_ddl(&self, ddl: &Ddl) -> Result<()> {
        self.locked
            .as_ref()
            .map_or(Ok(()), |locked| locked.check_ddl(ddl))
    }

    /// Runs a definition without the session's locks, and takes those again that are still of a table.
    pub(crate) fn without_locks<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(locked) = &mut self.locked {
            drop(locked.locks.take());
        }
        let result = body(self);
        let Some(LockedTables {
            kind: LockKind::Named(mut tables),
            ..
        }) = self.locked.take()
        else {
            return result;
        };
        self.follow(&mut tables);
        if tables.is_empty() {
            return result;
        }
        // Where this fails, the statement has done its work, but the session has nothing locked any more.
        let lease = self.lease_term();
        let locks = self.session_locks(tables.iter().map(|one| (one.id, one.write)));
        match locks {
            Ok(locks) => {
                self.locked = Some(LockedTables {
                    locks: Some(locks),
                    kind: LockKind::Named(tables),
                    lease,
                });
                result
            }
            Err(error) => result.and(Err(error)),
        }
    }

    /// Brings names and ids up to date: a table may have been renamed, made anew (TRUNCATE), or dropped.
    fn follow(&self, tables: &mut Vec<LockedTable>) {
        let schema = self.shared.catalog.cluster.schema();
        tables.retain_mut(|locked| {
            let by_id = schema
                .databases
                .values()
                .flat_map(|d| d.tables.values())
                .find(|table| table.id == locked.id);
            if let Some(table) = by_id {
                if locked.alias == locked.name.name {
                    locked.alias.clone_from(&table.name);
                }
                locked.name = TableName {
                    database: table.database.clone(),
                    name: table.name.clone(),
                };
                return true;
            }
            match schema.table(&locked.name.database, &locked.name.name) {
                Some(table) => {
                    locked.id = table.id;
                    true
                }
                None => false,
            }
        });
    }

    /// What a SHOW or a maintenance statement says of a table that is not locked.
    pub(crate) fn check_locked_name(&self, name: &TableName, what: Use) -> Result<()> {
        let table = self.table(name)?;
        self.check_locked_table(&table, what)
    }
}

/// Error 1235 of the other forms of FLUSH TABLES that lock.
pub(crate) fn flush_of_some_tables() -> Error {
    Error::not_supported(
        "FLUSH TABLES of named tables WITH READ LOCK or FOR EXPORT",
        "use LOCK TABLES ... READ",
    )
}

/// The number that goes with [`LockedTables`]' errors where a statement answers with rows.
pub(crate) fn is_lock_error(error: &Error) -> bool {
    matches!(error.code, ER_TABLE_NOT_LOCKED | ER_TABLE_NOT_LOCKED_FOR_WRITE)
        || error.code == errno::ER_NO_SUCH_TABLE
}
