//! Finds columns in a row without decoding it.

use super::{FLAG_LARGE, HEADER_LEN, VERSION};
use crate::{Error, Result};

/// A column in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    Bytes(&'a [u8]),
    Null,
    /// The row does not have it: it was written before the column was added, or the key holds the column, or
    /// the encoder left out a NULL.
    Missing,
}

/// A row's bytes, with the header read and checked. It is small, because each reader of a row's columns holds
/// one.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    large: bool,
    value_count: usize,
    null_count: usize,
    /// The bytes after the header. They are long enough for the ids and ends.
    body: &'a [u8],
}

const TRUNCATED: Error = Error::Truncated { what: "a row" };
pub(super) const MALFORMED: Error = Error::Malformed {
    what: "the ends of a row's values",
};

impl<'a> RowView<'a> {
    #[inline]
    pub fn parse(row: &'a [u8]) -> Result<Self> {
        let Some((header, body)) = row.split_first_chunk::<HEADER_LEN>() else {
            return Err(TRUNCATED);
        };
        let [version, flags, v0, v1, n0, n1] = *header;
        if version != VERSION || flags & !FLAG_LARGE != 0 {
            return Err(unknown(version, flags));
        }
        let view = Self {
            large: flags & FLAG_LARGE != 0,
            value_count: usize::from(u16::from_le_bytes([v0, v1])),
            null_count: usize::from(u16::from_le_bytes([n0, n1])),
            body,
        };
        match view.data_at() <= body.len() {
            true => Ok(view),
            false => Err(TRUNCATED),
        }
    }

    /// Looks up a column. It is an error if the values' ends are out of order or beyond the row.
    #[inline]
    pub fn get(&self, id: i64) -> Result<Cell<'a>> {
        if self.large {
            return self.get_large(id);
        }
        let Ok(id) = u8::try_from(id) else {
            return Ok(Cell::Missing);
        };
        let mut position = 0;
        if seek(self.ids(), &mut position, id) {
            return self.small_value(position).map(Cell::Bytes);
        }
        Ok(match self.null_ids().contains(&id) {
            true => Cell::Null,
            false => Cell::Missing,
        })
    }

    #[inline(never)]
    fn get_large(self, id: i64) -> Result<Cell<'a>> {
        let Ok(id) = u32::try_from(id) else {
            return Ok(Cell::Missing);
        };
        let search = |ids: &[u8]| {
            let (ids, _) = ids.as_chunks::<4>();
            ids.binary_search_by_key(&id, |bytes| u32::from_le_bytes(*bytes))
        };
        if let Ok(position) = search(self.ids()) {
            return self.large_value(position).map(Cell::Bytes);
        }
        Ok(match search(self.null_ids()) {
            Ok(_) => Cell::Null,
            Err(_) => Cell::Missing,
        })
    }

    /// How many bytes of the row come before the values' ends; `None` for a large row.
    pub(super) fn small_head(&self) -> Option<usize> {
        (!self.large).then(|| HEADER_LEN + self.ends_at())
    }

    /// How many columns the row holds that are not NULL.
    pub fn value_count(&self) -> usize {
        self.value_count
    }

    /// A cursor to find several columns, in ascending order of their ids.
    #[inline]
    pub fn cursor(&self) -> Cursor<'a> {
        Cursor {
            view: *self,
            values_passed: 0,
            nulls_passed: 0,
        }
    }

    /// How many bytes an id takes, and the end of a value.
    #[inline(always)]
    fn lengths(&self) -> (usize, usize) {
        if self.large { (4, 4) } else { (1, 2) }
    }

    /// Where in the body the ids of the values end, where those of the NULLs end, and where the ends of the
    /// values end (and the first value begins).
    #[inline(always)]
    fn ends_at(&self) -> usize {
        (self.value_count + self.null_count) * self.lengths().0
    }

    #[inline(always)]
    fn data_at(&self) -> usize {
        self.ends_at() + self.value_count * self.lengths().1
    }

    #[inline(always)]
    fn ids(&self) -> &'a [u8] {
        let ids = self.body.get(..self.value_count * self.lengths().0);
        ids.unwrap_or_default()
    }

    #[inline(always)]
    fn null_ids(&self) -> &'a [u8] {
        let ids = self.body.get(self.value_count * self.lengths().0..self.ends_at());
        ids.unwrap_or_default()
    }

    /// The bytes of the value at a position below [`RowView::value_count`], of a row that is not large.
    #[inline(always)]
    fn small_value(&self, position: usize) -> Result<&'a [u8]> {
        let ends = self.body.get(self.ends_at()..).unwrap_or_default();
        let (start, end) = small_ends(ends, position).ok_or(MALFORMED)?;
        let data = self.data_at();
        self.body.get(data + start..data + end).ok_or(MALFORMED)
    }

    fn large_value(&self, position: usize) -> Result<&'a [u8]> {
        let ends = self.body.get(self.ends_at()..).unwrap_or_default();
        let end = |position: usize| {
            let bytes = ends.get(position * 4..).and_then(<[u8]>::first_chunk);
            bytes.map(|bytes| u32::from_le_bytes(*bytes) as usize)
        };
        let start = match position.checked_sub(1) {
            Some(previous) => end(previous).ok_or(MALFORMED)?,
            None => 0,
        };
        let data = self.body.get(self.data_at()..).unwrap_or_default();
        data.get(start..end(position).ok_or(MALFORMED)?).ok_or(MALFORMED)
    }
}

/// Where the value at a position starts and ends. The two numbers lie side by side.
#[inline(always)]
pub(super) fn small_ends(ends: &[u8], position: usize) -> Option<(usize, usize)> {
    let end = |bytes: [u8; 2]| usize::from(u16::from_le_bytes(bytes));
    let Some(previous) = position.checked_sub(1) else {
        return Some((0, end(*ends.first_chunk()?)));
    };
    let [a, b, c, d] = *ends.get(previous * 2..)?.first_chunk()?;
    Some((end([a, b]), end([c, d])))
}

/// The bytes of a column's value in the usual case: the row is not large and has the column. `None` says
/// nothing about the row: the caller must use [`RowView`]. It is not inlined, because inside other functions
/// it would take twice the code.
#[inline(never)]
pub(super) fn find_small(row: &[u8], id: i64) -> Option<&[u8]> {
    let (&[version, flags, v0, v1, n0, n1], body) = row.split_first_chunk::<HEADER_LEN>()?;
    if version != VERSION || flags != 0 {
        return None;
    }
    let values = usize::from(u16::from_le_bytes([v0, v1]));
    let ends_at = values + usize::from(u16::from_le_bytes([n0, n1]));
    let mut position = 0;
    if !seek(body.get(..values)?, &mut position, u8::try_from(id).ok()?) {
        return None;
    }
    let (start, end) = small_ends(body.get(ends_at..)?, position)?;
    let data = ends_at + values * 2;
    body.get(data + start..data + end)
}

#[cold]
fn unknown(version: u8, flags: u8) -> Error {
    Error::UnknownFlag {
        what: "a row",
        flag: if version == VERSION { flags } else { version },
    }
}

/// Finds columns one after the other. See [`RowView::cursor`].
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    view: RowView<'a>,
    /// How many of the values' ids, and of the NULLs' ids, are below the column that is looked for next.
    values_passed: usize,
    nulls_passed: usize,
}

impl<'a> Cursor<'a> {
    /// As [`RowView::get`]. The id must not be below the previous one.
    #[inline]
    pub fn find(&mut self, id: i64) -> Result<Cell<'a>> {
        if self.view.large {
            return self.view.get(id);
        }
        match self.place(id) {
            Place::Value(position) => self.view.small_value(position).map(Cell::Bytes),
            Place::Null => Ok(Cell::Null),
            Place::Missing => Ok(Cell::Missing),
        }
    }

    /// Where a column is in a row that is not large. The id must not be below the previous one.
    #[inline]
    pub(super) fn place(&mut self, id: i64) -> Place {
        let Ok(id) = u8::try_from(id) else {
            return Place::Missing;
        };
        if seek(self.view.ids(), &mut self.values_passed, id) {
            return Place::Value(self.values_passed);
        }
        match seek(self.view.null_ids(), &mut self.nulls_passed, id) {
            true => Place::Null,
            false => Place::Missing,
        }
    }
}

/// The position of a column in a row: the index of its value, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Value(usize),
    Null,
    Missing,
}

/// Whether `id` is in the rest of the ascending `ids`. `passed` becomes its position, or where it would be.
#[inline]
fn seek(ids: &[u8], passed: &mut usize, id: u8) -> bool {
    let Some(&next) = ids.get(*passed) else {
        return false;
    };
    if next >= id {
        return next == id;
    }
    // Ids have few gaps. Without a gap, the id's distance in positions equals the difference of the ids, and
    // it cannot be larger.
    let furthest = *passed + usize::from(id - next);
    if ids.get(furthest) == Some(&id) {
        *passed = furthest;
        return true;
    }
    // The same is done backwards from the larger id at that position: only few ids lie between the two.
    if let Some(&behind) = ids.get(furthest) {
        let nearest = furthest.saturating_sub(usize::from(behind.wrapping_sub(id)));
        if nearest > *passed && ids.get(nearest) == Some(&id) {
            *passed = nearest;
            return true;
        }
    }
    let rest = ids.get(*passed..furthest.min(ids.len())).unwrap_or_default();
    *passed += rest.partition_point(|&other| other < id);
    ids.get(*passed) == Some(&id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::{Collation, SqlType, Value};

    use super::*;
    use crate::row::RowEncoder;

    const TEXT: SqlType = SqlType::varchar(100_000, Collation::Binary);

    fn row(columns: &[(i64, Option<Vec<u8>>)]) -> Vec<u8> {
        let mut encoder = RowEncoder::new();
        for (id, bytes) in columns {
            let value = bytes.clone().map_or(Value::Null, Value::Bytes);
            encoder.push(*id, &value, &TEXT).unwrap();
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn cells_of_small_and_large_rows() {
        for (last_id, size) in [(9, 3), (300, 3), (9, 70_000)] {
            let long = vec![7; size];
            let bytes = row(&[
                (1, Some(vec![1])),
                (2, None),
                (3, Some(Vec::new())),
                (last_id, Some(long.clone())),
            ]);
            let view = RowView::parse(&bytes).unwrap();
            assert_eq!(view.get(1), Ok(Cell::Bytes(&[1])));
            assert_eq!(view.get(2), Ok(Cell::Null));
            assert_eq!(view.get(3), Ok(Cell::Bytes(&[])));
            assert_eq!(view.get(4), Ok(Cell::Missing));
            assert_eq!(view.get(last_id), Ok(Cell::Bytes(&long)));
            assert_eq!(view.get(i64::MAX), Ok(Cell::Missing));
        }
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = row(&[(1, Some(vec![1])), (2, Some(vec![2]))]);
        assert!(RowView::parse(&bytes[..5]).is_err());
        assert!(RowView::parse(&bytes[..8]).is_err());
        let mut other_version = bytes.clone();
        other_version[0] = 1;
        assert!(RowView::parse(&other_version).is_err());
        let mut unknown_flag = bytes.clone();
        unknown_flag[1] = 2;
        assert!(RowView::parse(&unknown_flag).is_err());
        let mut beyond = bytes;
        let ends_at = HEADER_LEN + 2;
        beyond[ends_at] = 9;
        let view = RowView::parse(&beyond).unwrap();
        assert!(view.get(1).is_err() && view.get(2).is_err());
    }

    proptest! {
        #[test]
        fn a_cursor_finds_what_get_finds(
            held: std::collections::BTreeMap<u8, bool>,
            wanted: std::collections::BTreeSet<u8>,
            last_id in prop::sample::select(vec![255_i64, 300]),
        ) {
            let mut columns: Vec<_> = held
                .iter()
                .map(|(&id, &null)| (i64::from(id), (!null).then(|| vec![id; usize::from(id % 5)])))
                .collect();
            if !held.contains_key(&255) || last_id > 255 {
                columns.push((last_id, Some(vec![1])));
            }
            let bytes = row(&columns);
            let view = RowView::parse(&bytes).unwrap();
            let mut cursor = view.cursor();
            for id in wanted.iter().map(|&id| i64::from(id)).chain([last_id, 1000]) {
                prop_assert_eq!(cursor.find(id), view.get(id));
                match (find_small(&bytes, id), view.get(id).unwrap()) {
                    (found, Cell::Bytes(value)) if last_id == 255 => prop_assert_eq!(found, Some(value)),
                    (found, _) => prop_assert_eq!(found, None),
                }
            }
        }

        #[test]
        fn any_bytes_parse_or_fail(input: Vec<u8>, large: bool, ids: Vec<i64>) {
            for prefix in [vec![], vec![VERSION, u8::from(large), 2, 0, 1, 0]] {
                let bytes = [prefix, input.clone()].concat();
                for id in ids.iter().copied().chain(0..4) {
                    let _ = find_small(&bytes, id);
                }
                if let Ok(view) = RowView::parse(&bytes) {
                    let mut cursor = view.cursor();
                    for id in ids.iter().copied().chain(0..4) {
                        let _ = view.get(id);
                        let _ = cursor.find(id);
                    }
                }
            }
        }
    }
}
