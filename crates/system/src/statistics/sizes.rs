//! Estimates of the sizes of tables: for the planner, and for information_schema.
//!
//! Small tables are counted. For others, the store estimates how many bytes they take, and a sample of rows
//! at both ends says how many bytes a row takes. An estimate is cached for some time, since it costs scans
//! (on a cluster, of up to 8 MiB). If several statements need a new estimate of a table, one of them makes
//! it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Interrupt, KeyRange, Reader, Store};
use parking_lot::{Mutex, MutexGuard, RwLock};

/// Rows of the sample at each end.
const SAMPLE_ROWS: usize = 128;
/// An estimate is valid this many times as long as it took to make, within limits.
const FRESH_TIMES: u32 = 100;
const FRESH: Duration = Duration::from_secs(3);
const FRESH_MAX: Duration = Duration::from_secs(60);
/// How often a statement that waits for an estimate checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

struct Estimate<T> {
    value: T,
    good_until: Instant,
}

/// The estimate of one table.
struct CachedEstimate<T> {
    estimate: Mutex<Option<Estimate<T>>>,
    /// Held by the statement that makes one.
    making: Mutex<()>,
}

impl<T> Default for CachedEstimate<T> {
    fn default() -> Self {
        Self {
            estimate: Mutex::new(None),
            making: Mutex::new(()),
        }
    }
}

impl<T: Copy + Default> CachedEstimate<T> {
    fn value(&self) -> T {
        let estimate = self.estimate.lock();
        estimate
            .as_ref()
            .map(|estimate| estimate.value)
            .unwrap_or_default()
    }

    fn is_fresh(&self) -> bool {
        let estimate = self.estimate.lock();
        estimate
            .as_ref()
            .is_some_and(|estimate| Instant::now() < estimate.good_until)
    }

    /// The right to make an estimate. `None` if another statement makes one: then the old estimate is used;
    /// if there is none, this waits for the first.
    fn begin(&self, interrupt: &Interrupt) -> Option<MutexGuard<'_, ()>> {
        let making = self.making.try_lock();
        if making.is_none() && self.estimate.lock().is_none() {
            while self.making.try_lock_for(LOOK).is_none() && interrupt.check().is_ok() {}
        }
        // The previous holder may have made one just now.
        making.filter(|_| !self.is_fresh())
    }
}

/// Estimates of one kind, by table.
#[derive(Default)]
struct Estimates<T> {
    tables: RwLock<HashMap<i64, Arc<CachedEstimate<T>>>>,
}

impl<T: Copy + Default> Estimates<T> {
    fn cached(&self, table: i64) -> Arc<CachedEstimate<T>> {
        if let Some(cached) = self.tables.read().get(&table) {
            return Arc::clone(cached);
        }
        Arc::clone(self.tables.write().entry(table).or_default())
    }

    /// A table's estimate. If it is due, `make` makes a new one, unless another statement does. 0 if there is
    /// none.
    fn get(&self, table: i64, interrupt: &Interrupt, make: impl FnOnce() -> kv::Result<T>) -> T {
        let cached = self.cached(table);
        if !cached.is_fresh()
            && let Some(_making) = cached.begin(interrupt)
        {
            let start = Instant::now();
            // If the store does not answer, the statement uses the old estimate. It fails when it reads the
            // table.
            if let Ok(value) = make() {
                let good_for = (start.elapsed() * FRESH_TIMES).clamp(FRESH, FRESH_MAX);
                let good_until = Instant::now() + good_for;
                *cached.estimate.lock() = Some(Estimate { value, good_until });
            }
        }
        cached.value()
    }
}

/// The ids under which a table, given by its own id, has rows.
type PhysicalIds = Box<dyn Fn(i64) -> Vec<i64> + Send + Sync>;

/// Estimates for all tables of a store.
pub struct TableSizes {
    store: Store,
    physical_ids: PhysicalIds,
    rows: Estimates<u64>,
    /// Of rows, and of indexes.
    bytes: Estimates<(u64, u64)>,
}

impl TableSizes {
    pub fn new(store: Store, physical_ids: PhysicalIds) -> Self {
        Self {
            store,
            physical_ids,
            rows: Estimates::default(),
            bytes: Estimates::default(),
        }
    }

    /// How many estimates are cached.
    #[cfg(test)]
    pub fn cached_estimates(&self) -> usize {
        self.rows.tables.read().len() + self.bytes.tables.read().len()
    }

    /// Estimates of a table that has changed, or that is gone, are dropped.
    pub fn forget(&self, table: i64) {
        self.rows.tables.write().remove(&table);
        self.bytes.tables.write().remove(&table);
    }

    /// About how many rows a table had some seconds ago, within a factor of a few; exact for fewer than 128.
    /// `interrupt` ends the wait for a store that does not answer; then the result is the old estimate.
    pub fn rows(&self, table: i64, interrupt: &Arc<Interrupt>) -> u64 {
        let make = || self.estimate(table, interrupt);
        self.rows.get(table, interrupt, make)
    }

    /// About how many rows a table has now, whatever is cached; 0 if the store does not answer.
    pub fn rows_now(&self, table: i64, interrupt: &Arc<Interrupt>) -> u64 {
        self.forget(table);
        self.rows(table, interrupt)
    }

    fn estimate(&self, table: i64, interrupt: &Arc<Interrupt>) -> kv::Result<u64> {
        let rows = |id: i64| self.keys_in(&KeyRange::prefix(codec::key::row_prefix(id)), interrupt);
        (self.physical_ids)(table).into_iter().map(rows).sum()
    }

    /// About how many keys a range has now, within a factor of a few; exact for fewer than 128.
    ///
    /// # Errors
    /// Those of the store, and its error for an interrupt.
    pub fn keys_in(&self, range: &KeyRange, interrupt: &Arc<Interrupt>) -> kv::Result<u64> {
        interrupt.check()?;
        let reader = self.store.latest().interruptible(Arc::clone(interrupt));
        let (mut rows, mut bytes) = (0u64, 0u64);
        for reverse in [false, true] {
            let mut seen = 0;
            reader.scan(range, reverse, &mut |key, value| {
                seen += 1;
                bytes += (key.len() + value.len()) as u64;
                if seen < SAMPLE_ROWS {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
            rows += seen as u64;
            if seen < SAMPLE_ROWS {
                return Ok(seen as u64);
            }
        }
        let total = reader.approximate_bytes(range)?;
        let row_bytes = (bytes / rows).max(1);
        Ok((total / row_bytes).max(SAMPLE_ROWS as u64))
    }

    /// The tables of which a statement has wanted to know the size.
    pub fn known(&self) -> Vec<i64> {
        self.rows.tables.read().keys().copied().collect()
    }

    /// About how many bytes a table's rows and its indexes took some seconds ago; 0 if the store does not
    /// answer.
    pub fn bytes(&self, table: i64, interrupt: &Arc<Interrupt>) -> (u64, u64) {
        self.bytes.get(table, interrupt, || {
            let reader = self.store.latest().interruptible(Arc::clone(interrupt));
            let bytes = |prefix: Vec<u8>| reader.approximate_bytes(&KeyRange::prefix(prefix));
            let (mut data, mut index) = (0, 0);
            for id in (self.physical_ids)(table) {
                let rows = bytes(codec::key::row_prefix(id))?;
                data += rows;
                index += bytes(codec::key::table_prefix(id))?.saturating_sub(rows);
            }
            Ok((data, index))
        })
    }
}

#[cfg(test)]
mod tests {
    use ddl::test_support::*;
    use types::Value;

    use super::*;

    /// On a cluster each costs scans, and a node that has just started is asked by all its clients at the
    /// same time.
    #[test]
    fn one_of_many_makes_an_estimate() {
        let statistics = Estimates::<u64>::default();
        let (patient, killed) = (Interrupt::new(), Interrupt::new());
        killed.raise();
        let never = || -> kv::Result<u64> { panic!("a second estimate at the same time") };
        std::thread::scope(|scope| {
            let mut waiting = None;
            let rows = statistics.get(7, &patient, || {
                waiting = Some(scope.spawn(|| statistics.get(7, &patient, never)));
                // As if there were none yet.
                let other = scope.spawn(|| statistics.get(7, &killed, never));
                assert_eq!(other.join().unwrap(), 0);
                Ok(1_000)
            });
            assert_eq!(rows, 1_000);
            assert_eq!(waiting.unwrap().join().unwrap(), 1_000);
        });
        assert_eq!(statistics.get(7, &patient, never), 1_000, "it is fresh");
        assert_eq!(statistics.get(8, &patient, || Ok(5)), 5, "each table has its own");
    }

    #[test]
    fn meanwhile_the_old_one_is_used_and_a_failure_leaves_it() {
        let statistics = Estimates::<u64>::default();
        let interrupt = Interrupt::new();
        let old = || {
            *statistics.cached(7).estimate.lock() = Some(Estimate {
                value: 10,
                good_until: Instant::now(),
            });
        };
        old();
        let rows = statistics.get(7, &interrupt, || {
            let never = || -> kv::Result<u64> { panic!("a second estimate at the same time") };
            assert_eq!(statistics.get(7, &interrupt, never), 10);
            Ok(20)
        });
        assert_eq!(rows, 20);
        old();
        let failed = || Err(kv::Error::Interrupted);
        assert_eq!(statistics.get(7, &interrupt, failed), 10);
        assert_eq!(
            statistics.get(7, &interrupt, || Ok(30)),
            30,
            "the next one tries again"
        );
    }

    #[test]
    fn small_tables_are_counted_and_large_ones_estimated() {
        let db = new_db();
        let statistics = TableSizes::new(db.cluster().store().clone(), Box::new(|id| vec![id]));
        for (name, rows) in [("none", 0), ("few", 100), ("many", 5_000)] {
            create(
                &db,
                name,
                by_id(vec![not_null("id", int()), column("b", varchar(50))], vec![]),
            )
            .unwrap();
            let table = table(&db, name);
            for id in 0..rows {
                insert(
                    &db,
                    &table,
                    &[Value::Int(id), text("some text of a usual length")],
                );
            }
            let estimate = statistics.rows(table.id, &Interrupt::new());
            let rows = rows as u64;
            assert!(
                estimate >= rows / 3 && estimate <= rows * 3,
                "{estimate} for {rows}"
            );
            assert!(rows >= 128 || estimate == rows);
            let (data, index) = statistics.bytes(table.id, &Interrupt::new());
            assert!(data >= rows * 30 && index <= data, "{data} {index}");
        }
    }
}
