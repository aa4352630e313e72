//! Versions that were superseded one after the other, which are found by key, and go together.

use super::entry::{self, Entry};
use kv::{KeyRange, Timestamp};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Entries are put into chunks of that size, larger ones into one of their own.
const CHUNK_BYTES: usize = 1 << 20;

/// Where an entry is: its chunk, and where in that it begins. 0 is the first one's.
pub(super) type Place = u64;

const OFFSET_BITS: u32 = 32;

fn place(chunk: usize, at: usize) -> Place {
    (chunk as u64) << OFFSET_BITS | at as u64
}

fn parts(place: Place) -> (usize, usize) {
    (
        (place >> OFFSET_BITS) as usize,
        (place & u64::from(u32::MAX)) as usize,
    )
}

/// The keys of the table are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// See the module. Entries of one hash are a list, newest first.
#[derive(Default)]
pub(super) struct Generation {
    chunks: Vec<Vec<u8>>,
    /// The chunk to go on with. Those behind it are empty.
    current: usize,
    /// The newest entry of each hash.
    table: HashMap<u64, Place, BuildHasherDefault<Hashed>>,
    deletions: Vec<Place>,
    bytes: usize,
    count: usize,
    oldest_ts: Timestamp,
    newest_ts: Timestamp,
}

impl Generation {
    /// For about `count` entries, in memory that another one has left.
    pub fn new(chunks: Vec<Vec<u8>>, count: usize) -> Self {
        Self {
            chunks,
            table: HashMap::with_capacity_and_hasher(count, BuildHasherDefault::default()),
            ..Self::default()
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// When the first of them was superseded.
    pub fn oldest_ts(&self) -> Timestamp {
        self.oldest_ts
    }

    /// When the last of them was superseded.
    pub fn newest_ts(&self) -> Timestamp {
        self.newest_ts
    }

    /// How many were superseded by a deletion.
    pub fn deletion_count(&self) -> usize {
        self.deletions.len()
    }

    /// Those that were.
    pub fn deletions(&self) -> impl Iterator<Item = Entry<'_>> {
        self.deletions.iter().filter_map(|place| self.at(*place))
    }

    /// Adds the entries that `bytes` are, superseded at `superseded_ts`, which is no less than before.
    pub fn add(&mut self, mut bytes: &[u8], superseded_ts: Timestamp) {
        while let Some(entry) = Entry::parse(bytes) {
            let (these, rest) = bytes.split_at(entry.bytes());
            bytes = rest;
            let index = self.chunk_with_room(these.len());
            let chunk = &mut self.chunks[index];
            let at = chunk.len();
            chunk.extend_from_slice(these);
            let place = place(index, at);
            let older = self.table.insert(entry.hash, place);
            entry::link(&mut chunk[at..], older, superseded_ts);
            if entry.by_deletion {
                self.deletions.push(place);
            }
            if self.count == 0 {
                self.oldest_ts = superseded_ts;
            }
            self.newest_ts = superseded_ts;
            self.bytes += these.len();
            self.count += 1;
        }
    }

    fn chunk_with_room(&mut self, bytes: usize) -> usize {
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes;
        let found = (self.current..self.chunks.len()).find(|index| has_room(&self.chunks[*index]));
        self.current = found.unwrap_or_else(|| {
            self.chunks.push(Vec::with_capacity(bytes.max(CHUNK_BYTES)));
            self.chunks.len() - 1
        });
        self.current
    }

    fn at(&self, place: Place) -> Option<Entry<'_>> {
        let (chunk, at) = parts(place);
        Entry::parse(self.chunks.get(chunk)?.get(at..)?)
    }

    /// The version of `key` that was there at `ts`, if it is here.
    pub fn find(&self, hash: u64, key: &[u8], ts: Timestamp) -> Option<Entry<'_>> {
        let mut place = *self.table.get(&hash)?;
        loop {
            let entry = self.at(place)?;
            // That there was nothing, 0, may be all that who superseded it knew: memory leaves deletions out.
            let was_there = entry.commit_ts != 0 && entry.commit_ts <= ts && ts < entry.superseded_ts;
            if was_there && entry.key == key {
                return Some(entry);
            }
            place = entry.older?;
        }
    }

    /// Shows `count` entries in the order in which they were added, or as many as have `bytes`, and returns where the next
    /// one is.
    pub fn visit(&self, from: Place, count: usize, bytes: usize, mut visit: impl FnMut(Entry<'_>)) -> Place {
        let mut next = from;
        let mut shown_bytes = 0;
        for _ in 0..count {
            if shown_bytes >= bytes {
                break;
            }
            let Some(entry) = self.at(next) else {
                let (chunk, _) = parts(next);
                if chunk >= self.current {
                    break;
                }
                next = place(chunk + 1, 0);
                continue;
            };
            next += entry.bytes() as u64;
            shown_bytes += entry.bytes();
            visit(entry);
        }
        next
    }

    /// Makes it so that no key of the range was ever there.
    pub fn destroy(&mut self, range: &KeyRange) {
        for chunk in &mut self.chunks {
            let mut at = 0;
            while let Some(entry) = chunk.get(at..).and_then(Entry::parse) {
                let (bytes, is_gone) = (entry.bytes(), range.contains(entry.key));
                if is_gone {
                    entry::void(&mut chunk[at..]);
                }
                at += bytes;
            }
        }
    }

    /// Its memory, to be used again for `bytes`.
    pub fn into_chunks(self, bytes: usize) -> Vec<Vec<u8>> {
        let mut chunks = self.chunks;
        chunks.truncate(bytes / CHUNK_BYTES + 1);
        chunks.retain_mut(|chunk| {
            chunk.clear();
            chunk.capacity() == CHUNK_BYTES
        });
        chunks
    }
}
