//! Keys of metadata: `m`, then named strings and hashes, as TiDB's `structure` package documents them.
//!
//! ```text
//! string   m {name: bytes} {'s': 8}
//! hash     m {name: bytes} {'h': 8} {field: bytes}
//! ```
//!
//! Names and fields are [`memcomparable`](crate::memcomparable) byte strings, the kind an unsigned integer.
//! Not here: the names and values that exist (`cluster::meta`).

use crate::memcomparable::{decode_bytes, decode_u64, encode_bytes, encode_u64, take};
use crate::{Error, Result};

const META: u8 = b'm';
const STRING: u64 = b's' as u64;
const HASH: u64 = b'h' as u64;

/// The key of a named string.
pub fn string_key(name: &[u8]) -> Vec<u8> {
    named(name, STRING)
}

/// The prefix of the keys of a hash's fields.
pub fn hash_prefix(name: &[u8]) -> Vec<u8> {
    named(name, HASH)
}

/// The range of the keys of a hash's fields: its start, and its end, which is not part of it.
pub fn hash_range(name: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let start = hash_prefix(name);
    let end = crate::prefix_next(&start);
    (start, end)
}

/// The key of one field of a hash. Fields sort as their bytes do.
pub fn hash_key(name: &[u8], field: &[u8]) -> Vec<u8> {
    let mut key = named(name, HASH);
    encode_bytes(field, &mut key);
    key
}

fn named(name: &[u8], kind: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 24);
    key.push(META);
    encode_bytes(name, &mut key);
    encode_u64(kind, &mut key);
    key
}

/// The parts of a metadata key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetaKey {
    String { name: Vec<u8> },
    Hash { name: Vec<u8>, field: Vec<u8> },
}

impl MetaKey {
    pub fn parse(key: &[u8]) -> Result<Self> {
        const WHAT: &str = "a metadata key";
        let mut rest = key;
        let [meta] = take(&mut rest, WHAT)?;
        if meta != META {
            return Err(Error::UnknownFlag {
                what: WHAT,
                flag: meta,
            });
        }
        let (mut name, mut field) = (Vec::new(), Vec::new());
        decode_bytes(&mut rest, &mut name)?;
        let parsed = match decode_u64(&mut rest)? {
            STRING => Self::String { name },
            HASH => {
                decode_bytes(&mut rest, &mut field)?;
                Self::Hash { name, field }
            }
            _ => return Err(Error::Malformed { what: WHAT }),
        };
        match rest.len() {
            0 => Ok(parsed),
            bytes => Err(Error::TrailingBytes { what: WHAT, bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_documented() {
        assert_eq!(string_key(b"ab"), b"mab\0\0\0\0\0\0\xf9\0\0\0\0\0\0\0s");
        assert_eq!(
            hash_key(b"a", b"b"),
            b"ma\0\0\0\0\0\0\0\xf8\0\0\0\0\0\0\0hb\0\0\0\0\0\0\0\xf8"
        );
        assert!(hash_key(b"a", b"b").starts_with(&hash_prefix(b"a")));
        assert!(!hash_key(b"ab", b"b").starts_with(&hash_prefix(b"a")));
        let (start, end) = hash_range(b"a");
        for field in [&b""[..], b"b", &[0xff; 20]] {
            let key = hash_key(b"a", field);
            assert!(start <= key && key < end);
        }
    }

    #[test]
    fn keys_are_taken_apart() {
        let key = hash_key(b"DB:1", b"Table:2");
        assert_eq!(
            MetaKey::parse(&key),
            Ok(MetaKey::Hash {
                name: b"DB:1".to_vec(),
                field: b"Table:2".to_vec()
            })
        );
        assert_eq!(
            MetaKey::parse(&string_key(b"x")),
            Ok(MetaKey::String { name: b"x".to_vec() })
        );
        for len in 0..key.len() {
            assert!(MetaKey::parse(&key[..len]).is_err());
        }
    }
}
