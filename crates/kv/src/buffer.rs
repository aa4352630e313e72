//! The write buffer of a transaction: its uncommitted writes. All engines share it.
//!
//! Nested savepoints undo writes: while one is open, each write logs what it replaced. Reading through the
//! buffer to what lies below it: `merge`.

use std::ops::Bound;

use crate::reader::KeyRange;
use crate::small_map::{Range, SmallMap};

/// One key's write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// `None`: a deletion.
    pub value: Option<Vec<u8>>,
    /// See [`crate::Transaction::put_guarded`].
    pub is_guarded: bool,
    /// See [`crate::Transaction::put_fresh`].
    pub is_fresh: bool,
}

impl Write {
    pub fn put(value: Vec<u8>) -> Self {
        Self {
            value: Some(value),
            is_guarded: false,
            is_fresh: false,
        }
    }

    pub fn delete() -> Self {
        Self {
            value: None,
            is_guarded: false,
            is_fresh: false,
        }
    }

    pub fn guarded(self) -> Self {
        Self {
            is_guarded: true,
            ..self
        }
    }

    pub fn fresh(self) -> Self {
        Self {
            is_fresh: true,
            ..self
        }
    }

    fn value_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Vec::len)
    }
}

/// Memory of an entry beyond its bytes: the map's entry and two vectors.
const ENTRY_OVERHEAD_BYTES: usize = 64;

/// A state of the buffer to return to. The handle is valid until it is released, or until an earlier
/// savepoint is rolled back to or released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    depth: usize,
    id: u64,
}

#[derive(Debug, Clone)]
struct SavepointMark {
    id: u64,
    undo_len: usize,
}

#[derive(Debug, Clone)]
struct Undo {
    key: Vec<u8>,
    /// What the write replaced; the outer `None`: the buffer had nothing for the key.
    before: Option<Write>,
}

/// Ordered writes, with undo.
#[derive(Debug, Clone, Default)]
pub struct WriteBuffer {
    writes: SmallMap<Vec<u8>, Write>,
    undo: Vec<Undo>,
    marks: Vec<SavepointMark>,
    next_id: u64,
    bytes: usize,
    undo_bytes: usize,
}

fn cost(key: &[u8], write: &Write) -> usize {
    ENTRY_OVERHEAD_BYTES + key.len() + write.value_bytes()
}

impl WriteBuffer {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Number of keys written.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Memory that the writes take, including overwritten ones that savepoints need.
    pub fn size_bytes(&self) -> usize {
        self.bytes + self.undo_bytes
    }

    /// The outer `None`: never written here. The inner one: deleted here.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes.get(key).map(|write| write.value.as_deref())
    }

    /// All writes in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], Option<&[u8]>)> + ExactSizeIterator {
        self.writes
            .iter()
            .map(|(key, write)| (key.as_slice(), write.value.as_deref()))
    }

    /// All writes in key order, with their flags.
    pub fn writes(&self) -> impl ExactSizeIterator<Item = (&[u8], &Write)> {
        self.writes.iter().map(|(key, write)| (key.as_slice(), write))
    }

    /// The keys that have to be locked before the commit, in order: those that no other key's lock guards.
    pub fn unguarded(&self) -> impl Iterator<Item = &[u8]> {
        let writes = self.writes.iter().filter(|(_, write)| !write.is_guarded);
        writes.map(|(key, _)| key.as_slice())
    }

    /// The writes within a range, in key order.
    pub(crate) fn range(&self, range: &KeyRange) -> Range<'_, Vec<u8>, Write> {
        let end = match range.end.as_slice() {
            [] => Bound::Unbounded,
            end => Bound::Excluded(end),
        };
        self.writes.range(range.start.as_slice(), end)
    }

    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.write(key, Write::put(value));
    }

    pub fn delete(&mut self, key: Vec<u8>) {
        self.write(key, Write::delete());
    }

    /// A key that the buffer has a write of is not fresh: even if that is a deletion, the key may have a
    /// value below the buffer.
    pub fn write(&mut self, key: Vec<u8>, write: Write) {
        let logged_key = (!self.marks.is_empty()).then(|| key.clone());
        self.bytes += cost(&key, &write);
        let key_bytes = key.len();
        let before = self.writes.insert_with(key, |before| Write {
            is_fresh: write.is_fresh && before.is_none(),
            ..write
        });
        if let Some(before) = &before {
            self.bytes -= ENTRY_OVERHEAD_BYTES + key_bytes + before.value_bytes();
        }
        if let Some(key) = logged_key {
            self.log(Undo { key, before });
        }
    }

    /// Removes the key from the buffer, as if it had never been written.
    pub fn forget(&mut self, key: &[u8]) {
        if let Some((key, before)) = self.writes.remove(key) {
            self.bytes -= cost(&key, &before);
            if !self.marks.is_empty() {
                self.log(Undo {
                    key,
                    before: Some(before),
                });
            }
        }
    }

    /// Removes all writes of a range permanently: savepoints do not bring them back.
    pub(crate) fn take_range(&mut self, range: &KeyRange) -> Vec<(Vec<u8>, Write)> {
        let keys: Vec<Vec<u8>> = self.range(range).map(|(key, _)| key.clone()).collect();
        let mut taken = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some((key, write)) = self.writes.remove(&key) {
                self.bytes -= cost(&key, &write);
                taken.push((key, write));
            }
        }
        let is_taken = |undo: &Undo| range.contains(&undo.key);
        for mark in &mut self.marks {
            mark.undo_len -= self.undo[..mark.undo_len]
                .iter()
                .filter(|undo| is_taken(undo))
                .count();
        }
        self.undo.retain(|undo| !is_taken(undo));
        self.undo_bytes = self.undo.iter().map(Self::undo_cost).sum();
        taken
    }

    fn log(&mut self, undo: Undo) {
        self.undo_bytes += Self::undo_cost(&undo);
        self.undo.push(undo);
    }

    fn undo_cost(undo: &Undo) -> usize {
        ENTRY_OVERHEAD_BYTES + undo.key.len() + undo.before.as_ref().map_or(0, Write::value_bytes)
    }

    pub fn savepoint(&mut self) -> Savepoint {
        self.next_id += 1;
        let depth = self.marks.len();
        self.marks.push(SavepointMark {
            id: self.next_id,
            undo_len: self.undo.len(),
        });
        Savepoint {
            depth,
            id: self.next_id,
        }
    }

    /// Undoes every write since the savepoint, which stays open; later ones are gone. False if it is not
    /// open.
    #[must_use]
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> bool {
        let Some(undo_len) = self.find(savepoint) else {
            return false;
        };
        self.marks.truncate(savepoint.depth + 1);
        while self.undo.len() > undo_len {
            let Some(undo) = self.undo.pop() else { break };
            self.undo_bytes -= Self::undo_cost(&undo);
            self.restore(undo);
        }
        true
    }

    /// Forgets the savepoint and those set after it, keeping the writes. False if it is not open.
    #[must_use]
    pub fn release(&mut self, savepoint: Savepoint) -> bool {
        if self.find(savepoint).is_none() {
            return false;
        }
        self.marks.truncate(savepoint.depth);
        if self.marks.is_empty() {
            self.undo.clear();
            self.undo_bytes = 0;
        }
        true
    }

    fn find(&self, savepoint: Savepoint) -> Option<usize> {
        self.marks
            .get(savepoint.depth)
            .filter(|mark| mark.id == savepoint.id)
            .map(|mark| mark.undo_len)
    }

    fn restore(&mut self, undo: Undo) {
        let key_len = undo.key.len();
        let replaced = match undo.before {
            Some(write) => {
                self.bytes += cost(&undo.key, &write);
                self.writes.insert(undo.key, write)
            }
            None => self.writes.remove(&undo.key).map(|(_, write)| write),
        };
        if let Some(write) = replaced {
            self.bytes -= ENTRY_OVERHEAD_BYTES + key_len + write.value_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(buffer: &WriteBuffer) -> Vec<(String, Option<String>)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        buffer.iter().map(|(k, w)| (text(k), w.map(text))).collect()
    }

    #[test]
    fn savepoints_nest() {
        let mut buffer = WriteBuffer::new();
        buffer.put(b"a".to_vec(), b"1".to_vec());
        let outer = buffer.savepoint();
        buffer.put(b"a".to_vec(), b"2".to_vec());
        buffer.put(b"b".to_vec(), b"2".to_vec());
        let inner = buffer.savepoint();
        buffer.delete(b"a".to_vec());
        buffer.put(b"c".to_vec(), b"3".to_vec());
        assert!(buffer.rollback_to(inner));
        assert_eq!(
            contents(&buffer),
            [("a".into(), Some("2".into())), ("b".into(), Some("2".into()))]
        );
        buffer.delete(b"b".to_vec());
        assert!(buffer.rollback_to(inner), "a savepoint survives its own rollback");
        assert_eq!(buffer.get(b"b"), Some(Some(&b"2"[..])));
        assert!(buffer.rollback_to(outer));
        assert_eq!(contents(&buffer), [("a".into(), Some("1".into()))]);
        assert!(
            !buffer.rollback_to(inner),
            "gone with the rollback of an outer one"
        );
        assert!(buffer.release(outer));
        assert!(!buffer.release(outer));
        assert_eq!(buffer.undo.len(), 0);
    }

    #[test]
    fn a_released_inner_savepoint_is_still_undone_by_the_outer_one() {
        let mut buffer = WriteBuffer::new();
        let outer = buffer.savepoint();
        let inner = buffer.savepoint();
        buffer.put(b"a".to_vec(), b"1".to_vec());
        assert!(buffer.release(inner));
        assert!(buffer.rollback_to(outer));
        assert!(buffer.is_empty());
    }

    #[test]
    fn bytes_follow_the_contents() {
        let mut buffer = WriteBuffer::new();
        assert_eq!(buffer.size_bytes(), 0);
        buffer.put(b"key".to_vec(), vec![0; 100]);
        let one = buffer.size_bytes();
        buffer.put(b"key".to_vec(), vec![0; 300]);
        assert_eq!(buffer.size_bytes(), one + 200);
        let savepoint = buffer.savepoint();
        buffer.put(b"key".to_vec(), vec![0; 10]);
        assert!(buffer.size_bytes() > one + 200, "the undo log counts");
        buffer.delete(b"other".to_vec());
        buffer.forget(b"key");
        assert!(buffer.rollback_to(savepoint));
        assert_eq!(buffer.size_bytes(), one + 200);
        buffer.forget(b"key");
        assert!(buffer.release(savepoint));
        assert_eq!(buffer.size_bytes(), 0);
    }

    #[test]
    fn the_last_write_says_whether_a_key_is_guarded() {
        let mut buffer = WriteBuffer::new();
        let guarded = |value: &[u8]| Write::put(value.to_vec()).guarded();
        buffer.put(b"row".to_vec(), b"1".to_vec());
        buffer.write(b"entry".to_vec(), guarded(b"1"));
        assert_eq!(buffer.unguarded().collect::<Vec<_>>(), [b"row"]);
        let savepoint = buffer.savepoint();
        buffer.put(b"entry".to_vec(), b"2".to_vec());
        assert_eq!(buffer.unguarded().count(), 2);
        assert!(buffer.rollback_to(savepoint));
        assert_eq!(buffer.unguarded().collect::<Vec<_>>(), [b"row"]);
        assert_eq!(buffer.get(b"entry"), Some(Some(&b"1"[..])));
    }

    #[test]
    fn a_key_that_was_written_before_is_not_fresh() {
        let mut buffer = WriteBuffer::new();
        buffer.delete(b"deleted".to_vec());
        for key in [b"deleted".to_vec(), b"new".to_vec()] {
            buffer.write(key, Write::put(b"value".to_vec()).fresh());
        }
        let fresh = buffer.writes().map(|(_, write)| write.is_fresh);
        assert_eq!(fresh.collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_is_taken_does_not_come_back() {
        let mut buffer = WriteBuffer::new();
        buffer.put(b"a1".to_vec(), b"1".to_vec());
        let outer = buffer.savepoint();
        buffer.put(b"a2".to_vec(), b"2".to_vec());
        buffer.put(b"b".to_vec(), b"1".to_vec());
        let inner = buffer.savepoint();
        buffer.put(b"a1".to_vec(), b"3".to_vec());
        buffer.put(b"b".to_vec(), b"2".to_vec());
        let taken = buffer.take_range(&KeyRange::prefix("a"));
        assert_eq!(taken.len(), 2);
        assert!(buffer.rollback_to(inner));
        assert_eq!(contents(&buffer), [("b".into(), Some("1".into()))]);
        assert!(buffer.rollback_to(outer));
        assert!(buffer.is_empty());
        assert!(buffer.release(outer));
        assert_eq!(buffer.size_bytes(), 0);
    }

    #[test]
    fn ranges_are_safe_with_reversed_bounds() {
        let mut buffer = WriteBuffer::new();
        buffer.put(Vec::new(), b"empty key".to_vec());
        buffer.put(b"m".to_vec(), b"1".to_vec());
        assert_eq!(buffer.range(&KeyRange::new("z", "a")).count(), 0);
        assert_eq!(buffer.range(&KeyRange::new("a", "z")).count(), 1);
        assert_eq!(buffer.range(&KeyRange::all()).count(), 2);
    }
}
