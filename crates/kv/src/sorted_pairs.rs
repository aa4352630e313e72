//! Sorted pairs of a bulk load, in memory and in files beside the store.

use std::path::{Path, PathBuf};

/// Pairs, and keys to be removed, in the order of their keys, gathered in memory.
#[derive(Debug, Default)]
pub struct SortedPairs {
    bytes: Vec<u8>,
    /// Where each pair's key begins and where its value begins; a value ends where the next key begins.
    places: Vec<(usize, usize)>,
    /// Positions of the keys that are to be removed. In most loads there are none.
    removed: Vec<usize>,
}

impl SortedPairs {
    /// Appends a key, which is above all others, and its value; `None`: the key is to be removed.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        if value.is_none() {
            self.removed.push(self.places.len());
        }
        self.places.push((at, self.bytes.len()));
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    /// The keys with their values, or `None` for those to be removed.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let ends = self.places.iter().skip(1).map(|(key, _)| *key);
        let ends = ends.chain(std::iter::once(self.bytes.len()));
        let mut removed = self.removed.iter().peekable();
        let places = self.places.iter().zip(ends).enumerate();
        places.filter_map(move |(at, (&(start, middle), end))| {
            let is_removed = removed.next_if_eq(&&at).is_some();
            let value = self.bytes.get(middle..end)?;
            Some((self.bytes.get(start..middle)?, (!is_removed).then_some(value)))
        })
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of memory that it has.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
            + self.places.capacity() * size_of::<(usize, usize)>()
            + self.removed.capacity() * size_of::<usize>()
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
        self.removed.clear();
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
