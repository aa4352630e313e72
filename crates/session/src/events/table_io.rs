//! How often rows of each table and index are read and changed (`table_io_waits_summary_by_table` and
//! `..._by_index_usage`). How long it takes is not measured.
//!
//! The executors count by table and index in [`functions::ReadCounters`]. A statement that reads one row by its
//! key or writes one table has nothing to look up: its plan holds the counters of its place.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use functions::{ReadCounters, RowPlace, RowUses};
use parking_lot::RwLock;
use scheduling::per_cpu::PerCpu;
use schema::temporary;

use super::event::RowChanges;

const COPIES_MAX: usize = 4;

/// The maximum number of places. Others are not counted until the counters of dropped tables are removed.
const PLACES_MAX: usize = 1 << 16;

/// The counters of all tables that were used since the start.
pub struct TableIo {
    places: RwLock<HashMap<RowPlace, Arc<PlaceIo>>>,
    /// Shared by all places that no table shows: temporary tables, each of which has an id of its own, and those beyond
    /// [`PLACES_MAX`].
    others: Arc<PlaceIo>,
}

impl Default for TableIo {
    fn default() -> Self {
        Self {
            places: RwLock::default(),
            others: Arc::new(PlaceIo::new()),
        }
    }
}

/// The counters of one index, or of a table without an index.
pub struct PlaceIo {
    counters: PerCpu<Counters>,
}

#[derive(Default)]
struct Counters {
    read: AtomicU64,
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

impl TableIo {
    pub fn of(&self, place: RowPlace) -> Arc<PlaceIo> {
        if temporary::is_id(place.table) {
            return Arc::clone(&self.others);
        }
        // The lock ends with this statement.
        let known = self.places.read().get(&place).cloned();
        if let Some(known) = known {
            return known;
        }
        let mut places = self.places.write();
        if places.len() >= PLACES_MAX {
            return Arc::clone(&self.others);
        }
        Arc::clone(places.entry(place).or_insert_with(|| Arc::new(PlaceIo::new())))
    }

    /// Adds what a statement has read and changed by table and index. Returns how many rows it has read.
    pub fn record(&self, reads: &ReadCounters) -> u64 {
        let mut read = 0;
        reads.take_places(|place, uses| {
            read += uses.read;
            self.of(place).add(uses);
        });
        read
    }

    /// The sum of all that was counted at a place.
    pub fn at(&self, place: RowPlace) -> RowUses {
        let places = self.places.read();
        places.get(&place).map(|io| io.uses()).unwrap_or_default()
    }

    /// How many places there are, and the bytes that each takes.
    pub fn places(&self) -> (usize, usize) {
        let size = size_of::<PlaceIo>() + COPIES_MAX * size_of::<Counters>();
        (self.places.read().len(), size)
    }

    /// Removes the counters of dropped tables. Their ids are not used again.
    pub fn keep(&self, is_there: impl Fn(i64) -> bool) {
        self.places.write().retain(|place, _| is_there(place.table));
    }

    /// TRUNCATE TABLE of a summary.
    pub fn reset(&self) {
        for io in self.places.read().values() {
            for counters in io.counters.all() {
                let all = [
                    &counters.read,
                    &counters.inserted,
                    &counters.updated,
                    &counters.deleted,
                ];
                all.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
            }
        }
    }
}

impl PlaceIo {
    fn new() -> Self {
        Self {
            counters: PerCpu::new(COPIES_MAX),
        }
    }

    #[inline]
    pub fn read(&self, rows: u64) {
        self.counters.here().read.fetch_add(rows, Ordering::Relaxed);
    }

    /// Adds the rows that a statement on one table has changed.
    pub fn changed(&self, changes: &RowChanges) {
        self.add(RowUses {
            read: 0,
            inserted: changes.inserted,
            updated: changes.updated,
            deleted: changes.deleted,
        });
    }

    fn add(&self, uses: RowUses) {
        let counters = self.counters.here();
        let add = |counter: &AtomicU64, by: u64| {
            if by > 0 {
                counter.fetch_add(by, Ordering::Relaxed);
            }
        };
        add(&counters.read, uses.read);
        add(&counters.inserted, uses.inserted);
        add(&counters.updated, uses.updated);
        add(&counters.deleted, uses.deleted);
    }

    fn uses(&self) -> RowUses {
        let mut sum = RowUses::default();
        for counters in self.counters.all() {
            let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            sum.add(RowUses {
                read: of(&counters.read),
                inserted: of(&counters.inserted),
                updated: of(&counters.updated),
                deleted: of(&counters.deleted),
            });
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_not_shown_take_no_memory() {
        let io = TableIo::default();
        let at = |table| RowPlace { table, index: None };
        for number in 0..1000 {
            io.of(at(temporary::new_id())).read(number);
        }
        assert_eq!(io.places.read().len(), 0);
        for table in 1..=1000 + PLACES_MAX as i64 {
            io.of(at(table)).read(1);
        }
        assert_eq!(io.places.read().len(), PLACES_MAX);
        assert_eq!(io.at(at(1)).read, 1);
        io.keep(|table| table < 10);
        io.of(at(-1)).read(2);
        assert_eq!((io.at(at(-1)).read, io.places.read().len()), (2, 10));
    }
}
