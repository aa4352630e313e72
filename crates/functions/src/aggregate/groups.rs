//! The inner loops of aggregates: rows are combined into the states of their groups.

use arrow::array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow::buffer::NullBuffer;

/// Which group each row of a batch belongs to.
#[derive(Debug, Clone, Copy)]
pub enum RowGroups<'a> {
    /// All rows belong to group 0; the number of rows.
    One(usize),
    /// Row `i` belongs to group `groups[i]`.
    Each(&'a [usize]),
}

impl<'a> RowGroups<'a> {
    pub fn row_count(self) -> usize {
        match self {
            Self::One(rows) => rows,
            Self::Each(groups) => groups.len(),
        }
    }

    /// The group of a row below [`RowGroups::row_count`].
    #[inline]
    pub(super) fn of(self, row: usize) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Each(groups) => groups.get(row).copied().unwrap_or(0),
        }
    }

    /// Each row with its group.
    pub(super) fn rows(self) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        (0..self.row_count()).map(move |row| (row, self.of(row)))
    }
}

/// Combines each value that is not NULL with the state of its group. `None` if `combine` returns `None` for
/// one of them.
///
/// This is the inner loop of SUM, MIN and MAX: typed, and without a branch per row if there are no NULLs.
pub(super) fn combine<S: Copy, T: ArrowPrimitiveType>(
    states: &mut [S],
    values: &PrimitiveArray<T>,
    groups: RowGroups<'_>,
    combine: impl Fn(S, T::Native) -> Option<S>,
) -> Option<()> {
    let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
    match groups {
        // There may be no group, either.
        RowGroups::One(0) => {}
        RowGroups::One(_) => {
            let state = states.first_mut()?;
            *state = match nulls {
                None => values.values().iter().try_fold(*state, |s, v| combine(s, *v))?,
                Some(nulls) => nulls
                    .valid_indices()
                    .try_fold(*state, |s, row| combine(s, values.value(row)))?,
            };
        }
        RowGroups::Each(groups) => {
            let mut add = |group: usize, value| {
                let state = states.get_mut(group)?;
                *state = combine(*state, value)?;
                Some(())
            };
            match nulls {
                None => groups
                    .iter()
                    .zip(values.values())
                    .try_for_each(|(group, value)| add(*group, *value))?,
                Some(nulls) => nulls
                    .valid_indices()
                    .try_for_each(|row| add(*groups.get(row)?, values.value(row)))?,
            }
        }
    }
    Some(())
}

/// Records which groups have a value that is not NULL. The result of the others is NULL.
#[derive(Debug, Default)]
pub(super) struct NonNullGroups {
    groups: usize,
    /// `None` while every group has one.
    flags: Option<Vec<bool>>,
}

impl NonNullGroups {
    /// Makes groups without a value.
    pub fn resize(&mut self, groups: usize) {
        if groups > self.groups {
            let flags = self.flags.get_or_insert_with(|| vec![true; self.groups]);
            flags.resize(groups, false);
            self.groups = groups;
        }
    }

    /// Adds a batch. Each new group has a row in it.
    pub fn update(&mut self, values: &dyn Array, groups: RowGroups<'_>, group_count: usize) {
        let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        if self.flags.is_none() && nulls.is_none() && groups.row_count() > 0 {
            self.groups = self.groups.max(group_count);
            return;
        }
        self.resize(group_count);
        match (groups, nulls) {
            (RowGroups::One(rows), nulls) => {
                if rows > nulls.map_or(0, |nulls| nulls.null_count()) {
                    self.set(0);
                }
            }
            (RowGroups::Each(groups), None) => groups.iter().for_each(|group| self.set(*group)),
            (RowGroups::Each(_), Some(nulls)) => {
                nulls.valid_indices().for_each(|row| self.set(groups.of(row)));
            }
        }
    }

    #[inline]
    pub fn set(&mut self, group: usize) {
        if let Some(flag) = self.flags.as_mut().and_then(|flags| flags.get_mut(group)) {
            *flag = true;
        }
    }

    pub fn get(&self, group: usize) -> bool {
        self.flags
            .as_ref()
            .map_or(group < self.groups, |flags| flags.get(group) == Some(&true))
    }

    /// Removes the first groups and returns which of them are not NULL; `None` if all are not.
    pub fn take(&mut self, count: usize) -> Option<NullBuffer> {
        self.groups = self.groups.saturating_sub(count);
        let flags = self.flags.as_mut()?;
        let taken = NullBuffer::from(take_first(flags, count));
        if flags.is_empty() {
            self.flags = None;
        }
        Some(taken)
    }

    pub fn size_bytes(&self) -> usize {
        self.flags.as_ref().map_or(0, Vec::capacity)
    }
}

/// Removes the first `count` elements.
pub(super) fn take_first<T>(all: &mut Vec<T>, count: usize) -> Vec<T> {
    let rest = all.split_off(count.min(all.len()));
    std::mem::replace(all, rest)
}
