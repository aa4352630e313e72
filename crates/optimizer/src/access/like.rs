//! `LIKE 'abc%'` as a range of an index: from the smallest to the greatest text with the prefix. The
//! condition itself stays a filter.

use functions::Expr;
use types::collation::like_range;
use types::{SqlType, Value};

use super::fold;
use super::interval::Interval;
use planner::plan::{RangeBound, RangeBoundValue};

/// The range of texts that have the prefix of a pattern; `None` if the pattern starts with a wildcard or is
/// not constant.
pub fn prefix_range(ty: &SqlType, pattern: &Expr, escape: Option<&Expr>) -> Option<Interval> {
    if !ty.is_string() || pattern.ty().collation != ty.collation {
        return None;
    }
    let escape = match escape {
        None => Some(b'\\'),
        Some(escape) => match fold::value(escape)?.as_bytes()? {
            [] => None,
            [byte] if byte.is_ascii() => Some(*byte),
            _ => return None,
        },
    };
    let prefix = literal_prefix(fold::value(pattern)?.as_bytes()?, escape);
    if prefix.is_empty() {
        return None;
    }
    let (low, high) = if ty.is_binary() {
        binary_range(prefix, ty.length)
    } else {
        let text = String::from_utf8(prefix).ok()?;
        let (low, high) = like_range(ty.collation, &text, ty.length as usize);
        (Value::String(low), Value::String(high))
    };
    let bound = |value| {
        Some(RangeBound {
            value: RangeBoundValue::Value(Expr::literal(value, *ty)),
            inclusive: true,
        })
    };
    Some(Interval::Between {
        lower: bound(low),
        upper: bound(high),
    })
}

/// The pattern up to its first wildcard.
fn literal_prefix(pattern: &[u8], escape: Option<u8>) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        if Some(byte) == escape {
            // At the end of a pattern the escape character stands for itself.
            prefix.push(bytes.next().copied().unwrap_or(byte));
        } else if matches!(byte, b'%' | b'_') {
            break;
        } else {
            prefix.push(byte);
        }
    }
    prefix
}

/// Bytes order as they are: up to the prefix followed by as many 0xff as the column holds.
fn binary_range(prefix: Vec<u8>, length: u32) -> (Value, Value) {
    let most = (length as usize).clamp(prefix.len(), MAX_KEY_BYTES.max(prefix.len()));
    let mut high = prefix.clone();
    high.resize(most, 0xff);
    (Value::Bytes(prefix), Value::Bytes(high))
}

/// The longest part of an index.
const MAX_KEY_BYTES: usize = 3072;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_wildcards() {
        assert_eq!(literal_prefix(b"abc%d", Some(b'\\')), b"abc");
        assert_eq!(literal_prefix(br"a\%b_", Some(b'\\')), b"a%b");
        assert_eq!(literal_prefix(br"a\%b_", None), br"a\");
        assert_eq!(literal_prefix(b"a!!b!", Some(b'!')), b"a!b!");
        assert_eq!(literal_prefix(b"%a", Some(b'\\')), b"");
    }
}
