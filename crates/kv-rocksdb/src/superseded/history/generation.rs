//! A generation of the history: versions that were superseded one after the other, found by key, and dropped
//! together.

use super::encoding::{self, SupersededVersion};
use kv::{KeyRange, Timestamp};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Versions are appended to chunks of this size. A larger version has a chunk of its own.
const CHUNK_BYTES: usize = 1 << 20;

/// Where a version is: its chunk, and the offset in it. 0 is the first one's.
pub(super) type Position = u64;

const OFFSET_BITS: u32 = 32;

fn position(chunk: usize, at: usize) -> Position {
    (chunk as u64) << OFFSET_BITS | at as u64
}

fn parts(position: Position) -> (usize, usize) {
    (
        (position >> OFFSET_BITS) as usize,
        (position & u64::from(u32::MAX)) as usize,
    )
}

/// The table's keys are hashes already.
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
    /// The chunk that is appended to. Those after it are empty.
    current: usize,
    /// The newest version of each hash.
    table: HashMap<u64, Position, BuildHasherDefault<Hashed>>,
    deletions: Vec<Position>,
    bytes: usize,
    count: usize,
    oldest_ts: Timestamp,
    newest_ts: Timestamp,
}

impl Generation {
    /// For about `count` versions, in the memory of a generation that has been dropped.
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

    /// When the first of its versions was superseded.
    pub fn oldest_ts(&self) -> Timestamp {
        self.oldest_ts
    }

    /// When the last of its versions was superseded.
    pub fn newest_ts(&self) -> Timestamp {
        self.newest_ts
    }

    /// How many of its versions a deletion superseded.
    pub fn deletion_count(&self) -> usize {
        self.deletions.len()
    }

    /// The versions that a deletion superseded.
    pub fn superseded_by_deletion(&self) -> impl Iterator<Item = SupersededVersion<'_>> {
        self.deletions.iter().filter_map(|position| self.at(*position))
    }

    /// Adds the versions encoded in `bytes`, superseded at `superseded_ts`, which never decreases.
    pub fn add(&mut self, mut bytes: &[u8], superseded_ts: Timestamp) {
        while let Some(version) = SupersededVersion::parse(bytes) {
            let (these, rest) = bytes.split_at(version.bytes());
            bytes = rest;
            let index = self.chunk_with_room(these.len());
            let chunk = &mut self.chunks[index];
            let at = chunk.len();
            chunk.extend_from_slice(these);
            let position = position(index, at);
            let older = self.table.insert(version.hash, position);
            encoding::link(&mut chunk[at..], older, superseded_ts);
            if version.by_deletion {
                self.deletions.push(position);
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

    fn at(&self, position: Position) -> Option<SupersededVersion<'_>> {
        let (chunk, at) = parts(position);
        SupersededVersion::parse(self.chunks.get(chunk)?.get(at..)?)
    }

    /// The version of `key` that was there at `ts`, if it is here.
    pub fn find(&self, hash: u64, key: &[u8], ts: Timestamp) -> Option<SupersededVersion<'_>> {
        let mut position = *self.table.get(&hash)?;
        loop {
            let version = self.at(position)?;
            // 0 ("there was no version") is not reliable: a commit that read a page of the row cache, which
            // may leave deletions out, takes a deleted key for one that never was. An older version, if there
            // is one, says what a reader sees.
            let was_there = version.commit_ts != 0 && version.commit_ts <= ts && ts < version.superseded_ts;
            if was_there && version.key == key {
                return Some(version);
            }
            position = version.older?;
        }
    }

    /// Visits versions in the order in which they were added: at most `count`, and no more once those visited
    /// have `bytes`. Returns the position after the last of them.
    pub fn visit(
        &self,
        from: Position,
        count: usize,
        bytes: usize,
        mut visit: impl FnMut(SupersededVersion<'_>),
    ) -> Position {
        let mut next = from;
        let mut visited_bytes = 0;
        for _ in 0..count {
            if visited_bytes >= bytes {
                break;
            }
            let Some(version) = self.at(next) else {
                let (chunk, _) = parts(next);
                if chunk >= self.current {
                    break;
                }
                next = position(chunk + 1, 0);
                continue;
            };
            next += version.bytes() as u64;
            visited_bytes += version.bytes();
            visit(version);
        }
        next
    }

    /// Makes all versions of a range's keys invisible.
    pub fn destroy(&mut self, range: &KeyRange) {
        for chunk in &mut self.chunks {
            let mut at = 0;
            while let Some(version) = chunk.get(at..).and_then(SupersededVersion::parse) {
                let (bytes, is_gone) = (version.bytes(), range.contains(version.key));
                if is_gone {
                    encoding::void(&mut chunk[at..]);
                }
                at += bytes;
            }
        }
    }

    /// Its memory, to be used again for about `bytes`.
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
