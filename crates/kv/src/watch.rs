//! Which keys of a range commits change: for a reader that follows them without reading the range again and again.
//!
//! A [`Watch`] has the keys of all commits that the engine applies after it began, and maybe of some that were being
//! applied then. A reader that begins a watch and then visits what is newer than a snapshot
//! ([`crate::Store::scan_newer`]) misses nothing. Keys are noted when their commit is applied, which is before snapshots see it.
//!
//! There may be many watches: an index build has one per new index and partition. So a commit finds those of a key by a
//! search in a map of their ranges (`watched_ranges`), and all of them together hold a bounded number of bytes.

use crate::key_range::KeyRange;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::watched_ranges::{WatchId, WatchedRanges};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::fence;

/// Bytes of keys that the watches of an engine hold together. If more change, the watch that holds most only says that.
const BYTES_MAX: usize = 64 << 20;
/// Bytes that a key takes beside its own.
const KEY_BYTES: usize = 48;

/// The keys of one range.
#[derive(Debug)]
pub struct Watch {
    id: WatchId,
    range: KeyRange,
    shared: Arc<Shared>,
}

impl Watch {
    /// The keys that have changed since this was called last, or since the watch began; a key may be among them several
    /// times. `None`: they are too many.
    pub fn take(&self) -> Option<Vec<Vec<u8>>> {
        let changes = self.shared.watched.lock().take(self.id);
        (!changes.are_too_many).then_some(changes.keys)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.shared.watched.lock();
        let changes = watched.remove(self.id, &self.range);
        self.shared.update_count(&watched);
        // Commits need not wait until many keys are freed.
        drop(watched);
        drop(changes);
    }
}

/// All watches of an engine.
#[derive(Debug)]
pub struct Watches(Arc<Shared>);

impl Default for Watches {
    fn default() -> Self {
        Self::with_bytes(BYTES_MAX)
    }
}

impl Watches {
    fn with_bytes(bytes_max: usize) -> Self {
        Self(Arc::new(Shared {
            count: AtomicUsize::new(0),
            watched: Mutex::new(Watched {
                bytes_max,
                ..Watched::default()
            }),
        }))
    }

    pub fn begin(&self, range: KeyRange) -> Watch {
        let mut watched = self.0.watched.lock();
        let id = watched.add(&range);
        self.0.update_count(&watched);
        drop(watched);
        // What is applied by a commit that does not see the count, the caller's next read sees.
        fence(Ordering::SeqCst);
        Watch {
            id,
            range,
            shared: Arc::clone(&self.0),
        }
    }

    /// Notes keys of commits that readers of the newest versions can see.
    pub fn note<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        fence(Ordering::SeqCst);
        if self.0.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut watched = self.0.watched.lock();
        keys.for_each(|key| watched.note(key));
    }
}

/// What an engine and its watches share.
#[derive(Debug)]
struct Shared {
    /// How many watches there are: commits look at nothing else if there are none.
    count: AtomicUsize,
    watched: Mutex<Watched>,
}

impl Shared {
    fn update_count(&self, watched: &Watched) {
        self.count.store(watched.changes.len(), Ordering::SeqCst);
    }
}

#[derive(Debug, Default)]
struct Watched {
    next: WatchId,
    ranges: WatchedRanges,
    changes: BTreeMap<WatchId, Changes>,
    /// Those of all changes.
    bytes: usize,
    bytes_max: usize,
}

/// Those of one watch.
#[derive(Debug, Default)]
struct Changes {
    keys: Vec<Vec<u8>>,
    bytes: usize,
    /// So the keys are not held.
    are_too_many: bool,
}

impl Watched {
    fn add(&mut self, range: &KeyRange) -> WatchId {
        let id = self.next;
        self.next += 1;
        self.ranges.add(id, range);
        self.changes.insert(id, Changes::default());
        id
    }

    fn remove(&mut self, id: WatchId, range: &KeyRange) -> Changes {
        self.ranges.remove(id, range);
        let changes = self.changes.remove(&id).unwrap_or_default();
        self.bytes -= changes.bytes;
        changes
    }

    fn take(&mut self, id: WatchId) -> Changes {
        let changes = self.changes.get_mut(&id).map(std::mem::take);
        let changes = changes.unwrap_or_default();
        self.bytes -= changes.bytes;
        changes
    }

    fn note(&mut self, key: &[u8]) {
        for id in self.ranges.watches_of(key) {
            let Some(changes) = self.changes.get_mut(id) else {
                continue;
            };
            if !changes.are_too_many {
                changes.keys.push(key.to_vec());
                changes.bytes += key.len() + KEY_BYTES;
                self.bytes += key.len() + KEY_BYTES;
            }
        }
        while self.bytes > self.bytes_max {
            self.forget_most();
        }
    }

    /// The watch that holds most gives up its keys, so that one with much change does not cost the others theirs.
    fn forget_most(&mut self) {
        let most = self.changes.values_mut().max_by_key(|changes| changes.bytes);
        let bytes = most.map_or(self.bytes, Changes::forget);
        self.bytes -= bytes;
    }
}

impl Changes {
    /// Returns how many bytes are free by it.
    fn forget(&mut self) -> usize {
        let forgotten = Self {
            are_too_many: true,
            ..Self::default()
        };
        std::mem::replace(self, forgotten).bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(watches: &Watches, keys: &[&str]) {
        watches.note(keys.iter().map(|key| key.as_bytes()));
    }

    fn taken(watch: &Watch) -> Option<Vec<String>> {
        let as_text = |key| String::from_utf8(key).unwrap();
        watch.take().map(|keys| keys.into_iter().map(as_text).collect())
    }

    fn some(keys: &[&str]) -> Option<Vec<String>> {
        Some(keys.iter().map(ToString::to_string).collect())
    }

    fn held(watches: &Watches) -> usize {
        watches.0.watched.lock().bytes
    }

    #[test]
    fn a_watch_has_the_changed_keys_of_its_range() {
        let watches = Watches::default();
        note(&watches, &["b"]);
        let watch = watches.begin(KeyRange::new("b", "d"));
        note(&watches, &["a", "b", "d"]);
        note(&watches, &["c", "b"]);
        assert_eq!(taken(&watch), some(&["b", "c", "b"]));
        assert_eq!(taken(&watch), some(&[]));
        note(&watches, &["a", "d", "z"]);
        assert_eq!((taken(&watch), held(&watches)), (some(&[]), 0));
    }

    #[test]
    fn watches_share_ranges() {
        let watches = Watches::default();
        let one = watches.begin(KeyRange::new("b", "d"));
        let same = watches.begin(KeyRange::new("b", "d"));
        let wide = watches.begin(KeyRange::new("c", ""));
        let empty = watches.begin(KeyRange::new("d", "c"));
        note(&watches, &["a", "b", "c", "d"]);
        assert_eq!(taken(&one), some(&["b", "c"]));
        assert_eq!(taken(&same), some(&["b", "c"]));
        assert_eq!(taken(&wide), some(&["c", "d"]));
        assert_eq!(taken(&empty), some(&[]));
    }

    #[test]
    fn a_watch_that_ends_leaves_nothing() {
        let watches = Watches::default();
        let one = watches.begin(KeyRange::new("a", "c"));
        let other = watches.begin(KeyRange::new("b", "d"));
        note(&watches, &["b", "c"]);
        drop(one);
        assert_eq!(held(&watches), 2 * (1 + KEY_BYTES));
        note(&watches, &["a", "b"]);
        assert_eq!(taken(&other), some(&["b", "c", "b"]));
        note(&watches, &["b"]);
        drop(other);
        assert_eq!(held(&watches), 0);
        assert_eq!(watches.0.count.load(Ordering::SeqCst), 0);
        // It may end after the engine.
        let last = watches.begin(KeyRange::all());
        drop(watches);
        assert_eq!(taken(&last), some(&[]));
    }

    #[test]
    fn too_many_keys_are_not_held() {
        let watches = Watches::with_bytes(100 + 2 * KEY_BYTES);
        let watch = watches.begin(KeyRange::all());
        let key = [7; 50];
        watches.note([&key[..], &key, b"x"].into_iter());
        assert_eq!((watch.take(), held(&watches)), (None, 0));
        note(&watches, &["x"]);
        assert_eq!(taken(&watch), some(&["x"]));
        watches.note([&[7; 1000][..]].into_iter());
        assert_eq!((watch.take(), held(&watches)), (None, 0));
    }

    #[test]
    fn watches_share_the_bound() {
        let watches = Watches::with_bytes(4 * (1 + KEY_BYTES));
        let much = watches.begin(KeyRange::prefix("m"));
        let little = watches.begin(KeyRange::prefix("l"));
        note(&watches, &["m", "m", "m", "l", "l"]);
        // The first gives up, and holds no more until its reader knows that.
        note(&watches, &["m", "l"]);
        assert_eq!(held(&watches), 3 * (1 + KEY_BYTES));
        assert_eq!(taken(&much), None);
        note(&watches, &["m"]);
        assert_eq!(taken(&little), some(&["l", "l", "l"]));
        assert_eq!(taken(&much), some(&["m"]));
    }
}
