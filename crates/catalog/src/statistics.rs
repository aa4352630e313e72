//! About how many rows a table has: for the planner, and for information_schema.
//!
//! Small tables are counted. Of others the store says about how many bytes they take, and a sample of rows at both ends
//! says how many bytes a row takes. An estimate is kept for some time: it costs a short scan to make.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Interrupt, KeyRange, Reader};
use parking_lot::RwLock;

use crate::Catalog;

/// Rows looked at from each end.
const SAMPLE_ROWS: usize = 128;
/// How long an estimate is good.
const FRESH: Duration = Duration::from_secs(3);

#[derive(Clone, Copy)]
struct Estimate {
    rows: u64,
    made: Instant,
}

#[derive(Default)]
pub(crate) struct Statistics {
    tables: RwLock<HashMap<i64, Estimate>>,
}

impl Statistics {
    pub(crate) fn forget(&self, table: i64) {
        self.tables.write().remove(&table);
    }

    fn put(&self, table: i64, rows: u64) {
        let made = Instant::now();
        self.tables.write().insert(table, Estimate { rows, made });
    }
}

impl Catalog {
    /// About how many rows a table has, within a factor of a few. Exact for fewer than 128, as of some seconds ago.
    /// `interrupt` ends the wait for a store that does not answer, and what was known has to do.
    pub fn row_estimate(&self, table: i64, interrupt: &Arc<Interrupt>) -> u64 {
        let known = self.statistics.tables.read().get(&table).copied();
        if let Some(estimate) = known
            && estimate.made.elapsed() < FRESH
        {
            return estimate.rows;
        }
        let old = known.map_or(0, |e| e.rows);
        if known.is_some() {
            // While this makes a new one, others use the old one.
            self.statistics.put(table, old);
        }
        // A store that cannot answer now fails the statement soon enough; planning goes on with what was known.
        let Ok(rows) = self.estimate(table, interrupt) else {
            return old;
        };
        self.statistics.put(table, rows);
        rows
    }

    fn estimate(&self, table: i64, interrupt: &Arc<Interrupt>) -> kv::Result<u64> {
        interrupt.check()?;
        let range = KeyRange::prefix(codec::key::row_prefix(table));
        let reader = self.store().latest().interruptible(Arc::clone(interrupt));
        let (mut rows, mut bytes) = (0u64, 0u64);
        for reverse in [false, true] {
            let mut seen = 0;
            reader.scan(&range, reverse, &mut |key, value| {
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
        let total = reader.approximate_bytes(&range)?;
        let row_bytes = (bytes / rows).max(1);
        Ok((total / row_bytes).max(SAMPLE_ROWS as u64))
    }

    /// About how many bytes a table's rows, and its indexes, take; 0 where the store does not answer.
    pub fn size_estimate(&self, table: i64, interrupt: &Arc<Interrupt>) -> (u64, u64) {
        let reader = self.store().latest().interruptible(Arc::clone(interrupt));
        let bytes = |prefix: Vec<u8>| reader.approximate_bytes(&KeyRange::prefix(prefix)).unwrap_or(0);
        let data = bytes(codec::key::row_prefix(table));
        let all = bytes(codec::key::table_prefix(table));
        (data, all.saturating_sub(data))
    }
}

#[cfg(test)]
mod tests {
    use kv::Interrupt;
    use types::Value;

    use crate::test_support::*;

    #[test]
    fn small_tables_are_counted_and_large_ones_estimated() {
        let catalog = catalog();
        for (name, rows) in [("none", 0), ("few", 100), ("many", 5_000)] {
            create(
                &catalog,
                name,
                by_id(vec![not_null("id", int()), column("b", varchar(50))], vec![]),
            )
            .unwrap();
            let table = table(&catalog, name);
            for id in 0..rows {
                insert(
                    &catalog,
                    &table,
                    &[Value::Int(id), text("some text of a usual length")],
                );
            }
            let estimate = catalog.row_estimate(table.id, &Interrupt::new());
            let rows = rows as u64;
            assert!(
                estimate >= rows / 3 && estimate <= rows * 3,
                "{estimate} for {rows}"
            );
            assert!(rows >= 128 || estimate == rows);
            let (data, index) = catalog.size_estimate(table.id, &Interrupt::new());
            assert!(data >= rows * 30 && index <= data, "{data} {index}");
        }
    }
}
