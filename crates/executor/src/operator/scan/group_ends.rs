//! The first or last keys of groups of keys that begin alike: from one group the scan goes on at the next.

use std::ops::ControlFlow;
use std::vec::IntoIter;

use kv::{KeyRange, Reader};
use schema::layout::KeyParts;
use types::Result;

use super::pages::Visit;
use crate::batch::BATCH_BYTES;

/// The position of a scan over disjoint ranges.
pub(super) struct GroupEnds {
    keys: KeyParts,
    /// Keys of a group are equal in so many parts.
    parts: usize,
    first: bool,
    last: bool,
    ranges: IntoIter<KeyRange>,
    current: Option<KeyRange>,
}

type Pair = (Vec<u8>, Vec<u8>);

impl GroupEnds {
    /// `ranges` are in key order and disjoint, and none of them begins or ends within a group.
    pub fn new(keys: KeyParts, parts: usize, (first, last): (bool, bool), ranges: Vec<KeyRange>) -> Self {
        Self {
            keys,
            parts,
            first,
            last,
            ranges: ranges.into_iter(),
            current: None,
        }
    }

    /// Visits about `wanted` pairs, fewer if they are large or there are no more. Returns how many.
    pub fn next(&mut self, reader: &dyn Reader, wanted: usize, visit: &mut impl Visit) -> Result<usize> {
        let (mut pairs, mut bytes) = (0, 0);
        while pairs < wanted && bytes < BATCH_BYTES {
            let Some(range) = self.current.take().or_else(|| self.ranges.next()) else {
                break;
            };
            // Only the last ones: the scan goes backwards, so that one step finds each.
            let backwards = !self.first;
            let Some((key, value)) = end_of(reader, &range, backwards)? else {
                continue;
            };
            let mut take = |key: &[u8], value: &[u8]| {
                pairs += 1;
                bytes += key.len() + value.len();
                visit(key, value)
            };
            take(&key, &value)?;
            let group = &key[..self.keys.leading_bytes(&key, self.parts)?.min(key.len())];
            if backwards {
                self.current = Some(KeyRange::new(range.start, group));
                continue;
            }
            let behind = codec::key::prefix_next(group);
            if self.last
                && let Some((last, value)) =
                    end_of(reader, &KeyRange::new(key.clone(), behind.clone()), true)?
                && last != key
            {
                take(&last, &value)?;
            }
            self.current = Some(KeyRange::new(behind, range.end));
        }
        Ok(pairs)
    }
}

/// The first pair of a range, or the last.
fn end_of(reader: &dyn Reader, range: &KeyRange, backwards: bool) -> Result<Option<Pair>> {
    let mut found = None;
    reader.scan(range, backwards, &mut |key, value| {
        found = Some((key.to_vec(), value.to_vec()));
        ControlFlow::Break(())
    })?;
    Ok(found)
}
