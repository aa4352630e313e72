//! Which keys of a range commits change: for a reader that follows them without reading the range again and again.
//!
//! A [`Watch`] has the keys of all commits that the engine applies after it began, and maybe of some that were being
//! applied then. A reader that begins a watch and then visits what is newer than a snapshot
//! ([`crate::Store::scan_newer`]) misses nothing. Keys are noted when their commit is applied, which is before snapshots see it.

use crate::key_range::KeyRange;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::sync::atomic::fence;
use std::sync::{Arc, Weak};

/// Bytes of keys that a watch holds. If more change, it only says that.
const BYTES_MAX: usize = 16 << 20;
/// Bytes that a key takes beside its own.
const KEY_BYTES: usize = 48;

#[derive(Debug)]
struct Watched {
    range: KeyRange,
    changes: Mutex<Changes>,
}

#[derive(Debug, Default)]
struct Changes {
    keys: Vec<Vec<u8>>,
    bytes: usize,
}

/// The keys of one range.
#[derive(Debug)]
pub struct Watch(Arc<Watched>);

impl Watch {
    /// The keys that have changed since this was called last, or since the watch began; a key may be among them several
    /// times. `None`: they are too many.
    pub fn take(&self) -> Option<Vec<Vec<u8>>> {
        let changes = std::mem::take(&mut *self.0.changes.lock());
        (changes.bytes <= BYTES_MAX).then_some(changes.keys)
    }
}

/// All watches of an engine.
#[derive(Debug, Default)]
pub struct Watches {
    /// How many there are: commits look at nothing else if there are none.
    count: AtomicUsize,
    all: Mutex<Vec<Weak<Watched>>>,
}

impl Watches {
    pub fn begin(&self, range: KeyRange) -> Watch {
        let watched = Arc::new(Watched {
            range,
            changes: Mutex::default(),
        });
        let mut all = self.all.lock();
        all.push(Arc::downgrade(&watched));
        self.count.store(all.len(), Ordering::SeqCst);
        // What is applied by a commit that does not see the count, the caller's next read sees.
        fence(Ordering::SeqCst);
        Watch(watched)
    }

    /// Notes keys of commits that readers of the newest versions can see.
    pub fn note<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut all = self.all.lock();
        all.retain(|watched| watched.strong_count() > 0);
        self.count.store(all.len(), Ordering::SeqCst);
        let watched: Vec<Arc<Watched>> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        for key in keys {
            let within = watched.iter().filter(|watched| watched.range.contains(key));
            within.for_each(|watched| watched.changes.lock().add(key));
        }
    }
}

impl Changes {
    fn add(&mut self, key: &[u8]) {
        self.bytes += key.len() + KEY_BYTES;
        if self.bytes > BYTES_MAX {
            self.keys = Vec::new();
        } else {
            self.keys.push(key.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(watches: &Watches, keys: &[&str]) {
        watches.note(keys.iter().map(|key| key.as_bytes()));
    }

    #[test]
    fn a_watch_has_the_changed_keys_of_its_range() {
        let watches = Watches::default();
        note(&watches, &["b"]);
        let watch = watches.begin(KeyRange::new("b", "d"));
        note(&watches, &["a", "b", "d"]);
        note(&watches, &["c", "b"]);
        let taken = watch.take().unwrap();
        assert_eq!(taken, [b"b", b"c", b"b"].map(|key| key.to_vec()));
        assert_eq!(watch.take(), Some(Vec::new()));
        drop(watch);
        note(&watches, &["b"]);
        assert_eq!(watches.count.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn too_many_keys_are_not_held() {
        let watches = Watches::default();
        let watch = watches.begin(KeyRange::all());
        let key = vec![7; BYTES_MAX / 2];
        watches.note([&key[..], &key, b"x"].into_iter());
        assert_eq!(watch.take(), None);
        note(&watches, &["x"]);
        assert_eq!(watch.take(), Some(vec![b"x".to_vec()]));
    }
}
