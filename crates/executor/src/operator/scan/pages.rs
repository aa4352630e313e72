//! Reads ranges of keys page by page, in either direction. The store pushes the pairs of a scan; operators
//! pull them from here.

use std::ops::ControlFlow;

use kv::{KeyRange, Reader};
use types::Result;

use crate::batch::BATCH_BYTES;

/// The position of a scan over disjoint, ordered ranges.
pub(crate) struct RangePages {
    ranges: std::vec::IntoIter<KeyRange>,
    current: Option<KeyRange>,
    reverse: bool,
    /// A page ends once its pairs have so many bytes.
    bytes_max: usize,
}

/// Takes one pair of a page. It is a type parameter, so that it is compiled into the loop over the pairs.
pub(crate) trait Visit: FnMut(&[u8], &[u8]) -> Result<()> {}

impl<F: FnMut(&[u8], &[u8]) -> Result<()>> Visit for F {}

impl RangePages {
    /// `ranges` are in key order and disjoint. With `reverse` they are read backwards from the end of the
    /// last one.
    pub fn new(mut ranges: Vec<KeyRange>, reverse: bool) -> Self {
        if reverse {
            ranges.reverse();
        }
        Self {
            ranges: ranges.into_iter(),
            current: None,
            reverse,
            bytes_max: BATCH_BYTES,
        }
    }

    /// With pages of fewer bytes.
    pub fn with_bytes(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// Where the first range starts, before any is read, if they are read forwards.
    pub fn first_key(&self) -> Option<&[u8]> {
        let first = self.ranges.as_slice().first().filter(|_| !self.reverse)?;
        Some(&first.start)
    }

    /// Visits up to `wanted` pairs, fewer if they are large or there are no more. Returns how many.
    pub fn next(&mut self, reader: &dyn Reader, wanted: usize, visit: &mut impl Visit) -> Result<usize> {
        let mut page = Page {
            wanted,
            bytes_max: self.bytes_max,
            pairs: 0,
            bytes: 0,
            last: None,
            failure: None,
        };
        while page.has_room() {
            let Some(range) = self.current.take().or_else(|| self.ranges.next()) else {
                break;
            };
            reader.scan(&range, self.reverse, &mut |key, value| {
                page.take(key, value, visit)
            })?;
            if let Some(error) = page.failure {
                return Err(error);
            }
            if let Some(last) = page.last.take() {
                self.current = Some(after(range, last, self.reverse));
            }
        }
        Ok(page.pairs)
    }
}

/// A page that is being read.
struct Page {
    wanted: usize,
    bytes_max: usize,
    pairs: usize,
    bytes: usize,
    /// The last key of a full page.
    last: Option<Vec<u8>>,
    failure: Option<types::Error>,
}

impl Page {
    fn has_room(&self) -> bool {
        self.pairs < self.wanted && self.bytes < self.bytes_max
    }

    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8], visit: &mut impl Visit) -> ControlFlow<()> {
        if let Err(error) = visit(key, value) {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        self.pairs += 1;
        self.bytes += key.len() + value.len();
        if self.has_room() {
            return ControlFlow::Continue(());
        }
        self.last = Some(key.to_vec());
        ControlFlow::Break(())
    }
}

/// The rest of `range` beyond `last`.
fn after(range: KeyRange, mut last: Vec<u8>, reverse: bool) -> KeyRange {
    if reverse {
        return KeyRange {
            start: range.start,
            end: last,
        };
    }
    last.push(0);
    KeyRange {
        start: last,
        end: range.end,
    }
}

#[cfg(test)]
mod tests {
    use kv::{Durability, Store, TxnOptions};

    use super::*;

    fn store() -> Store {
        let store = Store::memory();
        let mut txn = store.begin(TxnOptions::default()).unwrap();
        for key in b"abcdefgh" {
            txn.put(vec![*key], vec![*key]).unwrap();
        }
        txn.commit(Durability::Sync).unwrap();
        store
    }

    fn read(ranges: Vec<KeyRange>, reverse: bool, page: usize) -> String {
        let (mut pages, snapshot, mut all) = (RangePages::new(ranges, reverse), store().latest(), Vec::new());
        loop {
            let seen = all.len();
            let n = pages
                .next(&snapshot, page, &mut |key, _| {
                    all.extend_from_slice(key);
                    Ok(())
                })
                .unwrap();
            assert_eq!(n, all.len() - seen);
            if n == 0 {
                return String::from_utf8(all).unwrap();
            }
        }
    }

    #[test]
    fn pages_leave_nothing_out_in_either_direction() {
        let ranges = || {
            vec![
                KeyRange::new("b", "d"),
                KeyRange::new("e", "e"),
                KeyRange::new("f", ""),
            ]
        };
        for page in 1..=9 {
            assert_eq!(read(ranges(), false, page), "bcfgh");
            assert_eq!(read(ranges(), true, page), "hgfcb");
        }
    }

    #[test]
    fn a_failing_visitor_ends_the_page() {
        let snapshot = store().latest();
        let mut pages = RangePages::new(vec![KeyRange::all()], false);
        let error = pages.next(&snapshot, 10, &mut |_, _| Err(types::Error::internal("x")));
        assert!(error.is_err());
    }
}
