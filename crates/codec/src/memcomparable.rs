//! Numbers and byte strings whose encodings sort, byte by byte, as the values do.
//!
//! Source: TiKV and TiDB, "Memcomparable format" (`codec`). Every byte is in `docs/format.md`.
//! [`crate::datum`] says which encoding the values of a type have.

use crate::{Error, Result};

const SIGN_BIT: u64 = 1 << 63;

/// Bytes per group of a byte string.
const GROUP: usize = 8;
/// The mark after a full group that is not the last. The mark after the last group is this minus the number
/// of padding bytes.
const FULL_GROUP: u8 = 0xff;

/// Removes `N` bytes from the front.
pub(crate) fn take<const N: usize>(input: &mut &[u8], what: &'static str) -> Result<[u8; N]> {
    let (head, rest) = input.split_first_chunk::<N>().ok_or(Error::Truncated { what })?;
    *input = rest;
    Ok(*head)
}

/// Removes `len` bytes from the front.
pub(crate) fn take_slice<'a>(input: &mut &'a [u8], len: usize, what: &'static str) -> Result<&'a [u8]> {
    let (head, rest) = input.split_at_checked(len).ok_or(Error::Truncated { what })?;
    *input = rest;
    Ok(head)
}

/// 8 bytes, big-endian, the sign bit flipped.
pub fn encode_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u64 ^ SIGN_BIT).to_be_bytes());
}

pub fn decode_i64(input: &mut &[u8]) -> Result<i64> {
    Ok((u64::from_be_bytes(take(input, "an integer in a key")?) ^ SIGN_BIT) as i64)
}

/// 8 bytes, big-endian.
pub fn encode_u64(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub fn decode_u64(input: &mut &[u8]) -> Result<u64> {
    Ok(u64::from_be_bytes(take(input, "an unsigned integer in a key")?))
}

/// 8 bytes: the IEEE bits, the sign bit set for positive numbers, all bits flipped for negative ones. -0
/// becomes 0.
pub fn encode_f64(value: f64, out: &mut Vec<u8>) {
    let bits = value.to_bits();
    let ordered = if value >= 0.0 { bits | SIGN_BIT } else { !bits };
    out.extend_from_slice(&ordered.to_be_bytes());
}

pub fn decode_f64(input: &mut &[u8]) -> Result<f64> {
    let ordered = u64::from_be_bytes(take(input, "a double")?);
    let bits = if ordered & SIGN_BIT != 0 {
        ordered & !SIGN_BIT
    } else {
        !ordered
    };
    Ok(f64::from_bits(bits))
}

/// Groups of 8 bytes, each followed by 0xff. The last group is padded with zeros and followed by 0xff minus
/// the number of padding bytes, which is at least one.
pub fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve((bytes.len() / GROUP + 1) * (GROUP + 1));
    let mut groups = bytes.chunks_exact(GROUP);
    for group in &mut groups {
        out.extend_from_slice(group);
        out.push(FULL_GROUP);
    }
    let last = groups.remainder();
    let padding = GROUP - last.len();
    out.extend_from_slice(last);
    out.resize(out.len() + padding, 0);
    out.push(FULL_GROUP - padding as u8);
}

/// Appends the decoded bytes to `out`.
pub fn decode_bytes(input: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    const WHAT: &str = "a byte string in a key";
    loop {
        let group: [u8; GROUP + 1] = take(input, WHAT)?;
        let (data, marker) = (&group[..GROUP], group[GROUP]);
        if marker == FULL_GROUP {
            out.extend_from_slice(data);
            continue;
        }
        let padding = usize::from(FULL_GROUP - marker);
        let Some(len) = GROUP.checked_sub(padding) else {
            return Err(Error::Malformed { what: WHAT });
        };
        let (kept, zeros) = data.split_at(len);
        if zeros.iter().any(|b| *b != 0) {
            return Err(Error::Malformed { what: WHAT });
        }
        out.extend_from_slice(kept);
        return Ok(());
    }
}

/// Skips an encoded byte string.
pub fn skip_bytes(input: &mut &[u8]) -> Result<()> {
    loop {
        let group: [u8; GROUP + 1] = take(input, "a byte string in a key")?;
        if group[GROUP] != FULL_GROUP {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(encode: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out);
        out
    }

    /// The examples of TiDB's documentation of the format.
    #[test]
    fn bytes_as_documented() {
        for (bytes, expected) in [
            (&[][..], vec![0, 0, 0, 0, 0, 0, 0, 0, 247]),
            (&[1, 2, 3], vec![1, 2, 3, 0, 0, 0, 0, 0, 250]),
            (&[1, 2, 3, 0], vec![1, 2, 3, 0, 0, 0, 0, 0, 251]),
            (
                &[1, 2, 3, 4, 5, 6, 7, 8],
                vec![1, 2, 3, 4, 5, 6, 7, 8, 255, 0, 0, 0, 0, 0, 0, 0, 0, 247],
            ),
        ] {
            assert_eq!(encoded(|out| encode_bytes(bytes, out)), expected);
        }
    }

    #[test]
    fn damaged_bytes_are_errors() {
        let mut out = Vec::new();
        assert!(decode_bytes(&mut &[1, 2, 3][..], &mut out).is_err());
        // More padding than a group has.
        assert!(decode_bytes(&mut &[0, 0, 0, 0, 0, 0, 0, 0, 200][..], &mut out).is_err());
        // Padding that is not zero.
        assert!(decode_bytes(&mut &[1, 2, 3, 0, 0, 0, 0, 9, 250][..], &mut out).is_err());
    }

    proptest! {
        #[test]
        fn integers_keep_order(a: i64, b: i64) {
            let (x, y) = (encoded(|o| encode_i64(a, o)), encoded(|o| encode_i64(b, o)));
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            prop_assert_eq!(decode_i64(&mut &x[..]), Ok(a));
        }

        #[test]
        fn doubles_keep_order(a in proptest::num::f64::ANY, b in proptest::num::f64::ANY) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let (x, y) = (encoded(|o| encode_f64(a, o)), encoded(|o| encode_f64(b, o)));
            prop_assert_eq!(a.partial_cmp(&b).unwrap(), x.cmp(&y));
            prop_assert_eq!(decode_f64(&mut &x[..]), Ok(a));
        }

        #[test]
        fn bytes_keep_order(a: Vec<u8>, b: Vec<u8>) {
            let (x, y) = (encoded(|o| encode_bytes(&a, o)), encoded(|o| encode_bytes(&b, o)));
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            let mut back = Vec::new();
            decode_bytes(&mut &x[..], &mut back).unwrap();
            prop_assert_eq!(back, a);
            let mut rest = &x[..];
            skip_bytes(&mut rest).unwrap();
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_decode_or_fail(input: Vec<u8>) {
            let _ = decode_bytes(&mut &input[..], &mut Vec::new());
            let _ = skip_bytes(&mut &input[..]);
            let _ = decode_f64(&mut &input[..]);
        }
    }
}
