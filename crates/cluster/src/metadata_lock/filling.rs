//! A table that one statement fills, and nobody else writes meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use types::Result;

use super::ROUND;
use super::change::{PAUSE_MAX, PAUSE_MIN};
use super::table_lock::TableLock;
use crate::wait::{Deadline, WaitLimit, state};

/// How long a statement that could as well write the table row by row waits for others, before it begins.
const PATIENCE: Duration = Duration::from_millis(200);

/// The right of one transaction, which is inside the table as a writer, to write it alone. Others read it, and its
/// definition does not change. Ends when dropped.
pub struct Filling {
    table: Arc<TableLock>,
    /// To other writers.
    is_closed: bool,
}

/// No other transaction uses the table until this is dropped.
pub struct Alone<'a> {
    table: &'a TableLock,
}

impl Filling {
    /// `None` if the table's definition changes. With `is_choice` also if others write the table, or have read it in
    /// transactions that go on.
    pub(super) fn begin(table: Arc<TableLock>, is_choice: bool, limit: &WaitLimit) -> Result<Option<Self>> {
        let deadline = Deadline::showing(limit, state::TABLE);
        let until = is_choice.then(|| Instant::now() + PATIENCE);
        if !table.begin_filling(until, &deadline)? {
            return Ok(None);
        }
        let mut filling = Self {
            table,
            is_closed: false,
        };
        let mut pause = PAUSE_MIN;
        loop {
            filling.close_to_writers();
            // Without a choice, it waits for readers at its end.
            let round_end = until.unwrap_or_else(|| Instant::now() + ROUND);
            if filling.table.fills_alone(is_choice, round_end, &deadline)? {
                return Ok(Some(filling));
            }
            if is_choice {
                return Ok(None);
            }
            // Others need not stand behind a writer that takes long.
            filling.open_to_writers();
            deadline.sleep(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn close_to_writers(&mut self) {
        self.is_closed = true;
        self.table.close_to_writers();
    }

    fn open_to_writers(&mut self) {
        if std::mem::replace(&mut self.is_closed, false) {
            self.table.open_to_writers();
        }
    }

    /// Waits until no other transaction uses the table, and lets none enter.
    ///
    /// A transaction that has read the table and now waits to write it would wait for this one, as this one for
    /// it: it gets error 1213.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn alone(&self, limit: &WaitLimit) -> Result<Alone<'_>> {
        let deadline = Deadline::showing(limit, state::TABLE);
        let mut pause = PAUSE_MIN;
        loop {
            let alone = Alone::begin(&self.table);
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
        self.open_to_writers();
        self.table.end_change();
    }
}

impl<'a> Alone<'a> {
    fn begin(table: &'a TableLock) -> Self {
        table.refuse_further_writers();
        table.close();
        Self { table }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.table.admit_further_writers();
        self.table.open();
    }
}
