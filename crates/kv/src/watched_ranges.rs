//! The ranges of all watches ([`crate::watch`]), as a map that gives the watches of a key by one search in it.

use crate::key_range::KeyRange;
use std::collections::BTreeMap;
use std::ops::Bound;

pub(crate) type WatchId = u64;

/// Disjoint ranges and the watches of each. A range ends where the next one begins.
#[derive(Debug, Default)]
pub(crate) struct WatchedRanges {
    /// By the first key of a range. Neighbours differ in their watches, so this holds at most two entries per watch.
    /// Watches are in the order of their ids.
    by_start: BTreeMap<Vec<u8>, Vec<WatchId>>,
}

impl WatchedRanges {
    /// `id`: higher than all that were added before.
    pub fn add(&mut self, id: WatchId, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        self.split_at(&range.start);
        if !range.end.is_empty() {
            self.split_at(&range.end);
        }
        self.within(range).for_each(|watches| watches.push(id));
    }

    /// `range`: the one that `id` was added with.
    pub fn remove(&mut self, id: WatchId, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        self.within(range)
            .for_each(|watches| watches.retain(|&watch| watch != id));
        // Only these two neighbours can have become alike: all between them have lost the same watch.
        self.join_at(&range.start);
        self.join_at(&range.end);
    }

    /// The watches whose range has the key.
    pub fn watches_of(&self, key: &[u8]) -> &[WatchId] {
        self.last_to(Bound::Included(key))
    }

    /// Those of the last range that begins before the bound.
    fn last_to(&self, bound: Bound<&[u8]>) -> &[WatchId] {
        let mut before = self.by_start.range::<[u8], _>((Bound::Unbounded, bound));
        before.next_back().map_or(&[], |(_, watches)| watches)
    }

    fn within(&mut self, range: &KeyRange) -> impl Iterator<Item = &mut Vec<WatchId>> {
        let end = match range.end.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Excluded(range.end.as_slice()),
        };
        let bounds = (Bound::Included(range.start.as_slice()), end);
        self.by_start
            .range_mut::<[u8], _>(bounds)
            .map(|(_, watches)| watches)
    }

    /// Makes a range begin at a key.
    fn split_at(&mut self, key: &[u8]) {
        if !self.by_start.contains_key(key) {
            let watches = self.watches_of(key).to_vec();
            self.by_start.insert(key.to_vec(), watches);
        }
    }

    /// Makes one range of the one that begins at a key and the one before, if they have the same watches.
    fn join_at(&mut self, key: &[u8]) {
        let before = self.last_to(Bound::Excluded(key));
        if self.by_start.get(key).is_some_and(|watches| watches == before) {
            self.by_start.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watches_of_each(ranges: &WatchedRanges, keys: &str) -> Vec<Vec<WatchId>> {
        let watches_of = |key: &u8| ranges.watches_of(&[*key]).to_vec();
        keys.as_bytes().iter().map(watches_of).collect()
    }

    #[test]
    fn ranges_overlap() {
        let mut ranges = WatchedRanges::default();
        let all = [
            KeyRange::new("b", "e"),
            KeyRange::new("c", "g"),
            KeyRange::new("c", "d"),
            KeyRange::new("e", "e"),
            KeyRange::new("f", ""),
        ];
        for (id, range) in (1..).zip(&all) {
            ranges.add(id, range);
        }
        let watches: [&[WatchId]; 8] = [&[], &[1], &[1, 2, 3], &[1, 2], &[2], &[2, 5], &[5], &[5]];
        assert_eq!(watches_of_each(&ranges, "abcdefgz"), watches);
        ranges.remove(2, &all[1]);
        let watches: [&[WatchId]; 8] = [&[], &[1], &[1, 3], &[1], &[], &[5], &[5], &[5]];
        assert_eq!(watches_of_each(&ranges, "abcdefgz"), watches);
        assert_eq!(ranges.by_start.len(), 5);
        for id in [1, 5, 4, 3] {
            ranges.remove(id, &all[id as usize - 1]);
        }
        assert!(ranges.by_start.is_empty());
    }

    /// Compared with a search of all watches, while they come and go.
    #[test]
    fn the_map_agrees_with_a_list() {
        let (mut ranges, mut list) = (WatchedRanges::default(), Vec::<(WatchId, KeyRange)>::new());
        let mut random = 1_u32;
        let mut below = |end: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % end
        };
        for id in 0..2_000 {
            // 0 is the first key, and as an end no bound. Some ranges are empty.
            let mut bound = || match below(16) {
                0 => Vec::new(),
                letter => vec![b'a' + letter as u8],
            };
            let range = KeyRange::new(bound(), bound());
            ranges.add(id, &range);
            list.push((id, range));
            while list.len() as u32 > below(20) {
                let (id, range) = list.remove(below(list.len() as u32) as usize);
                ranges.remove(id, &range);
            }
            for key in ["", "a", "aa", "c", "cc", "j", "p", "q", "z"] {
                let watches = list.iter().filter(|(_, range)| range.contains(key.as_bytes()));
                let watches: Vec<_> = watches.map(|(id, _)| *id).collect();
                assert_eq!(ranges.watches_of(key.as_bytes()), watches);
            }
            assert!(ranges.by_start.len() <= 2 * list.len());
        }
    }
}
