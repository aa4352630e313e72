//! COUNT of many groups.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::Int64Type;

use super::groups::{RowGroups, take_first};

/// For each group: how many of its rows have no NULL among their arguments.
#[derive(Debug, Default)]
pub(super) struct Counts(Vec<i64>);

impl Counts {
    pub fn resize(&mut self, groups: usize) {
        if groups > self.0.len() {
            self.0.resize(groups, 0);
        }
    }

    pub fn update(&mut self, args: &[ArrayRef], groups: RowGroups<'_>) {
        let nulls = args.iter().fold(None, |all: Option<NullBuffer>, arg| {
            NullBuffer::union(all.as_ref(), arg.logical_nulls().as_ref())
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        match (groups, nulls) {
            (RowGroups::One(rows), nulls) => {
                if let Some(count) = self.0.first_mut() {
                    *count += (rows - nulls.map_or(0, |nulls| nulls.null_count())) as i64;
                }
            }
            (RowGroups::Each(groups), None) => groups.iter().for_each(|group| self.add(*group)),
            (RowGroups::Each(_), Some(nulls)) => {
                nulls.valid_indices().for_each(|row| self.add(groups.of(row)));
            }
        }
    }

    /// Counts a row.
    #[inline]
    pub fn add(&mut self, group: usize) {
        self.add_many(group, 1);
    }

    #[inline]
    pub fn add_many(&mut self, group: usize, rows: i64) {
        if let Some(count) = self.0.get_mut(group) {
            *count += rows;
        }
    }

    /// Adds counts of parts of the groups.
    pub fn merge(&mut self, counts: &ArrayRef, groups: RowGroups<'_>) {
        let counts = counts.as_primitive::<Int64Type>().values();
        for ((_, group), part) in groups.rows().zip(counts) {
            if let Some(count) = self.0.get_mut(group) {
                *count += part;
            }
        }
    }

    /// The state of each row, as if it were a group of its own.
    pub fn of_rows(arg: &ArrayRef) -> ArrayRef {
        let ones: Int64Array = match arg.logical_nulls() {
            None => vec![1; arg.len()].into(),
            Some(nulls) => nulls.iter().map(i64::from).collect::<Vec<_>>().into(),
        };
        Arc::new(ones)
    }

    pub fn get(&self, group: usize) -> i64 {
        self.0.get(group).copied().unwrap_or(0)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes the first groups, and returns their counts.
    pub fn take(&mut self, groups: usize) -> ArrayRef {
        Arc::new(Int64Array::from(take_first(&mut self.0, groups)))
    }

    pub fn size_bytes(&self) -> usize {
        self.0.capacity() * size_of::<i64>()
    }
}
