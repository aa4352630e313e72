//! An ordered map that is a sorted vector while it is small, or its keys come in order. Most transactions have a handful
//! of keys, for which a tree's nodes are large and scattered. A transaction with many keys in no order gets a tree.

use std::borrow::Borrow;
use std::collections::{BTreeMap, btree_map};
use std::ops::{Bound, RangeBounds};
use std::slice;

/// With more entries than this it becomes a tree when one is inserted before others, or removed.
const FEW: usize = 32;
/// The capacity of a new vector.
const CAPACITY: usize = 8;

#[derive(Debug, Clone)]
pub(crate) enum SmallMap<K, V> {
    /// In the keys' order.
    Few(Vec<(K, V)>),
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    pub fn len(&self) -> usize {
        match self {
            Self::Few(entries) => entries.len(),
            Self::Many(map) => map.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Few(entries) => Some(&entries.get(find(entries, key).ok()?)?.1),
            // Many keys come in order, and are looked up before they are inserted.
            Self::Many(map) if map.last_key_value().is_none_or(|(last, _)| last.borrow() < key) => None,
            Self::Many(map) => map.get(key),
        }
    }

    /// Returns the key's previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.insert_with(key, |_| value)
    }

    /// [`SmallMap::insert`] of a value that depends on the key's previous value.
    pub fn insert_with(&mut self, key: K, value: impl FnOnce(Option<&V>) -> V) -> Option<V> {
        match self {
            Self::Few(entries) => match find(entries, &key) {
                Ok(at) => {
                    let before = &mut entries[at].1;
                    let value = value(Some(before));
                    Some(std::mem::replace(before, value))
                }
                Err(at) => {
                    let value = value(None);
                    if entries.is_empty() {
                        entries.reserve(CAPACITY);
                    }
                    if at == entries.len() || entries.len() < FEW {
                        entries.insert(at, (key, value));
                    } else {
                        let mut tree = tree_of(entries);
                        tree.insert(key, value);
                        *self = Self::Many(tree);
                    }
                    None
                }
            },
            Self::Many(map) => match map.entry(key) {
                btree_map::Entry::Occupied(mut entry) => {
                    let value = value(Some(entry.get()));
                    Some(entry.insert(value))
                }
                btree_map::Entry::Vacant(entry) => {
                    entry.insert(value(None));
                    None
                }
            },
        }
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Few(entries) => {
                let at = find(entries, key).ok()?;
                if at + FEW >= entries.len() {
                    return Some(entries.remove(at));
                }
                // All behind it would be moved.
                let mut tree = tree_of(entries);
                let removed = tree.remove_entry(key);
                *self = Self::Many(tree);
                removed
            }
            Self::Many(map) => map.remove_entry(key),
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        match self {
            Self::Few(entries) => Iter::Few(entries.iter()),
            Self::Many(map) => Iter::Many(map.iter()),
        }
    }

    /// The entries within a range, in order. None if it ends before it starts.
    pub fn range<'a, Q: Ord + ?Sized>(&'a self, start: &Q, end: Bound<&Q>) -> Range<'a, K, V>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Few(entries) => {
                let from = entries.partition_point(|(key, _)| key.borrow() < start);
                let to = entries.partition_point(|(key, _)| (Bound::Unbounded, end).contains(key.borrow()));
                Range::Few(entries.get(from..to).unwrap_or_default().iter())
            }
            // A tree panics if the start is after the end.
            Self::Many(_) if matches!(end, Bound::Excluded(end) | Bound::Included(end) if start >= end) => {
                Range::Few([].iter())
            }
            Self::Many(map) => Range::Many(map.range::<Q, _>((Bound::Included(start), end))),
        }
    }
}

fn tree_of<K: Ord, V>(entries: &mut Vec<(K, V)>) -> BTreeMap<K, V> {
    std::mem::take(entries).into_iter().collect()
}

/// The position of a key, or where it would be inserted. Fast for keys that are inserted in order.
fn find<K: Borrow<Q>, V, Q: Ord + ?Sized>(entries: &[(K, V)], key: &Q) -> Result<usize, usize> {
    match entries.last() {
        None => Err(0),
        Some((last, _)) if last.borrow() < key => Err(entries.len()),
        Some(_) => entries.binary_search_by(|(other, _)| other.borrow().cmp(key)),
    }
}

/// Iterates in order over either form of the map.
pub(crate) enum Entries<'a, K, V, M> {
    Few(slice::Iter<'a, (K, V)>),
    Many(M),
}

pub(crate) type Iter<'a, K, V> = Entries<'a, K, V, btree_map::Iter<'a, K, V>>;
pub(crate) type Range<'a, K, V> = Entries<'a, K, V, btree_map::Range<'a, K, V>>;

fn pair<K, V>(entry: &(K, V)) -> (&K, &V) {
    (&entry.0, &entry.1)
}

impl<'a, K, V, M: Iterator<Item = (&'a K, &'a V)>> Iterator for Entries<'a, K, V, M> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(entries) => entries.next().map(pair),
            Self::Many(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Few(entries) => entries.size_hint(),
            Self::Many(entries) => entries.size_hint(),
        }
    }
}

impl<'a, K, V, M: DoubleEndedIterator<Item = (&'a K, &'a V)>> DoubleEndedIterator for Entries<'a, K, V, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(entries) => entries.next_back().map(pair),
            Self::Many(entries) => entries.next_back(),
        }
    }
}

impl<'a, K, V, M: ExactSizeIterator<Item = (&'a K, &'a V)>> ExactSizeIterator for Entries<'a, K, V, M> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small and large maps against a tree, with keys in order, in reverse order, and in no order.
    #[test]
    fn it_does_what_a_tree_does() {
        for count in [0, 1, 5, FEW as u32, FEW as u32 + 1, 200] {
            for step in [1, 7, 199] {
                let (mut map, mut tree) = (SmallMap::default(), BTreeMap::new());
                let keys = || (0..count).map(|n| n * step % 211);
                for key in keys().chain([3, 100]) {
                    assert_eq!(map.insert(key, key + 1), tree.insert(key, key + 1));
                }
                for key in [3, 5, 210] {
                    assert_eq!(map.insert(key, 0), tree.insert(key, 0));
                }
                // The last ones of many, and some in the middle.
                for key in [209, 210, 208, 100, 150, 4] {
                    assert_eq!(map.remove(&key), tree.remove_entry(&key));
                    assert_eq!(map.get(&key), None);
                }
                assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
                assert_eq!(map.iter().len(), tree.len());
                assert!(map.iter().eq(tree.iter()) && map.iter().rev().eq(tree.iter().rev()));
                for (start, end) in [(0, 300), (3, 5), (4, 150), (150, 4), (7, 7)] {
                    let of_tree = || tree.iter().filter(|(key, _)| (start..end).contains(*key));
                    let range = || map.range(&start, Bound::Excluded(&end));
                    assert!(range().eq(of_tree()) && range().rev().eq(of_tree().rev()));
                    let all = map.range(&start, Bound::Unbounded);
                    assert!(all.eq(tree.range(start..)));
                }
                map.clear();
                assert!(map.is_empty() && map.get(&3).is_none());
            }
        }
    }
}
