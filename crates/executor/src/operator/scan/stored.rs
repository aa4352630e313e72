//! Rows of a table for the rows of another one, as they are stored.

use kv::Reader;
use planner::plan::{self, TableScan};
use types::{Result, Value};

use super::access::{Access, AccessPlan, get_all, no_row};
use super::layout::ScanLayout;
use super::lookup::{KeyColumns, READ_AHEAD_MIN};
use super::pages::Visit;
use crate::direct::columns::RowColumns;
use crate::env::Env;

pub(crate) struct StoredLookup<'p> {
    pub scan: &'p TableScan,
    /// The columns of the tables before it that its keys are made of; `None`: its keys are constants.
    pub keys: Option<&'p KeyColumns>,
    /// Rows are read by their keys, those of many rows in one call; otherwise in ranges of their keys.
    pub by_keys: bool,
    plan: AccessPlan<'p>,
}

/// Takes a row's key and value, and the number of the row that it is for.
pub(crate) type PushRow<'a> = dyn FnMut(&[u8], &[u8], usize) + 'a;

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
        Ok(read)
    }

    /// Reads rows by their keys, and passes them to `push` in the order of `wanted`, each with its number.
    /// `false`: they have more than `bytes_max` bytes together, and none is passed on. One row is never too large.
    pub fn read(
        &self,
        wanted: &[(Vec<u8>, usize)],
        bytes_max: usize,
        env: &Env<'_, '_>,
        push: &mut PushRow<'_>,
    ) -> Result<bool> {
        let mut sorted: Vec<usize> = (0..wanted.len()).collect();
        sorted.sort_unstable_by(|a, b| wanted[*a].0.cmp(&wanted[*b].0));
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(wanted.len());
        let mut places = vec![0; wanted.len()];
        for number in sorted {
            let key = &wanted[number].0;
            if keys.last() != Some(key) {
                keys.push(key.clone());
            }
            places[number] = keys.len() - 1;
        }
        let mut values: Vec<Option<std::ops::Range<usize>>> = vec![None; keys.len()];
        let mut bytes: Vec<u8> = Vec::new();
        let (mut is_missing, mut is_too_much) = (false, false);
        let may_be_cut = keys.len() > 1;
        let mut visit = |index: usize, value: Option<&[u8]>| match value {
            None => is_missing = true,
            Some(_) if may_be_cut && bytes.len() > bytes_max => is_too_much = true,
            Some(value) => {
                let start = bytes.len();
                bytes.extend_from_slice(value);
                if let Some(place) = values.get_mut(index) {
                    *place = Some(start..bytes.len());
                }
            }
        };
        let reader: &dyn Reader = env.source.reader();
        get_all(reader, &keys, &mut visit)?;
        let through_entries = !matches!(self.scan.access, plan::Access::PrimaryPoints { .. });
        if is_missing && through_entries && env.source.is_consistent() {
            return Err(no_row());
        }
        // Several of `wanted` may have the same row.
        let lengths = places.iter().filter_map(|place| values.get(*place)?.as_ref());
        let passed_on: usize = lengths.map(std::ops::Range::len).sum();
        if is_too_much || wanted.len() > 1 && passed_on > bytes_max {
            return Ok(false);
        }
        match through_entries {
            true => env.eval().reads.read_next(wanted.len()),
            false => env.eval().reads.read_keys(keys.len()),
        }
        for ((key, number), place) in wanted.iter().zip(places) {
            let value = values
                .get(place)
                .cloned()
                .flatten()
                .and_then(|range| bytes.get(range));
            if let Some(value) = value {
                push(key, value, *number);
            }
        }
        Ok(true)
    }
}
