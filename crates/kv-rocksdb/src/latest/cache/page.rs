//! A page: adjacent entries of `latest`, in key order, in one piece of memory.

use crate::layout::{VALUE_AT, Version};
use kv::Timestamp;
use std::ops::Range;
use std::sync::Arc;

/// A page with more entries or bytes is split.
pub const ENTRIES_MAX: usize = 128;
pub const BYTES_MAX: usize = 32 << 10;

/// The least that a page which is written to grows by.
const GROWTH_ENTRIES: usize = ENTRIES_MAX / 16;
const GROWTH_BYTES: usize = BYTES_MAX / 16;

/// A page is cleared of its deletions if it has at least this many and if they are at least half of its
/// entries.
const DELETIONS_MIN: usize = 8;

/// How many bytes of the keys' common prefix are stored in the page's header.
const PREFIX_BYTES: usize = 24;

/// Where an entry is in the heap: its key, then its stored version.
#[derive(Debug, Clone, Copy)]
struct EntrySpan {
    at: u32,
    key_bytes: u32,
    stored_bytes: u32,
    is_deletion: bool,
}

impl EntrySpan {
    fn key(self) -> Range<usize> {
        let at = self.at as usize;
        at..at + self.key_bytes as usize
    }

    fn stored(self) -> Range<usize> {
        let at = self.key().end;
        at..at + self.stored_bytes as usize
    }

    fn bytes(self) -> usize {
        self.key_bytes as usize + self.stored_bytes as usize
    }
}

/// The first eight bytes of a key after the page's common prefix, in the keys' order: big-endian, with zeros
/// after a shorter key. A search compares these, which are next to each other in memory, and few whole keys.
#[inline]
fn head_of(key: &[u8], shared: usize) -> u64 {
    let rest = key.get(shared..).unwrap_or_default();
    if let Some(head) = rest.first_chunk() {
        return u64::from_be_bytes(*head);
    }
    let mut head = [0; 8];
    head[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(head)
}

/// The length of two keys' common prefix.
fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// What the head of a lone key begins behind: later keys usually differ from it in its last bytes.
fn before_head(key: &[u8]) -> usize {
    key.len().saturating_sub(size_of::<u64>())
}

fn prefix_of(key: &[u8], shared: usize) -> [u8; PREFIX_BYTES] {
    let mut prefix = [0; PREFIX_BYTES];
    let beside = shared.min(PREFIX_BYTES);
    prefix[..beside].copy_from_slice(&key[..beside]);
    prefix
}

/// All entries of `latest` in a range of keys. The page's owner knows the range.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// [`head_of`] of each entry's key.
    heads: Vec<u64>,
    spans: Vec<EntrySpan>,
    /// Length of a common prefix of all keys, maybe not the longest.
    shared: usize,
    /// The first bytes of that prefix. A search that read them from the first key would wait for one more
    /// cache line.
    prefix: [u8; PREFIX_BYTES],
    heap: Vec<u8>,
    /// Bytes of the heap that belong to no entry any more.
    wasted: usize,
    deletions: usize,
    /// No entry's version is newer.
    newest: Timestamp,
    complete_from: Timestamp,
    /// An entry was written that no page can hold: this page cannot be used any more.
    lost: bool,
}

impl Page {
    /// An empty page with room for this number of entries; not for their bytes.
    pub fn for_entries(entries: usize) -> Self {
        Self {
            heads: Vec::with_capacity(entries),
            spans: Vec::with_capacity(entries),
            ..Self::default()
        }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Memory of the entries, including unused capacity.
    pub fn bytes(&self) -> usize {
        self.heap.capacity()
            + self.spans.capacity() * size_of::<EntrySpan>()
            + self.heads.capacity() * size_of::<u64>()
    }

    /// Whether it has to be split or removed.
    pub fn is_large(&self) -> bool {
        self.lost || self.spans.len() > ENTRIES_MAX || self.heap.len() - self.wasted > BYTES_MAX
    }

    /// Whether the page has all that readers of `ts` need: deletions that they would have had to see may have
    /// been left out.
    pub fn is_complete_at(&self, ts: Timestamp) -> bool {
        self.complete_from <= ts && !self.lost
    }

    /// Records that a deletion has been left out.
    pub fn leave_out(&mut self, deleted_at: Timestamp) {
        self.complete_from = self.complete_from.max(deleted_at);
    }

    fn key_of(&self, span: EntrySpan) -> &[u8] {
        self.heap.get(span.key()).unwrap_or_default()
    }

    fn first_key(&self) -> &[u8] {
        self.spans.first().map_or(&[], |first| self.key_of(*first))
    }

    /// Whether a key begins with the page's common prefix.
    #[inline]
    fn shares(&self, key: &[u8]) -> bool {
        let beside = self.shared.min(PREFIX_BYTES);
        let beyond = beside..self.shared;
        key.get(..beside) == self.prefix.get(..beside)
            && (beyond.is_empty() || key.get(beyond.clone()) == self.first_key().get(beyond))
    }

    fn find(&self, key: &[u8]) -> Result<usize, usize> {
        if !self.shares(key) {
            // The key is before all entries, or after them.
            let is_before = self.spans.is_empty() || key < self.first_key();
            return Err(if is_before { 0 } else { self.spans.len() });
        }
        let places = self.alike(key);
        let first = places.start;
        let alike = self.spans.get(places).unwrap_or_default();
        let place = alike.binary_search_by(|span| self.key_of(*span).cmp(key));
        place.map(|at| first + at).map_err(|at| first + at)
    }

    /// The number of entries before the bound of a range. That is mostly a prefix of keys, and so before all entries with
    /// its head: of these a search in the middle would wait for several, the first one is read in any case.
    fn place_of_bound(&self, bound: &[u8]) -> usize {
        if self.shares(bound) {
            let places = self.alike(bound);
            let first = self.spans.get(places.clone()).and_then(<[_]>::first);
            if first.is_none_or(|first| bound <= self.key_of(*first)) {
                return places.start;
            }
        }
        self.find(bound).unwrap_or_else(|place| place)
    }

    /// The places of the entries that have the head of a key with the common prefix: rows of an order, where a key is that
    /// of the order and a number.
    #[inline]
    fn alike(&self, key: &[u8]) -> Range<usize> {
        let head = head_of(key, self.shared);
        let first = self.heads.partition_point(|other| *other < head);
        let same = self.heads[first..].partition_point(|other| *other == head);
        first..first + same
    }

    /// Makes the common prefix one of `key` too, by shortening it if needed.
    fn share_with(&mut self, key: &[u8]) {
        let shared = if self.spans.is_empty() {
            before_head(key)
        } else if self.shares(key) {
            return;
        } else {
            shared_bytes(self.first_key(), key)
        };
        self.share(shared, prefix_of(key, shared));
    }

    /// Makes the common prefix as long as is of use, once the entries are fewer: the first page of a store has all of its
    /// keys, and those split off from it have one table's, of which a head behind the shorter prefix says nothing.
    fn share_more(&mut self) {
        let last = self.spans.last().map(|last| self.key_of(*last));
        if let Some(last) = last {
            let first = self.first_key();
            let shared = shared_bytes(first, last).min(before_head(first));
            self.share(shared, prefix_of(first, shared));
        }
    }

    fn share(&mut self, shared: usize, prefix: [u8; PREFIX_BYTES]) {
        (self.shared, self.prefix) = (shared, prefix);
        for (head, span) in self.heads.iter_mut().zip(&self.spans) {
            *head = head_of(self.heap.get(span.key()).unwrap_or_default(), shared);
        }
    }

    /// The stored version of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let at = self.find(key).ok()?;
        self.entry(at).map(|(_, stored)| stored)
    }

    /// The key and stored version at a position.
    pub fn entry(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let span = *self.spans.get(at)?;
        Some((self.key_of(span), self.heap.get(span.stored())?))
    }

    /// The keys and values at some positions, if all of them are values that a reader of `ts` sees. The
    /// versions themselves are not read: a caller that only counts entries does not wait for their memory.
    pub fn values(
        &self,
        positions: Range<usize>,
        ts: Timestamp,
    ) -> Option<impl DoubleEndedIterator<Item = (&[u8], &[u8])>> {
        let value = |at: usize| {
            let span = *self.spans.get(at)?;
            let stored = span.stored();
            Some((
                self.key_of(span),
                self.heap.get(stored.start + VALUE_AT..stored.end)?,
            ))
        };
        (self.deletions == 0 && self.newest <= ts).then(|| positions.filter_map(value))
    }

    /// The positions of the keys from `start` up to `end`; an empty `end`: no bound.
    pub fn positions(&self, start: &[u8], end: &[u8]) -> Range<usize> {
        let before = |key: &[u8]| self.place_of_bound(key);
        let first = if start.is_empty() { 0 } else { before(start) };
        let last = if end.is_empty() {
            self.spans.len()
        } else {
            before(end)
        };
        first..last.max(first)
    }

    /// Bytes of the entries from `start` up to `end`, without deletions; an empty `end`: no bound.
    pub fn bytes_of(&self, start: &[u8], end: &[u8]) -> usize {
        let spans = self.spans.get(self.positions(start, end)).unwrap_or_default();
        let values = spans.iter().filter(|span| !span.is_deletion);
        values.map(|span| span.bytes()).sum()
    }

    /// Appends an entry to the heap. `None`: no page can hold it.
    fn store(&mut self, key: &[u8], stored: &[u8]) -> Option<EntrySpan> {
        if key.len() + stored.len() > BYTES_MAX {
            return None;
        }
        self.share_with(key);
        let span = EntrySpan {
            at: u32::try_from(self.heap.len()).ok()?,
            key_bytes: u32::try_from(key.len()).ok()?,
            stored_bytes: u32::try_from(stored.len()).ok()?,
            is_deletion: self.note(stored),
        };
        self.heap.extend_from_slice(key);
        self.heap.extend_from_slice(stored);
        Some(span)
    }

    /// Takes notice of an entry's version. Returns whether it is a deletion.
    fn note(&mut self, stored: &[u8]) -> bool {
        let version = Version::parse(stored);
        self.newest = self
            .newest
            .max(version.as_ref().map_or(Timestamp::MAX, |version| version.ts));
        version.is_ok_and(|version| version.value.is_none())
    }

    /// Frees unused capacity, which counts as memory of the page.
    pub fn shrink_to_fit(&mut self) {
        self.heads.shrink_to_fit();
        self.spans.shrink_to_fit();
        self.heap.shrink_to_fit();
    }

    /// Appends an entry after all others. False: no page can hold it.
    #[must_use]
    pub fn push(&mut self, key: &[u8], stored: &[u8]) -> bool {
        let Some(span) = self.store(key, stored) else {
            return false;
        };
        self.deletions += usize::from(span.is_deletion);
        self.heads.push(head_of(key, self.shared));
        self.spans.push(span);
        true
    }

    /// Inserts an entry, or replaces the one with its key.
    pub fn put(&mut self, key: &[u8], stored: &[u8]) {
        let place = self.find(key);
        let is_deletion = self.note(stored);
        if let Ok(at) = place
            && let Some(span) = self.spans.get_mut(at)
            && let Some(room) = self.heap.get_mut(span.stored())
            && room.len() == stored.len()
        {
            self.deletions -= usize::from(span.is_deletion);
            span.is_deletion = is_deletion;
            self.deletions += usize::from(span.is_deletion);
            room.copy_from_slice(stored);
            return;
        }
        self.make_room(key.len() + stored.len());
        let Some(span) = self.store(key, stored) else {
            self.lost = true;
            return;
        };
        self.deletions += usize::from(span.is_deletion);
        match place {
            Ok(at) => {
                let old = std::mem::replace(&mut self.spans[at], span);
                self.deletions -= usize::from(old.is_deletion);
                self.wasted += old.bytes();
                if self.wasted > self.heap.len() / 2 {
                    self.compact();
                }
            }
            Err(at) => {
                self.heads.insert(at, head_of(key, self.shared));
                self.spans.insert(at, span);
            }
        }
    }

    /// Grows in steps: a page that doubled for one more entry would stay as large.
    fn make_room(&mut self, bytes: usize) {
        if self.heap.capacity() - self.heap.len() < bytes {
            self.heap.reserve_exact(bytes.max(GROWTH_BYTES));
        }
        if self.spans.capacity() == self.spans.len() {
            self.spans.reserve_exact(GROWTH_ENTRIES);
            self.heads.reserve_exact(GROWTH_ENTRIES);
        }
    }

    /// Whether it has enough deletions up to `ts` to be worth clearing.
    pub fn is_cluttered(&self, ts: Timestamp) -> bool {
        self.deletions >= DELETIONS_MIN
            && self.deletions * 2 >= self.spans.len()
            && self
                .spans
                .iter()
                .filter(|span| self.is_deleted_at(**span, ts))
                .count()
                >= DELETIONS_MIN
    }

    fn is_deleted_at(&self, span: EntrySpan, ts: Timestamp) -> bool {
        span.is_deletion && self.deleted_at(span).is_some_and(|deleted_at| deleted_at <= ts)
    }

    fn deleted_at(&self, span: EntrySpan) -> Option<Timestamp> {
        let version = Version::parse(self.heap.get(span.stored())?).ok()?;
        Some(version.ts)
    }

    /// Removes deletions up to `ts`.
    pub fn clear_deletions(&mut self, ts: Timestamp) {
        let (cleared, kept): (Vec<usize>, Vec<usize>) =
            (0..self.spans.len()).partition(|&at| self.is_deleted_at(self.spans[at], ts));
        let newest = cleared.iter().filter_map(|&at| self.deleted_at(self.spans[at]));
        self.leave_out(newest.max().unwrap_or(0));
        *self = self.part(kept.into_iter());
    }

    /// Rewrites the heap without unused bytes.
    fn compact(&mut self) {
        *self = self.part(0..self.spans.len());
    }

    /// A page of the entries at some positions.
    fn part(&self, positions: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        let count = positions.len();
        let bytes = positions.clone().map(|at| self.spans[at].bytes()).sum();
        let mut part = Self {
            heads: Vec::with_capacity(count),
            spans: Vec::with_capacity(count),
            shared: self.shared,
            prefix: self.prefix,
            heap: Vec::with_capacity(bytes),
            newest: self.newest,
            complete_from: self.complete_from,
            lost: self.lost,
            ..Self::default()
        };
        for at in positions {
            let span = self.spans[at];
            part.heads.push(self.heads[at]);
            part.spans.push(EntrySpan {
                at: u32::try_from(part.heap.len()).unwrap_or(span.at),
                ..span
            });
            part.deletions += usize::from(span.is_deletion);
            let entry = span.key().start..span.stored().end;
            part.heap
                .extend_from_slice(self.heap.get(entry).unwrap_or_default());
        }
        part.share_more();
        part
    }

    /// Splits the upper half off and returns it with its first key; `None` if there is only one entry.
    pub fn split_off(&mut self) -> Option<(Vec<u8>, Self)> {
        let middle = self.spans.len() / 2;
        if middle == 0 || self.lost {
            return None;
        }
        let upper = self.part(middle..self.spans.len());
        *self = self.part(0..middle);
        let first = upper.entry(0)?.0.to_vec();
        Some((first, upper))
    }

    /// Appends the entries of the next page.
    pub fn append(&mut self, behind: &Self) {
        self.complete_from = self.complete_from.max(behind.complete_from);
        self.lost |= behind.lost;
        self.heads.reserve_exact(behind.heads.len());
        self.spans.reserve_exact(behind.spans.len());
        self.heap.reserve_exact(behind.heap.len());
        for at in 0..behind.len() {
            if let Some((key, stored)) = behind.entry(at) {
                let _ = self.push(key, stored);
            }
        }
    }
}

/// Entries between two heads that are read, so that each cache line of them is.
const HEADS_A_LINE: usize = 8;
const LINE_BYTES: usize = 64;
/// How many cache lines of an entry are read ahead.
const ENTRY_LINES: usize = 3;
/// Of how many entries with one head the keys are.
const ALIKE_MAX: usize = 8;

/// Reads what a search of each key in its page will read. A search waits for memory four times and more, each time for
/// an address that the last answer has; here each step asks for all pages before the next one needs an
/// answer.
pub(super) fn warm(pages: &[Option<Arc<Page>>], keys: &[&[u8]]) {
    let known = || pages.iter().flatten().map(|page| &**page);
    let heads = |page: &Page| {
        page.heads
            .iter()
            .step_by(HEADS_A_LINE)
            .fold(0, |all, head| all ^ head)
    };
    std::hint::black_box(known().fold(0, |all, page| all ^ page.spans.len() ^ page.shared));
    std::hint::black_box(known().fold(0, |all, page| all ^ heads(page)));
    let sought = pages.iter().zip(keys);
    // The spans of the entries that a search looks at, or of the one behind the place of a key that is not there.
    let looked_at: Vec<(&Page, &[u8], &[EntrySpan])> = sought
        .filter_map(|(page, key)| {
            let (page, alike) = (page.as_deref()?, page.as_deref()?.alike(key));
            let end = alike.end.clamp(alike.start + 1, alike.start + ALIKE_MAX);
            Some((page, *key, page.spans.get(alike.start..end)?))
        })
        .collect();
    let ends = |spans: &[EntrySpan]| spans.first().zip(spans.last()).map_or(0, |(a, b)| a.at ^ b.at);
    std::hint::black_box(looked_at.iter().fold(0, |all, (_, _, spans)| all ^ ends(spans)));
    let byte = |page: &Page, at: usize| page.heap.get(at).copied().unwrap_or_default();
    let entry_keys = looked_at
        .iter()
        .flat_map(|(page, _, spans)| spans.iter().map(|span| byte(page, span.at as usize)));
    std::hint::black_box(entry_keys.fold(0, |all, byte| all ^ byte));
    let entry = |(page, key, spans): &(&Page, &[u8], &[EntrySpan])| {
        let found = match spans {
            [only] => Some(only),
            _ => page.spans.get(page.find(key).unwrap_or_else(|place| place)),
        };
        let start = found.map_or(0, |span| span.at as usize);
        (0..ENTRY_LINES).fold(0, |all, line| all ^ byte(page, start + line * LINE_BYTES))
    };
    std::hint::black_box(looked_at.iter().map(entry).fold(0, |all, byte| all ^ byte));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{TS_BYTES, push_unstamped_version};
    use std::collections::BTreeMap;
    use std::ops::Bound;

    fn stored(ts: Timestamp, value: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        push_unstamped_version(&mut out, value);
        out[..TS_BYTES].copy_from_slice(&ts.to_be_bytes());
        out
    }

    fn contents(page: &Page) -> Vec<(Vec<u8>, Vec<u8>)> {
        (0..page.len())
            .map(|at| page.entry(at).unwrap())
            .map(|(key, stored)| (key.to_vec(), stored.to_vec()))
            .collect()
    }

    #[test]
    fn a_page_holds_what_a_map_would() {
        holds_what_a_map_would(|n| format!("key{n}"));
        // The keys have a long common prefix, then a shorter one, then hardly any.
        holds_what_a_map_would(|n| format!("what all of them begin with, and {n}"));
        holds_what_a_map_would(|n| format!("what most of them begin with{}{n}", "\0".repeat(n % 12)));
        // Some keys differ far behind where they begin to differ from others.
        holds_what_a_map_would(|n| format!("order {:02}, and its line number {}", n / 7, n % 7));
        holds_what_a_map_would(|n| "what all but a few of them begin with, whatever"[..n % 40].to_owned());
    }

    fn holds_what_a_map_would(key: impl Fn(usize) -> String) {
        let mut page = Page::default();
        let mut map = BTreeMap::new();
        let mut random = 1_u64;
        for ts in 1..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = key(usize::try_from((random >> 33) % 100).unwrap()).into_bytes();
            let length = usize::try_from((random >> 40) % 50).unwrap();
            let value = (length > 5).then(|| vec![7; length]);
            let entry = stored(ts, value.as_deref());
            page.put(&key, &entry);
            map.insert(key.clone(), entry);
            assert_eq!(page.get(&key), map.get(&key).map(Vec::as_slice));
            let next = map.range([key.as_slice(), &[0]].concat()..).next();
            let behind = page.positions(&key, b"").nth(1);
            assert_eq!(
                behind.and_then(|at| page.entry(at)).map(|e| e.0),
                next.map(|e| e.0.as_slice())
            );
            for cut in 0..key.len().min(24) {
                let bound = &key[..key.len() - cut];
                let before = (Bound::Unbounded, Bound::Excluded(bound));
                let entries = map.range::<[u8], _>(before).count();
                assert_eq!(page.positions(bound, b"").start, entries, "{bound:?}");
                assert_eq!(page.positions(b"", bound).end, entries, "{bound:?}");
            }
        }
        assert_eq!(contents(&page), map.clone().into_iter().collect::<Vec<_>>());
        assert!(page.heap.len() < 2 * map.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>() + 200);
        let (first, upper) = page.split_off().unwrap();
        assert_eq!(upper.entry(0).unwrap().0, first);
        for (key, entry) in &map {
            let half = if *key < first { &page } else { &upper };
            assert_eq!(half.get(key), Some(entry.as_slice()));
        }
        assert!(contents(&page).last().unwrap().0 < first);
        page.append(&upper);
        assert_eq!(contents(&page), map.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_part_of_a_page_shares_what_its_own_keys_share() {
        let mut all = Page::default();
        all.put(b"anything", &stored(1, Some(b"value")));
        for n in 0..ENTRIES_MAX {
            all.put(format!("table {n:016}").as_bytes(), &stored(1, Some(b"value")));
        }
        assert_eq!(all.shared, 0);
        let (_, upper) = all.split_off().unwrap();
        assert_eq!(upper.shared, "table ".len() + 8);
        let key = upper.entry(5).unwrap().0;
        assert_eq!((upper.alike(key), upper.find(key)), (5..6, Ok(5)));
    }

    #[test]
    fn a_page_that_lost_an_entry_stays_unusable() {
        let too_long = stored(9, Some(&[7; BYTES_MAX]));
        let mut lost = Page::default();
        lost.put(b"a", &stored(1, Some(b"value")));
        lost.put(b"b", &stored(1, None));
        lost.put(b"a", &too_long);
        assert!(lost.is_large() && !lost.is_complete_at(9));
        // Rewriting the page does not make it usable again.
        let mut cleared = lost.clone();
        cleared.clear_deletions(5);
        assert!(cleared.is_large() && !cleared.is_complete_at(9));
        for length in (1..200).rev() {
            lost.put(b"b", &stored(2, Some(&vec![7; length])));
            assert!(lost.is_large() && !lost.is_complete_at(9), "{length}");
        }
        let mut before = Page::default();
        before.put(b"A", &stored(1, Some(b"value")));
        before.append(&lost);
        assert!(before.is_large() && !before.is_complete_at(9));
        assert!(before.split_off().is_none());
    }

    #[test]
    fn deletions_are_cleared_up_to_a_timestamp_and_older_readers_turned_away() {
        let mut page = Page::default();
        for n in 0..20_u64 {
            let value = (n % 4 == 0).then_some(&b"value"[..]);
            assert!(page.push(format!("{n:02}").as_bytes(), &stored(100 + n, value)));
        }
        assert!(page.is_cluttered(110) && !page.is_cluttered(101) && page.is_complete_at(1));
        page.clear_deletions(110);
        assert_eq!(page.len(), 5 + 7, "those of 111 to 119 stay");
        assert!(page.is_complete_at(110) && !page.is_complete_at(109));
        assert_eq!((page.get(b"04").is_some(), page.get(b"05")), (true, None));
        assert_eq!(page.positions(b"04", b"12"), 1..4);
        assert_eq!(page.positions(b"04", b""), 1..page.len());
        assert_eq!(page.positions(b"9", b"1"), page.len()..page.len());
    }
}
