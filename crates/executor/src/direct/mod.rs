//! From the store's bytes to the bytes of packets, without values, arrays or operators in between.
//!
//! [`point`] returns one row by its key, and is cached with the plan. `range` returns the rows of any access
//! path, in key order or sorted by one column, `join` those of joins by keys. `aggregate` computes aggregates of them. The answers are the
//! same to the byte as those of the operators, which run every other query: all that computes, filters,
//! groups or locks.

pub mod aggregate;
pub(crate) mod columns;
pub(crate) mod join;
mod packets;
pub mod point;
pub(crate) mod range;

use types::Result;
use wire::framing::FrameEncoder;
use wire::row::RowEncoder;

/// Takes rows as packets.
pub trait PacketRows {
    /// The encoder for the plan's result columns.
    fn encoder(&self) -> &RowEncoder;

    /// Lends the client's buffer to `fill`, which appends a packet for each of some rows and returns how
    /// many. If it fails, what it appended is removed.
    fn append(&mut self, fill: &mut Fill<'_>) -> Result<()>;
}

/// See [`PacketRows::append`].
pub type Fill<'a> = dyn FnMut(&RowEncoder, &mut FrameEncoder) -> Result<u64> + 'a;
