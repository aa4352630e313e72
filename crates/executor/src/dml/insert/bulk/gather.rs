//! The rows of a bulk load and their index entries, sorted: one sorter for the rows and one for each index.
//!
//! Behind a value stands the number of the row in the file, where it is needed: for rows with a key, and for unique
//! indexes. With IGNORE it is needed for all, so that the entries of a row can be left out.

use kv::{KeyRange, Runs, Sorter, Store, sort_memory};
use schema::layout::{index_range, table_range};
use schema::model::Table;
use types::{Error, Result};

use super::duplicates::WARNINGS_LISTED;
use crate::dml::image::{Image, ImageMaker, UniqueKey};

const TAG_BYTES: usize = size_of::<u64>();

/// Where the pairs of one sorter go.
pub(super) struct Part {
    pub(super) range: KeyRange,
    /// In what order keys are checked for duplicates: 0 is the primary key, an index its position and 1.
    pub(super) order: u32,
    /// Only one row can have a key.
    pub(super) is_unique: bool,
    is_tagged: bool,
}

/// A part with its pairs.
pub(super) struct Sorted {
    pub(super) place: Part,
    pub(super) runs: Runs,
}

/// The key that is checked at a place of that order.
pub(super) fn key_of_order(order: u32) -> UniqueKey {
    match order.checked_sub(1) {
        None => UniqueKey::Primary,
        Some(index) => UniqueKey::Index(index as usize),
    }
}

impl Part {
    pub(super) fn holds_rows(&self) -> bool {
        self.order == 0
    }

    /// A value, and the number of its row; 0 where that is not known.
    pub(super) fn untagged<'v>(&self, stored: &'v [u8]) -> Result<(&'v [u8], u64)> {
        if !self.is_tagged {
            return Ok((stored, 0));
        }
        let (value, tag) = stored
            .split_last_chunk::<TAG_BYTES>()
            .ok_or_else(|| Error::internal("a pair of a bulk load without its row"))?;
        Ok((value, u64::from_be_bytes(*tag)))
    }
}

struct Slot {
    place: Part,
    sorter: Sorter,
}

impl Slot {
    fn push(&mut self, key: &[u8], value: &[u8], row: u64) -> Result<()> {
        Ok(match self.place.is_tagged {
            true => self.sorter.push_tagged(key, value, &row.to_be_bytes()),
            false => self.sorter.push(key, value),
        }?)
    }
}

/// How many warnings there were when rows had been made.
#[derive(Default)]
pub(super) struct Marks(Vec<(u64, u64)>);

impl Marks {
    fn note(&mut self, row: u64, warned: u64) {
        if self.0.len() <= WARNINGS_LISTED && self.0.last().is_none_or(|(_, last)| *last != warned) {
            self.0.push((row, warned));
        }
    }

    pub(super) fn warned_at(&self, row: u64) -> Option<u64> {
        let after = self.0.partition_point(|(marked, _)| *marked <= row);
        let last = self.0.get(after.checked_sub(1)?)?;
        Some(last.1)
    }
}

pub(super) struct Gatherer<'p> {
    table: &'p Table,
    /// The first has the rows.
    slots: Vec<Slot>,
    /// The position in `slots` of each of the table's indexes.
    slot_of_index: Vec<usize>,
    marks: Marks,
    rows: u64,
}

impl<'p> Gatherer<'p> {
    pub(super) fn new(table: &'p Table, store: &Store, maker: &ImageMaker<'_>, ignore: bool) -> Self {
        let secondary = maker.secondary();
        let has_unique = !maker.hides_handles() || secondary.iter().any(|&index| maker.is_unique(index));
        let memory = sort_memory(store) / (secondary.len() + 1);
        let slot = |range: std::ops::Range<Vec<u8>>, order: usize, is_unique, is_tagged| Slot {
            place: Part {
                range: KeyRange::new(range.start, range.end),
                order: order as u32,
                is_unique,
                is_tagged,
            },
            sorter: Sorter::beside(store, memory),
        };
        let mut slots = vec![slot(table_range(table), 0, !maker.hides_handles(), has_unique)];
        let mut slot_of_index = vec![0; table.indexes.len()];
        for &index in secondary {
            if let Some(at) = slot_of_index.get_mut(index) {
                *at = slots.len();
            }
            let is_unique = maker.is_unique(index);
            let is_tagged = is_unique || ignore && has_unique;
            slots.push(slot(index_range(table, index), index + 1, is_unique, is_tagged));
        }
        Self {
            table,
            slots,
            slot_of_index,
            marks: Marks::default(),
            rows: 0,
        }
    }

    /// Adds the next row. `warned`: how many warnings there were when it had been made.
    pub(super) fn push(&mut self, image: Image, value: Vec<u8>, warned: u64) -> Result<()> {
        let row = self.rows;
        for entry in image.entries {
            let at = self.slot_of_index.get(entry.index).copied().unwrap_or_default();
            match self.slots.get_mut(at) {
                Some(slot) if at > 0 => slot.push(&entry.key, &entry.value, row)?,
                _ => {
                    return Err(Error::internal(format!(
                        "table {} has no index {}",
                        self.table.name, entry.index
                    )));
                }
            }
        }
        if let Some(slot) = self.slots.first_mut() {
            slot.push(&image.key, &value, row)?;
        }
        self.marks.note(row, warned);
        self.rows += 1;
        Ok(())
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn finish(self) -> Result<(Marks, Vec<Sorted>)> {
        let sorted = |slot: Slot| -> Result<Sorted> {
            Ok(Sorted {
                place: slot.place,
                runs: slot.sorter.finish()?,
            })
        };
        let sorted: Result<Vec<Sorted>> = self.slots.into_iter().map(sorted).collect();
        Ok((self.marks, sorted?))
    }
}
