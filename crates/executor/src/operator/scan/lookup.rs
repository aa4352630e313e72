//! Rows of a table for the rows of another input: by points, those of many rows in one call, or by ranges,
//! row by row.
//!
//! Not here: which pairs of rows become rows of the join (`operator::join`).

use std::collections::BTreeSet;
use std::ops::Range;

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use kv::{Reader, Snapshot};
use planner::plan::{self, Locking, TableScan};
use types::array::ColumnView;
use types::{Error, Result, SqlType, Value};

use super::access::{Access, AccessPlan, LOOKUP_ROWS, get_all, no_row};
use super::rows::Rows;
use crate::batch::{BATCH_BYTES, BATCH_ROWS};
use crate::env::Env;
use crate::operator::BoxOperator;
use crate::row_checks::RowChecks;

/// How many rows are decoded whole first.
const ROWS_BEFORE_CHECKS: usize = 64;

/// Fewer ranges than this are not announced to the store: their pages may well be in the processor's cache.
pub(super) const READ_AHEAD_MIN: usize = 8;

pub(crate) struct TableLookup<'p> {
    scan: &'p TableScan,
    plan: AccessPlan<'p>,
    rows: Rows<'p>,
    /// Set by AS OF TIMESTAMP.
    past: Option<Snapshot>,
    pub locking: Option<Locking>,
    keys: &'p KeyColumns,
    /// For how many rows points are looked up in one call.
    lookup_rows: usize,
    /// What of the filter is decided on a row's bytes: nothing until there have been some rows.
    checks: RowChecks,
    has_checks: bool,
    rows_read: usize,
}

/// Rows that points have found.
pub(crate) struct PointRows {
    pub batch: RecordBatch,
    /// In order.
    pub pairs: Vec<FoundPair>,
    /// The first row of the other input that has not been looked up.
    pub until: usize,
}

/// A row of the other input, and the row of the batch that it has found.
#[derive(Clone, Copy)]
pub(crate) struct FoundPair {
    pub row: u32,
    pub position: u32,
    /// What the found row has in the store.
    pub bytes: usize,
}

/// The number of a row in a batch, and its bytes in the store.
type Position = (u32, usize);

impl<'p> TableLookup<'p> {
    /// `keys`: the columns of the other input that the scan's access path names.
    pub fn open(scan: &'p TableScan, keys: &'p KeyColumns, env: &Env<'_, '_>) -> Result<Self> {
        let locking = env.locking_of(scan);
        let past = super::past(scan, locking, env)?;
        let plan = AccessPlan::new(scan, locking.is_some() || scan.reads_key())?;
        Ok(Self {
            scan,
            rows: Rows::new(scan, plan.covering(), None, false, env.eval())?,
            plan,
            past,
            locking,
            keys,
            lookup_rows: LOOKUP_ROWS,
            checks: RowChecks::default(),
            has_checks: false,
            rows_read: 0,
        })
    }

    /// Whether rows are looked at before they are decoded. For a few of them that is not worth the preparation.
    fn count_rows(&mut self, rows: usize) {
        self.rows_read += rows;
        if self.rows_read >= ROWS_BEFORE_CHECKS && !self.has_checks && self.plan.covering().is_none() {
            self.has_checks = true;
            self.checks = RowChecks::of_filter(self.scan, self.rows.constant_filter());
        }
    }

    pub fn is_by_points(&self) -> bool {
        matches!(
            self.scan.access,
            plan::Access::PrimaryPoints { .. } | plan::Access::UniquePoints { .. }
        )
    }

    /// Whether its rows are found by ranges of the entries of an index.
    pub fn reads_entries(&self) -> bool {
        matches!(
            self.scan.access,
            plan::Access::IndexRanges { covering: false, .. }
        )
    }

    pub fn has_filter(&self) -> bool {
        self.rows.has_filter()
    }

    /// The table's rows for rows of a batch, from `first` on: for as many of them as may be looked up in one
    /// call, and fewer if the rows that they find are large.
    pub fn points(&mut self, left: &RecordBatch, first: usize, env: &Env<'_, '_>) -> Result<PointRows> {
        loop {
            let until = left.num_rows().min(first + self.lookup_rows);
            match self.points_of(left, first..until, env)? {
                Some(rows) => return Ok(rows),
                // What has been read of them is dropped.
                None => self.lookup_rows = ((until - first) / 4).max(1),
            }
        }
    }

    /// `None`: they find too much for one call.
    fn points_of(
        &mut self,
        left: &RecordBatch,
        left_rows: Range<usize>,
        env: &Env<'_, '_>,
    ) -> Result<Option<PointRows>> {
        let until = left_rows.end;
        let may_be_cut = left_rows.len() > 1;
        let mut wanted = Vec::with_capacity(left_rows.len());
        for row in left_rows {
            let values = self.keys.values(left, row)?;
            let keys = self.plan.points(&values, env.eval())?.unwrap_or_default();
            wanted.extend(keys.into_iter().map(|key| (key, row as u32)));
        }
        wanted.sort_unstable();
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(wanted.len());
        let mut pairs = Vec::with_capacity(wanted.len());
        for (key, row) in wanted {
            if keys.last() != Some(&key) {
                keys.push(key);
            }
            pairs.push((row, keys.len() - 1));
        }
        pairs.sort_unstable();
        let Some(positions) = self.read(&keys, may_be_cut, env)? else {
            drop(self.rows.take()?);
            return Ok(None);
        };
        let (batch, mask) = self.take(env)?;
        let found = |(row, key): (u32, usize)| {
            let (position, bytes) = positions.get(key).copied().flatten()?;
            mask.value(position as usize)
                .then_some(FoundPair { row, position, bytes })
        };
        Ok(Some(PointRows {
            pairs: pairs.into_iter().filter_map(found).collect(),
            batch,
            until,
        }))
    }

    /// Reads rows, or entries, by their keys. Returns the number of each one's row in the next batch, and its
    /// bytes. `None`: they are too large for one call.
    fn read(
        &mut self,
        keys: &[Vec<u8>],
        may_be_cut: bool,
        env: &Env<'_, '_>,
    ) -> Result<Option<Vec<Option<Position>>>> {
        let reader: &dyn Reader = match &self.past {
            Some(past) => past,
            None => env.source.reader(),
        };
        let Some(lookup) = self.plan.lookup() else {
            self.count_keys(keys.len(), env);
            return self.read_rows(keys, (false, may_be_cut), env);
        };
        let must_exist = self.past.is_some() || env.source.is_consistent();
        let found = lookup.find(reader, keys)?;
        let row_keys: Vec<Vec<u8>> = found.iter().flatten().cloned().collect();
        self.count_keys(row_keys.len(), env);
        let Some(positions) = self.read_rows(&row_keys, (must_exist, may_be_cut), env)? else {
            return Ok(None);
        };
        let mut positions = positions.into_iter();
        let position = |row: Option<Vec<u8>>| row.and_then(|_| positions.next().flatten());
        Ok(Some(found.into_iter().map(position).collect()))
    }

    fn count_keys(&self, count: usize, env: &Env<'_, '_>) {
        env.eval().reads.read_keys(count);
        env.eval().reads.read_at(|| self.scan.place(), count);
    }

    fn count_next(&self, count: usize, env: &Env<'_, '_>) {
        env.eval().reads.read_next(count);
        env.eval().reads.read_at(|| self.scan.place(), count);
    }

    fn read_rows(
        &mut self,
        keys: &[Vec<u8>],
        (must_exist, may_be_cut): (bool, bool),
        env: &Env<'_, '_>,
    ) -> Result<Option<Vec<Option<Position>>>> {
        self.count_rows(keys.len());
        let reader: &dyn Reader = match &self.past {
            Some(past) => past,
            None => env.source.reader(),
        };
        let mut positions = vec![None; keys.len()];
        let (mut read, mut bytes, mut failure) = (0, 0, None);
        let (rows, checks) = (&mut self.rows, &mut self.checks);
        let mut visit = |index: usize, value: Option<&[u8]>| {
            let (Some(key), Some(position)) = (keys.get(index), positions.get_mut(index)) else {
                return;
            };
            match value {
                Some(_) if may_be_cut && bytes > BATCH_BYTES => {}
                Some(value) if !checks.may_hold(value) => {}
                Some(value) if failure.is_none() => {
                    failure = rows.push(key, value).err();
                    *position = Some((read, value.len()));
                    read += 1;
                    bytes += value.len();
                }
                None if must_exist => failure = Some(no_row()),
                _ => {}
            }
        };
        get_all(reader, keys, &mut visit)?;
        if let Some(error) = failure {
            return Err(error);
        }
        if may_be_cut && bytes > BATCH_BYTES {
            return Ok(None);
        }
        if bytes < BATCH_BYTES / 8 {
            self.lookup_rows = (self.lookup_rows * 4).min(BATCH_ROWS);
        } else if bytes > BATCH_BYTES {
            self.lookup_rows = (self.lookup_rows / 4).max(1);
        }
        Ok(Some(positions))
    }

    /// How many rows may be looked up in one call.
    pub fn rows_at_once(&self) -> usize {
        self.lookup_rows
    }

    /// The keys of the rows that the ranges of one row lead to; `None` if they are more than `most`.
    pub fn keys_of_entries(
        &self,
        ranges: &mut Access,
        most: usize,
        env: &Env<'_, '_>,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let reader: &dyn Reader = match &self.past {
            Some(past) => past,
            None => env.source.reader(),
        };
        ranges.all_row_keys(reader, most)
    }

    /// The rows with some keys, each for a row of the other input: in one call, since they lie anywhere. `None`: they
    /// are too large for one call, and fewer are to be asked for next time.
    pub fn gathered(
        &mut self,
        mut wanted: Vec<(Vec<u8>, u32)>,
        until: usize,
        env: &Env<'_, '_>,
    ) -> Result<Option<PointRows>> {
        let mut by_key: Vec<usize> = (0..wanted.len()).collect();
        by_key.sort_unstable_by(|a, b| wanted[*a].0.cmp(&wanted[*b].0));
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(wanted.len());
        let mut places = vec![0; wanted.len()];
        for number in by_key {
            let key = std::mem::take(&mut wanted[number].0);
            if keys.last() != Some(&key) {
                keys.push(key);
            }
            places[number] = keys.len() - 1;
        }
        let must_exist = self.past.is_some() || env.source.is_consistent();
        self.count_next(wanted.len(), env);
        let Some(positions) = self.read_rows(&keys, (must_exist, true), env)? else {
            drop(self.rows.take()?);
            self.lookup_rows = (self.lookup_rows / 4).max(1);
            return Ok(None);
        };
        let (batch, mask) = self.take(env)?;
        let pairs = wanted.iter().zip(places).filter_map(|((_, row), place)| {
            let (position, bytes) = positions.get(place).copied().flatten()?;
            mask.value(position as usize).then_some(FoundPair {
                row: *row,
                position,
                bytes,
            })
        });
        Ok(Some(PointRows {
            pairs: pairs.collect(),
            batch,
            until,
        }))
    }

    /// Opens the ranges of a row.
    pub fn ranges(&self, left: &RecordBatch, row: usize, env: &Env<'_, '_>) -> Result<Access> {
        let values = self.keys.values(left, row)?;
        self.plan.access(&values, env.eval())
    }

    /// Says that these ranges are read next.
    pub fn will_read<'a>(&self, ranges: impl Iterator<Item = &'a Access>, env: &Env<'_, '_>) {
        let starts: Vec<&[u8]> = ranges.filter_map(Access::first_key).collect();
        if starts.len() < READ_AHEAD_MIN {
            return;
        }
        match &self.past {
            Some(past) => past.will_read(&starts),
            None => env.source.reader().will_read(&starts),
        }
    }

    /// Reads the rows of up to `wanted` keys of ranges, which [`TableLookup::take`] returns. Calls `each`
    /// with the size of each of them in bytes. Returns the number of keys; 0 once there are no more.
    pub fn read_ranges(
        &mut self,
        ranges: &mut Access,
        wanted: usize,
        each: &mut dyn FnMut(usize),
        env: &Env<'_, '_>,
    ) -> Result<usize> {
        let reader: &dyn Reader = match &self.past {
            Some(past) => past,
            None => env.source.reader(),
        };
        let consistent = self.past.is_some() || env.source.is_consistent();
        let (rows, checks) = (&mut self.rows, &mut self.checks);
        let read = ranges.next(reader, wanted, consistent, &mut |key, value| {
            if !checks.may_hold(value) {
                return Ok(());
            }
            each(key.len() + value.len());
            rows.push(key, value)
        })?;
        self.count_next(read, env);
        self.count_rows(read);
        Ok(read)
    }

    /// The rows read since the last call, and which of them the scan's filter lets pass.
    pub fn take(&mut self, env: &Env<'_, '_>) -> Result<(RecordBatch, BooleanArray)> {
        let batch = self.rows.take()?;
        let mask = self.rows.filter(&batch, env.eval())?;
        Ok((batch, mask))
    }

    /// A scan that locks the table's rows for a row.
    pub fn locked(&self, left: &RecordBatch, row: usize, env: &mut Env<'_, '_>) -> Result<BoxOperator<'p>> {
        super::open_for(self.scan, self.locking, false, self.keys.values(left, row)?, env)
    }
}

/// The columns of the other input that an access path names.
pub(crate) struct KeyColumns {
    pub columns: Vec<(usize, SqlType)>,
    /// The greatest of their positions, and one.
    pub width: usize,
}

impl KeyColumns {
    /// `types`: those of the other input's columns.
    pub fn of(scan: &TableScan, types: &[SqlType]) -> Self {
        let mut named = BTreeSet::new();
        scan.key_expressions(&mut |expr| {
            expr.walk(&mut |expr| {
                if let Expr::Column { index, .. } = expr {
                    named.insert(*index);
                }
            });
        });
        let typed = named
            .iter()
            .filter_map(|&column| Some((column, *types.get(column)?)));
        Self {
            columns: typed.collect(),
            width: named.last().map_or(0, |last| last + 1),
        }
    }

    /// A row's values, by position; NULL for columns that are not named.
    fn values(&self, batch: &RecordBatch, row: usize) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.width];
        for (column, ty) in &self.columns {
            let (Some(value), Some(array)) = (values.get_mut(*column), batch.columns().get(*column)) else {
                return Err(Error::internal(
                    "a key of a lookup names a column that is not there",
                ));
            };
            *value = ColumnView::new(array, ty).value(row);
        }
        Ok(values)
    }
}
