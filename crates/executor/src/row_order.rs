//! The order of the rows of Arrow batches under an ORDER BY; what the order is, [`functions::order`] defines.
//!
//! Each row has a prefix; only rows with the same prefix are compared. One text is then compared by its
//! collation, and anything else by its whole key.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute;
use arrow::datatypes::DataType;
use arrow::row::Rows;
use functions::order::{RowKeys, prefix};
use types::{Collation, Error, Result, SqlType, TypeKind};

use crate::batch::arrow_error;

/// Rows that are sorted or merged between two checks for KILL: some ten milliseconds.
const RUN_ROWS: usize = 16_384;

/// Fails once the statement has been interrupted.
pub(crate) type Check<'c> = dyn FnMut() -> Result<()> + 'c;

/// A row, (batch, row), and its prefix.
type Keyed = (u64, (usize, usize));

/// What is left of a sorted run. The greatest head is that of the least row, as [`BinaryHeap`] has it.
struct RunHead<'r> {
    first: Keyed,
    rest: &'r [Keyed],
    by: (&'r RowOrder, &'r [BatchKeys]),
}

impl Ord for RunHead<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (order, batches) = self.by;
        order.compare_keyed(batches, &other.first, &self.first)
    }
}

impl PartialOrd for RunHead<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunHead<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RunHead<'_> {}

/// How rows are ordered.
pub(crate) enum RowOrder {
    /// By one text.
    Text {
        collation: Collation,
        descending: bool,
    },
    Keys(RowKeys),
}

/// What the rows of one batch are ordered by.
pub(crate) enum BatchKeys {
    Texts { texts: StringArray, prefixes: Vec<u64> },
    Keys(Rows),
}

impl RowOrder {
    /// `true` stands for descending.
    pub fn new(columns: Vec<(SqlType, bool)>) -> Result<Self> {
        Ok(match columns.as_slice() {
            [(ty, descending)] if ty.arrow_type() == DataType::Utf8 && ty.kind != TypeKind::Json => {
                Self::Text {
                    collation: ty.collation,
                    descending: *descending,
                }
            }
            _ => Self::Keys(RowKeys::with_order(columns)?),
        })
    }

    /// The keys of a batch, by its values of the order's columns.
    pub fn keys(&self, columns: &[ArrayRef]) -> Result<BatchKeys> {
        match self {
            Self::Text {
                collation,
                descending,
            } => {
                let texts = columns.first().and_then(|column| column.as_string_opt::<i32>());
                let texts = texts
                    .ok_or_else(|| Error::internal("ORDER BY of a text got an array of another type"))?;
                let prefix = |text: Option<&str>| {
                    let prefix = text.map_or(0, |text| collation.order_number(text.as_bytes()));
                    if *descending { !prefix } else { prefix }
                };
                Ok(BatchKeys::Texts {
                    prefixes: texts.iter().map(prefix).collect(),
                    texts: texts.clone(),
                })
            }
            Self::Keys(keys) => keys.encode(columns).map(BatchKeys::Keys),
        }
    }

    /// Compares a row of one batch with one of another, by their prefixes first.
    pub fn compare_rows(&self, a: (&BatchKeys, usize), b: (&BatchKeys, usize)) -> Ordering {
        let prefixes = || a.0.prefix(a.1).cmp(&b.0.prefix(b.1));
        prefixes().then_with(|| self.compare(a, b))
    }

    /// Compares a row of one batch with one of another.
    fn compare(&self, a: (&BatchKeys, usize), b: (&BatchKeys, usize)) -> Ordering {
        match (self, a, b) {
            (
                Self::Text {
                    collation,
                    descending,
                },
                (BatchKeys::Texts { texts: left, .. }, a),
                (BatchKeys::Texts { texts: right, .. }, b),
            ) => {
                let order = match (left.is_valid(a), right.is_valid(b)) {
                    (true, true) => collation.compare(left.value(a).as_bytes(), right.value(b).as_bytes()),
                    (left, right) => left.cmp(&right),
                };
                if *descending { order.reverse() } else { order }
            }
            (_, (BatchKeys::Keys(left), a), (BatchKeys::Keys(right), b)) => left.row(a).cmp(&right.row(b)),
            _ => Ordering::Equal,
        }
    }

    /// What sorting so many rows takes, besides their keys and the result.
    pub fn scratch_bytes(rows: usize) -> usize {
        rows * size_of::<Keyed>()
    }

    /// All rows in order, as (batch, row); equal ones in the order they came. Runs of rows are sorted, and then merged:
    /// `check` is called between runs, and once for as many rows of the merging.
    ///
    /// # Errors
    /// That of `check`.
    pub fn sort(&self, batches: &[BatchKeys], check: &mut Check<'_>) -> Result<Vec<(usize, usize)>> {
        let mut order: Vec<Keyed> = batches
            .iter()
            .enumerate()
            .flat_map(|(b, batch)| (0..batch.len()).map(move |row| (batch.prefix(row), (b, row))))
            .collect();
        for run in order.chunks_mut(RUN_ROWS) {
            check()?;
            run.sort_unstable_by(|a, b| self.compare_keyed(batches, a, b));
        }
        if order.len() <= RUN_ROWS {
            return Ok(order.into_iter().map(|(_, row)| row).collect());
        }
        self.merge(batches, &order, check)
    }

    fn merge(
        &self,
        batches: &[BatchKeys],
        order: &[Keyed],
        check: &mut Check<'_>,
    ) -> Result<Vec<(usize, usize)>> {
        let head = |first: &Keyed, rest| RunHead {
            first: *first,
            rest,
            by: (self, batches),
        };
        let runs = order.chunks(RUN_ROWS).filter_map(<[Keyed]>::split_first);
        let mut heads: BinaryHeap<RunHead<'_>> = runs.map(|(first, rest)| head(first, rest)).collect();
        let mut merged = Vec::with_capacity(order.len());
        while let Some(mut least) = heads.peek_mut() {
            if merged.len().is_multiple_of(RUN_ROWS) {
                check()?;
            }
            merged.push(least.first.1);
            match least.rest.split_first() {
                Some((first, rest)) => (least.first, least.rest) = (*first, rest),
                None => drop(PeekMut::pop(least)),
            }
        }
        Ok(merged)
    }

    fn compare_keyed(&self, batches: &[BatchKeys], (a_prefix, a): &Keyed, (b_prefix, b): &Keyed) -> Ordering {
        a_prefix
            .cmp(b_prefix)
            .then_with(|| self.compare((&batches[a.0], a.1), (&batches[b.0], b.1)))
            .then_with(|| a.cmp(b))
    }

    /// The same without rows that are equal to one before them.
    pub fn sort_distinct(&self, batches: &[BatchKeys], check: &mut Check<'_>) -> Result<Vec<(usize, usize)>> {
        let mut rows = self.sort(batches, check)?;
        rows.dedup_by(|b, a| {
            let (left, right) = (&batches[a.0], &batches[b.0]);
            self.compare_rows((left, a.1), (right, b.1)) == Ordering::Equal
        });
        Ok(rows)
    }

    /// The keys of some rows, as those of one batch.
    pub fn gather(&self, batches: &[BatchKeys], rows: &[(usize, usize)]) -> Result<BatchKeys> {
        match self {
            Self::Text { .. } => {
                let arrays: Vec<&dyn Array> = batches
                    .iter()
                    .filter_map(|batch| match batch {
                        BatchKeys::Texts { texts, .. } => Some(texts as &dyn Array),
                        BatchKeys::Keys(_) => None,
                    })
                    .collect();
                let texts = compute::interleave(&arrays, rows).map_err(arrow_error)?;
                self.keys(&[texts])
            }
            Self::Keys(encoder) => {
                let mut keys = encoder.empty(rows.len());
                for (b, row) in rows {
                    if let Some(BatchKeys::Keys(batch)) = batches.get(*b) {
                        keys.push(batch.row(*row));
                    }
                }
                Ok(BatchKeys::Keys(keys))
            }
        }
    }
}

impl BatchKeys {
    fn len(&self) -> usize {
        match self {
            Self::Texts { texts, .. } => texts.len(),
            Self::Keys(rows) => rows.num_rows(),
        }
    }

    fn prefix(&self, row: usize) -> u64 {
        match self {
            Self::Texts { prefixes, .. } => prefixes.get(row).copied().unwrap_or_default(),
            Self::Keys(rows) => prefix::of_key(rows.row(row).data()),
        }
    }

    /// Memory they take.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Texts { texts, prefixes } => {
                texts.to_data().get_slice_memory_size().unwrap_or_default() + prefixes.len() * 8
            }
            Self::Keys(rows) => rows.size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int64Array;

    use super::*;

    fn sort(columns: Vec<(SqlType, bool)>, batches: &[ArrayRef]) -> Vec<(usize, usize)> {
        let order = RowOrder::new(columns).unwrap();
        let keys: Vec<_> = batches
            .iter()
            .map(|batch| order.keys(std::slice::from_ref(batch)).unwrap())
            .collect();
        let rows = order.sort(&keys, &mut || Ok(())).unwrap();
        let gathered = order.gather(&keys, &rows).unwrap();
        let again: Vec<_> = (0..rows.len()).map(|row| (0, row)).collect();
        assert_eq!(
            order.sort(&[gathered], &mut || Ok(())).unwrap(),
            again,
            "gathered rows are in order"
        );
        rows
    }

    #[test]
    fn texts_are_ordered_as_whole_keys_would_order_them() {
        let texts = [
            None,
            Some(""),
            Some("b"),
            Some("B"),
            Some("abcdef1"),
            Some("ABCDEF0"),
            Some("\u{1}"),
            Some("a\n"),
            Some("a "),
            Some("a"),
            Some("äbcdefgh"),
            None,
            Some("abcdefghz"),
            Some("abcdefghy"),
            Some("😀"),
            Some("~~~~~~~~~"),
        ];
        for collation in Collation::ALL {
            for descending in [false, true] {
                let ty = SqlType::varchar(20, collation);
                let batches: Vec<ArrayRef> = texts
                    .chunks(5)
                    .map(|texts| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef)
                    .collect();
                if batches[0].data_type() != &ty.arrow_type() {
                    continue;
                }
                let encoder = RowKeys::with_order(vec![(ty, descending)]).unwrap();
                let keys: Vec<_> = batches
                    .iter()
                    .map(|batch| BatchKeys::Keys(encoder.encode(std::slice::from_ref(batch)).unwrap()))
                    .collect();
                let expected = RowOrder::Keys(encoder).sort(&keys, &mut || Ok(())).unwrap();
                assert_eq!(sort(vec![(ty, descending)], &batches), expected, "{collation:?}");
            }
        }
    }

    #[test]
    fn many_rows_are_merged_and_can_be_interrupted() {
        let rows = RUN_ROWS * 3 + 7;
        let value = |row: usize| (row as i64 * 7_919) % 1_000;
        let batches: Vec<ArrayRef> = (0..rows)
            .collect::<Vec<_>>()
            .chunks(1_000)
            .map(|rows| {
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| value(*row)))) as ArrayRef
            })
            .collect();
        let order = RowOrder::new(vec![(SqlType::BIGINT, false)]).unwrap();
        let keys: Vec<_> = batches
            .iter()
            .map(|batch| order.keys(std::slice::from_ref(batch)).unwrap())
            .collect();
        let mut checks = 0;
        let sorted = order.sort(&keys, &mut || {
            checks += 1;
            Ok(())
        });
        let mut expected: Vec<usize> = (0..rows).collect();
        expected.sort_by_key(|row| value(*row));
        let numbers: Vec<usize> = sorted.unwrap().iter().map(|(b, row)| b * 1_000 + row).collect();
        assert_eq!(numbers, expected);
        assert_eq!(checks, 8, "once a run, and once for as many merged rows");
        for allowed in 0..checks {
            let mut left = allowed;
            let ended = order.sort(&keys, &mut || match left {
                0 => Err(Error::internal("killed")),
                _ => {
                    left -= 1;
                    Ok(())
                }
            });
            assert!(ended.is_err(), "{allowed}");
        }
    }

    #[test]
    fn numbers_too() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(-1), Some(2)]));
        let sorted = |descending| sort(vec![(SqlType::BIGINT, descending)], std::slice::from_ref(&values));
        assert_eq!(sorted(false), [(0, 1), (0, 2), (0, 0), (0, 3)]);
        assert_eq!(sorted(true), [(0, 0), (0, 3), (0, 2), (0, 1)]);
    }
}
