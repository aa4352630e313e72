//! PAD SPACE: strings compare as if spaces followed forever.
//!
//! So `'a' = 'a  '`, and `'a\n' < 'a'` because a line feed is less than a space. Leaving out trailing spaces
//! does not make a key that sorts like that. In a key, every space is followed by a mark, also the first of
//! the endless padding spaces. The mark says what follows the spaces: something less than a space (0),
//! nothing (1), or something greater (2):
//!
//! ```text
//! 'a\n'   61 0a 20 1
//! 'a'     61 20 1
//! 'a \n'  61 20 0 0a 20 1
//! 'a b'   61 20 2 62 20 1
//! ```

use std::cmp::Ordering;

const BEFORE_LESS: u8 = 0;
const AT_END: u8 = 1;
const BEFORE_GREATER: u8 = 2;

/// Compares two sequences of weights, the shorter one followed by spaces.
pub(super) fn compare(
    mut a: impl Iterator<Item = u16>,
    mut b: impl Iterator<Item = u16>,
    space: u16,
) -> Ordering {
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) => (x.unwrap_or(space), y.unwrap_or(space)),
        };
        if x != y {
            return x.cmp(&y);
        }
    }
}

/// Appends the key of a sequence of weights; `write` appends one weight. What `write` appends must have the
/// same length for every weight, and must sort byte by byte as the weights do. Then keys compare as
/// [`compare`] does.
pub(super) fn sort_key(
    weights: impl Iterator<Item = u16>,
    space: u16,
    write: impl Fn(u16, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    let mut spaces = 0usize;
    for weight in weights {
        if weight == space {
            spaces += 1;
            continue;
        }
        let mark = if weight < space {
            BEFORE_LESS
        } else {
            BEFORE_GREATER
        };
        for _ in 0..spaces {
            write(space, out);
            out.push(mark);
        }
        spaces = 0;
        write(weight, out);
    }
    write(space, out);
    out.push(AT_END);
}

/// [`compare`] of bytes.
pub(super) fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let shared = a.len().min(b.len());
    let order = a[..shared].cmp(&b[..shared]);
    if order != Ordering::Equal {
        return order;
    }
    let rest_against_spaces = |rest: &[u8]| match rest.iter().find(|byte| **byte != b' ') {
        None => Ordering::Equal,
        Some(byte) => byte.cmp(&b' '),
    };
    match rest_against_spaces(&a[shared..]) {
        Ordering::Equal => rest_against_spaces(&b[shared..]).reverse(),
        order => order,
    }
}

/// [`sort_key`] of bytes.
pub(super) fn sort_key_of_bytes(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 8);
    let write = |weight: u16, out: &mut Vec<u8>| out.push(weight as u8);
    sort_key(text.iter().map(|b| u16::from(*b)), u16::from(b' '), write, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key_of_bytes(text, &mut out);
        out
    }

    #[test]
    fn spaces_follow_for_ever() {
        let ordered: [&[u8]; 9] = [
            b"a\n", b"a \n", b"a  \n", b"a", b"a  b", b"a b", b"a!", b"aa", b"b",
        ];
        for (i, x) in ordered.iter().enumerate() {
            for (j, y) in ordered.iter().enumerate() {
                assert_eq!(compare_bytes(x, y), i.cmp(&j), "{x:?} {y:?}");
                assert_eq!(key(x).cmp(&key(y)), i.cmp(&j), "{x:?} {y:?}");
            }
        }
        assert_eq!(compare_bytes(b"a", b"a   "), Ordering::Equal);
        assert_eq!(key(b"a"), key(b"a   "));
        assert_eq!(key(b""), key(b"  "));
    }

    proptest! {
        #[test]
        fn three_ways_agree(a in "[ \t!a]{0,8}", b in "[ \t!a]{0,8}") {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let width = a.len().max(b.len());
            let padded = |text: &[u8]| { let mut t = text.to_vec(); t.resize(width, b' '); t };
            let expected = padded(a).cmp(&padded(b));
            let weights = |t: &[u8]| t.iter().map(|b| u16::from(*b)).collect::<Vec<_>>().into_iter();
            prop_assert_eq!(compare_bytes(a, b), expected);
            prop_assert_eq!(compare(weights(a), weights(b), 0x20), expected);
            prop_assert_eq!(key(a).cmp(&key(b)), expected);
        }
    }
}
