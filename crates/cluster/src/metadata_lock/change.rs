//! The locks of a schema change: one change at a time per table, exclusive while a definition is published.

use std::sync::Arc;
use std::time::{Duration, Instant};

use types::Result;

use super::table_lock::TableLock;
use super::{Claim, MetadataLocks, Purpose, ROUND, Stage, Use};
use crate::wait::{Deadline, WaitLimit};

/// The pause between two rounds, in which the transactions that waited can enter. It doubles with each round,
/// so that a change that waits for a very long transaction leaves most of the time to others.
pub const PAUSE_MIN: Duration = Duration::from_millis(50);
pub const PAUSE_MAX: Duration = Duration::from_secs(4);

/// The right to change some tables. Transactions continue to use them.
pub struct ChangeLocks {
    tables: Vec<Arc<TableLock>>,
    claim: Arc<Claim>,
    /// What a session waits for that waits to be alone.
    state: &'static str,
}

/// The tables of a [`ChangeLocks`] while no transaction uses them and none can enter, until this is dropped.
pub struct Exclusive<'a> {
    tables: &'a [Arc<TableLock>],
    claim: &'a Claim,
}

/// The tables of a [`ChangeLocks`] while no transaction writes them and none can begin to, until this is dropped. Others
/// read them. A transaction that has read one and would wait to write it gets error 1213, because the change waits for
/// it in the end.
pub struct WithoutWriters<'a> {
    tables: &'a [Arc<TableLock>],
}

impl<'a> WithoutWriters<'a> {
    fn begin(tables: &'a [Arc<TableLock>]) -> Self {
        for table in tables {
            table.refuse_further_writers();
            table.close_to_writers();
        }
        Self { tables }
    }
}

impl Drop for WithoutWriters<'_> {
    fn drop(&mut self) {
        for table in self.tables {
            table.admit_further_writers();
            table.open_to_writers();
        }
    }
}

impl ChangeLocks {
    pub(super) fn acquire(
        locks: &MetadataLocks,
        purpose: Purpose,
        ids: &[i64],
        limit: &WaitLimit,
    ) -> Result<Self> {
        let mut ids = ids.to_vec();
        // One order for all, so that two changes cannot wait for each other.
        ids.sort_unstable();
        ids.dedup();
        let shown: Vec<(i64, bool)> = ids.iter().map(|id| (*id, true)).collect();
        let state = locks.claims.state_of_wait(0, Use::Write);
        let deadline = Deadline::showing(limit, state);
        let mut taken = Self {
            tables: Vec::new(),
            claim: locks.claims.add(limit.interrupt.session(), purpose, &shown),
            state,
        };
        for id in ids {
            let table = locks.table(id);
            {
                let _waiting = table.change_waits();
                table.begin_change(&deadline)?;
            }
            taken.tables.push(table);
        }
        taken.claim.set(Stage::Holds);
        Ok(taken)
    }

    /// Waits until no transaction uses the tables, and lets none enter.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn exclusive(&self, limit: &WaitLimit) -> Result<Exclusive<'_>> {
        self.exclusive_while(limit, &|| Ok(()))
    }

    /// The same. `check` is called at intervals, and ends the wait by an error.
    ///
    /// # Errors
    /// Those of [`ChangeLocks::exclusive`] and of `check`.
    pub fn exclusive_while(
        &self,
        limit: &WaitLimit,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Exclusive<'_>> {
        self.claim.set(Stage::WaitsAlone);
        let exclusive = self.rounds(limit, check, |deadline| self.try_round(deadline));
        self.claim.set(match &exclusive {
            Ok(_) => Stage::Alone,
            Err(_) => Stage::Holds,
        });
        exclusive
    }

    /// Waits until no transaction writes the tables, and lets no writer enter.
    ///
    /// # Errors
    /// As [`ChangeLocks::exclusive_while`].
    pub fn without_writers(
        &self,
        limit: &WaitLimit,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<WithoutWriters<'_>> {
        self.claim.set(Stage::WaitsAlone);
        let guard = self.rounds(limit, check, |deadline| {
            let guard = WithoutWriters::begin(&self.tables);
            let until = Instant::now() + ROUND;
            for table in &self.tables {
                if !table.left_by_writers(until, deadline)? {
                    return Ok(None);
                }
            }
            Ok(Some(guard))
        });
        self.claim.set(Stage::Holds);
        guard
    }

    fn rounds<T>(
        &self,
        limit: &WaitLimit,
        check: &dyn Fn() -> Result<()>,
        try_round: impl Fn(&Deadline) -> Result<Option<T>>,
    ) -> Result<T> {
        let deadline = Deadline::showing(limit, self.state);
        let _waiting: Vec<_> = self.tables.iter().map(|table| table.change_waits()).collect();
        let mut pause = PAUSE_MIN;
        loop {
            if let Some(taken) = try_round(&deadline)? {
                return Ok(taken);
            }
            self.claim.set(Stage::WaitsAlone);
            check()?;
            deadline.sleep(pause)?;
            check()?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn try_round(&self, deadline: &Deadline) -> Result<Option<Exclusive<'_>>> {
        self.tables.iter().for_each(|t| t.close());
        let exclusive = Exclusive {
            tables: &self.tables,
            claim: &self.claim,
        };
        let until = Instant::now() + ROUND;
        for table in &self.tables {
            if !table.drained(until, deadline)? {
                return Ok(None);
            }
        }
        Ok(Some(exclusive))
    }
}

impl Drop for ChangeLocks {
    fn drop(&mut self) {
        self.tables.iter().for_each(|t| t.end_change());
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.tables.iter().for_each(|t| t.open());
        self.claim.set(Stage::Holds);
    }
}
