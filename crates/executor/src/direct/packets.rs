//! Packets that are kept for a while, and their order by one column of the rows.

use std::cmp::Ordering;
use std::ops::Range;

use types::{Collation, SqlType, TypeKind};
use wire::row::RawValue;

use crate::batch::{BATCH_BYTES, BATCH_ROWS};

/// How rows are ordered: as [`crate::order`] would order them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    collation: Collation,
    descending: bool,
    /// Of rows that compare as equal the first one only.
    pub distinct: bool,
}

/// Rows that are kept: their packets, and what they are ordered by where they are.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The packets one behind the other; behind each the text it is ordered by.
    bytes: Vec<u8>,
    rows: Vec<Packet>,
}

#[derive(Debug)]
struct Packet {
    payload: Range<usize>,
    text: Range<usize>,
    /// Tells most rows apart, and all of those that are ordered by a number. NULL has none and is the smallest.
    number: Option<u64>,
}

/// Room that is made ahead once the length of a row is known.
const ROWS_AHEAD: usize = 128;
const BYTES_AHEAD_MAX: usize = 64 << 10;

impl Order {
    /// `None`: a type that a number and a text do not order.
    pub fn by(ty: &SqlType, descending: bool, distinct: bool) -> Option<Self> {
        let ordered = !matches!(ty.kind, TypeKind::Json | TypeKind::Decimal | TypeKind::Null);
        ordered.then_some(Self {
            collation: ty.collation,
            descending,
            distinct,
        })
    }

    fn number(&self, value: RawValue<'_>) -> Option<u64> {
        const SIGN: u64 = 1 << 63;
        match value {
            RawValue::Null => None,
            RawValue::Int(v) => Some(v as u64 ^ SIGN),
            RawValue::UInt(v) => Some(v),
            // -0 is 0.
            RawValue::Double(v) => match (v + 0.0).to_bits() {
                bits if bits & SIGN == 0 => Some(bits | SIGN),
                bits => Some(!bits),
            },
            RawValue::Bytes(text) => Some(self.collation.order_number(text)),
            // Not taken.
            RawValue::Decimal(_) => Some(0),
        }
    }
}

impl Packets {
    /// Appends what `write` writes, a packet's payload.
    pub fn push<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        if let [first] = self.rows.as_slice() {
            let ahead = first.text.end.saturating_mul(ROWS_AHEAD).min(BYTES_AHEAD_MAX);
            self.bytes.reserve(ahead);
            self.rows.reserve(ROWS_AHEAD);
        }
        let start = self.bytes.len();
        write(&mut self.bytes)?;
        let end = self.bytes.len();
        self.rows.push(Packet {
            payload: start..end,
            text: end..end,
            number: None,
        });
        Ok(())
    }

    /// Whether there are many more rows than `stay`, which is what a cut will leave. Cutting sorts: it has to be rare.
    pub fn is_worth_cutting(&self, stay: usize) -> bool {
        let beyond = self.len().saturating_sub(stay.saturating_mul(2));
        beyond > BATCH_ROWS || (beyond > 0 && self.bytes.len() > BATCH_BYTES / 8)
    }

    /// Keeps the first `limit` rows only, in order.
    pub fn cut(&mut self, order: &Order, limit: usize) {
        let mut kept = Self::default();
        for place in self.places(order).into_iter().take(limit) {
            let Some(row) = self.rows.get(place) else {
                continue;
            };
            let start = kept.bytes.len();
            let bytes = self.bytes.get(row.payload.start..row.text.end);
            kept.bytes.extend_from_slice(bytes.unwrap_or_default());
            let end = start + row.payload.len();
            kept.rows.push(Packet {
                payload: start..end,
                text: end..kept.bytes.len(),
                number: row.number,
            });
        }
        *self = kept;
    }

    /// What the last packet is ordered by.
    pub fn order_last(&mut self, order: &Order, value: RawValue<'_>) {
        let Some(last) = self.rows.last_mut() else {
            return;
        };
        last.number = order.number(value);
        if let RawValue::Bytes(text) = value {
            self.bytes.extend_from_slice(text);
            last.text.end = self.bytes.len();
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// Memory they take.
    pub fn size_bytes(&self) -> usize {
        self.bytes.capacity() + self.rows.capacity() * size_of::<Packet>()
    }

    /// The payload at a place below [`Packets::len`].
    pub fn payload(&self, at: usize) -> &[u8] {
        let row = self.rows.get(at);
        row.and_then(|row| self.bytes.get(row.payload.clone()))
            .unwrap_or_default()
    }

    /// The places of the rows that are wanted, in order; equal ones in the order they came.
    pub fn places(&self, order: &Order) -> Vec<usize> {
        let numbers = self.rows.iter().map(|row| row.number);
        let mut places: Vec<(Option<u64>, usize)> = numbers.zip(0..).collect();
        places.sort_unstable_by(|a, b| {
            let by_value = self.compare(order, *a, *b);
            let by_value = if order.descending {
                by_value.reverse()
            } else {
                by_value
            };
            by_value.then_with(|| a.1.cmp(&b.1))
        });
        if order.distinct {
            places.dedup_by(|b, a| self.compare(order, *a, *b) == Ordering::Equal);
        }
        places.into_iter().map(|(_, place)| place).collect()
    }

    fn compare(&self, order: &Order, a: (Option<u64>, usize), b: (Option<u64>, usize)) -> Ordering {
        a.0.cmp(&b.0)
            .then_with(|| match (self.text(a.1), self.text(b.1)) {
                ([], []) => Ordering::Equal,
                (a, b) => order.collation.compare(a, b),
            })
    }

    fn text(&self, at: usize) -> &[u8] {
        let text = self.rows.get(at).and_then(|row| self.bytes.get(row.text.clone()));
        text.unwrap_or_default()
    }
}
