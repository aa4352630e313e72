//! Splitting a range into parts of about equal size, for parallel scans.

use super::Latest;
use super::sizes::{approximate_bytes, measured_bytes, measured_parts};
use kv::{KeyRange, Result};

/// Smaller ranges are not worth splitting.
const SPLIT_BYTES_MIN: u64 = 1 << 20;

/// Candidate keys measured in a range before its large pieces are divided further.
const SAMPLES: u64 = 32;

/// How often a piece is divided further. Each time, its keys have a longer common prefix.
const DEPTH_MAX: u32 = 8;

/// How many bytes after the common prefix a candidate key varies.
const VARYING_BYTES: usize = 8;

/// Part of a range, up to the next piece.
struct Piece {
    start: Vec<u8>,
    bytes: u64,
}

/// At most `parts` parts, in order and without gaps. Measures pieces of the range and cuts between them.
pub(crate) fn split_range(latest: &Latest, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
    let total = approximate_bytes(latest, range)?;
    if total < SPLIT_BYTES_MIN {
        return Ok(vec![range.clone()]);
    }
    let wanted = u64::try_from(parts)
        .unwrap_or(u64::MAX)
        .min(total / (SPLIT_BYTES_MIN / 2))
        .max(1);
    let mut pieces = Vec::new();
    // Much smaller than a part, so that it matters little on which side of a cut a piece falls.
    let target_bytes = measured_bytes(latest, range)? / wanted / 8;
    measure_pieces(latest, range, target_bytes, 0, &mut pieces)?;
    let total = pieces.iter().map(|piece| piece.bytes).sum::<u64>().max(1);
    let mut ranges = Vec::with_capacity(parts);
    let mut start = range.start.clone();
    let (mut before, mut cuts) = (0_u64, 0_u64);
    for piece in pieces {
        let due = before.saturating_mul(wanted) / total;
        if due > cuts && due < wanted && piece.start > start {
            cuts = due;
            ranges.push(KeyRange::new(
                std::mem::replace(&mut start, piece.start.clone()),
                piece.start,
            ));
        }
        before += piece.bytes;
    }
    ranges.push(KeyRange::new(start, range.end.clone()));
    Ok(ranges)
}

/// Appends pieces of the range, in order, none much larger than `target_bytes` if possible.
fn measure_pieces(
    latest: &Latest,
    range: &KeyRange,
    target_bytes: u64,
    depth: u32,
    pieces: &mut Vec<Piece>,
) -> Result<()> {
    let Some((first, last)) = latest.first_and_last_key(range)? else {
        return Ok(());
    };
    let mut bounds = vec![first.clone()];
    bounds.extend(spread(&first, &last, SAMPLES));
    bounds.push([last.as_slice(), &[0]].concat());
    let between: Vec<_> = bounds
        .windows(2)
        .filter_map(|pair| match pair {
            [start, end] => Some((start.as_slice(), end.as_slice())),
            _ => None,
        })
        .collect();
    for ((start, end), bytes) in between.iter().zip(measured_parts(latest, &between)?) {
        if bytes > target_bytes && depth < DEPTH_MAX && between.len() > 1 {
            let part = KeyRange::new(*start, *end);
            measure_pieces(latest, &part, target_bytes, depth + 1, pieces)?;
        } else {
            let start = start.to_vec();
            pieces.push(Piece { start, bytes });
        }
    }
    Ok(())
}

/// At most `count` keys between two others, evenly spaced by value: the common prefix, and bytes in between.
fn spread(first: &[u8], last: &[u8], count: u64) -> Vec<Vec<u8>> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; VARYING_BYTES];
        for (place, byte) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *place = *byte;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let step = (high.saturating_sub(low) / (count + 1)).max(1);
    let mut keys = Vec::new();
    let mut at = low;
    while let Some(next) = at.checked_add(step)
        && next < high
    {
        at = next;
        let mut key = first.get(..common).unwrap_or_default().to_vec();
        key.extend_from_slice(&at.to_be_bytes());
        keys.push(key);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_lie_in_order_between_the_ends() {
        for (first, last) in [
            (&b"t\0\0\x01"[..], &b"t\0\0\x09\x50"[..]),
            (b"a", b"b"),
            (b"", b"\xff\xff"),
            (b"prefix1", b"prefix1zzz"),
        ] {
            let keys = spread(first, last, 50);
            assert!(!keys.is_empty() && keys.len() <= 51, "{first:?}: {}", keys.len());
            assert!(keys.is_sorted());
            assert!(
                keys.iter()
                    .all(|key| key.as_slice() > first && key.as_slice() < last)
            );
        }
        assert!(spread(b"same", b"same", 50).is_empty());
    }
}
