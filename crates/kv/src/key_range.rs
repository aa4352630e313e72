//! Ranges of keys.

use std::ops::Range;

/// `start <= key < end`; an empty `end` means no bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeyRange {
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

impl KeyRange {
    pub fn new(start: impl Into<Vec<u8>>, end: impl Into<Vec<u8>>) -> Self {
        Self {
            start: start.into(),
            end: end.into(),
        }
    }

    /// Every key there is.
    pub fn all() -> Self {
        Self::default()
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let start = prefix.into();
        Self {
            end: successor_of_prefix(&start),
            start,
        }
    }

    /// Exactly one key.
    pub fn key(key: impl Into<Vec<u8>>) -> Self {
        let start = key.into();
        let mut end = start.clone();
        end.push(0);
        Self { start, end }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && (self.end.is_empty() || key < self.end.as_slice())
    }

    /// True if no key can be inside.
    pub fn is_empty(&self) -> bool {
        !self.end.is_empty() && self.start >= self.end
    }
}

impl From<Range<Vec<u8>>> for KeyRange {
    fn from(range: Range<Vec<u8>>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// The first key after all that begin with `prefix`; empty (no bound) if there is none.
pub fn successor_of_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_where_the_next_one_begins() {
        assert_eq!(KeyRange::prefix("ab"), KeyRange::new("ab", "ac"));
        assert_eq!(KeyRange::prefix([1, 255, 255]), KeyRange::new([1, 255, 255], [2]));
        assert_eq!(KeyRange::prefix([255, 255]), KeyRange::new([255, 255], []));
        assert_eq!(KeyRange::prefix([]), KeyRange::all());
    }

    #[test]
    fn ranges_are_half_open() {
        let range = KeyRange::new("b", "d");
        assert!(range.contains(b"b") && range.contains(b"czz"));
        assert!(!range.contains(b"d") && !range.contains(b"a"));
        assert!(KeyRange::key("b").contains(b"b") && !KeyRange::key("b").contains(b"b\0"));
        assert!(KeyRange::new("d", "d").is_empty() && !KeyRange::new("d", "").is_empty());
    }
}
