//! Copies the rows of the places that a table loses to its new ones, while no other statement uses the table.
//! Each transaction is bounded. What a failure or a crash leaves belongs to no table, and the job's end discards
//! it.

use std::sync::Arc;

use cluster::Cluster;
use cluster::lease::lease_is_over;
use cluster::meta::Meta;
use functions::{EvalContext, TimeZone};
use kv::{Durability, Interrupt, KeyRange, Reader, Store};
use schema::layout::{RowEncoder, RowHandle, TableLayout};
use schema::model::{Handle, Table};
use schema::partition::function::{PartitionFunction, is_no_partition};
use types::Result;

use crate::job::{Job, check_not_cancelled};

/// Rows of one transaction.
const PAGE_ROWS: usize = 512;

struct Copier<'a> {
    cluster: &'a Cluster,
    job: &'a Job,
    target: &'a Table,
    layout: TableLayout,
    encoder: RowEncoder,
    indexes: Vec<usize>,
    /// `None`: all rows go to one place.
    function: Option<Arc<PartitionFunction>>,
    /// A row that no partition takes is left out.
    drops_misplaced: bool,
    /// Rows get new hidden ids: those of two places may be the same.
    renumbers: bool,
    context: EvalContext,
}

/// Returns how many rows it has copied.
///
/// # Errors
/// 1526 for a row that no partition takes; 1317 when interrupted, 8027 when another node has taken over the job;
/// those of the store.
pub(super) fn copy(
    cluster: &Cluster,
    base: &Table,
    (target, drops_misplaced): (&Table, bool),
    job: &Job,
    interrupt: &Arc<Interrupt>,
) -> Result<u64> {
    planner::expressions(base)?;
    planner::expressions(target)?;
    let all: Vec<usize> = (0..base.columns.len()).collect();
    let encoder = RowEncoder::new(target)?;
    let copier = Copier {
        cluster,
        job,
        target,
        layout: TableLayout::new(base, &all)?,
        indexes: encoder.entry_indexes().collect(),
        encoder,
        function: target.partition_function()?.cloned(),
        drops_misplaced,
        renumbers: target.handle == Handle::Hidden,
        context: EvalContext::default(),
    };
    let kept = target.physical_ids();
    let mut rows = 0;
    for place in base.physical_ids().into_iter().filter(|id| !kept.contains(id)) {
        rows += copier.place(cluster.store(), place, interrupt)?;
    }
    Ok(rows)
}

impl Copier<'_> {
    fn place(&self, store: &Store, place: i64, interrupt: &Arc<Interrupt>) -> Result<u64> {
        let mut range = KeyRange::prefix(codec::key::row_prefix(place));
        let mut rows = 0;
        loop {
            interrupt.check()?;
            let page = store.latest().scan_page(&range, PAGE_ROWS, false)?;
            let Some((last, _)) = page.last() else {
                return Ok(rows);
            };
            range.start.clone_from(last);
            range.start.push(0);
            rows += page.len() as u64;
            self.page(store, &page)?;
        }
    }

    fn page(&self, store: &Store, page: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut txn = Meta::begin(store)?;
        match Job::lock(&mut Meta::new(&mut txn), self.job.id)? {
            Some(stored) if stored.owner == self.job.owner => check_not_cancelled(&stored)?,
            _ => return Err(lease_is_over()),
        }
        let mut hidden = None;
        if self.renumbers {
            let first = self
                .cluster
                .ids()
                .allocate_row_ids(self.target, page.len() as u64)?;
            let (layout, start_ts) = (self.target.row_id_layout(), txn.start_ts());
            hidden = Some((first..).map(move |sequence| layout.id(start_ts, sequence) as i64));
        }
        for (key, value) in page {
            let row = self.layout.decode_row_values(key, value, TimeZone::UTC)?;
            let handle = match hidden.as_mut().and_then(Iterator::next) {
                Some(id) => RowHandle::Int(id),
                None => self.layout.handle_of_row_key(key)?,
            };
            let place = match &self.function {
                Some(function) => match function.place(&row, &self.context) {
                    Err(error) if self.drops_misplaced && is_no_partition(&error) => continue,
                    place => place?,
                },
                None => self.target.physical_id(),
            };
            let at = |mut key: Vec<u8>| {
                codec::key::set_table_id(&mut key, place);
                key
            };
            let row_key = at(self.encoder.row_key(&handle));
            let guard = txn.put_guard(row_key, value.clone())?;
            let mut entries = Vec::with_capacity(self.indexes.len());
            for &index in &self.indexes {
                let take = |entry| entries.push(entry);
                self.encoder
                    .index_entries(index, &row, &handle, TimeZone::UTC, take)?;
            }
            for entry in entries {
                match entry.distinct {
                    true => txn.put(at(entry.key), entry.value)?,
                    false => txn.put_guarded(guard, at(entry.key), entry.value)?,
                }
            }
        }
        txn.commit(Durability::Os)?;
        Ok(())
    }
}
