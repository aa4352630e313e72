//! The bytes of versions in RocksDB.
//!
//! | column family | key | value | holds |
//! |---|---|---|---|
//! | `latest` | key | commit_ts, flag, bytes | the newest version of every key |
//! | `default` | `format`, `last_commit_ts` | | facts about the whole store |
//!
//! Superseded versions are in memory. Those for which memory has no room are in a RocksDB of their own, which
//! a start removes:
//!
//! | key | value |
//! |---|---|
//! | escaped key, !commit_ts | superseded_ts, flag, bytes |
//!
//! Timestamps are 8 bytes, big-endian. `!commit_ts` is the complement, so that a key's versions are in
//! descending order of their timestamps. The flag is 1 for a value, 0 for a deletion. Those keys are escaped,
//! so that no version of one key can be between two versions of another key of which it is a prefix.
//!
//! A superseded version was the newest from its `commit_ts` until its `superseded_ts`. Both are stored, so
//! that each entry can be interpreted alone: a read can tell that there was no version at its timestamp, and
//! collection can tell garbage from a single entry, in any order.
//!
//! Format 1 had superseded versions in a column family `history`, and a column family `deletions` listed what
//! was to be collected from `latest`. Both are dropped when such a store is opened.

use kv::{Error, Result, Timestamp};

pub const LATEST: &str = "latest";
pub const META: &str = "default";
/// All column families.
pub const FAMILIES: [&str; 2] = [META, LATEST];
/// Column families that only format 1 has.
pub const FAMILIES_OF_1: [&str; 2] = ["history", "deletions"];

/// The version of this layout, under [`FORMAT_KEY`] in `default`.
pub const FORMAT: u8 = 2;
pub const FORMAT_KEY: &[u8] = b"format";
pub const LAST_COMMIT_KEY: &[u8] = b"last_commit_ts";

pub const TS_BYTES: usize = 8;
const FLAG_DELETED: u8 = 0;
const FLAG_VALUE: u8 = 1;

/// Keys are escaped in groups of eight bytes.
const GROUP: usize = 8;

/// A stored version. `ts` is when it was committed, or for a superseded version when it was superseded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version<'a> {
    pub ts: Timestamp,
    /// `None`: a deletion.
    pub value: Option<&'a [u8]>,
}

impl<'a> Version<'a> {
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let Some((ts, rest)) = bytes.split_first_chunk::<TS_BYTES>() else {
            return Err(damaged("a version", bytes));
        };
        let ts = Timestamp::from_be_bytes(*ts);
        match rest.split_first() {
            Some((&FLAG_VALUE, value)) => Ok(Self {
                ts,
                value: Some(value),
            }),
            Some((&FLAG_DELETED, [])) => Ok(Self { ts, value: None }),
            _ => Err(damaged("a version", bytes)),
        }
    }
}

/// Where the value of a version begins that has one.
pub const VALUE_AT: usize = TS_BYTES + 1;

/// Appends a version whose timestamp is filled in later.
pub fn push_unstamped_version(out: &mut Vec<u8>, value: Option<&[u8]>) {
    push_version(out, Version { ts: 0, value });
}

/// Appends a version.
pub fn push_version(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(&version.ts.to_be_bytes());
    match version.value {
        Some(value) => {
            out.push(FLAG_VALUE);
            out.extend_from_slice(value);
        }
        None => out.push(FLAG_DELETED),
    }
}

/// How many bytes [`push_unstamped_version`] appends.
pub fn version_bytes(value: Option<&[u8]>) -> usize {
    TS_BYTES + 1 + value.map_or(0, <[u8]>::len)
}

/// Appends a key so that escaped keys have the keys' order and none is a prefix of another: groups of eight
/// bytes, each followed by a marker. The marker of a full group is 255. The last group, which is never full,
/// is padded with zeros, and its marker is 255 minus their number. TiKV escapes keys the same way.
pub fn push_escaped(out: &mut Vec<u8>, key: &[u8]) {
    let mut groups = key.chunks_exact(GROUP);
    for group in &mut groups {
        out.extend_from_slice(group);
        out.push(u8::MAX);
    }
    let rest = groups.remainder();
    let padding = GROUP - rest.len();
    out.extend_from_slice(rest);
    out.resize(out.len() + padding, 0);
    out.push(u8::MAX - u8::try_from(padding).unwrap_or(0));
}

/// Appends the key of a superseded version of `key` that was committed at `commit_ts`. A seek to the key for
/// any timestamp finds the newest version at or before it.
pub fn push_history_key(out: &mut Vec<u8>, key: &[u8], commit_ts: Timestamp) {
    push_escaped(out, key);
    out.extend_from_slice(&(!commit_ts).to_be_bytes());
}

/// The timestamp at the front of a version.
pub fn leading_ts(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (ts, rest) = bytes.split_first_chunk::<TS_BYTES>()?;
    Some((Timestamp::from_be_bytes(*ts), rest))
}

pub fn damaged(what: &str, bytes: &[u8]) -> Error {
    let shown: String = bytes.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
    Error::Corrupt(format!("{what} of {} bytes cannot be read: {shown}", bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history_key(key: &[u8], ts: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        push_history_key(&mut out, key, ts);
        out
    }

    #[test]
    fn history_orders_by_key_and_then_newest_first() {
        let keys: [&[u8]; 9] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0",
            b"a\0\0\0\0\0\0\0",
            b"a\0\0\0\0\0\0\0\0",
            b"a\x01",
            b"abcdefghi",
        ];
        let mut expected = Vec::new();
        for key in keys {
            for ts in [u64::MAX - 1, 1 << 40, 5, 0] {
                expected.push(history_key(key, ts));
            }
        }
        let mut sorted = expected.clone();
        sorted.sort();
        assert_eq!(sorted, expected);
        for key in keys {
            assert_eq!(
                history_key(key, 7).len(),
                (key.len() / GROUP + 1) * (GROUP + 1) + TS_BYTES
            );
        }
    }

    #[test]
    fn escaped_keys_are_those_of_tikv() {
        let escaped = |key: &[u8]| {
            let mut out = Vec::new();
            push_escaped(&mut out, key);
            out
        };
        assert_eq!(escaped(b""), [0, 0, 0, 0, 0, 0, 0, 0, 247]);
        assert_eq!(escaped(b"\x01\x02\x03"), [1, 2, 3, 0, 0, 0, 0, 0, 250]);
        assert_eq!(
            escaped(b"\x01\x02\x03\x04\x05\x06\x07\x08"),
            [1, 2, 3, 4, 5, 6, 7, 8, 255, 0, 0, 0, 0, 0, 0, 0, 0, 247]
        );
    }

    #[test]
    fn versions_round_trip() {
        for value in [Some(&b"bytes"[..]), Some(&b""[..]), None] {
            let mut bytes = Vec::new();
            push_unstamped_version(&mut bytes, value);
            bytes[..TS_BYTES].copy_from_slice(&77_u64.to_be_bytes());
            assert_eq!(Version::parse(&bytes), Ok(Version { ts: 77, value }));
            assert_eq!(bytes.len(), version_bytes(value));
        }
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [
            &b""[..],
            b"1234567",
            b"12345678",
            b"12345678\x02",
            b"12345678\0trailing",
        ] {
            assert!(
                matches!(Version::parse(bytes), Err(Error::Corrupt(_))),
                "{bytes:?}"
            );
        }
    }
}
