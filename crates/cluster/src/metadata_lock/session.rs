//! LOCK TABLES: tables that a session holds until UNLOCK TABLES, across its transactions.
//!
//! READ permits all sessions to read and none to write; it waits for the transactions that have written.
//! WRITE excludes all other sessions, as a schema change does; it waits for all transactions that use the
//! table, and is the table's only schema change meanwhile. Like a schema change, and for the same reason, it
//! does not hold some of its tables while it waits long for others.
//!
//! Not here: LOCK TABLES where several processes share the store (`ddl`).

use std::sync::Arc;
use std::time::Instant;

use types::Result;

use super::change::{PAUSE_MAX, PAUSE_MIN};
use super::table_lock::{TableLock, Use};
use super::{Claim, MetadataLocks, Purpose, ROUND, Stage};
use crate::wait::{Deadline, WaitLimit, state};

/// Tables locked by LOCK TABLES. Dropping it unlocks them.
pub struct SessionLocks {
    tables: Tables,
}

/// Unlocked when dropped.
struct Tables {
    locked: Vec<Locked>,
    /// What others see of them.
    claim: Arc<Claim>,
}

struct Locked {
    table: Arc<TableLock>,
    write: bool,
    /// Whether it is closed (to writers) now.
    closed: bool,
    /// For READ: whether the session is inside, as a reader.
    inside: bool,
}

impl Locked {
    fn close(&mut self) {
        if self.write {
            self.table.close();
        } else {
            self.table.close_to_writers();
        }
        self.closed = true;
    }

    /// Waits for the transactions that must end; false when they have not by `until`.
    fn take(&mut self, until: Instant, deadline: &Deadline) -> Result<bool> {
        if self.write {
            return self.table.drained(until, deadline);
        }
        self.inside = self.table.enter_without_writers(until, deadline)?;
        Ok(self.inside)
    }

    fn open(&mut self) {
        if std::mem::take(&mut self.inside) {
            self.table.leave(Use::Read);
        }
        if std::mem::take(&mut self.closed) {
            if self.write {
                self.table.open();
            } else {
                self.table.open_to_writers();
            }
        }
    }
}

impl MetadataLocks {
    /// What a session waits for that locks tables.
    fn state_of_session(&self, purpose: Purpose, tables: &[(i64, bool)]) -> &'static str {
        let what = match tables.iter().any(|(_, write)| *write) {
            true => Use::Write,
            false => Use::Read,
        };
        match purpose {
            Purpose::LockAll => state::ALL_TABLES,
            Purpose::Backup => state::BACKUP,
            _ => self.claims.state_of_wait(0, what),
        }
    }
}

impl SessionLocks {
    /// `tables`: ids, each once, and whether they are to be written.
    /// `check` ends a wait by an error.
    pub(super) fn acquire(
        locks: &MetadataLocks,
        purpose: Purpose,
        tables: &[(i64, bool)],
        limit: &WaitLimit,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        let mut tables = tables.to_vec();
        // One order for all, so that two sessions cannot wait for each other.
        tables.sort_unstable();
        let deadline = Deadline::showing(limit, locks.state_of_session(purpose, &tables));
        let mut taken = Tables {
            locked: Vec::new(),
            claim: locks.claim(limit.interrupt.session(), purpose, &tables),
        };
        for (id, write) in tables {
            let table = locks.table(id);
            if write {
                table.begin_change(&deadline)?;
            }
            taken.locked.push(Locked {
                table,
                write,
                closed: false,
                inside: false,
            });
        }
        let mut pause = PAUSE_MIN;
        // Before it waits at all, `check` is asked.
        if taken.try_round(Instant::now(), &deadline)? {
            return Ok(taken.held());
        }
        check()?;
        while !taken.try_round(Instant::now() + ROUND, &deadline)? {
            check()?;
            deadline.sleep(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Ok(taken.held())
    }

    /// Whether a schema change waits for one of the tables.
    pub fn delays_change(&self) -> bool {
        self.tables
            .locked
            .iter()
            .any(|locked| locked.table.has_waiting_change())
    }
}

impl Tables {
    fn held(self) -> SessionLocks {
        self.claim.set(Stage::Holds);
        SessionLocks { tables: self }
    }

    /// `until`: when it gives up.
    fn try_round(&mut self, until: Instant, deadline: &Deadline) -> Result<bool> {
        self.locked.iter_mut().for_each(Locked::close);
        let mut all = true;
        for table in &mut self.locked {
            all = all && table.take(until, deadline)?;
        }
        if !all {
            self.locked.iter_mut().for_each(Locked::open);
        }
        Ok(all)
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        for locked in &mut self.locked {
            locked.open();
            if locked.write {
                locked.table.end_change();
            }
        }
    }
}
