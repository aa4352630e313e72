//! UUID, UUID_SHORT, UUID_TO_BIN, BIN_TO_UUID, IS_UUID.
//!
//! Source: RFC 4122 version 1, which MySQL makes; manual 12.24 "Miscellaneous Functions".

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use types::{Collation, Error, Result, SqlType, Value};

use super::encode::{decode_hex, hex_digits};
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::math::random::entropy;
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function(
        "uuid",
        0,
        0,
        |_| Ok(text()),
        |_, _| Ok(Value::String(dashed(&new_uuid()))),
    )
    .nullability(Nullability::Always)
    .volatile(),
    function(
        "uuid_short",
        0,
        0,
        |_| Ok(SqlType::BIGINT_UNSIGNED),
        |_, _| Ok(Value::UInt(new_short())),
    )
    .nullability(Nullability::Never)
    .volatile(),
    function("uuid_to_bin", 1, 2, resolve_to_bin, to_bin)
        .sees_null()
        .nullability(Nullability::Always),
    function("bin_to_uuid", 1, 2, resolve_to_text, to_text)
        .sees_null()
        .nullability(Nullability::Always),
    function("is_uuid", 1, 1, resolve_is_uuid, is_uuid)
        .nullability(Nullability::Always)
        .infallible(),
];

fn text() -> SqlType {
    SqlType::varchar(36, Collation::Utf8mb3GeneralCi)
}

/// 100 ns intervals between 1582-10-15 and 1970-01-01.
const GREGORIAN_OFFSET: u64 = 0x01b2_1dd2_1381_4000;

/// A clock sequence and a node that distinguish this process from others.
fn identity() -> (u16, [u8; 6]) {
    static IDENTITY: OnceLock<(u16, [u8; 6])> = OnceLock::new();
    *IDENTITY.get_or_init(|| {
        let [a, b, c, d, e, f, g, h] = entropy().to_be_bytes();
        // A random node has the multicast bit set, as RFC 4122 asks.
        (u16::from_be_bytes([g, h]) & 0x3fff, [a | 1, b, c, d, e, f])
    })
}

/// The time in units of 100 ns, later than any it returned before.
fn next_tick() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64 / 100)
        + GREGORIAN_OFFSET;
    let previous = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        Some(last.max(now - 1) + 1)
    });
    previous.unwrap_or(now).max(now - 1) + 1
}

fn new_uuid() -> [u8; 16] {
    let tick = next_tick();
    let (sequence, node) = identity();
    let [l0, l1, l2, l3] = (tick as u32).to_be_bytes();
    let [m0, m1] = ((tick >> 32) as u16).to_be_bytes();
    let [h0, h1] = ((tick >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes();
    let [s0, s1] = (sequence | 0x8000).to_be_bytes();
    let [n0, n1, n2, n3, n4, n5] = node;
    [l0, l1, l2, l3, m0, m1, h0, h1, s0, s1, n0, n1, n2, n3, n4, n5]
}

/// Ascending numbers of 56 bits: the time in seconds at the first call, then a count.
fn new_short() -> u64 {
    static NEXT: OnceLock<AtomicU64> = OnceLock::new();
    let next = NEXT.get_or_init(|| {
        let seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        AtomicU64::new((entropy() & 0x7f) << 56 | (seconds & 0xffff_ffff) << 24)
    });
    next.fetch_add(1, Ordering::Relaxed)
}

fn dashed(bytes: &[u8; 16]) -> String {
    let digits = hex_digits(bytes).to_ascii_lowercase();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// 32 digits, also with dashes, and also with dashes in braces.
fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
        other => other,
    };
    let digits: Vec<u8> = match inner.len() {
        32 => inner.to_vec(),
        36 => {
            let dashes = [8, 13, 18, 23];
            if dashes.iter().any(|i| inner.get(*i) != Some(&b'-')) {
                return None;
            }
            let kept = inner.iter().enumerate().filter(|(i, _)| !dashes.contains(i));
            kept.map(|(_, b)| *b).collect()
        }
        _ => return None,
    };
    decode_hex(&digits)?.try_into().ok()
}

fn resolve_to_bin(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.integer_if_given(1);
    Ok(SqlType::varchar(16, Collation::Binary))
}

fn resolve_to_text(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.integer_if_given(1);
    Ok(SqlType::varchar(36, binding.env.collation))
}

fn resolve_is_uuid(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::BOOL)
}

fn wrong(call: &Call<'_>, datum: &Datum<'_>) -> Error {
    let text = crate::charset::shown(datum.bytes());
    Error::new(
        1411,
        format!("Incorrect string value: '{text}' for function {}", call.def.name),
    )
}

/// A flag that is NULL is false.
fn swaps(args: &[Datum<'_>]) -> bool {
    args.get(1).is_some_and(|flag| !flag.is_null() && flag.int() != 0)
}

/// With a swap the high parts of the time come first, so that successive ids are close together in an index.
fn to_bin(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first().filter(|datum| !datum.is_null()) else {
        return Ok(Value::Null);
    };
    let mut bytes = parse(datum.bytes()).ok_or_else(|| wrong(call, datum))?;
    if swaps(args) {
        let [l0, l1, l2, l3, m0, m1, h0, h1, rest @ ..] = bytes;
        let [a, b, c, d, e, f, g, h] = rest;
        bytes = [h0, h1, m0, m1, l0, l1, l2, l3, a, b, c, d, e, f, g, h];
    }
    Ok(Value::Bytes(bytes.to_vec()))
}

fn to_text(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first().filter(|datum| !datum.is_null()) else {
        return Ok(Value::Null);
    };
    let mut bytes: [u8; 16] = datum.bytes().try_into().map_err(|_| wrong(call, datum))?;
    if swaps(args) {
        let [h0, h1, m0, m1, l0, l1, l2, l3, rest @ ..] = bytes;
        let [a, b, c, d, e, f, g, h] = rest;
        bytes = [l0, l1, l2, l3, m0, m1, h0, h1, a, b, c, d, e, f, g, h];
    }
    Ok(Value::String(dashed(&bytes)))
}

fn is_uuid(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let valid = args.first().is_some_and(|d| parse(d.bytes()).is_some());
    Ok(Value::Int(i64::from(valid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ones_are_of_version_1_and_differ() {
        let (a, b) = (dashed(&new_uuid()), dashed(&new_uuid()));
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a.as_bytes()[14], b'1');
        assert!(matches!(a.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert!(new_short() < new_short());
    }

    #[test]
    fn forms() {
        let plain = b"6ccd780cbaba102695645b8c656024db";
        let dashes = b"6ccd780c-baba-1026-9564-5b8c656024db";
        let braces = b"{6ccd780c-baba-1026-9564-5b8c656024db}";
        assert_eq!(parse(plain), parse(dashes));
        assert_eq!(parse(dashes), parse(braces));
        assert_eq!(dashed(&parse(plain).unwrap()).as_bytes(), dashes);
        for wrong in [
            &b"x"[..],
            b"6ccd780c-baba-1026-95645-b8c656024db",
            b"{6ccd780cbaba102695645b8c656024db}",
        ] {
            assert_eq!(parse(wrong), None);
        }
    }
}
