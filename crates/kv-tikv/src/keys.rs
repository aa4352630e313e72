//! Key encodings of the cluster: PD uses memory-comparable encoded keys, and a keyspace adds a prefix.
//!
//! With a keyspace (`tikv://PD/NAME`, on a cluster of API version 2), every key gets the public prefix: `x`
//! and the three bytes of the keyspace's id. Without one, keys are stored unchanged and the whole cluster
//! is ours (API version 1). We add no prefix of our own, so that the stores recognise the tables' layout
//! and can compute on it.

use crate::proto::kvrpcpb::API_V2;
use crate::proto::metapb;
use bytes::Bytes;
use kv::{Error, KeyRange, Result};

const GROUP: usize = 8;
const MARKER: u8 = 0xFF;

/// Memory-comparable encoding: groups of eight bytes, each followed by a byte that says how full the group
/// is. Encoded keys compare byte-wise as the keys do, and no encoded key is a prefix of another.
pub fn encode(key: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity((key.len() / GROUP + 1) * (GROUP + 1));
    let mut rest = key;
    loop {
        let (group, tail) = rest.split_at(rest.len().min(GROUP));
        let padding = GROUP - group.len();
        encoded.extend_from_slice(group);
        encoded.resize(encoded.len() + padding, 0);
        encoded.push(MARKER - u8::try_from(padding).unwrap_or(MARKER));
        if padding > 0 {
            return encoded;
        }
        rest = tail;
    }
}

/// The reverse of [`encode`]; `None` if the bytes are not an encoded key.
pub fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    loop {
        let (group, tail) = rest.split_at_checked(GROUP)?;
        let (marker, tail) = tail.split_first()?;
        let padding = usize::from(MARKER - marker);
        let (data, zeros) = group.split_at_checked(GROUP.checked_sub(padding)?)?;
        key.extend_from_slice(data);
        if padding > 0 {
            return (tail.is_empty() && zeros.iter().all(|byte| *byte == 0)).then_some(key);
        }
        rest = tail;
    }
}

/// Decodes a region's bounds in place. An empty bound stays empty.
pub fn decode_bounds(region: &mut metapb::Region) -> Result<()> {
    for bound in [&mut region.start_key, &mut region.end_key] {
        if !bound.is_empty() {
            let key = decode(bound).ok_or_else(|| {
                Error::Unavailable(format!("region {} has a bound that is not a key", region.id))
            })?;
            *bound = Bytes::from(key);
        }
    }
    Ok(())
}

/// The reverse of [`decode_bounds`].
pub fn encode_bounds(region: &mut metapb::Region) {
    for bound in [&mut region.start_key, &mut region.end_key] {
        if !bound.is_empty() {
            *bound = Bytes::from(encode(bound));
        }
    }
}

/// The part of the cluster's keys that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyspace {
    prefix: Vec<u8>,
    /// Above every key of ours.
    end: Vec<u8>,
    /// The keys that share our safe point: those of all keyspaces.
    pub collected: KeyRange,
    pub id: u32,
    /// For the context of requests.
    pub api_version: i32,
}

impl Keyspace {
    /// The whole cluster, without a keyspace.
    pub fn whole(longest_key: usize) -> Self {
        let end = vec![0xFF; longest_key + 1];
        Self {
            prefix: Vec::new(),
            collected: KeyRange::new(Vec::new(), end.clone()),
            end,
            id: 0,
            api_version: 0,
        }
    }

    /// The transactional part of one keyspace.
    pub fn with_id(id: u32) -> Self {
        let [_, a, b, c] = id.to_be_bytes();
        let prefix = vec![b'x', a, b, c];
        Self {
            end: kv::successor_of_prefix(&prefix),
            prefix,
            collected: KeyRange::new([b'x'], [b'y']),
            id,
            api_version: API_V2,
        }
    }

    /// The keys of this keyspace that begin with `prefix`.
    pub fn within(mut self, prefix: &[u8]) -> Self {
        if !prefix.is_empty() {
            self.prefix.extend_from_slice(prefix);
            self.end = kv::successor_of_prefix(&self.prefix);
        }
        self
    }

    /// Whether one of `others` uses the same keys. Each is a keyspace's id, or `None` for a server without
    /// a keyspace.
    pub fn is_shared_with(&self, others: &[Option<u32>]) -> bool {
        let own = (self.api_version == API_V2).then_some(self.id);
        others.contains(&own)
    }

    pub fn key(&self, key: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.prefix.len() + key.len());
        whole.extend_from_slice(&self.prefix);
        whole.extend_from_slice(key);
        whole
    }

    /// The range of all our keys.
    pub fn all(&self) -> KeyRange {
        KeyRange::new(self.prefix.clone(), self.end.clone())
    }

    /// A range with both bounds, the upper one never empty.
    pub fn range(&self, range: &KeyRange) -> KeyRange {
        KeyRange {
            start: self.key(&range.start),
            end: if range.end.is_empty() {
                self.end.clone()
            } else {
                self.key(&range.end)
            },
        }
    }

    /// The reverse of [`Keyspace::range`] for a part of what that returned.
    pub fn own_part(&self, range: KeyRange) -> KeyRange {
        let plain = |key: Vec<u8>| self.strip(&key).map(<[u8]>::to_vec).unwrap_or_default();
        KeyRange {
            start: plain(range.start),
            // A bound without the prefix is the end of the keyspace.
            end: plain(range.end),
        }
    }

    /// The key without its prefix; `None` if it is not one of ours.
    pub fn strip<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        key.strip_prefix(self.prefix.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_keys_keep_their_order_and_come_back() {
        assert_eq!(encode(b""), [0, 0, 0, 0, 0, 0, 0, 0, 0xF7]);
        assert_eq!(encode(b"abc"), [b'a', b'b', b'c', 0, 0, 0, 0, 0, 0xFA]);
        let keys: Vec<Vec<u8>> = (0..20)
            .map(|len| vec![0; len])
            .chain((1..20).map(|len| vec![0xFF; len]))
            .collect();
        assert!(keys.windows(2).all(|pair| encode(&pair[0]) < encode(&pair[1])));
        for key in keys {
            let encoded = encode(&key);
            assert_eq!(decode(&encoded), Some(key));
            for len in 0..encoded.len() {
                assert_eq!(decode(&encoded[..len]), None);
            }
        }
        assert_eq!(
            decode(&[b'a', b'b', 0, 0, 0, 0, 0, 1, 0xF9]),
            None,
            "padding is zero"
        );
        assert_eq!(decode(&[0, 0, 0, 0, 0, 0, 0, 0, 3]), None, "no such marker");
    }

    #[test]
    fn a_keyspace_is_a_prefix_and_bounded() {
        let keyspace = Keyspace::with_id(0x01_0203);
        assert_eq!(keyspace.key(b"k"), [b'x', 1, 2, 3, b'k']);
        assert_eq!(
            keyspace.range(&KeyRange::all()),
            KeyRange::new([b'x', 1, 2, 3], [b'x', 1, 2, 4])
        );
        assert_eq!(keyspace.strip(&[b'x', 1, 2, 3, 9]), Some(&[9][..]));
        assert_eq!(keyspace.strip(&[b'x', 1, 2, 4, 9]), None);
        let part = keyspace.within(b"test");
        assert_eq!(part.key(b"k"), b"x\x01\x02\x03testk");
        assert_eq!(part.range(&KeyRange::all()).end, b"x\x01\x02\x03tesu");
        let whole = Keyspace::whole(4).within(b"");
        assert_eq!(whole.key(b"k"), b"k");
        assert!(whole.range(&KeyRange::all()).contains(&[0xFF; 4]));
    }
}
