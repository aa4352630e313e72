//! Where the rows and index entries of a table lie: under its physical ids, which a change of the definition
//! can replace while the table keeps its own id.

use std::ops::Range;

use types::{Error, Result};

use crate::model::Table;
use crate::partition::unknown_partition;

impl Table {
    /// The id in the keys of rows and index entries of a table without partitions: its own unless a
    /// definition statement has moved the rows. In keys of a table with partitions, which
    /// [`codec::key::set_table_id`] puts in their places, it stands for all of them. Ids of tables and
    /// physical ids come from one counter, so that none is used twice.
    pub fn physical_id(&self) -> i64 {
        self.physical.unwrap_or(self.id)
    }

    /// All ids under which the table has rows, in the order of its partitions.
    pub fn physical_ids(&self) -> Vec<i64> {
        match &self.partitioning {
            Some(partitioning) => partitioning.leaves().map(|leaf| leaf.id).collect(),
            None => vec![self.physical_id()],
        }
    }

    /// The positions of leaves that a statement names, in order; all if it names none.
    ///
    /// # Errors
    /// 1747 for a table without partitions, 1735 for an unknown name.
    pub fn selected_leaves(&self, names: &[String]) -> Result<Option<Vec<usize>>> {
        if names.is_empty() {
            return Ok(None);
        }
        let Some(partitioning) = &self.partitioning else {
            return Err(Error::new(1747, "PARTITION () clause on non partitioned table"));
        };
        let mut selected = Vec::new();
        for name in names {
            let found = partitioning.leaves_named(name);
            if found.is_empty() {
                return Err(unknown_partition(name, &self.name));
            }
            selected.extend(found);
        }
        selected.sort_unstable();
        selected.dedup();
        Ok(Some(selected))
    }

    /// Allocates physical ids for a table whose definition was copied from another one.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn allocate_physical_ids(&mut self, next: impl FnMut() -> Result<i64>) -> Result<()> {
        self.physical = None;
        let Some(partitioning) = &mut self.partitioning else {
            return Ok(());
        };
        partitioning.clear_ids();
        partitioning.place(next)
    }

    /// Sets the physical ids of the definition that an ALTER TABLE makes, if they are not set: new ones for
    /// partitions, or `id` for a table without partitions.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn place_rewritten(&mut self, id: i64, next: impl FnMut() -> Result<i64>) -> Result<()> {
        match &mut self.partitioning {
            Some(partitioning) => {
                self.physical = None;
                partitioning.place(next)
            }
            None => {
                self.physical = Some(id);
                Ok(())
            }
        }
    }

    /// The same definition, without partitions, with its rows under another id.
    #[must_use]
    pub fn placed_at(&self, physical: i64) -> Self {
        Self {
            physical: (physical != self.id).then_some(physical),
            partitioning: None,
            ..self.clone()
        }
    }

    /// The ranges of all rows, one for each physical id.
    pub fn row_ranges(&self) -> Vec<Range<Vec<u8>>> {
        let ids = self.physical_ids().into_iter();
        ids.map(|id| prefixed(codec::key::row_prefix(id))).collect()
    }

    /// Those of them under physical ids that `other` does not have.
    pub fn row_ranges_outside(&self, other: &Self) -> Vec<Range<Vec<u8>>> {
        let others = other.physical_ids();
        let ids = self.physical_ids().into_iter().filter(|id| !others.contains(id));
        ids.map(|id| prefixed(codec::key::row_prefix(id))).collect()
    }

    /// The ranges of an index's entries, by its position, one for each physical id.
    pub fn index_ranges(&self, index: usize) -> Vec<Range<Vec<u8>>> {
        let id = self.indexes.get(index).map(|index| index.id);
        self.ranges_of_indexes(id.as_slice())
    }

    /// The ranges of the entries of indexes by their ids, which the table need not have any more.
    pub fn ranges_of_indexes(&self, indexes: &[i64]) -> Vec<Range<Vec<u8>>> {
        let places = self.physical_ids().into_iter();
        let keys = places.flat_map(|id| {
            indexes
                .iter()
                .map(move |&index| codec::key::index_prefix(id, index))
        });
        keys.map(prefixed).collect()
    }

    /// The ranges of all rows and index entries.
    pub fn data_ranges(&self) -> Vec<Range<Vec<u8>>> {
        let ids = self.physical_ids().into_iter();
        ids.map(|id| prefixed(codec::key::table_prefix(id))).collect()
    }

    /// Those of them under physical ids that `other` does not have.
    pub fn data_ranges_outside(&self, other: &Self) -> Vec<Range<Vec<u8>>> {
        let others = other.physical_ids();
        let ids = self.physical_ids().into_iter().filter(|id| !others.contains(id));
        ids.map(|id| prefixed(codec::key::table_prefix(id))).collect()
    }
}

fn prefixed(prefix: Vec<u8>) -> Range<Vec<u8>> {
    let end = codec::prefix_next(&prefix);
    prefix..end
}

#[cfg(test)]
mod tests {
    use codec::RowHandle;

    use super::*;
    use crate::layout::{RowEncoder, row_key, table_range};

    #[test]
    fn keys_have_the_physical_id() {
        let table = Table::of_columns(7, "d", "t", Vec::new());
        let moved = table.placed_at(9);
        assert_eq!((table.physical_id(), moved.physical_id(), moved.id), (7, 9, 7));
        assert_eq!(moved.placed_at(7), table);
        let handle = RowHandle::Int(1);
        let key = codec::key::row_key(9, &handle);
        assert_eq!(row_key(&moved, &handle), key);
        assert_eq!(RowEncoder::new(&moved).unwrap().row_key(&handle), key);
        assert!(table_range(&moved).contains(&key) && !table_range(&table).contains(&key));
        assert_eq!(table.data_ranges_outside(&moved), table.data_ranges());
        assert!(moved.data_ranges_outside(&moved).is_empty());
    }
}
