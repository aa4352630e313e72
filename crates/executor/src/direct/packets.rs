//! Packets that are kept for a while, and their order by one column of the rows.

use std::cmp::Ordering;
use std::ops::Range;

use codec::row::TakeCell;
use types::{Collation, Decimal, Error, Result, SqlType, TypeKind};

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
    /// The packets one behind the other; behind each the text it is ordered by, where it does not end with it.
    bytes: Vec<u8>,
    rows: Vec<Packet>,
}

#[derive(Debug)]
struct Packet {
    payload: Range<usize>,
    /// What it is ordered by, of rows with the same number: none but for texts.
    text: Range<usize>,
    /// Tells most rows apart, and all of those that are ordered by a number. NULL has none and is the smallest.
    number: Option<u64>,
}

/// What rows are sorted by before their texts: a packet's number, of 65 bits with that of NULL, and its place, which
/// keeps equal ones in the order they came.
type Rank = u128;
const PLACE_BITS: u32 = 63;
const NUMBER_MAX: Rank = 1 << 64;

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

    fn rank(&self, place: usize, row: &Packet) -> Rank {
        let number = row.number.map_or(0, |number| Rank::from(number) + 1);
        let number = match self.descending {
            true => NUMBER_MAX - number,
            false => number,
        };
        number << PLACE_BITS | place as Rank
    }
}

fn place_of(rank: Rank) -> usize {
    (rank & ((1 << PLACE_BITS) - 1)) as usize
}

fn same_number(a: &Rank, b: &Rank) -> bool {
    a >> PLACE_BITS == b >> PLACE_BITS
}

impl Packets {
    /// Appends what `write` writes, a packet's payload.
    #[inline]
    pub fn push<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        if self.rows.len() == 1 {
            let ahead = self.bytes.len().saturating_mul(ROWS_AHEAD).min(BYTES_AHEAD_MAX);
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

    /// Takes the value that the last packet is ordered by.
    pub fn order_last<'p>(&'p mut self, order: &Order) -> OrderLast<'p> {
        OrderLast {
            packets: self,
            collation: order.collation,
        }
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
            let (from, to) = (row.payload.start, kept.bytes.len());
            let bytes = self.bytes.get(from..row.payload.end.max(row.text.end));
            kept.bytes.extend_from_slice(bytes.unwrap_or_default());
            kept.rows.push(Packet {
                payload: to..to + row.payload.len(),
                text: row.text.start - from + to..row.text.end - from + to,
                number: row.number,
            });
        }
        *self = kept;
    }

    pub fn len(&self) -> usize {
        self.rows.len()
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
        let rows = self.rows.iter().enumerate();
        let mut ranks: Vec<Rank> = rows.map(|(place, row)| order.rank(place, row)).collect();
        ranks.sort_unstable();
        for same in ranks.chunk_by_mut(same_number).filter(|same| same.len() > 1) {
            same.sort_by(|a, b| match order.descending {
                true => self.compare_texts(order, *b, *a),
                false => self.compare_texts(order, *a, *b),
            });
        }
        if order.distinct {
            ranks.dedup_by(|b, a| same_number(a, b) && self.compare_texts(order, *a, *b).is_eq());
        }
        ranks.into_iter().map(place_of).collect()
    }

    fn compare_texts(&self, order: &Order, a: Rank, b: Rank) -> Ordering {
        match (self.text(place_of(a)), self.text(place_of(b))) {
            ([], []) => Ordering::Equal,
            (a, b) => order.collation.compare(a, b),
        }
    }

    fn text(&self, at: usize) -> &[u8] {
        let text = self.rows.get(at).and_then(|row| self.bytes.get(row.text.clone()));
        text.unwrap_or_default()
    }
}

/// See [`Packets::order_last`].
pub(super) struct OrderLast<'p> {
    packets: &'p mut Packets,
    collation: Collation,
}

const SIGN: u64 = 1 << 63;

impl OrderLast<'_> {
    #[inline]
    fn number(self, number: u64) -> Result<()> {
        if let Some(last) = self.packets.rows.last_mut() {
            last.number = Some(number);
        }
        Ok(())
    }
}

impl TakeCell<'_> for OrderLast<'_> {
    type Out = ();
    type Error = Error;

    fn null(self) -> Result<()> {
        Ok(())
    }

    fn int(self, value: i64) -> Result<()> {
        self.number(value as u64 ^ SIGN)
    }

    fn uint(self, value: u64) -> Result<()> {
        self.number(value)
    }

    fn double(self, value: f64) -> Result<()> {
        // -0 is 0.
        self.number(match (value + 0.0).to_bits() {
            bits if bits & SIGN == 0 => bits | SIGN,
            bits => !bits,
        })
    }

    /// Not taken: see [`Order::by`].
    fn decimal(self, _: Decimal) -> Result<()> {
        self.number(0)
    }

    fn text(self, bytes: &[u8]) -> Result<()> {
        let Packets { bytes: kept, rows } = &mut *self.packets;
        if let Some(last) = rows.last_mut() {
            let payload = kept.get(last.payload.start..).unwrap_or_default();
            if !payload.ends_with(bytes) {
                kept.extend_from_slice(bytes);
            }
            last.text = kept.len() - bytes.len()..kept.len();
        }
        let number = self.collation.order_number(bytes);
        self.number(number)
    }

    fn bytes(self, bytes: &[u8]) -> Result<()> {
        self.text(bytes)
    }
}
