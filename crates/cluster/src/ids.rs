//! AUTO_INCREMENT values, the sequences of AUTO_RANDOM and hidden row ids: leased from the store in ranges,
//! allocated from memory.
//!
//! To lease a range is to raise a stored counter: ids below the counter may have been allocated, the others
//! have not. A crash loses the rest of a lease, so ids may be skipped afterwards, but none is allocated
//! twice; [`IdAllocator::return_leased`] returns the rest. Nodes lease from the same counter, so they never
//! allocate the same id.
//!
//! The rules for AUTO_INCREMENT are InnoDB's: `auto_increment_increment` and `_offset` select which ids are
//! used, the next value stops at the column's largest, and the last value, once used, is allocated again (and
//! fails as a duplicate, 1062). AUTO_RANDOM counts in the same way below its shard bits
//! ([`schema::sharded_id`]), and is used up after its last value.
//!
//! A lease is committed without waiting for the disk: rows that use its ids are committed after it, to the
//! same log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kv::{Durability, Store};
use parking_lot::{Mutex, RwLock};
use schema::model::Table;
use schema::temporary::TemporaryIds;
use types::{Error, Result, SqlType, TypeKind};

use crate::meta::{Meta, keys, read_counter};

const ER_AUTOINC_READ_FAILED: u16 = 1467;
/// The size of the first lease and of the largest: after a lease that is used up within [`QUICK`], the next
/// is twice as large.
const STEP_MIN: u64 = 1_000;
const STEP_MAX: u64 = 32_000;
const QUICK: Duration = Duration::from_secs(10);

/// Hidden row ids stop at the number that the largest SHARD_ROW_ID_BITS leave room for, whatever a table has.
/// So an id is never equal to one made under another setting. At a million rows a second that lasts nine
/// years.
const LAST_ROW_ID: u64 = (1 << 48) - 1;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    AutoIncrement,
    RowId,
}

impl Kind {
    fn key(self, table: i64) -> Vec<u8> {
        match self {
            Self::AutoIncrement => keys::auto_increment(table),
            Self::RowId => keys::row_id(table),
        }
    }
}

/// One counter of one table.
struct Counter {
    key: Vec<u8>,
    lease: Mutex<IdLease>,
}

/// `next..end` may be allocated.
#[derive(Default)]
struct IdLease {
    /// 0: nothing leased yet.
    next: u64,
    end: u64,
    /// The largest value that a statement has given explicitly while `next` was larger.
    explicit: u64,
    step: u64,
    leased_at: Option<Instant>,
}

/// Allocates ids of all tables.
pub struct IdAllocator {
    store: Store,
    counters: RwLock<BTreeMap<(i64, Kind), Arc<Counter>>>,
}

impl IdAllocator {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            counters: RwLock::default(),
        }
    }

    fn counter(&self, kind: Kind, table: i64) -> Arc<Counter> {
        if let Some(counter) = self.counters.read().get(&(table, kind)) {
            return Arc::clone(counter);
        }
        let mut counters = self.counters.write();
        let counter = counters.entry((table, kind)).or_insert_with(|| {
            Arc::new(Counter {
                key: kind.key(table),
                lease: Mutex::default(),
            })
        });
        Arc::clone(counter)
    }

    /// Drops the leases of a table: it has been dropped, or its counter has been set.
    pub fn forget(&self, table: i64) {
        let mut counters = self.counters.write();
        counters.remove(&(table, Kind::AutoIncrement));
        counters.remove(&(table, Kind::RowId));
    }

    /// Allocates `count` AUTO_INCREMENT values, or sequence numbers of AUTO_RANDOM, and returns the first.
    /// The distance between two of them is `increment`.
    ///
    /// The first is at most the column's largest value. Later ones may be beyond it, which is error 1467 of
    /// the statement that uses them.
    ///
    /// # Errors
    /// 1467 when there are none left; those of the store.
    pub fn allocate(&self, table: &Table, count: u64, increment: u64, offset: u64) -> Result<u64> {
        let largest = largest_value(table);
        let increment = increment.max(1);
        // Manual: an offset greater than the increment is ignored.
        let offset = if offset > increment { 0 } else { offset };
        let span = count.max(1).saturating_mul(increment);
        let first_of = |next: u64| align(next, increment, offset);
        if let Some(ids) = &table.temporary {
            let first = first_of(next_of_temporary(table, ids));
            if first > largest || first == u64::MAX {
                return Err(used_up());
            }
            let next = next_value(table, first.saturating_add(span));
            ids.auto_increment.store(next, Ordering::Relaxed);
            return Ok(first);
        }
        let counter = self.counter(Kind::AutoIncrement, table.id);
        let mut lease = counter.lease.lock();
        if lease.next == 0 || first_of(lease.next).saturating_add(span) > lease.end {
            self.extend(&counter, &mut lease, table.auto_increment_start, |next| {
                first_of(next).saturating_add(span)
            })?;
        }
        let first = first_of(lease.next);
        if first > largest || first == u64::MAX {
            return Err(used_up());
        }
        lease.next = next_value(table, first.saturating_add(span));
        Ok(first)
    }

    /// Takes back the values from `first` on up to `end`, of a block that [`IdAllocator::allocate`] returned: no row
    /// has one of them. They stay lost if others have been allocated since.
    pub fn give_back(&self, table: &Table, first: u64, end: u64) {
        let end = next_value(table, end);
        if let Some(ids) = &table.temporary {
            if ids.auto_increment.load(Ordering::Relaxed) == end {
                ids.auto_increment.store(first, Ordering::Relaxed);
            }
            return;
        }
        let counter = self.counter(Kind::AutoIncrement, table.id);
        let mut lease = counter.lease.lock();
        if lease.next == end {
            lease.next = first.max(next_value(table, lease.explicit.saturating_add(1)));
        }
    }

    /// A statement has given a value explicitly (of AUTO_RANDOM: its sequence number): allocated values will
    /// be greater.
    ///
    /// # Errors
    /// Those of the store.
    pub fn raise_to(&self, table: &Table, value: u64) -> Result<()> {
        if let Some(ids) = &table.temporary {
            let next = next_value(table, value.saturating_add(1));
            let before = next_of_temporary(table, ids);
            ids.auto_increment.store(before.max(next), Ordering::Relaxed);
            return Ok(());
        }
        let counter = self.counter(Kind::AutoIncrement, table.id);
        let mut lease = counter.lease.lock();
        if value < lease.next {
            lease.explicit = lease.explicit.max(value);
            return Ok(());
        }
        let next = next_value(table, value.saturating_add(1));
        if lease.next == 0 || next >= lease.end {
            self.extend(&counter, &mut lease, table.auto_increment_start, |stored| {
                stored.max(next)
            })?;
        }
        lease.next = lease.next.max(next);
        Ok(())
    }

    /// The value of the next row (with an increment of 1): for SHOW CREATE TABLE and information_schema.
    ///
    /// # Errors
    /// Those of the store.
    pub fn next(&self, table: &Table) -> Result<u64> {
        if let Some(ids) = &table.temporary {
            return Ok(next_of_temporary(table, ids));
        }
        let counter = self.counter(Kind::AutoIncrement, table.id);
        let lease = counter.lease.lock();
        if lease.next > 0 {
            return Ok(lease.next);
        }
        self.first_unleased(table)
    }

    /// The first AUTO_INCREMENT value, or sequence number of AUTO_RANDOM, that no node has leased: all values
    /// in use are smaller, whether they were allocated or given by statements.
    ///
    /// # Errors
    /// Those of the store.
    pub fn first_unleased(&self, table: &Table) -> Result<u64> {
        let stored = read_counter(&self.store.latest(), &Kind::AutoIncrement.key(table.id))?;
        Ok(stored.unwrap_or(table.auto_increment_start).max(1))
    }

    /// Allocates `count` consecutive sequence numbers of hidden row ids and returns the first.
    /// [`Table::row_id_layout`] makes ids of them.
    ///
    /// # Errors
    /// 1467 when there are none left; those of the store.
    pub fn allocate_row_ids(&self, table: &Table, count: u64) -> Result<u64> {
        if let Some(ids) = &table.temporary {
            return Ok(ids.row_ids.fetch_add(count.max(1), Ordering::Relaxed) + 1);
        }
        let counter = self.counter(Kind::RowId, table.id);
        let mut lease = counter.lease.lock();
        let count = count.max(1);
        if lease.next == 0 || lease.next.saturating_add(count) > lease.end {
            self.extend(&counter, &mut lease, 1, |next| next.saturating_add(count))?;
        }
        let first = lease.next;
        lease.next = lease.next.saturating_add(count);
        if lease.next > LAST_ROW_ID {
            return Err(used_up());
        }
        Ok(first)
    }

    /// Raises a counter to at least `needed(first id that may be used)`, and some more for later.
    fn extend(
        &self,
        counter: &Counter,
        lease: &mut IdLease,
        start: u64,
        needed: impl Fn(u64) -> u64,
    ) -> Result<()> {
        let now = Instant::now();
        lease.step = match lease.leased_at {
            Some(leased_at) if now - leased_at < QUICK => (lease.step * 2).min(STEP_MAX),
            _ => STEP_MIN,
        };
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        let stored = meta.lock_counter(&counter.key)?.unwrap_or(start).max(1);
        // No other node has leased since, so the rest of this lease and the new one are one range.
        let next = if lease.next > 0 && stored == lease.end {
            lease.next
        } else {
            stored.max(lease.next)
        };
        let end = needed(next).max(stored).saturating_add(lease.step);
        meta.put_counter(counter.key.clone(), end)?;
        txn.commit(Durability::Os)?;
        lease.next = next;
        lease.end = end;
        lease.leased_at = Some(now);
        Ok(())
    }

    /// Stores which ids have really been allocated, for a clean shutdown.
    pub(crate) fn return_leased(&self) -> Result<()> {
        let counters = std::mem::take(&mut *self.counters.write());
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        for counter in counters.into_values() {
            let mut lease = counter.lease.lock();
            if lease.next == 0 {
                continue;
            }
            // If another node's lease began where this one ended, the rest is lost, as after a crash.
            if meta.lock_counter(&counter.key)? == Some(lease.end) {
                meta.put_counter(counter.key.clone(), lease.next)?;
            }
            *lease = IdLease::default();
        }
        txn.commit(Durability::Sync)?;
        Ok(())
    }
}

/// The next AUTO_INCREMENT value of a temporary table.
fn next_of_temporary(table: &Table, ids: &TemporaryIds) -> u64 {
    match ids.auto_increment.load(Ordering::Relaxed) {
        0 => table.auto_increment_start.max(1),
        next => next,
    }
}

fn used_up() -> Error {
    Error::new(
        ER_AUTOINC_READ_FAILED,
        "Failed to read auto-increment value from storage engine",
    )
}

/// The first value from `next` on that is `offset` more than a multiple of `increment`.
pub fn align(next: u64, increment: u64, offset: u64) -> u64 {
    if increment == 1 {
        return next;
    }
    if next <= offset {
        return offset.max(1);
    }
    let steps = (next - offset).div_ceil(increment);
    steps.saturating_mul(increment).saturating_add(offset)
}

/// InnoDB's counter stays at the column's largest value. That of AUTO_RANDOM continues until it is used up.
fn next_value(table: &Table, next: u64) -> u64 {
    match table.auto_random_layout() {
        Some(_) => next,
        None => next.min(largest_value(table)),
    }
}

/// The largest value of the table's AUTO_INCREMENT column, or of AUTO_RANDOM's sequence.
fn largest_value(table: &Table) -> u64 {
    if let Some(layout) = table.auto_random_layout() {
        return layout.last();
    }
    table
        .auto_increment_column()
        .map_or(u64::MAX, |at| largest_id(&table.columns[at].ty))
}

/// The largest id that a column of a numeric type holds, exactly and without gaps.
pub fn largest_id(ty: &SqlType) -> u64 {
    let bits = match ty.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        TypeKind::Float => return 1 << 24,
        TypeKind::Double => return 1 << 53,
        _ => 64,
    };
    if ty.unsigned {
        u64::MAX >> (64 - bits)
    } else {
        u64::MAX >> (65 - bits)
    }
}

#[cfg(test)]
mod tests;
