//! Statistics of tables: for the optimizer, and for information_schema.
//!
//! - [`TableSizes`]: how many rows and bytes a table has about, without reading it.
//! - `sample`, `collect`: statistics of a table's values from some of its rows. They are stored under one key
//!   a table, and removed with the table.
//! - `renew`: tables that have changed much are looked at again.
//!
//! Statistics are read from the store when a plan first needs them, and cached until they or the table
//! change. Other nodes notice that by a key that they watch, within about a second.

mod collect;
mod renew;
mod sample;
mod sizes;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cluster::Cluster;
use cluster::meta::{Meta, keys, record};
use cluster::workers::Workers;
use kv::{Durability, Interrupt, KeyRange, Reader, Store};
use parking_lot::RwLock;
use schema::model::{Index, Table};
use schema::statistics::TableStatistics;
use schema::statistics::given::GivenHistogram;
use schema::statistics::requested::RequestedHistogram;
use types::{Error, Result, errno};

pub use collect::Wanted;
use sample::Effort;
use sizes::TableSizes;

/// Sizes and statistics of all tables of a store.
pub struct StatisticsCatalog {
    store: Store,
    sizes: TableSizes,
    /// By table; `None`: it has none.
    collected: RwLock<HashMap<i64, Option<Arc<TableStatistics>>>>,
    /// Changes whenever statistics may have changed.
    generation: AtomicU64,
    workers: Workers,
}

impl StatisticsCatalog {
    pub fn new(cluster: &Arc<Cluster>) -> Arc<Self> {
        let schemas = Arc::downgrade(cluster);
        let physical_ids = move |id: i64| {
            let schema = schemas.upgrade().map(|cluster| cluster.schema());
            let table = schema.as_ref().and_then(|schema| schema.table_by_id(id));
            table.map_or_else(|| vec![id], |table| table.physical_ids())
        };
        let catalog = Arc::new(Self {
            store: cluster.store().clone(),
            sizes: TableSizes::new(cluster.store().clone(), Box::new(physical_ids)),
            collected: RwLock::default(),
            generation: AtomicU64::new(1),
            workers: Workers::default(),
        });
        let changed = Arc::clone(&catalog);
        cluster.on_table_change(move |table| {
            changed.sizes.forget(table);
            changed.forget(Some(table));
        });
        let changed = Arc::downgrade(&catalog);
        cluster.watch(keys::statistics_version(), move |_| {
            if let Some(catalog) = changed.upgrade() {
                catalog.forget(None);
            }
            Ok(())
        });
        catalog
    }

    /// Starts the thread that renews statistics; it ends with [`StatisticsCatalog::stop`].
    ///
    /// # Errors
    /// When the operating system has no more threads.
    pub fn start(
        self: &Arc<Self>,
        cluster: &Arc<Cluster>,
        is_wanted: impl Fn() -> bool + Send + 'static,
    ) -> Result<()> {
        renew::start(self, cluster, is_wanted)
    }

    pub fn stop(&self) {
        self.workers.stop();
    }

    /// About how many rows a table had some seconds ago, within a factor of a few; exact for fewer than 128.
    /// `interrupt` ends the wait for a store that does not answer; then the result is the old estimate.
    pub fn rows(&self, table: i64, interrupt: &Arc<Interrupt>) -> u64 {
        self.sizes.rows(table, interrupt)
    }

    /// About how many bytes a table's rows and its indexes took some seconds ago; 0 if the store does not
    /// answer.
    pub fn bytes(&self, table: i64, interrupt: &Arc<Interrupt>) -> (u64, u64) {
        self.sizes.bytes(table, interrupt)
    }

    /// About how many keys a range has now. `None`: to find out would cost calls to other machines.
    pub fn keys_in(&self, range: &KeyRange, interrupt: &Arc<Interrupt>) -> Option<u64> {
        if self.store.is_shared() {
            return None;
        }
        self.sizes.keys_in(range, interrupt).ok()
    }

    /// What ANALYZE TABLE has found. `interrupt` ends the wait for a store that does not answer; then the
    /// result is none.
    pub fn collected(&self, table: i64, interrupt: &Arc<Interrupt>) -> Option<Arc<TableStatistics>> {
        if let Some(cached) = self.collected.read().get(&table) {
            return cached.clone();
        }
        let generation = self.generation();
        // Statistics that cannot be read count as none.
        let reader = self.store.latest().interruptible(Arc::clone(interrupt));
        let stored = reader.get(&keys::table_statistics(table)).ok()?;
        let found = stored
            .and_then(|bytes| record::decode::<TableStatistics>(&bytes, "statistics").ok())
            .map(Arc::new);
        let mut collected = self.collected.write();
        if self.generation() == generation {
            collected.insert(table, found.clone());
        }
        found
    }

    /// How many different values the first `parts` parts of an index have, if that is known: from statistics;
    /// all parts of a unique index together have as many as there are rows.
    pub fn cardinality(
        &self,
        table: &Table,
        index: &Index,
        parts: usize,
        interrupt: &Arc<Interrupt>,
    ) -> Option<i64> {
        let collected = self.collected(table.id, interrupt);
        let known = collected.and_then(|found| found.index(index.id)?.distinct.get(parts - 1).copied());
        let rows = || self.rows(table.id, interrupt);
        let of_rows = (index.unique && parts == index.parts.len()).then(rows);
        i64::try_from(known.or(of_rows)?).ok()
    }

    /// Changes when any table's statistics may have changed: one atomic load.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn forget(&self, table: Option<i64>) {
        let mut collected = self.collected.write();
        self.generation.fetch_add(1, Ordering::AcqRel);
        match table {
            Some(table) => drop(collected.remove(&table)),
            None => collected.clear(),
        }
    }

    /// ANALYZE TABLE.
    ///
    /// # Errors
    /// 1317 when interrupted, 1146 if the table is dropped meanwhile; those of the store.
    pub fn analyze(&self, cluster: &Cluster, table: &Table, interrupt: &Arc<Interrupt>) -> Result<()> {
        let made = self.collect(table, Duration::ZERO, None, interrupt)?;
        self.replace(cluster, table, made)
    }

    /// Makes statistics of some columns, and the histograms that a statement asks for.
    ///
    /// # Errors
    /// As [`StatisticsCatalog::analyze`].
    pub fn update_histograms(
        &self,
        cluster: &Cluster,
        table: &Table,
        wanted: &[Wanted],
        interrupt: &Arc<Interrupt>,
    ) -> Result<()> {
        let made = self.collect(table, Duration::ZERO, Some(wanted), interrupt)?;
        self.add(cluster, table, made)
    }

    /// Stores the statistics and histograms of some columns, beside those of the others.
    fn add(&self, cluster: &Cluster, table: &Table, mut made: TableStatistics) -> Result<()> {
        self.store(cluster, table, |stored| {
            let mut new = stored.unwrap_or_else(|| TableStatistics {
                rows: made.rows,
                estimated_rows: made.estimated_rows,
                bytes: made.bytes,
                collected_us: made.collected_us,
                ..TableStatistics::default()
            });
            new.columns
                .retain(|old| !made.columns.iter().any(|column| column.id == old.id));
            new.columns.append(&mut made.columns);
            new.histograms.retain(|old| {
                !made
                    .histograms
                    .iter()
                    .any(|histogram| histogram.column == old.column)
            });
            new.histograms.append(&mut made.histograms);
            new
        })
    }

    /// Sets a column's histogram, and what is estimated by it until the statistics are renewed.
    ///
    /// # Errors
    /// As [`StatisticsCatalog::analyze`].
    pub fn set_histogram(
        &self,
        cluster: &Cluster,
        table: &Table,
        offset: usize,
        given: &GivenHistogram,
        interrupt: &Arc<Interrupt>,
    ) -> Result<()> {
        let column = &table.columns[offset];
        let made = TableStatistics {
            columns: vec![given.statistics(column.id, column.ty)],
            histograms: vec![RequestedHistogram {
                column: column.id,
                buckets: given.head.buckets_wanted,
                json: given.json(&column.ty, &collect::utc_text(cluster::now_us())),
            }],
            ..self.collect(table, Duration::ZERO, Some(&[]), interrupt)?
        };
        self.add(cluster, table, made)
    }

    /// Removes the histograms of columns, by their ids. Returns for each whether there was one.
    ///
    /// # Errors
    /// 1146 if the table is dropped meanwhile; those of the store.
    pub fn drop_histograms(&self, cluster: &Cluster, table: &Table, columns: &[i64]) -> Result<Vec<bool>> {
        let mut found = Vec::new();
        self.store(cluster, table, |stored| {
            let mut new = stored.unwrap_or_default();
            found = columns
                .iter()
                .map(|column| new.histogram(*column).is_some())
                .collect();
            new.histograms
                .retain(|histogram| !columns.contains(&histogram.column));
            new
        })?;
        Ok(found)
    }

    fn collect(
        &self,
        table: &Table,
        pause: Duration,
        only: Option<&[Wanted]>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<TableStatistics> {
        // A cached estimate may be older than the last writes: the table would look changed at once. The new
        // one comes before the snapshot, so that writes between the two are seen as a change later.
        let expected = self.sizes.rows_now(table.id, interrupt);
        let reader = self.store.snapshot_now()?.interruptible(Arc::clone(interrupt));
        let ends = Arc::clone(interrupt);
        let interrupted: functions::Interrupted = Arc::new(move || ends.is_raised());
        // Virtual columns of rows are computed, which may take long.
        let _works_for = functions::work_for(&interrupted);
        let columns = only.map_or(table.columns.len(), <[Wanted]>::len);
        let effort = Effort {
            rows: collect::sample_rows(columns, only.is_some()),
            pause,
        };
        Ok(TableStatistics {
            estimated_rows: expected,
            ..collect::collect(&reader, table, expected, effort, only)?
        })
    }

    /// Stores new statistics of all columns and indexes; histograms that a statement asked for stay as they
    /// are.
    fn replace(&self, cluster: &Cluster, table: &Table, made: TableStatistics) -> Result<()> {
        self.store(cluster, table, |stored| TableStatistics {
            histograms: stored.map(|stored| stored.histograms).unwrap_or_default(),
            ..made
        })
    }

    /// Changes the stored statistics of a table, unless the table is gone.
    fn store(
        &self,
        cluster: &Cluster,
        table: &Table,
        change: impl FnOnce(Option<TableStatistics>) -> TableStatistics,
    ) -> Result<()> {
        let gone = || {
            Error::new(
                errno::ER_NO_SUCH_TABLE,
                format!("Table '{}.{}' doesn't exist", table.database, table.name),
            )
        };
        let schema = cluster.schema();
        let database = schema.database(&table.database).ok_or_else(gone)?.id;
        let mut txn = Meta::begin(&self.store)?;
        let version = txn.start_ts();
        let mut meta = Meta::new(&mut txn);
        // A statement that drops the table waits for this transaction, or this one finds no table.
        meta.lock_value::<Table>(&keys::table(database, table.id), "table")?
            .ok_or_else(gone)?;
        let key = keys::table_statistics(table.id);
        let stored = meta.lock_value(&key, "statistics").unwrap_or_default();
        let new = TableStatistics {
            version,
            ..change(stored)
        };
        meta.put(key, &new)?;
        meta.put_new_version(keys::statistics_version())?;
        txn.commit(Durability::Sync)?;
        self.forget(Some(table.id));
        Ok(())
    }

    /// How many estimates are cached.
    #[cfg(test)]
    pub(crate) fn cached_estimates(&self) -> usize {
        self.sizes.cached_estimates()
    }
}
