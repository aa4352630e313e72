//! The memory of one query, divided among its operators.
//!
//! Operators that can spill share evenly what the others leave, as in DataFusion's `FairSpillPool`. There,
//! however, the merging phase of a sort counts among the operators that cannot spill, which take whatever is
//! free. So the first sort that merges leaves nothing to sorts that still read, and a sort that has filled
//! its share finds no memory to merge. Here a sort's rows and their merging share one part, and the rows
//! leave enough of it for the merging.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::budget::Budget;

/// The names that `SortExec` gives its two memory consumers. Together they are one sort of one partition.
const SORT_ROWS: &str = "ExternalSorter[";
const SORT_MERGING: &str = "ExternalSorterMerge[";

/// The part of the budget that sorts may have. The rest is for merging their results.
const SORTS: Share = Share(3, 4);

/// The fraction of a sort's memory that its rows may have. Until it is sorted, a row counts twice. After
/// merging it is there once, and its keys in another form, which for a row of two numbers is 1.6 times as
/// large as the row.
const ROWS: Share = Share(3, 5);

struct Share(usize, usize);

impl Share {
    fn of(&self, bytes: usize) -> usize {
        bytes / self.1 * self.0
    }
}

/// A memory pool of DataFusion over the query's budget.
#[derive(Debug, Clone)]
pub struct QueryMemory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    budget: Budget,
    /// Sorts of the plan that have not begun. Their parts are reserved, because a sort never gives memory
    /// back.
    sorts_to_come: usize,
    /// Operators that can spill, without sorts.
    spillers: usize,
    spillable: usize,
    unspillable: usize,
    /// The sorts by their partition.
    sorts: HashMap<String, Sort>,
}

#[derive(Debug, Default)]
struct Sort {
    /// How many sorts there are of this partition: a query may sort more than once.
    count: usize,
    rows: usize,
    merging: usize,
}

/// The kinds of memory consumers.
enum Kind<'a> {
    SortRows(&'a str),
    SortMerging(&'a str),
    Spiller,
    Other,
}

impl<'a> From<&'a MemoryConsumer> for Kind<'a> {
    fn from(consumer: &'a MemoryConsumer) -> Self {
        let name = consumer.name();
        if let Some(partition) = name.strip_prefix(SORT_ROWS) {
            Self::SortRows(partition)
        } else if let Some(partition) = name.strip_prefix(SORT_MERGING) {
            Self::SortMerging(partition)
        } else if consumer.can_spill() {
            Self::Spiller
        } else {
            Self::Other
        }
    }
}

impl Kind<'_> {
    /// Whether it can spill if it gets no more memory.
    fn can_spill(&self) -> bool {
        matches!(self, Self::SortRows(_) | Self::Spiller)
    }
}

impl State {
    fn sort(&mut self, partition: &str) -> &mut Sort {
        self.sorts.entry(partition.to_owned()).or_default()
    }

    fn in_sorts(&self) -> usize {
        self.sorts.values().map(|sort| sort.rows + sort.merging).sum()
    }

    /// The part of `bytes` that one spilling operator gets.
    fn part_of(&self, bytes: usize) -> usize {
        let sorts: usize = self.sorts.values().map(|sort| sort.count).sum();
        bytes / (self.spillers + self.sorts_to_come + sorts).max(1)
    }

    fn held(&mut self, kind: &Kind<'_>) -> &mut usize {
        match kind {
            Kind::SortRows(partition) => &mut self.sort(partition).rows,
            Kind::SortMerging(partition) => &mut self.sort(partition).merging,
            Kind::Spiller => &mut self.spillable,
            Kind::Other => &mut self.unspillable,
        }
    }

    /// How many more bytes a reservation may have.
    fn available(&mut self, kind: &Kind<'_>, reserved: usize) -> usize {
        let limit = self.budget.limit();
        let left = limit.saturating_sub(self.unspillable);
        match kind {
            Kind::SortRows(partition) | Kind::SortMerging(partition) => {
                let part = self.part_of(left.min(SORTS.of(limit)));
                let sort = self.sort(partition);
                let part = part * sort.count.max(1);
                let free = part.saturating_sub(sort.rows + sort.merging);
                match kind {
                    Kind::SortRows(_) => free.min(ROWS.of(part).saturating_sub(sort.rows)),
                    _ => free,
                }
            }
            Kind::Spiller => self.part_of(left).saturating_sub(reserved),
            Kind::Other => left.saturating_sub(self.spillable + self.in_sorts()),
        }
    }
}

impl QueryMemory {
    pub fn new(budget: Budget) -> Self {
        let state = State {
            budget,
            sorts_to_come: 0,
            spillers: 0,
            spillable: 0,
            unspillable: 0,
            sorts: HashMap::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Announces a plan with this many sorts, counting the sort of each partition.
    pub fn expect_sorts(&self, sorts: usize) {
        self.state().sorts_to_come += sorts;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        match Kind::from(consumer) {
            // The consumer of the rows ends before the spilled files are merged. The consumer of the merging
            // lives from start to end.
            Kind::SortMerging(partition) => {
                let mut state = self.state();
                state.sorts_to_come = state.sorts_to_come.saturating_sub(1);
                state.sort(partition).count += 1;
            }
            Kind::Spiller => self.state().spillers += 1,
            Kind::SortRows(_) | Kind::Other => {}
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state();
        let count = match Kind::from(consumer) {
            Kind::SortMerging(partition) => &mut state.sort(partition).count,
            Kind::Spiller => &mut state.spillers,
            Kind::SortRows(_) | Kind::Other => return,
        };
        *count = count.saturating_sub(1);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let kind = Kind::from(reservation.consumer());
        *self.state().held(&kind) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.state();
        let held = state.held(&Kind::from(reservation.consumer()));
        *held = held.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let kind = Kind::from(reservation.consumer());
        let mut state = self.state();
        let mut available = state.available(&kind, reservation.size());
        while additional > available && state.budget.raise(kind.can_spill()) {
            available = state.available(&kind, reservation.size());
        }
        if additional > available {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} has {} bytes, needs {additional} more and may have {available}",
                reservation.consumer().name(),
                reservation.size(),
            )));
        }
        *state.held(&kind) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let state = self.state();
        state.spillable + state.unspillable + state.in_sorts()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.state().budget.limit())
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(limit: {} bytes)", self.name(), self.state().budget.limit())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn pool(limit: usize, sorts: usize) -> Arc<dyn MemoryPool> {
        let memory = QueryMemory::new(Budget::fixed(limit));
        memory.expect_sorts(sorts);
        Arc::new(memory)
    }

    fn consumer(pool: &Arc<dyn MemoryPool>, name: &str, can_spill: bool) -> MemoryReservation {
        MemoryConsumer::new(name).with_can_spill(can_spill).register(pool)
    }

    fn sort(pool: &Arc<dyn MemoryPool>, partition: usize) -> (MemoryReservation, MemoryReservation) {
        (
            consumer(pool, &format!("{SORT_ROWS}{partition}]"), true),
            consumer(pool, &format!("{SORT_MERGING}{partition}]"), false),
        )
    }

    #[test]
    fn a_sort_that_merges_leaves_others_their_part() {
        let pool = pool(8_000, 2);
        let (first, second) = (sort(&pool, 0), sort(&pool, 1));
        // Spilled files are merged after the consumer of the rows has ended.
        drop(first.0);
        assert!(first.1.try_grow(3_001).is_err());
        first.1.try_grow(3_000).unwrap();
        second.0.try_grow(1_800).unwrap();
        let merge = consumer(&pool, "SortPreservingMergeExec[0]", false);
        merge.try_grow(2_000).unwrap();
        assert_eq!(pool.reserved(), 6_800);
        drop((first.1, second, merge));
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn a_sort_that_is_first_leaves_others_their_part() {
        let pool = pool(8_000, 2);
        let first = sort(&pool, 0);
        assert!(first.0.try_grow(1_801).is_err());
        first.0.try_grow(1_800).unwrap();
        let second = sort(&pool, 1);
        first.1.try_grow(1_200).unwrap();
        drop(first);
        second.1.try_grow(6_000).unwrap();
    }

    #[test]
    fn rows_leave_room_for_merging_them() {
        let pool = pool(8_000, 1);
        let (rows, merging) = sort(&pool, 0);
        assert!(rows.try_grow(3_601).is_err());
        rows.try_grow(3_600).unwrap();
        merging.try_grow(2_400).unwrap();
        assert!(merging.try_grow(1).is_err());
        rows.shrink(600);
        merging.try_grow(600).unwrap();
        assert!(rows.try_grow(1).is_err());
    }

    #[test]
    fn a_sort_and_a_grouping_share() {
        let pool = pool(8_000, 0);
        let groups = consumer(&pool, "GroupedHashAggregateStream[0]", true);
        groups.try_grow(8_000).unwrap();
        groups.shrink(8_000);
        let (rows, merging) = sort(&pool, 0);
        assert!(groups.try_grow(4_001).is_err());
        groups.try_grow(4_000).unwrap();
        assert!(merging.try_grow(3_001).is_err());
        drop(groups);
        merging.try_grow(6_000).unwrap();
        drop((rows, merging));
        let other = consumer(&pool, "TopK[0]", false);
        other.try_grow(8_000).unwrap();
        assert!(other.try_grow(1).is_err());
    }
}
