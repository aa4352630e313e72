//! Which ranges of keys have a page.

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

/// What a page costs beyond its entries: its place here, and the rest of six allocations.
const PAGE_BYTES: usize = 400;

/// How many pages in use are passed over, looking for one to give up.
const SECOND_CHANCES: usize = 64;

/// A range with its page.
pub(super) struct Leaf {
    /// Where the range ends; empty: nowhere.
    end: Start<'static>,
    pub page: RwLock<Arc<Page>>,
    /// Whether it has been read since it was last passed over.
    used: AtomicBool,
}

/// Where a range starts or ends, to search by. What begins it is compared where it lies in the tree: those of one table's rows, and of most indexes,
/// differ there, and the search need not look up the keys themselves.
#[derive(Clone, PartialEq, Eq)]
struct Start<'a> {
    /// Big-endian, and zeros behind a shorter key.
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

/// Ranges by their starts; they do not overlap.
#[derive(Default)]
pub(super) struct Directory {
    leaves: BTreeMap<Start<'static>, Leaf>,
    bytes: AtomicUsize,
    /// Where to look for the next page to give up.
    hand: Vec<u8>,
}

impl Directory {
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The same, counted.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> usize {
        let pages = self.leaves.values().map(|leaf| leaf.page.read().bytes());
        pages.map(|bytes| bytes + PAGE_BYTES).sum()
    }

    fn account(&self, before: usize, after: usize) {
        self.bytes.fetch_add(after.wrapping_sub(before), Relaxed);
    }

    /// The range that has `key`.
    #[inline]
    pub fn at<'a>(&'a self, key: &'a [u8]) -> Option<(&'a [u8], &'a Leaf)> {
        let found = self.find(key)?;
        found.1.mark_used();
        Some(found)
    }

    /// The same, not for reading.
    #[inline]
    pub fn find<'a>(&'a self, key: &'a [u8]) -> Option<(&'a [u8], &'a Leaf)> {
        let (start, leaf) = self.range((Bound::Unbounded, Bound::Included(key))).next_back()?;
        leaf.ends_behind(&Start::of(key)).then_some((start, leaf))
    }

    /// Where the last range ends that starts at or before `key`; empty: nowhere.
    pub fn end_before<'a>(&'a self, key: &'a [u8]) -> Option<&'a [u8]> {
        let (_, leaf) = self.range((Bound::Unbounded, Bound::Included(key))).next_back()?;
        Some(leaf.end())
    }

    /// The range that has the keys just before `end`; an empty `end` is none.
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

    /// Where the first range behind `key` starts.
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

    /// Whether no page has anything of a range, which is not empty.
    pub fn is_free(&self, range: &KeyRange) -> bool {
        self.at(&range.start).is_none()
            && self
                .next_after(&range.start)
                .is_none_or(|next| !range.end.is_empty() && *range.end <= *next)
    }

    /// Puts in a page of a range that is free.
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

    /// Forgets everything of a range.
    pub fn remove(&mut self, range: &KeyRange) {
        let first = self.at(&range.start).map(|(start, _)| start.to_vec());
        let inside = self
            .range((Bound::Included(range.start.as_slice()), Bound::Unbounded))
            .map(|(start, _)| start.to_vec())
            .take_while(|start| range.contains(start));
        let all: Vec<_> = first.into_iter().chain(inside).collect();
        all.iter().for_each(|start| self.take(start));
    }

    /// Puts an entry into the page that has its place, if there is one; answers with that page's start if it has become
    /// too large.
    pub fn update<'a>(&'a self, key: &'a [u8], stored: &[u8]) -> Option<&'a [u8]> {
        let (start, leaf) = self.at(key)?;
        let mut page = leaf.page.write();
        let before = page.bytes();
        Arc::make_mut(&mut page).put(key, stored);
        self.account(before, page.bytes());
        page.is_large().then_some(start)
    }

    /// Splits a page until no part of it is too large, or gives it up if that cannot be.
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

    /// Makes one page of a small one and those that border on it.
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

    /// False: the page behind does not border on this one, or the two are too large for one.
    fn join_next(&mut self, start: &[u8]) -> bool {
        let next = self.leaf_mut(start).map(|leaf| leaf.end().to_vec());
        let Some(next) = next.filter(|next| !next.is_empty()) else {
            return false;
        };
        let size = |leaf: &mut Leaf| {
            let page = leaf.page.get_mut();
            // One that is about to be split or given up is looked for where it starts.
            (!page.is_large()).then(|| (page.len(), page.bytes()))
        };
        let Some(((entries, bytes), (more_entries, more_bytes))) = self
            .leaf_mut(start)
            .and_then(size)
            .zip(self.leaf_mut(&next).and_then(size))
        else {
            return false;
        };
        // Well below the limits, so that it is not split with the next row.
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

    /// Leaves deletions up to `ts` out of a page, if it is still there.
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

    /// Gives up pages until all have no more than `budget_bytes`; those read lately last.
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
        // Written only where it changes, so that readers share the cache line.
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
