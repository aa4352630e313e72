//! A table that one statement fills, and nobody else writes meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use types::Result;

use super::ROUND;
use super::change::{PAUSE_MAX, PAUSE_MIN};
use super::table_lock::TableLock;
use crate::wait::{Deadline, WaitLimit};

/// How long a statement that fills a table waits for single statements that read it, before it begins.
const PATIENCE: Duration = Duration::from_millis(200);

/// The right of one transaction, which is inside the table as a writer, to write it alone. Others read it, and its
/// definition does not change. Ends when dropped.
pub struct Filling {
    table: Arc<TableLock>,
}

/// No other transaction uses the table until this is dropped.
pub struct Alone<'a> {
    table: &'a TableLock,
}

impl Filling {
    /// `None` if others write the table, change its definition, or have read it in transactions that go on.
    pub(super) fn try_begin(table: Arc<TableLock>, limit: &WaitLimit) -> Result<Option<Self>> {
        if !table.try_begin_change() {
            return Ok(None);
        }
        table.close_to_writers();
        let filling = Self { table };
        let until = Instant::now() + PATIENCE;
        let is_alone =
            filling.table.has_one_writer() && filling.table.drained_but_one(until, &Deadline::new(limit))?;
        Ok(is_alone.then_some(filling))
    }

    /// Waits until no other transaction uses the table, and lets none enter.
    ///
    /// A transaction that has read the table and now waits to write it would wait for this one, as this one for
    /// it: it gets error 1213.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn alone(&self, limit: &WaitLimit) -> Result<Alone<'_>> {
        let deadline = Deadline::new(limit);
        self.table.refuse_further_writers(true);
        let mut pause = PAUSE_MIN;
        loop {
            self.table.close();
            let alone = Alone { table: &self.table };
            if self.table.drained_but_one(Instant::now() + ROUND, &deadline)? {
                return Ok(alone);
            }
            drop(alone);
            deadline.sleep(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.table.refuse_further_writers(false);
        self.table.open_to_writers();
        self.table.end_change();
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.table.open();
    }
}
