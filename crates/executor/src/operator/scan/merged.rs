//! Rows of several partitions in one order: that of their keys after the physical id, which is what an
//! index's order is within a partition.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use kv::{KeyRange, Reader};
use types::Result;

use super::pages::{RangePages, Visit};
use crate::batch::BATCH_BYTES;

/// `t` and the physical id.
const ID_BYTES: usize = 9;

/// Pairs that are read from a partition ahead, unless they have more bytes than its part of a batch.
const AHEAD_MIN: usize = 4;
const AHEAD_BYTES_MIN: usize = 4 << 10;

pub(crate) struct MergedPages {
    lanes: Vec<Lane>,
    /// The next pair of each lane; empty until the first call.
    heads: BinaryHeap<Head>,
    has_begun: bool,
    reverse: bool,
}

/// One partition.
struct Lane {
    pages: RangePages,
    read: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// How many pairs to read at once: more each time.
    ahead: usize,
}

struct Head {
    key: Vec<u8>,
    value: Vec<u8>,
    lane: usize,
    reverse: bool,
}

impl MergedPages {
    /// `ranges`: those of each partition.
    pub fn new(ranges: Vec<Vec<KeyRange>>, reverse: bool) -> Self {
        let bytes_max = (BATCH_BYTES / ranges.len().max(1)).max(AHEAD_BYTES_MIN);
        let lane = |ranges| Lane {
            pages: RangePages::new(ranges, reverse).with_bytes(bytes_max),
            read: VecDeque::new(),
            ahead: AHEAD_MIN,
        };
        Self {
            lanes: ranges.into_iter().map(lane).collect(),
            heads: BinaryHeap::new(),
            has_begun: false,
            reverse,
        }
    }

    /// As [`RangePages::next`].
    pub fn next(&mut self, reader: &dyn Reader, wanted: usize, visit: &mut impl Visit) -> Result<usize> {
        if !self.has_begun {
            self.has_begun = true;
            for lane in 0..self.lanes.len() {
                self.refill(lane, reader, wanted)?;
            }
        }
        let (mut pairs, mut bytes) = (0, 0);
        while pairs < wanted && bytes < BATCH_BYTES {
            let Some(head) = self.heads.pop() else {
                break;
            };
            visit(&head.key, &head.value)?;
            pairs += 1;
            bytes += head.key.len() + head.value.len();
            self.refill(head.lane, reader, wanted)?;
        }
        Ok(pairs)
    }

    /// Puts a lane's next pair among the heads.
    fn refill(&mut self, number: usize, reader: &dyn Reader, wanted: usize) -> Result<()> {
        let lane = &mut self.lanes[number];
        if lane.read.is_empty() {
            let read = &mut lane.read;
            lane.pages.next(
                reader,
                lane.ahead.min(wanted.max(AHEAD_MIN)),
                &mut |key, value| {
                    read.push_back((key.to_vec(), value.to_vec()));
                    Ok(())
                },
            )?;
            lane.ahead = (lane.ahead * 2).min(crate::batch::BATCH_ROWS);
        }
        if let Some((key, value)) = lane.read.pop_front() {
            self.heads.push(Head {
                key,
                value,
                lane: number,
                reverse: self.reverse,
            });
        }
        Ok(())
    }
}

impl Head {
    fn order(&self) -> &[u8] {
        self.key.get(ID_BYTES..).unwrap_or_default()
    }
}

/// The greatest comes first from a heap.
impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        let ascending = self.order().cmp(other.order()).then(self.lane.cmp(&other.lane));
        match self.reverse {
            true => ascending,
            false => ascending.reverse(),
        }
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

#[cfg(test)]
mod tests {
    use kv::{Durability, Store, TxnOptions};

    use super::*;

    #[test]
    fn rows_of_partitions_come_in_one_order() {
        let store = Store::memory();
        let mut txn = store.begin(TxnOptions::default()).unwrap();
        for handle in 0..100 {
            let key = codec::key::row_key(1 + handle % 3, &codec::RowHandle::Int(handle));
            txn.put(key, vec![handle as u8]).unwrap();
        }
        txn.commit(Durability::Sync).unwrap();
        for (reverse, page) in [(false, 1), (true, 7), (false, 1000)] {
            let ranges = (1..4).map(|id| vec![KeyRange::prefix(codec::key::row_prefix(id))]);
            let mut pages = MergedPages::new(ranges.collect(), reverse);
            let (snapshot, mut all) = (store.latest(), Vec::new());
            while pages
                .next(&snapshot, page, &mut |_, value| {
                    all.extend_from_slice(value);
                    Ok(())
                })
                .unwrap()
                > 0
            {}
            let mut expected: Vec<u8> = (0..100).collect();
            if reverse {
                expected.reverse();
            }
            assert_eq!(all, expected);
        }
    }
}
