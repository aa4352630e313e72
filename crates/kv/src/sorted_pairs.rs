//! Sorted pairs of a bulk load, in memory and in files beside the store.

use std::path::{Path, PathBuf};

/// Pairs in the order of their keys, gathered in memory.
#[derive(Debug, Default)]
pub struct SortedPairs {
    bytes: Vec<u8>,
    /// Where each pair's key begins and where its value begins; a value ends where the next key begins.
    places: Vec<(usize, usize)>,
}

impl SortedPairs {
    /// Appends a pair, whose key is above all others.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.places.push((at, self.bytes.len()));
        self.bytes.extend_from_slice(value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let ends = self.places.iter().skip(1).map(|(key, _)| *key);
        let ends = ends.chain(std::iter::once(self.bytes.len()));
        self.places.iter().zip(ends).filter_map(|(&(key, value), end)| {
            Some((self.bytes.get(key..value)?, self.bytes.get(value..end)?))
        })
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of memory that it has.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<(usize, usize)>()
    }

    /// How many pairs there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The first key and the last.
    pub(crate) fn ends(&self) -> Option<(&[u8], &[u8])> {
        let key = |&(start, end): &(usize, usize)| self.bytes.get(start..end);
        Some((key(self.places.first()?)?, key(self.places.last()?)?))
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }
}

/// A file that holds sorted pairs and is not part of the store yet. It is removed when this is dropped,
/// unless the store has taken it.
#[derive(Debug)]
pub struct SortedFile {
    path: PathBuf,
}

impl SortedFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SortedFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::debug!(path = %self.path.display(), %error, "a file of a bulk load cannot be removed");
        }
    }
}
