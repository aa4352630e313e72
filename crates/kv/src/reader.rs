//! Reading: what snapshots and transactions have in common, and ranges of keys.

use std::ops::{ControlFlow, Range};

use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::error::Result;

/// `start <= key < end`; an empty `end` means no bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeyRange {
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

impl KeyRange {
    pub fn new(start: impl Into<Vec<u8>>, end: impl Into<Vec<u8>>) -> Self {
        Self {
            start: start.into(),
            end: end.into(),
        }
    }

    /// Every key there is.
    pub fn all() -> Self {
        Self::default()
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let start = prefix.into();
        Self {
            end: successor_of_prefix(&start),
            start,
        }
    }

    /// Exactly one key.
    pub fn key(key: impl Into<Vec<u8>>) -> Self {
        let start = key.into();
        let mut end = start.clone();
        end.push(0);
        Self { start, end }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && (self.end.is_empty() || key < self.end.as_slice())
    }

    /// True if no key can be inside.
    pub fn is_empty(&self) -> bool {
        !self.end.is_empty() && self.start >= self.end
    }
}

impl From<Range<Vec<u8>>> for KeyRange {
    fn from(range: Range<Vec<u8>>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// The first key after all that begin with `prefix`; empty (no bound) if there is none.
pub fn successor_of_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_where_the_next_one_begins() {
        assert_eq!(KeyRange::prefix("ab"), KeyRange::new("ab", "ac"));
        assert_eq!(KeyRange::prefix([1, 255, 255]), KeyRange::new([1, 255, 255], [2]));
        assert_eq!(KeyRange::prefix([255, 255]), KeyRange::new([255, 255], []));
        assert_eq!(KeyRange::prefix([]), KeyRange::all());
    }

    #[test]
    fn ranges_are_half_open() {
        let range = KeyRange::new("b", "d");
        assert!(range.contains(b"b") && range.contains(b"czz"));
        assert!(!range.contains(b"d") && !range.contains(b"a"));
        assert!(KeyRange::key("b").contains(b"b") && !KeyRange::key("b").contains(b"b\0"));
        assert!(KeyRange::new("d", "d").is_empty() && !KeyRange::new("d", "").is_empty());
    }
}
