//! JSON_STORAGE_SIZE and JSON_STORAGE_FREE: the size of a document in MySQL's binary format.
//!
//! StemDB's own binary form takes a few bytes more. Applications compare these numbers with limits, so
//! MySQL's are returned. Source: manual 12.18.6 "JSON Utility Functions"; the format is described in MySQL's
//! `json_binary.h`.

use types::json::Json;
use types::{Result, Value};

use super::argument::document;
use crate::datum::Datum;
use crate::expr::Call;

/// The largest offset of a small array or object; larger ones have offsets of four bytes.
const SMALL: usize = 65_535;

pub(super) fn storage_size(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let document = document(call, args, 0)?.to_tree();
    Ok(Value::Int(1 + size(&document) as i64))
}

/// The bytes that partial updates of a column have freed. StemDB has no partial updates, so there are none.
pub(super) fn storage_free(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    document(call, args, 0)?;
    Ok(Value::Int(0))
}

/// The bytes of a value without the one for its type.
fn size(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(_) => 1,
        Json::Int(v) => match (i16::try_from(*v), i32::try_from(*v)) {
            (Ok(_), _) => 2,
            (_, Ok(_)) => 4,
            _ => 8,
        },
        Json::UInt(v) => match (u16::try_from(*v), u32::try_from(*v)) {
            (Ok(_), _) => 2,
            (_, Ok(_)) => 4,
            _ => 8,
        },
        Json::Double(_) => 8,
        Json::Decimal(decimal) => {
            let whole = u32::from(decimal.digits())
                .saturating_sub(u32::from(decimal.scale))
                .max(1);
            // The type, the length, precision and scale, the digits.
            4 + decimal_bytes(whole) + decimal_bytes(u32::from(decimal.scale))
        }
        // The type, the length and eight bytes.
        Json::Date(_) | Json::DateTime(_) | Json::Timestamp(_) | Json::Time(_) => 10,
        Json::Opaque(_, bytes) => 1 + length_bytes(bytes.len()) + bytes.len(),
        Json::String(text) => length_bytes(text.len()) + text.len(),
        Json::Array(items) => container(items.iter(), items.len(), |_| 0),
        Json::Object(members) => {
            let keys: usize = members.iter().map(|(key, _)| key.len()).sum();
            let values = members.iter().map(|(_, value)| value);
            // A key has an offset and a length of two bytes.
            container(values, members.len(), |offset| {
                keys + members.len() * (offset + 2)
            })
        }
    }
}

/// An array or object: its count and size, keys, and for each value a type with an offset or the value
/// itself.
fn container<'j>(
    values: impl Iterator<Item = &'j Json> + Clone,
    count: usize,
    keys: impl Fn(usize) -> usize,
) -> usize {
    let with_offsets = |offset: usize| {
        let outside: usize = values
            .clone()
            .filter(|value| !is_inlined(value, offset))
            .map(size)
            .sum();
        2 * offset + keys(offset) + count * (1 + offset) + outside
    };
    match with_offsets(2) {
        small if small <= SMALL => small,
        _ => with_offsets(4),
    }
}

/// Whether a value is stored instead of its offset.
fn is_inlined(json: &Json, offset: usize) -> bool {
    match json {
        Json::Null | Json::Bool(_) => true,
        Json::Int(_) | Json::UInt(_) => size(json) <= offset,
        _ => false,
    }
}

/// How many bytes the length of a text takes, with seven bits in each.
fn length_bytes(length: usize) -> usize {
    length.checked_ilog2().map_or(1, |bits| bits as usize / 7 + 1)
}

/// Nine digits take four bytes.
fn decimal_bytes(digits: u32) -> usize {
    const REST: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    let rest = REST.get(digits as usize % 9).copied().unwrap_or(0);
    digits as usize / 9 * 4 + rest
}
