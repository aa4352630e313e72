//! The short ways: from the store's bytes to the bytes of packets, with no values, arrays or operators in between.
//!
//! [`point`] gives one row by its key and is kept with the plan; `range` gives the rows of any access path, in key order
//! or sorted by a column; `aggregate` gives sums of them. Answers are the same to the byte as those of operators, which
//! everything else goes through: whatever computes, filters, groups or locks.

pub mod aggregate;
pub(crate) mod columns;
mod packets;
pub mod point;
pub(crate) mod range;

use types::Result;
use wire::framing::FrameEncoder;
use wire::row::RowEncoder;

/// Takes rows as packets.
pub trait PacketRows {
    /// Made of the plan's result columns.
    fn encoder(&self) -> &RowEncoder;

    /// Lends the buffer that goes to the client. `fill` appends a packet for each of some rows and answers how many; if it
    /// fails it is as if it had done nothing.
    fn append(&mut self, fill: &mut Fill<'_>) -> Result<()>;
}

/// See [`PacketRows::append`].
pub type Fill<'a> = dyn FnMut(&RowEncoder, &mut FrameEncoder) -> Result<u64> + 'a;
