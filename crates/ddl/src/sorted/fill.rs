//! The entries of an index, merged, written to files and made part of the store.

use std::sync::atomic::Ordering;

use kv::{KeyRange, Load, Runs, Snapshot, Store};
use schema::layout::IndexLayout;
use schema::model::Table;
use types::{Error, Result};

use super::entries::duplicate_of;
use super::pace::{ENTRIES_PER_LOOK, Pace};
use crate::change::ranges;

/// Writes the entries of an index to the store. None of them if the build is to stop.
///
/// # Errors
/// 1062 for two entries with one key, those of the store.
pub(super) fn fill(
    (store, snapshot): (&Store, &Snapshot),
    (table, index): (&Table, usize),
    runs: Runs,
    pace: &Pace<'_>,
) -> Result<()> {
    let mut places = ranges(table.index_ranges(index));
    places.sort_by(|a, b| a.start.cmp(&b.start));
    let load = |range| (store.begin_load(&range, Some(pace.interrupt())), range);
    let loads: Vec<(Load, KeyRange)> = places.into_iter().map(load).collect();
    let is_unique = table.indexes[index].unique || table.indexes[index].primary;
    let (mut last_key, mut last_value) = (Vec::new(), Vec::new());
    let mut rest = loads.iter();
    let mut next = || {
        rest.next()
            .map(|(load, range)| (range, load.writer(range.clone())))
    };
    let mut current = next();
    let mut entries = runs.merge(&|| pace.interrupt().check())?;
    let mut count = 0_u64;
    while let Some((key, value)) = entries.next()? {
        while current
            .as_ref()
            .is_some_and(|(range, _)| is_behind(key, &range.end))
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
        if count.is_multiple_of(ENTRIES_PER_LOOK) {
            scheduling::background::look();
            if pace.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
    if let Some((_, writer)) = current {
        writer.close()?;
    }
    for (load, _) in loads {
        load.finish()?;
    }
    Ok(())
}

/// An empty end: no bound.
fn is_behind(key: &[u8], end: &[u8]) -> bool {
    !end.is_empty() && key >= end
}

fn copy(from: &[u8], to: &mut Vec<u8>) {
    to.clear();
    to.extend_from_slice(from);
}
