//! Rows of a query that the client fetches in portions.

use arrow::record_batch::RecordBatch;
use memory::Account;
use planner::plan::ResultColumn;
use runner::Collected;

/// A cursor over rows that are all in memory.
pub struct Cursor {
    pub columns: Vec<ResultColumn>,
    batches: std::vec::IntoIter<RecordBatch>,
    /// The batch that is being read, and its next row.
    current: Option<(RecordBatch, usize)>,
    /// The memory of all rows.
    _memory: Account,
}

impl Cursor {
    pub fn new(columns: Vec<ResultColumn>, rows: Collected) -> Self {
        Self {
            columns,
            batches: rows.batches.into_iter(),
            current: None,
            _memory: rows.memory,
        }
    }

    /// The batch that is being read, or the next one that still has rows.
    pub fn take_current(&mut self) -> Option<(RecordBatch, usize)> {
        loop {
            match self.current.take() {
                Some((batch, row)) if row < batch.num_rows() => return Some((batch, row)),
                _ => self.current = Some((self.batches.next()?, 0)),
            }
        }
    }

    /// Continues in a batch from a row on.
    pub fn put_current(&mut self, batch: RecordBatch, row: usize) {
        self.current = Some((batch, row));
    }

    pub fn has_more(&mut self) -> bool {
        self.current = self.take_current();
        self.current.is_some()
    }
}
