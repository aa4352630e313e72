//! Finding columns in a row without decoding it.

use super::{FLAG_LARGE, HEADER_LEN, VERSION};
use crate::{Error, Result};

/// What a row holds of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    Bytes(&'a [u8]),
    Null,
    /// Not in the row: written before the column was added, or held by the key, or NULL left out.
    Missing,
}

/// A row's bytes, its header read and checked.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    large: bool,
    /// Ids of the values, then of the NULLs.
    ids: &'a [u8],
    value_count: usize,
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> RowView<'a> {
    pub fn parse(row: &'a [u8]) -> Result<Self> {
        const WHAT: &str = "a row";
        let Some((header, rest)) = row.split_first_chunk::<HEADER_LEN>() else {
            return Err(Error::Truncated { what: WHAT });
        };
        let [version, flags, v0, v1, n0, n1] = *header;
        if version != VERSION {
            return Err(Error::UnknownFlag {
                what: WHAT,
                flag: version,
            });
        }
        if flags & !FLAG_LARGE != 0 {
            return Err(Error::UnknownFlag {
                what: WHAT,
                flag: flags,
            });
        }
        let large = flags & FLAG_LARGE != 0;
        let value_count = usize::from(u16::from_le_bytes([v0, v1]));
        let null_count = usize::from(u16::from_le_bytes([n0, n1]));
        let (id_len, end_len) = if large { (4, 4) } else { (1, 2) };
        let (ids, rest) = rest
            .split_at_checked((value_count + null_count) * id_len)
            .ok_or(Error::Truncated { what: WHAT })?;
        let (ends, data) = rest
            .split_at_checked(value_count * end_len)
            .ok_or(Error::Truncated { what: WHAT })?;
        Ok(Self {
            large,
            ids,
            value_count,
            ends,
            data,
        })
    }

    /// What the row holds of a column. A row whose values' ends are out of order or beyond the row is an error.
    pub fn get(&self, id: i64) -> Result<Cell<'a>> {
        if let Some(position) = self.search(id, 0, self.value_count) {
            return self.value(position).map(Cell::Bytes);
        }
        Ok(match self.search(id, self.value_count, self.id_count()) {
            Some(_) => Cell::Null,
            None => Cell::Missing,
        })
    }

    /// How many columns the row holds that are not NULL.
    pub fn value_count(&self) -> usize {
        self.value_count
    }

    /// The id of the value at a position below [`RowView::value_count`].
    pub(super) fn id_at(&self, position: usize) -> i64 {
        if self.large {
            let at = position * 4;
            match self.ids.get(at..at + 4) {
                Some(&[a, b, c, d]) => i64::from(u32::from_le_bytes([a, b, c, d])),
                _ => -1,
            }
        } else {
            self.ids.get(position).map_or(-1, |id| i64::from(*id))
        }
    }

    /// The bytes of the value at a position below [`RowView::value_count`].
    pub(super) fn value(&self, position: usize) -> Result<&'a [u8]> {
        let start = match position.checked_sub(1) {
            Some(previous) => self.end(previous)?,
            None => 0,
        };
        self.data.get(start..self.end(position)?).ok_or(Error::Malformed {
            what: "the ends of a row's values",
        })
    }

    pub(super) fn is_null(&self, id: i64) -> bool {
        self.search(id, self.value_count, self.id_count()).is_some()
    }

    fn id_count(&self) -> usize {
        if self.large {
            self.ids.len() / 4
        } else {
            self.ids.len()
        }
    }

    fn end(&self, position: usize) -> Result<usize> {
        let truncated = Error::Truncated { what: "a row" };
        if self.large {
            match self.ends.get(position * 4..position * 4 + 4) {
                Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d]) as usize),
                _ => Err(truncated),
            }
        } else {
            match self.ends.get(position * 2..position * 2 + 2) {
                Some(&[a, b]) => Ok(usize::from(u16::from_le_bytes([a, b]))),
                _ => Err(truncated),
            }
        }
    }

    /// Binary search in `ids[low..high]`.
    fn search(&self, id: i64, mut low: usize, mut high: usize) -> Option<usize> {
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id_at(middle).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::{Collation, SqlType, Value};

    use super::*;
    use crate::row::RowEncoder;

    const TEXT: SqlType = SqlType::varchar(100_000, Collation::Binary);

    fn row(columns: &[(i64, Option<Vec<u8>>)]) -> Vec<u8> {
        let (mut encoder, mut out) = (RowEncoder::new(), Vec::new());
        for (id, bytes) in columns {
            let value = bytes.clone().map_or(Value::Null, Value::Bytes);
            encoder.push(*id, &value, &TEXT).unwrap();
        }
        encoder.finish(&mut out).unwrap();
        out
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
        fn any_bytes_parse_or_fail(input: Vec<u8>, large: bool, ids: Vec<i64>) {
            for prefix in [vec![], vec![VERSION, u8::from(large), 2, 0, 1, 0]] {
                let bytes = [prefix, input.clone()].concat();
                if let Ok(view) = RowView::parse(&bytes) {
                    for id in ids.iter().copied().chain(0..4) {
                        let _ = view.get(id);
                    }
                }
            }
        }
    }
}
