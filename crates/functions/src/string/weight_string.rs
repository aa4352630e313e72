//! `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n) | , result_length, weights, flags])`. The arguments are the
//! text, the form as a literal (`char`, `binary` or `weights`), a count of characters, and for `weights` the
//! length of the result and flags.

use types::{Collation, Result, SqlType, Value, errno};

use super::encode::encoded;
use super::number_weight::{NUMBER_WEIGHT, is_sorted_as_number, weight_of_number};
use super::{literal_count, slice};
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] =
    &[function("weight_string", 1, 5, resolve, weight_string).nullability(Nullability::Always)];

/// The flag to fill the result up to its length: with the weights of spaces, or with zeros if the collation
/// does not pad. All other flags mean nothing.
const FILLS: usize = 0x80;

/// MySQL makes no column for weights shorter than this.
const MIN_BYTES: u64 = 8;

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    let is_binary = binding.args.len() > 1 && binding.keyword(1)? == "binary";
    // Not the name of a member.
    if let Some(arg) = binding.args.first_mut()
        && arg.as_stored().ty().has_members()
    {
        *arg = arg.as_stored().clone();
    }
    for number in 2..5 {
        binding.integer_if_given(number);
    }
    if is_sorted_as_number(&binding.ty(0)) && !is_binary {
        return Ok(binding.text_result(NUMBER_WEIGHT, Collation::Binary));
    }
    binding.text(0);
    let count = literal_count(binding, 2).map_or(0, u64::from);
    let collation = binding.ty(0).collation;
    let length = match literal_count(binding, 3) {
        Some(length) if length > 0 => u64::from(length),
        _ if is_binary => count,
        _ => {
            let width = u64::from(collation.charset().max_bytes_per_char());
            let bytes = u64::from(binding.total_length(0..1)) * width;
            collation.weights_length(width * bytes.max(count))
        }
    };
    let length = u32::try_from(length.max(MIN_BYTES)).unwrap_or(u32::MAX);
    Ok(binding.text_result(length, Collation::Binary))
}

fn weight_string(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(text) = args.first() else {
        return Ok(Value::Null);
    };
    let ty = call.arg_type(0);
    if is_sorted_as_number(&ty) {
        let weight = weight_of_number(text, &ty);
        return Ok(weight.map_or(Value::Null, |weight| Value::Bytes(weight.to_be_bytes().to_vec())));
    }
    let number = |at: usize| args.get(at).map_or(0, super::count_of);
    let (count, length, flags) = (number(2), number(3), number(4));
    let form = args.get(1).map_or(&b""[..], |d| d.bytes());
    let source = encoded(call, text);
    let is_binary = form == b"binary";
    // The weights of a binary string are its bytes.
    let room = match (is_binary, length) {
        (true, 0) => count,
        _ => room(call, source.len(), count, length),
    };
    if count.max(room) > call.ctx.max_allowed_packet {
        return super::too_large(call);
    }
    if is_binary {
        return as_binary(call, text, source.into_owned(), count);
    }
    let collation = call.arg_type(0).collation;
    let mut key = Vec::new();
    collation.weight_string(&characters(text, count, collation), &mut key);
    if flags & FILLS != 0 {
        fill(&mut key, room, collation);
    }
    if length > 0 {
        key.truncate(length);
    }
    Ok(Value::Bytes(key))
}

/// How many bytes MySQL reserves for the weights of `bytes`.
fn room(call: &Call<'_>, bytes: usize, count: usize, length: usize) -> usize {
    if length > 0 {
        return length;
    }
    let collation = call.arg_type(0).collation;
    let width = u64::from(collation.charset().max_bytes_per_char());
    let most = collation.weights_length(width.saturating_mul(bytes.max(count) as u64));
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The first `count` characters, with spaces if the collation pads; the whole text if `count` is 0.
fn characters(text: &Datum<'_>, count: usize, collation: Collation) -> Vec<u8> {
    if count == 0 {
        return text.bytes().to_vec();
    }
    let mut source = slice(text, 0, count).to_vec();
    if collation.pads_space() {
        let missing = count.saturating_sub(super::length(text));
        source.resize(source.len() + missing, b' ');
    }
    source
}

fn fill(key: &mut Vec<u8>, room: usize, collation: Collation) {
    let mut space = Vec::new();
    if collation.pads_space() {
        collation.weight_string(b" ", &mut space);
    }
    let filler = if space.is_empty() { &[0_u8][..] } else { &space[..] };
    let missing = room.saturating_sub(key.len());
    key.extend(filler.iter().cycle().take(missing));
}

fn as_binary(call: &Call<'_>, text: &Datum<'_>, mut bytes: Vec<u8>, count: usize) -> Result<Value> {
    if bytes.len() > count {
        let text = text.to_value().display_text(&call.arg_type(0));
        let message = format!("Truncated incorrect BINARY({count}) value: '{text}'");
        call.ctx.warn(errno::ER_TRUNCATED_WRONG_VALUE, message)?;
    }
    bytes.resize(count, 0);
    Ok(Value::Bytes(bytes))
}
