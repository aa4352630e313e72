//! The bytes of one superseded version in memory.
//!
//! | bytes | |
//! |---|---|
//! | 8 | hash of the key |
//! | 8 | position of the next older version whose key has this hash, `u64::MAX` if there is none |
//! | 8 | when the version was committed; 0 if there was no version before the one that superseded it |
//! | 8 | when it was superseded |
//! | 4 | length of the key; the highest bit is set if a deletion superseded it |
//! | 4 | length of the value; `u32::MAX` if the version is a deletion, or there was none |
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
const NONE_OLDER: u64 = u64::MAX;

/// One superseded version, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SupersededVersion<'a> {
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

impl<'a> SupersededVersion<'a> {
    /// The encoded length of such a version.
    pub fn bytes_of(key: &[u8], value: Option<&[u8]>) -> usize {
        HEADER_BYTES + key.len() + value.map_or(0, <[u8]>::len)
    }

    /// Decodes the version at the start of `bytes`.
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
            older: Some(u64::from_le_bytes(word(bytes, OLDER_AT)?)).filter(|older| *older != NONE_OLDER),
            commit_ts: u64::from_le_bytes(word(bytes, COMMITTED_AT)?),
            superseded_ts: u64::from_le_bytes(word(bytes, SUPERSEDED_AT)?),
            by_deletion: key_bytes & BY_DELETION != 0,
            key,
            value,
        })
    }

    /// The encoded length.
    pub fn bytes(&self) -> usize {
        Self::bytes_of(self.key, self.value)
    }
}

/// Appends the version of `key` that a commit is going to supersede. The commit's timestamp and the next
/// older version are filled in later ([`link`]).
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

/// Fills in what [`push`] left open, in the version at the start of `bytes`.
pub(crate) fn link(bytes: &mut [u8], older: Option<u64>, superseded_ts: Timestamp) {
    put(bytes, OLDER_AT, older.unwrap_or(NONE_OLDER));
    put(bytes, SUPERSEDED_AT, superseded_ts);
}

/// Makes the version invisible at every timestamp.
pub(crate) fn void(bytes: &mut [u8]) {
    put(bytes, SUPERSEDED_AT, 0);
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(field) = bytes.get_mut(at..at + size_of::<u64>()) {
        field.copy_from_slice(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_round_trip() {
        for value in [None, Some(&b""[..]), Some(b"value")] {
            for by_deletion in [false, true] {
                let before = Version { ts: 7, value };
                let mut bytes = Vec::new();
                push(&mut bytes, 99, b"key", before, by_deletion);
                assert_eq!(bytes.len(), SupersededVersion::bytes_of(b"key", value));
                let older = by_deletion.then_some(5);
                link(&mut bytes, older, 8);
                bytes.extend_from_slice(b"what follows");
                let version = SupersededVersion {
                    hash: 99,
                    older,
                    commit_ts: 7,
                    superseded_ts: 8,
                    by_deletion,
                    key: b"key",
                    value,
                };
                assert_eq!(SupersededVersion::parse(&bytes), Some(version));
                void(&mut bytes);
                assert_eq!(SupersededVersion::parse(&bytes).unwrap().superseded_ts, 0);
            }
        }
        assert_eq!(SupersededVersion::parse(b"too short"), None);
    }
}
