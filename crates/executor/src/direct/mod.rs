//! The short ways: from the store's bytes to the bytes of packets, with no values, arrays or operators in between.
//!
//! [`point`] gives one row by its key and is kept with the plan; `range` gives the rows of any access path, in key order
//! or sorted by a column. Answers are the same to the byte as those of operators, which everything else goes through:
//! whatever computes, filters, groups or locks.

pub(crate) mod columns;
mod packets;
pub mod point;
pub(crate) mod range;

use types::Result;
use wire::row::RowEncoder;

/// Takes rows as the payloads of their packets.
pub trait PacketRows {
    /// Made of the plan's result columns.
    fn encoder(&self) -> &RowEncoder;

    fn packet(&mut self, payload: &[u8]) -> Result<()>;
}
