//! The directory of the row cache: which ranges of keys have a page.

use super::page::{BYTES_MAX, ENTRIES_MAX, Page};
use crate::sync::RwLock;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::atomic::{AtomicBool, AtomicUsize};
use kv::{KeyRange, Timestamp};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Memory of a page beyond its entries: its leaf here, and the overhead of six allocations.
const PAGE_BYTES: usize = 400;

/// How many recently used pages an eviction passes over.
const SECOND_CHANCES: usize = 64;

/// A range with its page.
pub(super) struct Leaf {
    /// The end of the range; empty: no bound.
    end: Start<'static>,
    pub page: RwLock<Arc<Page>>,
    /// Whether it has been read since an eviction last passed over it.
    used: AtomicBool,
}

/// The start or end of a range, as a search key. Its first bytes are stored in the tree's node: keys of one
/// table, and of most indexes, differ there, so that a search rarely has to follow the pointer to the key
/// itself.
#[derive(Clone, PartialEq, Eq)]
struct Start<'a> {
    /// Big-endian, with zeros after a shorter key.
    head: [u64; HEAD_WORDS],
    key: Cow<'a, [u8]>,
}

const HEAD_WORDS: usize = 4;

impl Ord for Start<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        for (word, others) in self.head.iter().zip(&other.head) {
            if word != others {
                return word.cmp(others);
            }
        }
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Start<'_> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> Start<'a> {
    #[inline]
    fn new(key: Cow<'a, [u8]>) -> Self {
        let mut words = [[0; 8]; HEAD_WORDS];
        let bytes = words.as_flattened_mut();
        let length = key.len().min(bytes.len());
        bytes[..length].copy_from_slice(&key[..length]);
        let head = words.map(u64::from_be_bytes);
        Self { head, key }
    }

    fn of(key: &'a [u8]) -> Self {
        Self::new(Cow::Borrowed(key))
    }
}

impl Start<'static> {
    fn owned(key: &[u8]) -> Self {
        Self::new(Cow::Owned(key.to_vec()))
    }
}

/// Ranges by their starts. They do not overlap.
#[derive(Default)]
pub(super) struct Directory {
    leaves: BTreeMap<Start<'static>, Leaf>,
    bytes: AtomicUsize,
    /// Where the next eviction starts: the hand of the clock algorithm.
    hand: Vec<u8>,
}

impl Directory {
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// [`Directory::bytes`], added up.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> usize {
        let pages = self.leaves.values().map(|leaf| leaf.page.read().bytes());
        pages.map(|bytes| bytes + PAGE_BYTES).sum()
    }

    fn account(&self, before: usize, after: usize) {
        self.bytes.fetch_add(after.wrapping_sub(before), Relaxed);
    }

    /// The range that contains `key`, which counts as used.
    #[inline]
    pub fn at<'a>(&'a self, key: &'a [u8]) -> Option<(&'a [u8], &'a Leaf)> {
        let found = self.find(key)?;
        found.1.mark_used();
        Some(found)
    }

    /// [`Directory::at`] for keys in order, most of which lie in the range of the one before: `last`.
    #[inline]
    pub fn at_behind<'a>(
        &'a self,
        last: Option<(&'a [u8], &'a Leaf)>,
        key: &'a [u8],
    ) -> Option<(&'a [u8], &'a Leaf)> {
        let is_same =
            |(start, leaf): &(&[u8], &Leaf)| *start <= key && (leaf.end().is_empty() || key < leaf.end());
        last.filter(is_same).or_else(|| self.at(key))
    }

    /// [`Directory::at`] without counting as a use.
    #[inline]
    pub fn find<'a>(&'a self, key: &'a [u8]) -> Option<(&'a [u8], &'a Leaf)> {
        let (start, leaf) = self.range((Bound::Unbounded, Bound::Included(key))).next_back()?;
        leaf.ends_behind(&Start::of(key)).then_some((start, leaf))
    }

    /// The end of the last range that starts at or before `key`; empty: no bound.
    pub fn end_before<'a>(&'a self, key: &'a [u8]) -> Option<&'a [u8]> {
        let (_, leaf) = self.range((Bound::Unbounded, Bound::Included(key))).next_back()?;
        Some(leaf.end())
    }

    /// The range that contains the keys just before `end`; an empty `end`: no bound.
    pub fn before<'a>(&'a self, end: &'a [u8]) -> Option<(&'a [u8], &'a Leaf)> {
        let up_to_end = match end {
            [] => Bound::Unbounded,
            end => Bound::Excluded(end),
        };
        let (start, leaf) = self.range((Bound::Unbounded, up_to_end)).next_back()?;
        let reaches = leaf.end().is_empty() || (!end.is_empty() && leaf.end() >= end);
        reaches.then(|| {
            leaf.mark_used();
            (start, leaf)
        })
    }

    /// The start of the first range after `key`.
    pub fn next_after<'a>(&'a self, key: &'a [u8]) -> Option<&'a [u8]> {
        let mut behind = self.range((Bound::Excluded(key), Bound::Unbounded));
        behind.next().map(|(start, _)| start)
    }

    #[inline]
    fn range<'a>(
        &'a self,
        bounds: (Bound<&'a [u8]>, Bound<&'a [u8]>),
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a Leaf)> {
        let bounds = (bounds.0.map(Start::of), bounds.1.map(Start::of));
        let leaves: &'a BTreeMap<Start<'a>, Leaf> = &self.leaves;
        leaves.range(bounds).map(|(start, leaf)| (&*start.key, leaf))
    }

    /// Whether no page overlaps a range, which is not empty.
    pub fn is_free(&self, range: &KeyRange) -> bool {
        self.at(&range.start).is_none()
            && self
                .next_after(&range.start)
                .is_none_or(|next| !range.end.is_empty() && *range.end <= *next)
    }

    /// Inserts a page for a range that is free.
    pub fn insert(&mut self, range: KeyRange, page: Arc<Page>) {
        self.account(0, page.bytes() + PAGE_BYTES);
        let start = Start::owned(&range.start);
        let leaf = Leaf {
            end: Start::owned(&range.end),
            page: RwLock::new(page),
            used: AtomicBool::new(false),
        };
        self.leaves.insert(start, leaf);
        self.split(&range.start);
        self.join(&range.start);
    }

    fn leaf_mut(&mut self, start: &[u8]) -> Option<&mut Leaf> {
        self.leaves.get_mut(&Start::owned(start))
    }

    fn take(&mut self, start: &[u8]) {
        if let Some(leaf) = self.leaves.remove(&Start::owned(start)) {
            self.account(leaf.page.into_inner().bytes() + PAGE_BYTES, 0);
        }
    }

    /// Removes all pages that overlap a range.
    pub fn remove(&mut self, range: &KeyRange) {
        let first = self.at(&range.start).map(|(start, _)| start.to_vec());
        let inside = self
            .range((Bound::Included(range.start.as_slice()), Bound::Unbounded))
            .map(|(start, _)| start.to_vec())
            .take_while(|start| range.contains(start));
        let all: Vec<_> = first.into_iter().chain(inside).collect();
        all.iter().for_each(|start| self.take(start));
    }

    /// Puts an entry into the page whose range contains its key. Returns whether the page has become too large.
    pub fn update(&self, leaf: &Leaf, key: &[u8], stored: &[u8]) -> bool {
        let mut page = leaf.page.write();
        let before = page.bytes();
        Arc::make_mut(&mut page).put(key, stored);
        self.account(before, page.bytes());
        page.is_large()
    }

    /// Splits a page until no part is too large, or removes it if that is not possible.
    pub fn split(&mut self, start: &[u8]) {
        let mut from = start.to_vec();
        while let Some(leaf) = self.leaf_mut(&from) {
            let page = leaf.page.get_mut();
            if !page.is_large() {
                return;
            }
            let before = page.bytes();
            let Some((middle, upper)) = Arc::make_mut(page).split_off() else {
                return self.take(&from);
            };
            let after = page.bytes() + upper.bytes() + PAGE_BYTES;
            let upper = Leaf {
                end: std::mem::replace(&mut leaf.end, Start::owned(&middle)),
                page: RwLock::new(Arc::new(upper)),
                used: AtomicBool::new(true),
            };
            let lower_is_large = page.is_large();
            self.account(before, after);
            self.leaves.insert(Start::owned(&middle), upper);
            if lower_is_large {
                self.split(&from);
            }
            from = middle;
        }
    }

    /// Joins a small page with those next to it.
    fn join(&mut self, start: &[u8]) {
        let before = (Bound::Unbounded, Bound::Excluded(start));
        let previous = self.range(before).next_back();
        let from = match previous {
            Some((previous, leaf)) if leaf.end() == start && !start.is_empty() => previous.to_vec(),
            _ => start.to_vec(),
        };
        if from != start && self.join_next(&from) {
            self.join_next(&from);
        } else {
            self.join_next(start);
        }
    }

    /// False: the next page does not start where this one ends, or both together are too large for one page.
    fn join_next(&mut self, start: &[u8]) -> bool {
        let next = self.leaf_mut(start).map(|leaf| leaf.end().to_vec());
        let Some(next) = next.filter(|next| !next.is_empty()) else {
            return false;
        };
        let size = |leaf: &mut Leaf| {
            let page = leaf.page.get_mut();
            // A page that is about to be split or removed is looked for by its start, so it must not be
            // joined.
            (!page.is_large()).then(|| (page.len(), page.bytes()))
        };
        let Some(((entries, bytes), (more_entries, more_bytes))) = self
            .leaf_mut(start)
            .and_then(size)
            .zip(self.leaf_mut(&next).and_then(size))
        else {
            return false;
        };
        // Well below the limits, so that the next row does not split the page again.
        if entries + more_entries > ENTRIES_MAX * 3 / 4 || bytes + more_bytes > BYTES_MAX * 3 / 4 {
            return false;
        }
        if let Some(behind) = self.leaves.remove(&Start::owned(&next))
            && let Some(leaf) = self.leaf_mut(start)
        {
            let page = leaf.page.get_mut();
            Arc::make_mut(page).append(&behind.page.into_inner());
            leaf.end = behind.end;
            let after = page.bytes() + PAGE_BYTES;
            self.account(bytes + more_bytes + 2 * PAGE_BYTES, after);
        }
        true
    }

    /// Removes deletions up to `ts` from a page, if it still exists.
    pub fn clear_deletions(&mut self, start: &[u8], ts: Timestamp) {
        let Some(leaf) = self.leaf_mut(start) else {
            return;
        };
        let page = leaf.page.get_mut();
        let before = page.bytes();
        Arc::make_mut(page).clear_deletions(ts);
        let after = page.bytes();
        self.account(before, after);
        self.join(start);
    }

    /// Evicts pages until the rest has at most `budget_bytes`; recently used ones last (the clock algorithm).
    pub fn shrink(&mut self, budget_bytes: usize) {
        let mut chances = SECOND_CHANCES;
        while self.bytes() > budget_bytes && !self.leaves.is_empty() {
            let onwards = (Bound::Included(self.hand.as_slice()), Bound::Unbounded);
            let Some((start, leaf)) = self.range(onwards).next() else {
                self.hand.clear();
                continue;
            };
            let was_used = leaf.used.swap(false, Relaxed);
            let start = start.to_vec();
            self.hand.clone_from(&start);
            self.hand.push(0);
            if was_used && chances > 0 {
                chances -= 1;
            } else {
                self.take(&start);
            }
        }
    }
}

impl Leaf {
    #[inline]
    pub fn end(&self) -> &[u8] {
        &self.end.key
    }

    #[inline]
    fn ends_behind(&self, key: &Start<'_>) -> bool {
        *key < self.end || self.end.key.is_empty()
    }

    #[inline]
    fn mark_used(&self) {
        // Written only if it changes, so that readers share the cache line.
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_order_as_their_keys_do() {
        let mut keys: Vec<Vec<u8>> = vec![vec![], vec![0], vec![0, 0], vec![0, 1], vec![255]];
        for length in [15, 16, 17, 31, 32, 33, 40] {
            for last in [0, 1, 128, 255] {
                let mut key = vec![7; length];
                key.push(last);
                keys.extend([
                    key.clone(),
                    [&key[..], &[0]].concat(),
                    [&key[..], &[9; 20]].concat(),
                ]);
            }
        }
        for a in &keys {
            for b in &keys {
                assert_eq!(Start::of(a).cmp(&Start::owned(b)), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
