//! Keys that belong to one session and never reach an engine: the rows and entries of its temporary tables.
//!
//! A transaction reads them below its own writes, in place of what is committed, so own writes, savepoints
//! and rollbacks are those of the write buffer. Its commit moves the private writes here. Nobody else can
//! read or change them: they need no locks, no timestamps, no log, and end with their session.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use memory::{Account, Broker, Holder};

use crate::buffer::Write;
use crate::error::{Error, Result};
use crate::reader::{KeyRange, Visit, VisitBatch};
use crate::sync::RwLock;

/// The keys of one range, with their values. Only the thread of their session changes them, while no
/// statement reads them: so a reader may read again from within a scan.
pub struct PrivateKeys {
    range: KeyRange,
    content: RwLock<Content>,
}

struct Content {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
    limit_bytes: usize,
    memory: Account,
}

/// Memory of an entry beyond its bytes: the tree's part of it and two vectors.
const ENTRY_OVERHEAD_BYTES: usize = 64;

fn cost(key: &[u8], value: &[u8]) -> usize {
    ENTRY_OVERHEAD_BYTES + key.len() + value.len()
}

impl PrivateKeys {
    /// `memory`: accounts for what is kept. `range`: every key in it is private.
    pub fn new(range: KeyRange, memory: &'static Broker) -> Self {
        Self {
            range,
            content: RwLock::new(Content {
                values: BTreeMap::new(),
                bytes: 0,
                limit_bytes: usize::MAX,
                memory: Account::new(memory, Holder::Session, usize::MAX),
            }),
        }
    }

    pub fn range(&self) -> &KeyRange {
        &self.range
    }

    /// Sets how many bytes they may take in all. More that are there stay.
    pub fn set_limit(&self, bytes: usize) {
        self.content.write().limit_bytes = bytes;
    }

    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.range.contains(key)
    }

    /// Removes the keys of a range.
    pub fn remove(&self, range: &KeyRange) {
        let content = &mut *self.content.write();
        let doomed: Vec<Vec<u8>> = within(&content.values, range)
            .map(|(key, _)| key.clone())
            .collect();
        for key in doomed {
            content.put(key, None);
        }
        content.count();
    }

    /// How many keys a range has; not more than `most` are counted.
    pub fn count_in(&self, range: &KeyRange, most: usize) -> usize {
        within(&self.content.read().values, range).take(most).count()
    }

    /// About how many bytes a range takes.
    pub(crate) fn approximate_bytes(&self, range: &KeyRange) -> u64 {
        const SAMPLE: usize = 4096;
        let content = self.content.read();
        let mut sampled = within(&content.values, range);
        let bytes: usize = sampled
            .by_ref()
            .take(SAMPLE)
            .map(|(key, value)| cost(key, value))
            .sum();
        let bytes = match sampled.next() {
            None => bytes,
            Some(_) => content.bytes,
        };
        bytes as u64
    }

    /// Fails if a transaction that has `pending` bytes of writes could not commit them here.
    pub(crate) fn check_room(&self, pending: usize) -> Result<()> {
        let content = self.content.read();
        match content.bytes.saturating_add(pending) > content.limit_bytes {
            true => Err(Error::PrivateFull),
            false => Ok(()),
        }
    }

    /// Takes the memory that writes need, before they are applied.
    pub(crate) fn reserve(&self, writes: &[(Vec<u8>, Write)]) -> Result<()> {
        let content = &mut *self.content.write();
        let added = writes
            .iter()
            .filter_map(|(key, write)| Some(cost(key, write.value.as_ref()?)));
        let bytes = content.bytes.saturating_add(added.sum());
        let reserved = content.memory.resize(bytes, None);
        reserved.map_err(|_| Error::PrivateFull)
    }

    /// Makes writes of a transaction that has committed.
    pub(crate) fn apply(&self, writes: Vec<(Vec<u8>, Write)>) {
        let content = &mut *self.content.write();
        for (key, write) in writes {
            content.put(key, write.value);
        }
        content.count();
    }

    pub(crate) fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> bool {
        match self.content.read().values.get(key) {
            Some(value) => {
                found(value);
                true
            }
            None => false,
        }
    }

    /// Answers for the private ones of some keys, and returns the positions of the others.
    pub(crate) fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Vec<usize> {
        let content = self.content.read();
        let mut others = Vec::new();
        for (position, key) in keys.iter().enumerate() {
            match self.contains(key) {
                true => visit(position, content.values.get(key).map(Vec::as_slice)),
                false => others.push(position),
            }
        }
        others
    }

    pub(crate) fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) {
        let content = self.content.read();
        let mut entries = within(&content.values, range);
        let mut next = || {
            if reverse {
                entries.next_back()
            } else {
                entries.next()
            }
        };
        while let Some((key, value)) = next() {
            if visit(key, value).is_break() {
                return;
            }
        }
    }
}

impl Content {
    fn put(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        let key_bytes = key.len();
        let before = match value {
            Some(value) => {
                self.bytes += cost(&key, &value);
                self.values.insert(key, value)
            }
            None => self.values.remove(&key),
        };
        if let Some(before) = before {
            self.bytes -= ENTRY_OVERHEAD_BYTES + key_bytes + before.len();
        }
    }

    /// Accounts for what is there, which is not more than was reserved.
    fn count(&mut self) {
        let _ = self.memory.resize(self.bytes, None);
        self.memory.trim();
    }
}

fn within<'a>(
    values: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    range: &KeyRange,
) -> impl DoubleEndedIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)> + use<'a> {
    let end = match range.end.as_slice() {
        [] => Bound::Unbounded,
        end => Bound::Excluded(end),
    };
    // A tree panics if the start is after the end.
    let start = match range.is_empty() {
        true => &range.end,
        false => &range.start,
    };
    values.range::<[u8], _>((Bound::Included(start.as_slice()), end))
}

impl fmt::Debug for PrivateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKeys")
            .field("keys", &self.content.read().values.len())
            .finish_non_exhaustive()
    }
}
