//! The entries of an index, merged and written to files.

use std::sync::atomic::Ordering;

use kv::{Runs, Snapshot, Store};
use schema::layout::IndexLayout;
use schema::model::Table;
use types::{Error, Result};

use super::complete::LoadedIndex;
use super::entries::duplicate_of;
use super::pace::{ENTRIES_PER_LOOK, Pace};
use crate::change::ranges;

/// Merges the entries of an index, and writes them to files. Less of them if the build is to stop.
///
/// # Errors
/// 1062 for two entries with one key, those of the store.
pub(super) fn fill(
    (store, snapshot): (&Store, &Snapshot),
    (table, index): (&Table, usize),
    runs: Runs,
    pace: &Pace<'_>,
) -> Result<Vec<LoadedIndex>> {
    let mut places = ranges(table.index_ranges(index));
    places.sort_by(|a, b| a.start.cmp(&b.start));
    let load = |range| LoadedIndex {
        index,
        load: store.begin_load(&range, Some(pace.interrupt())),
        range,
    };
    let loads: Vec<_> = places.into_iter().map(load).collect();
    let is_unique = table.indexes[index].unique || table.indexes[index].primary;
    let (mut last_key, mut last_value) = (Vec::new(), Vec::new());
    let mut rest = loads.iter();
    let mut next = || {
        rest.next()
            .map(|place| (place, place.load.writer(place.range.clone())))
    };
    let mut current = next();
    let mut entries = runs.merge(&|| pace.interrupt().check())?;
    let mut count = 0_u64;
    while let Some((key, value)) = entries.next()? {
        while current
            .as_ref()
            .is_some_and(|(place, _)| is_behind(key, &place.range.end))
        {
            if let Some((_, writer)) = current.take() {
                writer.close()?;
            }
            current = next();
        }
        if is_unique {
            if key == last_key {
                let layout = IndexLayout::new(table, index, &[])?;
                // MySQL reports the values of the row that comes first: equal values may be written differently.
                let first = layout.row_key(key, value)?.min(layout.row_key(key, &last_value)?);
                return Err(duplicate_of(table, index, snapshot, &first)?);
            }
            copy(key, &mut last_key);
            copy(value, &mut last_value);
        }
        let Some((_, writer)) = &mut current else {
            return Err(Error::internal("an index entry beyond all partitions"));
        };
        writer.put(key, value)?;
        count += 1;
        if count.is_multiple_of(ENTRIES_PER_LOOK) && pace.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if let Some((_, writer)) = current {
        writer.close()?;
    }
    Ok(loads)
}

/// An empty end: no bound.
fn is_behind(key: &[u8], end: &[u8]) -> bool {
    !end.is_empty() && key >= end
}

fn copy(from: &[u8], to: &mut Vec<u8>) {
    to.clear();
    to.extend_from_slice(from);
}
