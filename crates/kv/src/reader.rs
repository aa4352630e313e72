//! Reading: what snapshots and transactions have in common.

use std::ops::ControlFlow;

use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::error::Result;

pub use crate::key_range::{KeyRange, successor_of_prefix};

/// Called for each pair of a scan, in key order (or against it); `Break` ends the scan.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Called once for each key of a batch, in any order: its index, and its value if there is one.
pub type VisitBatch<'a> = dyn FnMut(usize, Option<&[u8]>) + 'a;

/// What snapshots and transactions have in common.
pub trait Reader: Send + Sync {
    /// Lends the value to `found` without a copy; false if there is none.
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool>;

    /// Lends each key's value. All of one call are read as of one moment.
    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()>;

    /// Visits pairs until the range ends or the visitor breaks. The visitor may read from the same store.
    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()>;

    /// Says that these keys, or ranges that start at them, are read next, one after the other. An engine may bring
    /// what they need closer. It changes no answer.
    fn will_read(&self, _keys: &[&[u8]]) {}

    /// Has the stores run a program over ranges. `None`: they cannot, or do not know all that this reader sees there; the
    /// caller scans the ranges and computes by itself.
    fn coprocessor(&self, _request: CoprocessorRequest) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        Ok(None)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = None;
        self.get_with(key, &mut |bytes| value = Some(bytes.to_vec()))?;
        Ok(value)
    }

    /// One answer per key, in their order, all as of one moment.
    fn batch_get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = vec![None; keys.len()];
        self.batch_get_with(keys, &mut |index, value| {
            if let Some(answer) = values.get_mut(index) {
                *answer = value.map(<[u8]>::to_vec);
            }
        })?;
        Ok(values)
    }

    /// At most `limit` pairs of a range: one page.
    fn scan_page(&self, range: &KeyRange, limit: usize, reverse: bool) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut page = Vec::new();
        if limit == 0 {
            return Ok(page);
        }
        self.scan(range, reverse, &mut |key, value| {
            page.push((key.to_vec(), value.to_vec()));
            if page.len() < limit {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(page)
    }
}
