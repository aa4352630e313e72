//! Packets in memory, sorted by one column of their rows. What the order is, [`functions::order`] defines.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use codec::row::TakeCell;
use functions::order::prefix;
use types::{Collation, Decimal, Error, Result, SqlType, TypeKind};

use crate::batch::{BATCH_BYTES, BATCH_ROWS};

/// How packets are ordered by the values of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnOrder {
    collation: Collation,
    descending: bool,
    /// Of rows that compare as equal only the first one remains.
    pub distinct: bool,
}

/// Packets, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The packets one after the other. The text that a packet is sorted by is the packet's end, or lies
    /// after it.
    bytes: Vec<u8>,
    rows: Vec<Packet>,
}

#[derive(Debug)]
struct Packet {
    payload: Range<usize>,
    /// What packets with the same prefix are sorted by; empty unless the column is a text.
    text: Range<usize>,
    /// The prefix of the value in the column's order. NULL has none and is the least.
    prefix: Option<u64>,
}

/// A packet's prefix in the upper bits (65 of them, with that of NULL), and its index in the lower ones.
/// Sorting the ranks sorts the packets. Packets with the same prefix stay in the order in which they came.
type Rank = u128;
const INDEX_BITS: u32 = 63;
const PREFIX_MAX: Rank = 1 << 64;

/// Capacity that is reserved once the length of the first row is known.
const ROWS_AHEAD: usize = 128;
const BYTES_AHEAD_MAX: usize = 64 << 10;

impl ColumnOrder {
    /// `None`: values of the type are not ordered by a prefix and a text.
    pub fn by(ty: &SqlType, descending: bool, distinct: bool) -> Option<Self> {
        let ordered = !matches!(ty.kind, TypeKind::Json | TypeKind::Decimal | TypeKind::Null);
        ordered.then_some(Self {
            collation: ty.collation,
            descending,
            distinct,
        })
    }

    fn rank(&self, index: usize, row: &Packet) -> Rank {
        let prefix = row.prefix.map_or(0, |prefix| Rank::from(prefix) + 1);
        let prefix = match self.descending {
            true => PREFIX_MAX - prefix,
            false => prefix,
        };
        prefix << INDEX_BITS | index as Rank
    }
}

fn index_of(rank: Rank) -> usize {
    (rank & ((1 << INDEX_BITS) - 1)) as usize
}

fn same_prefix(a: &Rank, b: &Rank) -> bool {
    a >> INDEX_BITS == b >> INDEX_BITS
}

impl Packets {
    /// Appends what `write` writes: a packet's payload.
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
            prefix: None,
        });
        Ok(())
    }

    /// Takes the value that the last packet is sorted by.
    pub fn sort_value<'p>(&'p mut self, order: &ColumnOrder) -> SortValue<'p> {
        SortValue {
            packets: self,
            collation: order.collation,
        }
    }

    /// Whether there are many more rows than `stay`, which is how many a cut will leave. A cut sorts, so it
    /// has to be rare.
    pub fn is_worth_cutting(&self, stay: usize) -> bool {
        let beyond = self.len().saturating_sub(stay.saturating_mul(2));
        beyond > BATCH_ROWS || (beyond > 0 && self.bytes.len() > BATCH_BYTES / 8)
    }

    /// Leaves the first `limit` rows in order, and sorts them.
    pub fn cut(&mut self, order: &ColumnOrder, limit: usize) {
        let mut first = Self::default();
        for index in self.sorted(order).into_iter().take(limit) {
            let Some(row) = self.rows.get(index) else {
                continue;
            };
            let (from, to) = (row.payload.start, first.bytes.len());
            let bytes = self.bytes.get(from..row.payload.end.max(row.text.end));
            first.bytes.extend_from_slice(bytes.unwrap_or_default());
            first.rows.push(Packet {
                payload: to..to + row.payload.len(),
                text: row.text.start - from + to..row.text.end - from + to,
                prefix: row.prefix,
            });
        }
        *self = first;
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Memory they take.
    pub fn size_bytes(&self) -> usize {
        self.bytes.capacity() + self.rows.capacity() * size_of::<Packet>()
    }

    /// The payload at an index below [`Packets::len`].
    pub fn payload(&self, index: usize) -> &[u8] {
        let row = self.rows.get(index);
        row.and_then(|row| self.bytes.get(row.payload.clone()))
            .unwrap_or_default()
    }

    /// The indexes of the packets in order, without duplicates if the order is distinct; equal ones in the
    /// order they came.
    pub fn sorted(&self, order: &ColumnOrder) -> Vec<usize> {
        let rows = self.rows.iter().enumerate();
        let mut ranks: Vec<Rank> = rows.map(|(index, row)| order.rank(index, row)).collect();
        ranks.sort_unstable();
        for same in ranks.chunk_by_mut(same_prefix).filter(|same| same.len() > 1) {
            same.sort_by(|a, b| match order.descending {
                true => self.compare_texts(order, *b, *a),
                false => self.compare_texts(order, *a, *b),
            });
        }
        if order.distinct {
            ranks.dedup_by(|b, a| same_prefix(a, b) && self.compare_texts(order, *a, *b).is_eq());
        }
        ranks.into_iter().map(index_of).collect()
    }

    fn compare_texts(&self, order: &ColumnOrder, a: Rank, b: Rank) -> Ordering {
        match (self.text(index_of(a)), self.text(index_of(b))) {
            ([], []) => Ordering::Equal,
            (a, b) => order.collation.compare(a, b),
        }
    }

    fn text(&self, index: usize) -> &[u8] {
        let text = self
            .rows
            .get(index)
            .and_then(|row| self.bytes.get(row.text.clone()));
        text.unwrap_or_default()
    }
}

/// See [`Packets::sort_value`].
pub(super) struct SortValue<'p> {
    packets: &'p mut Packets,
    collation: Collation,
}

impl SortValue<'_> {
    #[inline]
    fn prefix(self, prefix: u64) -> Result<()> {
        if let Some(last) = self.packets.rows.last_mut() {
            last.prefix = Some(prefix);
        }
        Ok(())
    }
}

impl TakeCell<'_> for SortValue<'_> {
    type Out = ();
    type Error = Error;

    fn null(self) -> Result<()> {
        Ok(())
    }

    fn int(self, value: i64) -> Result<()> {
        self.prefix(prefix::of_int(value))
    }

    fn uint(self, value: u64) -> Result<()> {
        self.prefix(prefix::of_uint(value))
    }

    fn double(self, value: f64) -> Result<()> {
        self.prefix(prefix::of_double(value))
    }

    /// Does not happen: see [`ColumnOrder::by`].
    fn decimal(self, _: Decimal) -> Result<()> {
        self.prefix(0)
    }

    fn text(self, bytes: &[u8]) -> Result<()> {
        let Packets { bytes: packets, rows } = &mut *self.packets;
        if let Some(last) = rows.last_mut() {
            let payload = packets.get(last.payload.start..).unwrap_or_default();
            if !payload.ends_with(bytes) {
                packets.extend_from_slice(bytes);
            }
            last.text = packets.len() - bytes.len()..packets.len();
        }
        let prefix = self.collation.order_number(bytes);
        self.prefix(prefix)
    }

    fn bytes(self, bytes: &[u8]) -> Result<()> {
        self.text(bytes)
    }

    /// Does not happen: see [`ColumnOrder::by`].
    fn json(self, _: Cow<'_, [u8]>) -> Result<()> {
        self.prefix(0)
    }
}
