//! Rows of a table for the rows of another one, as they are stored.

use std::ops::Range;

use kv::Reader;
use planner::plan::{self, TableScan};
use types::{Result, Value};

use super::access::{Access, AccessPlan, get_all, no_row};
use super::layout::ScanLayout;
use super::lookup::{KeyColumns, READ_AHEAD_MIN};
use super::pages::Visit;
use crate::direct::columns::RowColumns;
use crate::env::Env;
use crate::memory::{Held, Memory};

pub(crate) struct StoredLookup<'p> {
    pub scan: &'p TableScan,
    /// The columns of the tables before it that its keys are made of; `None`: its keys are constants.
    pub keys: Option<&'p KeyColumns>,
    /// Rows are read by their keys, those of many rows in one call; otherwise in ranges of their keys.
    pub by_keys: bool,
    plan: AccessPlan<'p>,
}

/// Rows of one table, one behind the other.
#[derive(Default)]
pub(crate) struct StoredRows {
    bytes: Vec<u8>,
    pub rows: Vec<StoredRow>,
    held: Held,
}

#[derive(Clone)]
pub(crate) struct StoredRow {
    key: Range<usize>,
    value: Range<usize>,
    /// The row of the table before that it belongs to.
    pub left: usize,
}

impl StoredRow {
    /// The same row for another one of the table before.
    pub fn of(&self, left: usize) -> Self {
        Self { left, ..self.clone() }
    }
}

impl StoredRows {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Counts the bytes of the rows.
    pub fn count(&mut self, memory: &Memory<'_>) -> Result<()> {
        self.held.resize(self.bytes.len(), memory)
    }

    fn store(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    pub fn push(&mut self, key: &[u8], value: &[u8], left: usize) {
        let (key, value) = (self.store(key), self.store(value));
        self.rows.push(StoredRow { key, value, left });
    }

    pub fn key_and_value(&self, row: &StoredRow) -> (&[u8], &[u8]) {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        (bytes(&row.key), bytes(&row.value))
    }

    /// Whether two of the rows are one row of the table, which several rows of the table before have.
    pub fn are_same(&self, one: usize, other: usize) -> bool {
        let start = |row: usize| self.rows.get(row).map(|row| row.key.start);
        one == other || start(one) == start(other)
    }
}

/// The columns of a scan, if rows store them as they are shown.
pub(crate) fn columns_of(scan: &TableScan) -> Result<Option<&RowColumns>> {
    Ok(ScanLayout::of(scan)?.row_columns(scan))
}

impl<'p> StoredLookup<'p> {
    /// `None` for other access paths.
    pub fn of(scan: &'p TableScan, keys: Option<&'p KeyColumns>) -> Result<Option<Self>> {
        let by_keys = match scan.access {
            plan::Access::PrimaryPoints { .. } | plan::Access::IndexRanges { covering: false, .. } => true,
            plan::Access::PrimaryRanges { .. } => false,
            _ => return Ok(None),
        };
        Ok(Some(Self {
            scan,
            keys,
            by_keys,
            plan: AccessPlan::new(scan, true)?,
        }))
    }

    /// The access path for the values of [`StoredLookup::keys`].
    pub fn access(&self, values: &[Value], env: &Env<'_, '_>) -> Result<Access> {
        self.plan.access(values, env.eval())
    }

    /// Says that these are read next.
    pub fn will_read<'a>(&self, paths: impl Iterator<Item = &'a Access>, env: &Env<'_, '_>) {
        let starts: Vec<&[u8]> = paths.filter_map(Access::first_key).collect();
        if starts.len() >= READ_AHEAD_MIN {
            env.source.reader().will_read(&starts);
        }
    }

    /// The keys of the next rows of a path, up to `most`; none once there are no more.
    pub fn row_keys(&self, access: &mut Access, most: usize, env: &Env<'_, '_>) -> Result<Vec<Vec<u8>>> {
        access.next_row_keys(env.source.reader(), most)
    }

    /// Visits the next rows of a path, up to `most`. Returns how many there were.
    pub fn rows(
        &self,
        access: &mut Access,
        most: usize,
        env: &Env<'_, '_>,
        visit: &mut impl Visit,
    ) -> Result<usize> {
        let read = access.next(env.source.reader(), most, env.source.is_consistent(), visit)?;
        env.eval().reads.read_next(read);
        env.eval().reads.read_at(|| self.scan.place(), read);
        Ok(read)
    }

    /// Reads rows by their keys, and appends them to `rows` in the order of `wanted`, each with its number. A row that
    /// several want is stored once. `false`: they have more than `bytes_max` bytes together, and none is appended. One row
    /// is never too large.
    pub fn read(
        &self,
        wanted: &mut [(Vec<u8>, usize)],
        bytes_max: usize,
        env: &Env<'_, '_>,
        rows: &mut StoredRows,
    ) -> Result<bool> {
        let (keys, places) = take_keys(wanted);
        let mut stored: Vec<Option<StoredRow>> = vec![None; keys.len()];
        let before = rows.bytes.len();
        let (mut is_missing, mut is_too_much) = (false, false);
        let mut visit =
            |index: usize, value: Option<&[u8]>| match (value, stored.get_mut(index), keys.get(index)) {
                (Some(_), ..) if keys.len() > 1 && rows.bytes.len() - before > bytes_max => {
                    is_too_much = true
                }
                (Some(value), Some(place), Some(key)) => {
                    let (key, value) = (rows.store(key), rows.store(value));
                    *place = Some(StoredRow { key, value, left: 0 });
                }
                _ => is_missing = true,
            };
        let reader: &dyn Reader = env.source.reader();
        get_all(reader, &keys, &mut visit)?;
        let through_entries = !matches!(self.scan.access, plan::Access::PrimaryPoints { .. });
        if is_missing && through_entries && env.source.is_consistent() {
            return Err(no_row());
        }
        if is_too_much {
            rows.bytes.truncate(before);
            for ((key, _), place) in wanted.iter_mut().zip(places) {
                key.clone_from(&keys[place]);
            }
            return Ok(false);
        }
        let read = match through_entries {
            true => wanted.len(),
            false => keys.len(),
        };
        match through_entries {
            true => env.eval().reads.read_next(read),
            false => env.eval().reads.read_keys(read),
        }
        env.eval().reads.read_at(|| self.scan.place(), read);
        for ((_, left), place) in wanted.iter().zip(places) {
            if let Some(Some(row)) = stored.get(place) {
                rows.rows.push(row.of(*left));
            }
        }
        Ok(true)
    }
}

/// The keys, each once and in order, and the place among them of each that is wanted.
fn take_keys(wanted: &mut [(Vec<u8>, usize)]) -> (Vec<Vec<u8>>, Vec<usize>) {
    let mut sorted: Vec<usize> = (0..wanted.len()).collect();
    sorted.sort_unstable_by(|a, b| wanted[*a].0.cmp(&wanted[*b].0));
    let mut keys: Vec<Vec<u8>> = Vec::with_capacity(wanted.len());
    let mut places = vec![0; wanted.len()];
    for number in sorted {
        if keys.last() != Some(&wanted[number].0) {
            keys.push(std::mem::take(&mut wanted[number].0));
        }
        places[number] = keys.len() - 1;
    }
    (keys, places)
}
