//! The order of rows in memory under an ORDER BY, without a whole key for each row.
//!
//! Each row has a number that tells most rows apart; only where two have the same are they compared. One text is then
//! compared as its collation says, and anything else by a key of [`crate::sort_key`]. A text's whole sort key costs more
//! than all the comparisons of a small sort.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute;
use arrow::datatypes::DataType;
use arrow::row::Rows;
use types::{Collation, Error, Result, SqlType, TypeKind};

use crate::batch::arrow_error;
use crate::sort_key::KeyEncoder;

/// How rows are ordered.
pub(crate) enum Order {
    /// By one text.
    Text {
        collation: Collation,
        descending: bool,
    },
    Keys(KeyEncoder),
}

/// What the rows of one batch are ordered by.
pub(crate) enum Ordered {
    Texts { texts: StringArray, numbers: Vec<u64> },
    Keys(Rows),
}

impl Order {
    /// `true` stands for descending. NULL is the smallest value.
    pub fn new(columns: Vec<(SqlType, bool)>) -> Result<Self> {
        Ok(match columns.as_slice() {
            [(ty, descending)] if ty.arrow_type() == DataType::Utf8 && ty.kind != TypeKind::Json => {
                Self::Text {
                    collation: ty.collation,
                    descending: *descending,
                }
            }
            _ => Self::Keys(KeyEncoder::with_order(columns)?),
        })
    }

    /// Of the rows whose values of the order's columns are `columns`.
    pub fn of(&self, columns: &[ArrayRef]) -> Result<Ordered> {
        match self {
            Self::Text {
                collation,
                descending,
            } => {
                let texts = columns.first().and_then(|column| column.as_string_opt::<i32>());
                let texts = texts.ok_or_else(|| Error::internal("a text to order by is none"))?;
                let number = |text: Option<&str>| {
                    let number = text.map_or(0, |text| collation.order_number(text.as_bytes()));
                    if *descending { !number } else { number }
                };
                Ok(Ordered::Texts {
                    numbers: texts.iter().map(number).collect(),
                    texts: texts.clone(),
                })
            }
            Self::Keys(encoder) => encoder.encode(columns).map(Ordered::Keys),
        }
    }

    /// Compares a row of one batch with one of another.
    fn compare(&self, a: (&Ordered, usize), b: (&Ordered, usize)) -> Ordering {
        match (self, a, b) {
            (
                Self::Text {
                    collation,
                    descending,
                },
                (Ordered::Texts { texts: left, .. }, a),
                (Ordered::Texts { texts: right, .. }, b),
            ) => {
                let order = match (left.is_valid(a), right.is_valid(b)) {
                    (true, true) => collation.compare(left.value(a).as_bytes(), right.value(b).as_bytes()),
                    (left, right) => left.cmp(&right),
                };
                if *descending { order.reverse() } else { order }
            }
            (_, (Ordered::Keys(left), a), (Ordered::Keys(right), b)) => left.row(a).cmp(&right.row(b)),
            _ => Ordering::Equal,
        }
    }

    /// The places of all rows, in order, as (batch, row); equal ones in the order they came.
    pub fn places(&self, batches: &[Ordered]) -> Vec<(usize, usize)> {
        let mut order: Vec<(u64, (usize, usize))> = batches
            .iter()
            .enumerate()
            .flat_map(|(b, batch)| (0..batch.len()).map(move |row| (batch.number(row), (b, row))))
            .collect();
        order.sort_unstable_by(|(a_number, a), (b_number, b)| {
            a_number
                .cmp(b_number)
                .then_with(|| self.compare((&batches[a.0], a.1), (&batches[b.0], b.1)))
                .then_with(|| a.cmp(b))
        });
        order.into_iter().map(|(_, place)| place).collect()
    }

    /// The same without rows that are equal to one before them.
    pub fn distinct_places(&self, batches: &[Ordered]) -> Vec<(usize, usize)> {
        let mut places = self.places(batches);
        places.dedup_by(|b, a| {
            let (left, right) = (&batches[a.0], &batches[b.0]);
            left.number(a.1) == right.number(b.1)
                && self.compare((left, a.1), (right, b.1)) == Ordering::Equal
        });
        places
    }

    /// The rows at some places, as one batch.
    pub fn gather(&self, batches: &[Ordered], places: &[(usize, usize)]) -> Result<Ordered> {
        match self {
            Self::Text { .. } => {
                let arrays: Vec<&dyn Array> = batches
                    .iter()
                    .filter_map(|batch| match batch {
                        Ordered::Texts { texts, .. } => Some(texts as &dyn Array),
                        Ordered::Keys(_) => None,
                    })
                    .collect();
                let texts = compute::interleave(&arrays, places).map_err(arrow_error)?;
                self.of(&[texts])
            }
            Self::Keys(encoder) => {
                let mut keys = encoder.empty(places.len());
                for (b, row) in places {
                    if let Some(Ordered::Keys(rows)) = batches.get(*b) {
                        keys.push(rows.row(*row));
                    }
                }
                Ok(Ordered::Keys(keys))
            }
        }
    }
}

impl Ordered {
    fn len(&self) -> usize {
        match self {
            Self::Texts { texts, .. } => texts.len(),
            Self::Keys(rows) => rows.num_rows(),
        }
    }

    /// Orders rows as far as it goes.
    fn number(&self, row: usize) -> u64 {
        match self {
            Self::Texts { numbers, .. } => numbers.get(row).copied().unwrap_or_default(),
            Self::Keys(rows) => {
                let row = rows.row(row);
                let mut first = [0; 8];
                for (slot, byte) in first.iter_mut().zip(row.data()) {
                    *slot = *byte;
                }
                u64::from_be_bytes(first)
            }
        }
    }

    /// Memory they take.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Texts { texts, numbers } => {
                texts.to_data().get_slice_memory_size().unwrap_or_default() + numbers.len() * 8
            }
            Self::Keys(rows) => rows.size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int64Array;

    use super::*;

    fn places(columns: Vec<(SqlType, bool)>, batches: &[ArrayRef]) -> Vec<(usize, usize)> {
        let order = Order::new(columns).unwrap();
        let ordered: Vec<_> = batches
            .iter()
            .map(|batch| order.of(std::slice::from_ref(batch)).unwrap())
            .collect();
        let places = order.places(&ordered);
        let gathered = order.gather(&ordered, &places).unwrap();
        let again: Vec<_> = (0..places.len()).map(|row| (0, row)).collect();
        assert_eq!(order.places(&[gathered]), again, "gathered rows are in order");
        places
    }

    #[test]
    fn texts_are_ordered_as_whole_keys_would_order_them() {
        let texts = [
            None,
            Some(""),
            Some("b"),
            Some("B"),
            Some("abcdef1"),
            Some("ABCDEF0"),
            Some("\u{1}"),
            Some("a\n"),
            Some("a "),
            Some("a"),
            Some("äbcdefgh"),
            None,
            Some("abcdefghz"),
            Some("abcdefghy"),
            Some("😀"),
            Some("~~~~~~~~~"),
        ];
        for collation in Collation::ALL {
            for descending in [false, true] {
                let ty = SqlType::varchar(20, collation);
                let batches: Vec<ArrayRef> = texts
                    .chunks(5)
                    .map(|texts| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef)
                    .collect();
                if batches[0].data_type() != &ty.arrow_type() {
                    continue;
                }
                let encoder = KeyEncoder::with_order(vec![(ty, descending)]).unwrap();
                let keys: Vec<_> = batches
                    .iter()
                    .map(|batch| Ordered::Keys(encoder.encode(std::slice::from_ref(batch)).unwrap()))
                    .collect();
                let expected = Order::Keys(encoder).places(&keys);
                assert_eq!(
                    places(vec![(ty, descending)], &batches),
                    expected,
                    "{collation:?}"
                );
            }
        }
    }

    #[test]
    fn numbers_too() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(-1), Some(2)]));
        let asked = |descending| places(vec![(SqlType::BIGINT, descending)], std::slice::from_ref(&values));
        assert_eq!(asked(false), [(0, 1), (0, 2), (0, 0), (0, 3)]);
        assert_eq!(asked(true), [(0, 0), (0, 3), (0, 2), (0, 1)]);
    }
}
