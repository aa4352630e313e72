//! The side of LOCK TABLES: tables that a session holds until UNLOCK TABLES, whatever its transactions do.
//!
//! READ lets everybody read and nobody write; it waits for the transactions that have written. WRITE keeps everybody else
//! out, as a schema change does; it waits for all that use the table, and is the table's one schema change meanwhile.
//! Like a schema change, and for the same reason, it does not hold some of its tables while it waits long for others.

use std::sync::Arc;
use std::time::Instant;

use types::Result;

use super::change::{PAUSE_MAX, PAUSE_MIN};
use super::table_lock::{TableLock, Use};
use super::{Deadline, MetadataLocks, ROUND, WaitLimit};

/// Tables locked by LOCK TABLES. Dropping it unlocks them.
pub struct SessionLocks {
    tables: Vec<Locked>,
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

    /// Waits for those that have to leave; false when they have not by `until`.
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

impl SessionLocks {
    /// `tables`: ids, each once, and whether they are to be written.
    pub(super) fn acquire(locks: &MetadataLocks, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<Self> {
        let mut tables = tables.to_vec();
        // One order for all, so that two sessions cannot wait for each other.
        tables.sort_unstable();
        let deadline = Deadline::new(limit);
        let mut taken = Self { tables: Vec::new() };
        for (id, write) in tables {
            let table = locks.table(id);
            if write {
                table.begin_change(&deadline)?;
            }
            taken.tables.push(Locked {
                table,
                write,
                closed: false,
                inside: false,
            });
        }
        let mut pause = PAUSE_MIN;
        while !taken.try_round(&deadline)? {
            let until = Instant::now() + pause;
            while Instant::now() < until {
                std::thread::sleep(deadline.next_sleep()?);
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Ok(taken)
    }

    fn try_round(&mut self, deadline: &Deadline) -> Result<bool> {
        self.tables.iter_mut().for_each(Locked::close);
        let until = Instant::now() + ROUND;
        let mut all = true;
        for table in &mut self.tables {
            all = all && table.take(until, deadline)?;
        }
        if !all {
            self.tables.iter_mut().for_each(Locked::open);
        }
        Ok(all)
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        for locked in &mut self.tables {
            locked.open();
            if locked.write {
                locked.table.end_change();
            }
        }
    }
}
