//! The bound of a sort with a limit: rows beyond it are not among the first.

use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use datafusion_execution::TaskContext;

use super::observed::{Observe, Observer};

/// No bound is used for larger limits: it would become known late.
pub const LIMIT_MAX: usize = 10_000;

/// For a sort with a limit: the first sort column's value in the last row within the limit, of the rows seen
/// so far.
///
/// It is stored as a *rank*: values in the sort's order have ascending ranks.
#[derive(Debug)]
pub struct Bound {
    descending: bool,
    rank: AtomicI64,
}

impl Bound {
    pub fn new(descending: bool) -> Self {
        Self {
            descending,
            rank: AtomicI64::new(i64::MAX),
        }
    }

    fn rank(&self, value: i64) -> i64 {
        if self.descending { !value } else { value }
    }

    pub fn is_known(&self) -> bool {
        self.rank.load(Ordering::Relaxed) < i64::MAX
    }

    /// Whether a row with this value may be among the first. Rows with the same value as the last one may:
    /// the other columns of the order decide.
    #[inline]
    pub fn may_hold(&self, value: i64) -> bool {
        self.rank(value) <= self.rank.load(Ordering::Relaxed)
    }

    /// The rank of NULL, which comes before all values; `None` if it comes after all.
    fn rank_of_null(&self) -> Option<i64> {
        (!self.descending).then_some(i64::MIN)
    }
}

/// Keeps a bound up to date with the rows that reach the sort.
#[derive(Debug)]
pub struct KeepBound {
    pub bound: Arc<Bound>,
    /// The first column of the order.
    pub column: usize,
    pub limit: usize,
}

impl Observe for KeepBound {
    fn over(&self, _: usize) -> Arc<dyn Observe> {
        Arc::new(Self {
            bound: Arc::clone(&self.bound),
            ..*self
        })
    }

    fn partition(&self, _: &TaskContext) -> Box<dyn Observer> {
        Box::new(Keeping {
            bound: Arc::clone(&self.bound),
            column: self.column,
            limit: self.limit,
            first: BinaryHeap::new(),
        })
    }
}

/// The ranks of one partition's rows. Each partition's rows give a bound that is valid for all.
struct Keeping {
    bound: Arc<Bound>,
    column: usize,
    limit: usize,
    /// The least ranks, the largest of them on top; at most as many as the limit.
    first: BinaryHeap<i64>,
}

impl Keeping {
    fn add(&mut self, rank: i64) {
        if self.first.len() < self.limit {
            self.first.push(rank);
        } else if let Some(mut last) = self.first.peek_mut()
            && rank < *last
        {
            *last = rank;
        }
    }

    fn add_all(&mut self, values: impl Iterator<Item = Option<i64>>, nulls: usize) {
        for value in values.flatten() {
            self.add(self.bound.rank(value));
        }
        if let Some(rank) = self.bound.rank_of_null() {
            (0..nulls.min(self.limit)).for_each(|_| self.add(rank));
        }
    }
}

impl Observer for Keeping {
    fn see(&mut self, batch: &RecordBatch) {
        let array = batch.column(self.column);
        let nulls = array.null_count();
        // Values that do not fit an `i64` are left out. A bound made of fewer rows is still valid, only less
        // strict.
        match array.data_type() {
            DataType::Int64 => self.add_all(array.as_primitive::<Int64Type>().iter(), nulls),
            DataType::UInt64 => {
                let values = array.as_primitive::<UInt64Type>().iter();
                self.add_all(values.map(|value| i64::try_from(value?).ok()), nulls);
            }
            DataType::Decimal128(..) => {
                let values = array.as_primitive::<Decimal128Type>().iter();
                self.add_all(values.map(|value| i64::try_from(value?).ok()), nulls);
            }
            _ => {}
        }
        if self.first.len() == self.limit
            && let Some(&last) = self.first.peek()
        {
            self.bound.rank.fetch_min(last, Ordering::Relaxed);
        }
    }

    fn end(&mut self, _: bool) {}
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, UInt64Array};

    use super::*;

    /// The bound after batches of one column.
    fn bound(descending: bool, limit: usize, batches: &[ArrayRef]) -> Arc<Bound> {
        let bound = Arc::new(Bound::new(descending));
        let keep = KeepBound {
            bound: Arc::clone(&bound),
            column: 0,
            limit,
        };
        let mut keeping = keep.partition(&TaskContext::default());
        for batch in batches {
            keeping.see(&RecordBatch::try_from_iter([("c0", Arc::clone(batch))]).unwrap());
        }
        bound
    }

    fn ints(values: &[Option<i64>]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    #[test]
    fn the_last_of_the_first_rows_is_the_bound() {
        let batches = [ints(&[Some(5), Some(1), None]), ints(&[Some(-3), Some(9)])];
        let ascending = bound(false, 3, &batches);
        // NULL, -3, 1
        assert!(ascending.may_hold(1) && ascending.may_hold(i64::MIN) && !ascending.may_hold(2));
        let descending = bound(true, 3, &batches);
        // 9, 5, 1
        assert!(descending.may_hold(1) && descending.may_hold(i64::MAX) && !descending.may_hold(0));
    }

    #[test]
    fn fewer_rows_than_the_limit_are_no_bound() {
        assert!(!bound(false, 3, &[ints(&[Some(1), Some(2)])]).is_known());
        assert!(
            !bound(true, 2, &[ints(&[Some(1), None])]).is_known(),
            "NULL comes last"
        );
    }

    #[test]
    fn larger_values_than_an_integer_are_left_out() {
        let values: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 7, 8]));
        let bound = bound(true, 2, &[values]);
        assert!(bound.may_hold(7) && !bound.may_hold(6));
    }
}
