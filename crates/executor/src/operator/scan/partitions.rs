//! Keys and ranges of a table with partitions. They are made as for a table in one place, and then put in the
//! places of the partitions that are read.

use functions::{EvalContext, Expr, eval_row};
use kv::{KeyRange, Reader};
use planner::plan::TableScan;
use schema::layout::KeyParts;
use schema::partition::function::is_no_partition;
use types::{Result, Value};

use super::merged::MergedPages;
use super::pages::{RangePages, Visit};

/// Reads ranges of keys: those of a table in one place, or of several partitions.
pub(crate) enum Pages {
    Ranges(RangePages),
    /// In one order.
    Merged(Box<MergedPages>),
}

impl Pages {
    pub fn new(ranges: Vec<KeyRange>, reverse: bool) -> Self {
        Self::Ranges(RangePages::new(ranges, reverse))
    }

    /// Where the first range starts, before any is read, if it is read first.
    pub fn first_key(&self) -> Option<&[u8]> {
        match self {
            Self::Ranges(pages) => pages.first_key(),
            Self::Merged(_) => None,
        }
    }

    /// As [`RangePages::next`].
    pub fn next(&mut self, reader: &dyn Reader, wanted: usize, visit: &mut impl Visit) -> Result<usize> {
        match self {
            Self::Ranges(pages) => pages.next(reader, wanted, visit),
            Self::Merged(pages) => pages.next(reader, wanted, visit),
        }
    }
}

/// The ranges in each of the partitions that a scan reads; `None`: the table has none.
pub(super) fn in_places(
    scan: &TableScan,
    ranges: &[KeyRange],
    row: &[Value],
    eval: &EvalContext,
) -> Result<Option<Vec<Vec<KeyRange>>>> {
    let Some(partitions) = &scan.partitions else {
        return Ok(None);
    };
    let place = |id: i64| ranges.iter().map(|range| in_partition(range, id)).collect();
    let ids = partitions.ids(&scan.table, row, eval)?;
    Ok(Some(ids.into_iter().map(place).collect()))
}

/// Reads ranges of several partitions, in the order of the access path if the scan needs it.
pub(super) fn pages(scan: &TableScan, mut places: Vec<Vec<KeyRange>>, reverse: bool) -> Pages {
    let is_ordered = scan
        .partitions
        .as_ref()
        .is_some_and(|partitions| partitions.ordered);
    if is_ordered && places.len() > 1 {
        return Pages::Merged(Box::new(MergedPages::new(places, reverse)));
    }
    if reverse {
        // So that partitions come in their order, and the rows of each backwards.
        places.reverse();
    }
    Pages::new(places.into_iter().flatten().collect(), reverse)
}

/// A range of the table's keys, as keys of a partition.
fn in_partition(range: &KeyRange, id: i64) -> KeyRange {
    let mut range = range.clone();
    codec::key::set_table_id(&mut range.start, id);
    codec::key::set_table_id(&mut range.end, id);
    range
}

/// Complete keys of the primary key or of a unique index in their partitions: such a key has all columns that
/// decide which one it is.
pub(super) fn points(
    scan: &TableScan,
    parts: &KeyParts,
    keys: &[Vec<Expr>],
    row: &[Value],
    eval: &EvalContext,
) -> Result<Vec<Vec<u8>>> {
    let Some(function) = scan.table.partition_function()? else {
        return Ok(Vec::new());
    };
    let named = scan
        .partitions
        .as_ref()
        .and_then(|partitions| partitions.named.as_ref());
    let mut out = Vec::with_capacity(keys.len());
    for key in keys {
        let values = key.iter().map(|e| eval_row(e, row, eval));
        let values = values.collect::<Result<Vec<Value>>>()?;
        let Some(mut bytes) = parts.point(&values, eval.time_zone)? else {
            continue;
        };
        let mut of_row = vec![Value::Null; scan.table.columns.len()];
        for (part, value) in values.into_iter().enumerate() {
            if let Some(cell) = parts.column(part).and_then(|column| of_row.get_mut(column)) {
                *cell = value;
            }
        }
        let leaf = match function.locate(&of_row, eval) {
            Ok(leaf) => leaf,
            Err(error) if is_no_partition(&error) => continue,
            Err(error) => return Err(error),
        };
        let id = function.ids.get(leaf).copied().unwrap_or_default();
        if named.is_none_or(|named| named.contains(&leaf)) {
            codec::key::set_table_id(&mut bytes, id);
            out.push(bytes);
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}
