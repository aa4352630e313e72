//! The limits of one query, and how much its operators work on at a time.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use ::memory::Broker;

/// The limits of one query.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The broker that grants its memory.
    pub memory: &'static Broker,
    /// Bytes that its operators may hold. Sorts and groups beyond it spill.
    pub memory_bytes: usize,
    /// The directory that they spill to.
    pub spill_directory: PathBuf,
}

/// How many partitions a query has: one for each core.
pub fn partitions() -> usize {
    std::thread::available_parallelism().map_or(2, NonZeroUsize::get)
}

/// The largest number of rows that an operator works on at a time.
pub const BATCH_ROWS: usize = 8192;

/// The smallest such number: below it, the fixed cost of a batch outweighs its rows.
const BATCH_ROWS_MIN: usize = 64;

/// The bytes of rows that an operator should work on at a time. A query holds some dozens of batches that no
/// limit counts: those being read, computed and passed on.
const BATCH_BYTES: usize = 4 << 20;

/// Rows wider than this make even the smallest batch larger than [`BATCH_BYTES`].
pub const ROW_BYTES_MAX: usize = BATCH_BYTES / BATCH_ROWS_MIN;

/// A batch of the rows that a partition reads may have this fraction of the partition's memory. A sort that
/// merges spilled files holds up to four batches of each file, with their keys; some other operators hold a
/// batch each.
pub const SHARES: usize = 64;

/// Which joins by keys use a method that spills. It is slower, and each of its sorts needs a part of the
/// query's memory. But for [`Spilling::Nothing`], sorts with a limit sort all rows, and spill, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spilling {
    Nothing,
    /// Those whose right side is expected to take a large part of the memory.
    Large,
    All,
    /// All, and the query has one partition. Each partition has sorts of its own, so fewer sorts share the
    /// memory.
    AllInOne,
}

/// The estimated size of a row of a join's right side, with its entry in a hash table.
const JOINED_ROW_BYTES: u64 = 128;

/// A right side below this fraction of the memory may be held while other joins spill.
const SMALL_SIDES: u64 = 16;

impl Spilling {
    /// Whether a join spills if its right side has `right_rows` and the query may use `memory_bytes`.
    pub fn spills(self, right_rows: u64, memory_bytes: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Large => right_rows.saturating_mul(JOINED_ROW_BYTES) > memory_bytes as u64 / SMALL_SIDES,
            Self::All | Self::AllInOne => true,
        }
    }

    /// How many partitions a query has.
    pub fn partitions(self) -> usize {
        match self {
            Self::AllInOne => 1,
            _ => partitions(),
        }
    }
}

/// How much operators work on at a time, in rows and in bytes.
#[derive(Debug, Clone, Copy)]
pub struct BatchSize {
    pub rows: usize,
    /// The bytes of a batch of the rows that are read.
    pub bytes: usize,
}

impl BatchSize {
    /// For rows of roughly `row_bytes`, in batches of at most `bytes`.
    pub fn of(row_bytes: usize, bytes: usize) -> Self {
        Self {
            rows: batch_rows(row_bytes, bytes),
            bytes,
        }
    }
}

fn batch_rows(row_bytes: usize, share: usize) -> usize {
    (BATCH_BYTES.min(share) / row_bytes.max(1)).clamp(BATCH_ROWS_MIN, BATCH_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sides_spill_first() {
        let spilling =
            |spilling: Spilling| [10, 10_000, 1_000_000].map(|rows| spilling.spills(rows, 64 << 20));
        assert_eq!(spilling(Spilling::Nothing), [false; 3]);
        assert_eq!(spilling(Spilling::Large), [false, false, true]);
        assert_eq!(spilling(Spilling::All), [true; 3]);
        assert_eq!(spilling(Spilling::AllInOne), [true; 3]);
        assert_eq!(Spilling::AllInOne.partitions(), 1);
    }

    #[test]
    fn wide_rows_come_in_small_batches() {
        assert_eq!(batch_rows(100, 64 << 20), BATCH_ROWS);
        assert_eq!(batch_rows(20_000, 64 << 20), 209);
        assert_eq!(batch_rows(1_000, 256 << 10), 262);
        assert_eq!(batch_rows(500_000, 0), BATCH_ROWS_MIN);
    }
}
