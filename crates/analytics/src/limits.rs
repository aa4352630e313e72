//! The bounds of one query, and how much its operators work on at a time.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use ::memory::Broker;

/// Bounds of one query.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Where its memory comes from.
    pub memory: &'static Broker,
    /// Bytes its operators may hold; sorts and groups beyond it spill.
    pub memory_bytes: usize,
    /// Where they spill to.
    pub spill_directory: PathBuf,
}

/// How many pieces a query is cut into.
pub fn partitions() -> usize {
    std::thread::available_parallelism().map_or(2, NonZeroUsize::get)
}

/// Most rows that an operator works on at a time.
pub const BATCH_ROWS: usize = 8192;

/// Fewest: below, what a batch costs by itself outweighs its rows.
const BATCH_ROWS_MIN: usize = 64;

/// Bytes of rows that an operator should have in hand at a time. A query holds some dozens of batches that no limit
/// counts: what is being read, computed and passed on.
const BATCH_BYTES: usize = 4 << 20;

/// Of the memory that a partition may have, the part that a batch of the rows it reads may. A sort that merges what it spilled
/// has up to four batches of each file in hand, with their keys; a batch for each of some operators adds to that.
pub const SHARES: usize = 64;

/// How much operators work on at a time.
#[derive(Debug, Clone, Copy)]
pub struct BatchSize {
    pub rows: usize,
    /// Of the rows that are read.
    pub bytes: usize,
}

impl BatchSize {
    /// Of rows of roughly `row_bytes`, of which a batch may have `bytes`.
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
    fn wide_rows_come_in_small_batches() {
        assert_eq!(batch_rows(100, 64 << 20), BATCH_ROWS);
        assert_eq!(batch_rows(20_000, 64 << 20), 209);
        assert_eq!(batch_rows(1_000, 256 << 10), 262);
        assert_eq!(batch_rows(500_000, 0), BATCH_ROWS_MIN);
    }
}
