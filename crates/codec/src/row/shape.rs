//! The positions of columns in rows that have the same columns.

use super::view::{Place, RowView, small_ends};

/// The positions of chosen columns in rows that have the same columns with values and the same NULLs. Most
/// rows of a table do, so their ids need not be searched in each row.
#[derive(Debug, Default)]
pub struct RowShape {
    /// The first bytes of such a row, up to its values' ends; empty until the first row.
    head: Vec<u8>,
    values: usize,
    /// For each chosen column.
    places: Vec<Place>,
}

impl RowShape {
    /// Whether a row has this shape.
    #[inline]
    pub(super) fn fits(&self, row: &[u8]) -> bool {
        !self.head.is_empty() && begins_with(row, &self.head)
    }

    /// Takes the shape of a row that has been checked. `ids`: those of the chosen columns, ascending. Returns
    /// false for large rows, which have no shape.
    #[cold]
    pub(super) fn learn(&mut self, row: &[u8], view: &RowView<'_>, ids: impl Iterator<Item = i64>) -> bool {
        let head = view.small_head().and_then(|length| row.get(..length));
        let Some(head) = head else { return false };
        self.head = head.to_vec();
        self.values = view.value_count();
        let mut cursor = view.cursor();
        self.places = ids.map(|id| cursor.place(id)).collect();
        true
    }

    /// The places of the chosen columns in a row of this shape.
    #[inline]
    pub(super) fn in_row<'a>(&'a self, row: &'a [u8]) -> Shaped<'a> {
        let ends = row.get(self.head.len()..).unwrap_or_default();
        Shaped {
            places: &self.places,
            ends,
            data: ends.get(self.values * 2..).unwrap_or_default(),
        }
    }
}

/// `starts_with` by words, without a call of `memcmp`.
#[inline]
fn begins_with(row: &[u8], head: &[u8]) -> bool {
    let Some(start) = row.get(..head.len()) else {
        return false;
    };
    let (words, rest) = start.as_chunks::<8>();
    let (head_words, head_rest) = head.as_chunks::<8>();
    let is_same = |(a, b): (&[u8; 8], &[u8; 8])| a == b;
    words.iter().zip(head_words).all(is_same) && rest.iter().zip(head_rest).all(|(a, b)| a == b)
}

/// A row of a known shape.
pub(super) struct Shaped<'a> {
    pub places: &'a [Place],
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> Shaped<'a> {
    /// The bytes of the value at a position; `None` if the row's ends are out of order or beyond the row.
    #[inline]
    pub fn value(&self, position: usize) -> Option<&'a [u8]> {
        let (start, end) = small_ends(self.ends, position)?;
        self.data.get(start..end)
    }
}
