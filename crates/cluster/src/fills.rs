//! Bulk loads into tables that others may read meanwhile: when their rows count as committed, and who learns of it.
//!
//! The rows of a fill have the timestamp of a commit from before they were written to files ([`Fills::begin`]). They
//! can be read from the moment on in which the files become part of the store, which is later. Nobody else writes the
//! table between the two, so there its state is that from before the fill: a read of the past between them
//! ([`Fills::read_at`]) gets that state, before the files are there and afterwards.
//!
//! **Who follows the commits** meets two: one that stores a record of the fill, whose timestamp the rows have, and one
//! that removes it. From the latter on, the rows with that timestamp are in the table, or there are none. If the
//! process ends between the files and the second commit, the next start makes that commit ([`Fills::reinstate`]).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use kv::{Durability, Interrupt, LockMode, LockOptions, LockWait, Reader, Store, Timestamp, TxnOptions};
use parking_lot::Mutex;
use types::Result;

use crate::meta::keys;

/// From the commit to the moment in which the rows are there.
struct Done {
    table: i64,
    begin: Timestamp,
    end: Timestamp,
}

pub struct Fills {
    store: Store,
    /// Those that a read of the past may meet.
    done: Mutex<Vec<Done>>,
}

/// A fill that has begun. Over when dropped, with its rows or without.
pub struct Fill<'f> {
    fills: &'f Fills,
    table: i64,
    ts: Timestamp,
}

impl Fills {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            done: Mutex::default(),
        }
    }

    /// Commits that the caller, which keeps other writers from the table, is about to fill it.
    ///
    /// # Errors
    /// 1205, 1317, those of a commit.
    pub fn begin(&self, table: i64, lock_wait: Duration, interrupt: &Arc<Interrupt>) -> Result<Fill<'_>> {
        let options = LockOptions {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(lock_wait),
            interrupt: Arc::clone(interrupt),
        };
        let key = keys::fill(table);
        let mut txn = self.store.begin(TxnOptions::default())?;
        txn.lock_one(&key, &options)?;
        txn.put(key, Vec::new())?;
        let ts = txn.commit(Durability::Sync)?;
        Ok(Fill {
            fills: self,
            table,
            ts,
        })
    }

    /// The moment at which a read of the past reads a table.
    pub fn read_at(&self, table: i64, ts: Timestamp) -> Timestamp {
        let done = self.done.lock();
        let fills = done.iter().rev().filter(|done| done.table == table);
        // One fill can have begun at the end of another.
        fills.fold(ts, |ts, done| match (done.begin..=done.end).contains(&ts) {
            true => done.begin - 1,
            false => ts,
        })
    }

    /// The fills of a process that has ended are over. There are no reads of the past from before a start.
    ///
    /// # Errors
    /// Those of reads and of a commit.
    pub(crate) fn reinstate(&self) -> Result<()> {
        let mut left = Vec::new();
        self.store.latest().scan(&keys::fills(), false, &mut |key, _| {
            left.push(key.to_vec());
            ControlFlow::Continue(())
        })?;
        if !left.is_empty() {
            self.remove(left)?;
        }
        Ok(())
    }

    fn remove(&self, records: Vec<Vec<u8>>) -> kv::Result<()> {
        let mut txn = self.store.begin(TxnOptions::default())?;
        for key in records {
            txn.lock_one(&key, &LockOptions::exclusive(Duration::from_secs(1)))?;
            txn.delete(key)?;
        }
        // Lost by a crash, the next start makes it again.
        txn.commit(Durability::Os).map(drop)
    }
}

impl Fill<'_> {
    /// That of the rows.
    pub fn ts(&self) -> Timestamp {
        self.ts
    }

    /// The rows are there, and nobody uses the table before this returns.
    pub fn note_end(&self) {
        let store = &self.fills.store;
        // Where bulk loads are, the timestamps are those of this process, and getting one cannot fail.
        let end = store.current_ts().unwrap_or(self.ts);
        let safe_point = store.safe_point();
        let mut done = self.fills.done.lock();
        done.retain(|done| done.end >= safe_point);
        done.push(Done {
            table: self.table,
            begin: self.ts,
            end,
        });
    }
}

impl Drop for Fill<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.fills.remove(vec![keys::fill(self.table)]) {
            tracing::warn!(table = self.table, %error, "the record of a bulk load stays until the next start");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(store: &Store) -> usize {
        let mut found = 0;
        let count = &mut |_: &[u8], _: &[u8]| {
            found += 1;
            ControlFlow::Continue(())
        };
        store.latest().scan(&keys::fills(), false, count).unwrap();
        found
    }

    fn begin(fills: &Fills, table: i64) -> Fill<'_> {
        fills
            .begin(table, Duration::from_secs(1), &Interrupt::new())
            .unwrap()
    }

    #[test]
    fn the_past_between_the_two_moments_of_a_fill_is_that_before_it() {
        let store = Store::memory();
        let fills = Fills::new(store.clone());
        let before = store.current_ts().unwrap();
        let fill = begin(&fills, 7);
        let (ts, between) = (fill.ts(), store.current_ts().unwrap());
        assert_eq!(fills.read_at(7, between), between);
        fill.note_end();
        drop(fill);
        let after = store.current_ts().unwrap();
        assert_eq!(fills.read_at(7, between), ts - 1);
        assert_eq!(fills.read_at(8, between), between);
        assert_eq!(fills.read_at(7, before), before);
        assert_eq!(fills.read_at(7, after), after);
        // Another one begins at once.
        let second = begin(&fills, 7);
        let between = store.current_ts().unwrap();
        second.note_end();
        assert_eq!(fills.read_at(7, between), second.ts() - 1);
    }

    #[test]
    fn what_a_crash_leaves_of_a_fill_is_over_at_the_next_start() {
        let store = Store::memory();
        let fills = Fills::new(store.clone());
        let first = begin(&fills, 7);
        // As a process that ends would.
        std::mem::forget(begin(&fills, 8));
        assert_eq!(records(&store), 2);
        drop(first);
        assert_eq!(records(&store), 1);
        let fills = Fills::new(store.clone());
        fills.reinstate().unwrap();
        assert_eq!(records(&store), 0);
        // A table can be filled again.
        drop(begin(&fills, 8));
    }
}
