//! Bytes: how one superseded version lies in memory.
//!
//! | bytes | |
//! |---|---|
//! | 8 | hash of the key |
//! | 8 | place of the next older entry with this hash, `u64::MAX` if there is none |
//! | 8 | when the version was committed, 0 if it is that there was nothing |
//! | 8 | when it was superseded |
//! | 4 | length of the key; the highest bit is set if what superseded it was a deletion |
//! | 4 | length of the value, `u32::MAX` if the version is a deletion or nothing |
//! | | key, value |

use crate::layout::Version;
use kv::Timestamp;

const OLDER_AT: usize = 8;
const COMMITTED_AT: usize = 16;
const SUPERSEDED_AT: usize = 24;
const KEY_BYTES_AT: usize = 32;
const VALUE_BYTES_AT: usize = 36;
const HEADER_BYTES: usize = 40;

const BY_DELETION: u32 = 1 << 31;
const NO_VALUE: u32 = u32::MAX;
const NOWHERE: u64 = u64::MAX;

/// A superseded version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub hash: u64,
    pub older: Option<u64>,
    pub commit_ts: Timestamp,
    pub superseded_ts: Timestamp,
    pub by_deletion: bool,
    pub key: &'a [u8],
    pub value: Option<&'a [u8]>,
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

impl<'a> Entry<'a> {
    /// How many bytes an entry of these has.
    pub fn bytes_of(key: &[u8], value: Option<&[u8]>) -> usize {
        HEADER_BYTES + key.len() + value.map_or(0, <[u8]>::len)
    }

    /// The entry that `bytes` begin with.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let key_bytes = u32::from_le_bytes(word(bytes, KEY_BYTES_AT)?);
        let value_bytes = u32::from_le_bytes(word(bytes, VALUE_BYTES_AT)?);
        let (key, rest) = bytes
            .get(HEADER_BYTES..)?
            .split_at_checked((key_bytes & !BY_DELETION) as usize)?;
        let value = match value_bytes {
            NO_VALUE => None,
            bytes => Some(rest.get(..bytes as usize)?),
        };
        Some(Self {
            hash: u64::from_le_bytes(word(bytes, 0)?),
            older: Some(u64::from_le_bytes(word(bytes, OLDER_AT)?)).filter(|older| *older != NOWHERE),
            commit_ts: u64::from_le_bytes(word(bytes, COMMITTED_AT)?),
            superseded_ts: u64::from_le_bytes(word(bytes, SUPERSEDED_AT)?),
            by_deletion: key_bytes & BY_DELETION != 0,
            key,
            value,
        })
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        Self::bytes_of(self.key, self.value)
    }
}

/// Appends the version of `key` that a commit will supersede, whose timestamp, like the entry's place among others, is
/// not known yet ([`link`]).
pub(crate) fn push(out: &mut Vec<u8>, hash: u64, key: &[u8], before: Version, by_deletion: bool) {
    let key_bytes = key.len() as u32 | if by_deletion { BY_DELETION } else { 0 };
    let value_bytes = before.value.map_or(NO_VALUE, |value| value.len() as u32);
    out.extend_from_slice(&hash.to_le_bytes());
    out.extend_from_slice(&[0; COMMITTED_AT - OLDER_AT]);
    out.extend_from_slice(&before.ts.to_le_bytes());
    out.extend_from_slice(&[0; KEY_BYTES_AT - SUPERSEDED_AT]);
    out.extend_from_slice(&key_bytes.to_le_bytes());
    out.extend_from_slice(&value_bytes.to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(before.value.unwrap_or_default());
}

/// Fills in what [`push`] left open, in the bytes that begin with the entry.
pub(crate) fn link(bytes: &mut [u8], older: Option<u64>, superseded_ts: Timestamp) {
    put(bytes, OLDER_AT, older.unwrap_or(NOWHERE));
    put(bytes, SUPERSEDED_AT, superseded_ts);
}

/// Makes the entry say that nothing was there any more.
pub(crate) fn void(bytes: &mut [u8]) {
    put(bytes, SUPERSEDED_AT, 0);
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(slot) = bytes.get_mut(at..at + size_of::<u64>()) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_round_trip() {
        for value in [None, Some(&b""[..]), Some(b"value")] {
            for by_deletion in [false, true] {
                let before = Version { ts: 7, value };
                let mut bytes = Vec::new();
                push(&mut bytes, 99, b"key", before, by_deletion);
                assert_eq!(bytes.len(), Entry::bytes_of(b"key", value));
                let older = by_deletion.then_some(5);
                link(&mut bytes, older, 8);
                bytes.extend_from_slice(b"what follows");
                let entry = Entry {
                    hash: 99,
                    older,
                    commit_ts: 7,
                    superseded_ts: 8,
                    by_deletion,
                    key: b"key",
                    value,
                };
                assert_eq!(Entry::parse(&bytes), Some(entry));
                void(&mut bytes);
                assert_eq!(Entry::parse(&bytes).unwrap().superseded_ts, 0);
            }
        }
        assert_eq!(Entry::parse(b"too short"), None);
    }
}
