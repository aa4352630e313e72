//! Statistics are renewed as tables change, slowly and in the background.
//!
//! A node considers only tables whose size a plan of its own has depended on. A change of a table's size shows how
//! much the table has changed, so that writes need not count anything.
//!
//! Of several nodes that know a table, the first one renews its statistics: each node waits for those before it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::Cluster;
use cluster::workers::Wake;
use kv::Interrupt;
use types::Result;

use super::StatisticsCatalog;

/// How often tables are looked at.
const PERIOD: Duration = Duration::from_secs(10);
/// Smaller tables need no statistics for a good plan.
const ROWS_MIN: u64 = 1_000;
/// The change of a table's size after which it is read again (InnoDB: 10 % of the rows).
const CHANGED_SHARE: f64 = 0.1;
/// Estimates of a size differ from each other by about so much.
const ESTIMATE_ERROR: f64 = 0.25;
/// The pause after each of the up to 256 runs of rows of a sample: 30,000 rows take two seconds.
const PAUSE: Duration = Duration::from_millis(8);
/// How often a node finds that a table has changed, for each node before it, until it reads the table itself.
const LOOKS_FOR_EACH: usize = 2;

/// How often in a row each table was found to have changed.
type Looks = HashMap<i64, usize>;

/// `is_wanted`: whether those of tables without `STATS_AUTO_RECALC` are renewed.
pub fn start(
    catalog: &Arc<StatisticsCatalog>,
    cluster: &Arc<Cluster>,
    is_wanted: impl Fn() -> bool + Send + 'static,
) -> Result<()> {
    if catalog.workers.is_running() {
        return Ok(());
    }
    let cluster = Arc::clone(cluster);
    let looks = RefCell::new(Looks::new());
    catalog
        .workers
        .repeat(catalog, "statistics", Wake::ByTime, move |catalog, signal| {
            // A node that does not know how many are before it renews nothing.
            if let Ok(before) = cluster.nodes_before() {
                let patience = before * LOOKS_FOR_EACH;
                let mut looks = looks.borrow_mut();
                catalog.renew(&cluster, (&mut looks, patience), is_wanted(), signal.interrupt());
            }
            PERIOD
        })
}

impl StatisticsCatalog {
    /// Looks at the tables once. `patience`: how often others may have found before that a table has changed.
    fn renew(
        &self,
        cluster: &Cluster,
        (looks, patience): (&mut Looks, usize),
        is_wanted: bool,
        interrupt: &Arc<Interrupt>,
    ) {
        for id in self.sizes.known() {
            if interrupt.check().is_err() {
                return;
            }
            let schema = cluster.schema();
            let Some(table) = schema.table_by_id(id).filter(|table| !table.is_virtual()) else {
                continue;
            };
            let is_wanted = match table.options.get("STATS_AUTO_RECALC") {
                Some(value) => value != "0",
                None => is_wanted,
            };
            if !is_wanted || !self.is_due(id, interrupt) {
                looks.remove(&id);
                continue;
            }
            let looked = looks.entry(id).or_default();
            *looked += 1;
            if *looked <= patience {
                continue;
            }
            let renewed = self
                .collect(table, PAUSE, None, interrupt)
                .and_then(|made| self.replace(cluster, table, made));
            if let Err(error) = renewed {
                tracing::debug!(table = table.name, %error, "statistics were not renewed");
            }
        }
    }

    fn is_due(&self, table: i64, interrupt: &Arc<Interrupt>) -> bool {
        let rows = self.rows(table, interrupt);
        match self.collected(table, interrupt) {
            None => rows >= ROWS_MIN,
            Some(old) => {
                let before = old.estimated_rows;
                let changed = rows.abs_diff(before) as f64;
                rows.max(before) >= ROWS_MIN && changed > before as f64 * (CHANGED_SHARE + ESTIMATE_ERROR)
            }
        }
    }
}
