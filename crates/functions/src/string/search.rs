//! Strings in strings: LOCATE, INSTR, REPLACE, FIELD, FIND_IN_SET, ELT, SUBSTRING_INDEX, STRCMP.

use std::cmp::Ordering;

use types::{Charset, Collation, Error, Members, Result, SqlType, TypeKind, Value};

use super::{byte_length, length, too_large, value_of};
use crate::Expr;
use crate::bind::env::TypeEnv;
use crate::datum::Datum;
use crate::datum::compare_same;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::pace::{Pace, Steps, Unwatched, is_short};
use crate::registry::{Alias, Family, MANY, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "position",
        of: "locate",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("locate", 2, 3, resolve_locate, locate).infallible(),
    function("instr", 2, 2, resolve_instr, instr).infallible(),
    function("replace", 3, 3, resolve_replace, replace),
    function("strcmp", 2, 2, resolve_strcmp, strcmp).infallible(),
    function("field", 2, MANY, resolve_field, field)
        .sees_null()
        .nullability(Nullability::Never),
    function("find_in_set", 2, 2, resolve_find_in_set, find_in_set).infallible(),
    function("elt", 2, MANY, resolve_elt, elt)
        .sees_null()
        .nullability(Nullability::Always),
    function("substring_index", 3, 3, resolve_substring_index, substring_index),
];

fn integer(length: u32) -> SqlType {
    SqlType {
        length,
        ..SqlType::BIGINT
    }
}

fn resolve_locate(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.texts_like(1, 0..1)?;
    binding.integer_if_given(2);
    Ok(integer(11))
}

fn resolve_instr(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.texts_like(0, 1..2)?;
    Ok(integer(11))
}

fn locate(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [needle, text, rest @ ..] = args else {
        return Ok(Value::Null);
    };
    let from = rest.first().map_or(1, Datum::int);
    let Ok(from) = usize::try_from(from.saturating_sub(1)) else {
        return Ok(Value::Int(0));
    };
    let found = find(text, needle, from, call.arg_type(1).collation, call)?;
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn instr(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, needle] = args else {
        return Ok(Value::Null);
    };
    let found = find(text, needle, 0, call.arg_type(0).collation, call)?;
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

/// The position, in characters from 0, of `needle` in `text` at or after `from`.
fn find(
    text: &Datum<'_>,
    needle: &Datum<'_>,
    from: usize,
    collation: Collation,
    call: &Call<'_>,
) -> Result<Option<usize>> {
    if is_short(text.bytes().len(), needle.bytes().len()) {
        let Ok(found) = search(text, needle, from, collation, Unwatched);
        return Ok(found);
    }
    search(text, needle, from, collation, Pace::of(call.ctx))
}

fn search<S: Steps>(
    text: &Datum<'_>,
    needle: &Datum<'_>,
    from: usize,
    collation: Collation,
    steps: S,
) -> Result<Option<usize>, S::Stop> {
    let total = length(text);
    if from > total {
        return Ok(None);
    }
    let wanted = length(needle);
    if wanted == 0 {
        return Ok(Some(from));
    }
    let (Datum::String(text), Datum::String(needle)) = (text, needle) else {
        return find_units(text.bytes(), needle.bytes(), from, steps, |a, b| a == b);
    };
    if text.is_ascii() && needle.is_ascii() && (collation.is_bytewise() || collation.folds_ascii()) {
        let (text, needle) = (text.as_bytes(), needle.as_bytes());
        return match collation.is_bytewise() {
            true => find_units(text, needle, from, steps, |a, b| a == b),
            false => find_units(text, needle, from, steps, |a, b| a.eq_ignore_ascii_case(b)),
        };
    }
    if matches!(collation.charset(), Charset::Utf8mb4 | Charset::Utf8mb3) {
        return find_bytes(text, needle, from, collation, steps);
    }
    let text: Vec<char> = text.chars().collect();
    let needle: Vec<char> = needle.chars().collect();
    find_units(&text, &needle, from, steps, |a, b| same(*a, *b, collation))
}

/// Searches as MySQL does if characters have several bytes: it compares as many bytes as the needle has. So
/// text that equals the needle under the collation but has another length is not found.
fn find_bytes<S: Steps>(
    text: &str,
    needle: &str,
    from: usize,
    collation: Collation,
    mut steps: S,
) -> Result<Option<usize>, S::Stop> {
    let uses_uca = matches!(
        collation,
        Collation::Utf8mb40900AiCi | Collation::Utf8mb4UnicodeCi | Collation::Utf8mb3UnicodeCi
    );
    // A padding collation would ignore the spaces at the end.
    let spaces = |s: &str| s.len() - s.trim_end_matches(' ').len();
    let is_here = |at: usize| {
        let end = at + needle.len();
        let Some(whole) = (at..=end).rev().find(|i| text.is_char_boundary(*i)) else {
            return false;
        };
        // The bytes may end within a character. With the Unicode Collation Algorithm MySQL reads them up to
        // there.
        let readable = end <= text.len() && (uses_uca || whole == end);
        let window = text.get(at..whole).filter(|_| readable);
        window.is_some_and(|window| {
            collation.equal(window.as_bytes(), needle.as_bytes()) && spaces(window) == spaces(needle)
        })
    };
    for (character, (at, _)) in text.char_indices().enumerate().skip(from) {
        steps.step(needle.len())?;
        if is_here(at) {
            return Ok(Some(character));
        }
    }
    Ok(None)
}

fn same(a: char, b: char, collation: Collation) -> bool {
    let (mut x, mut y) = ([0; 4], [0; 4]);
    a == b
        || !collation.is_bytewise()
            && collation.equal(a.encode_utf8(&mut x).as_bytes(), b.encode_utf8(&mut y).as_bytes())
}

fn find_units<T, S: Steps>(
    text: &[T],
    needle: &[T],
    from: usize,
    mut steps: S,
    same: impl Fn(&T, &T) -> bool,
) -> Result<Option<usize>, S::Stop> {
    let rest = text.get(from..).unwrap_or_default();
    for (at, window) in rest.windows(needle.len()).enumerate() {
        steps.step(needle.len())?;
        if window.iter().zip(needle).all(|(a, b)| same(a, b)) {
            return Ok(Some(from + at));
        }
    }
    Ok(None)
}

fn resolve_replace(binding: &mut Binding<'_>) -> Result<SqlType> {
    let collation = binding.texts_like(0, 1..3)?;
    let (text, from, to) = (
        binding.total_length(0..1),
        binding.total_length(1..2),
        binding.total_length(2..3),
    );
    // Each occurrence may make the text longer by the difference.
    let places = text.checked_div(from).unwrap_or(0);
    let length = text.saturating_add(places.saturating_mul(to.saturating_sub(from)));
    Ok(binding.text_result(length, collation))
}

/// Case-sensitive under every collation.
fn replace(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, from, to] = args else {
        return Ok(Value::Null);
    };
    let (text, from, to) = (text.bytes(), from.bytes(), to.bytes());
    if from.is_empty() {
        return Ok(value_of(&call.ty, text.to_vec()));
    }
    let most = call.ctx.max_allowed_packet;
    let out = match is_short(text.len(), from.len()) {
        true => {
            let Ok(out) = replaced(text, from, to, most, Unwatched);
            out
        }
        false => replaced(text, from, to, most, Pace::of(call.ctx))?,
    };
    match out {
        Some(out) => Ok(value_of(&call.ty, out)),
        None => too_large(call),
    }
}

/// The text with `to` for each `from`; `None` if it has more than `most` bytes.
fn replaced<S: Steps>(
    text: &[u8],
    from: &[u8],
    to: &[u8],
    most: usize,
    mut steps: S,
) -> Result<Option<Vec<u8>>, S::Stop> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        steps.step(from.len())?;
        if rest.starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.extend(rest.first());
            at += 1;
        }
        if out.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

fn resolve_strcmp(binding: &mut Binding<'_>) -> Result<SqlType> {
    strcmp_date(&binding.args, binding.env)?;
    binding.compared_texts(0..2)?;
    Ok(integer(2))
}

/// Error 1525 for a literal text that is compared with a date and is none. (They are compared as texts.)
fn strcmp_date(args: &[Expr], env: &TypeEnv) -> Result<()> {
    let (text, date) = match args {
        [a, b] if a.ty().is_datetime() => (b, a.ty()),
        [a, b] if b.ty().is_datetime() => (a, b.ty()),
        _ => return Ok(()),
    };
    match text {
        Expr::Param { ty, .. } if env.literal_params && ty.is_string() => env.notes.needs_literals.set(true),
        Expr::Literal {
            value: Value::String(text),
            ..
        } if !crate::temporal::is_date_constant(text, &env.sql_mode) => {
            let kind = match date.kind {
                TypeKind::Date => "DATE",
                TypeKind::Timestamp => "TIMESTAMP",
                _ => "DATETIME",
            };
            let message = format!("Incorrect {kind} value: '{text}'");
            return Err(Error::new(1525, message));
        }
        _ => {}
    }
    Ok(())
}

fn strcmp(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    let ordering = compare_same(a, b, call.arg_type(0).collation).unwrap_or(Ordering::Equal);
    Ok(Value::Int(ordering as i64))
}

/// The arguments are compared as text if all are texts, dates or times, as exact numbers if all are numbers,
/// and otherwise as doubles.
fn resolve_field(binding: &mut Binding<'_>) -> Result<SqlType> {
    let null = |e: &Expr| e.ty().kind == types::TypeKind::Null;
    let is_text = |ty: &SqlType| {
        ty.is_string() || ty.is_datetime() || matches!(ty.kind, TypeKind::Time | TypeKind::Json)
    };
    if binding.args.iter().all(|a| is_text(&a.ty()) || null(a)) {
        let texts: Vec<usize> = (1..binding.args.len())
            .filter(|i| !null(&binding.args[*i]))
            .collect();
        binding.texts_like(0, texts.into_iter())?;
    } else {
        for i in 0..binding.args.len() {
            binding.number(i);
        }
    }
    Ok(integer(3))
}

fn field(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((needle, list)) = args.split_first().filter(|(n, _)| !n.is_null()) else {
        return Ok(Value::Int(0));
    };
    let collation = call.arg_type(0).collation;
    // Integers are compared as if all had a sign.
    let signed = |datum: &Datum<'_>| match datum {
        Datum::UInt(v) => Some(v.cast_signed()),
        Datum::Int(v) => Some(*v),
        _ => None,
    };
    let integers = call.args.iter().all(|arg| arg.ty().is_integer());
    let is_same = |item: &Datum<'_>| match (signed(needle), signed(item)) {
        (Some(a), Some(b)) if integers => a == b,
        _ => compare_same(needle, item, collation) == Some(Ordering::Equal),
    };
    let found = list.iter().position(is_same);
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn resolve_find_in_set(binding: &mut Binding<'_>) -> Result<SqlType> {
    let stored = binding.args.get(1).map(|set| set.as_stored().clone());
    binding.compared_texts(0..2)?;
    // A constant is looked for among the members of a SET, so that its position is that in the definition.
    if let Some(stored) = stored.filter(|set| matches!(set.ty().kind, TypeKind::Set(_)))
        && let [needle, set] = binding.args.as_mut_slice()
        && needle.is_constant()
    {
        *set = stored;
    }
    Ok(integer(3))
}

fn find_in_set(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [needle, set] = args else {
        return Ok(Value::Null);
    };
    let collation = call.arg_type(0).collation;
    if let (Datum::UInt(bits), TypeKind::Set(members)) = (set, call.arg_type(1).kind) {
        let text = std::str::from_utf8(needle.bytes()).unwrap_or_default();
        let position = members.find(text, collation);
        let found = position.filter(|at| *at < Members::SET_MAX && bits >> at & 1 == 1);
        return Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)));
    }
    // A text with more bytes than the set is not searched for, even if the collation makes it equal to a
    // shorter one.
    let too_long = byte_length(needle, &call.arg_type(0)) > byte_length(set, &call.arg_type(1));
    if set.bytes().is_empty() || too_long || needle.bytes().contains(&b',') {
        return Ok(Value::Int(0));
    }
    // Trailing spaces count under every collation.
    let spaces = |text: &[u8]| text.iter().rev().take_while(|b| **b == b' ').count();
    let is_same = |item: &[u8]| {
        collation.equal(item, needle.bytes())
            && (!collation.pads_space() || spaces(item) == spaces(needle.bytes()))
    };
    let found = set.bytes().split(|b| *b == b',').position(is_same);
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn resolve_elt(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    let all = 1..binding.args.len();
    let collation = binding.texts(all.clone())?;
    let longest = all.map(|i| binding.total_length(i..i + 1)).max().unwrap_or(0);
    Ok(binding.text_result(longest, collation))
}

fn elt(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let chosen = args.first().map_or(0, Datum::int);
    let index = usize::try_from(chosen).ok().filter(|i| *i > 0);
    Ok(index
        .and_then(|i| args.get(i))
        .map_or(Value::Null, |d| d.to_value()))
}

fn resolve_substring_index(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(2);
    let collation = binding.texts_like(0, 1..2)?;
    Ok(binding.text_result(binding.total_length(0..1), collation))
}

/// The part before the `count`-th delimiter, or the part after it, counting from the last. Case-sensitive.
fn substring_index(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, delimiter, count] = args else {
        return Ok(Value::Null);
    };
    let (text, delimiter, count) = (text.bytes(), delimiter.bytes(), count.int());
    if delimiter.is_empty() || count == 0 {
        return Ok(value_of(&call.ty, Vec::new()));
    }
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    // MySQL searches delimiters from the end only if each character is a byte. This matters if they overlap:
    // 'aaa1' with the delimiter 'aa' gives '1', but 'a1' in other character sets.
    let from_end = count < 0 && call.ty.collation.charset().max_bytes_per_char() == 1;
    let places = match is_short(text.len(), delimiter.len()) {
        true => {
            let Ok(places) = places(text, delimiter, from_end.then_some(wanted), Unwatched);
            places
        }
        false => places(text, delimiter, from_end.then_some(wanted), Pace::of(call.ctx))?,
    };
    let kept = if count > 0 {
        places.get(wanted - 1).and_then(|place| text.get(..*place))
    } else if from_end {
        let place = places.get(wanted - 1);
        place.and_then(|place| text.get(place + delimiter.len()..))
    } else {
        let place = places.len().checked_sub(wanted).and_then(|i| places.get(i));
        place.and_then(|place| text.get(place + delimiter.len()..))
    };
    Ok(value_of(&call.ty, kept.unwrap_or(text).to_vec()))
}

/// Where delimiters begin: all, searched from the start, or the last so many, the last one first.
fn places<S: Steps>(
    text: &[u8],
    delimiter: &[u8],
    last: Option<usize>,
    steps: S,
) -> Result<Vec<usize>, S::Stop> {
    match last {
        Some(wanted) => last_places(text, delimiter, wanted, steps),
        None => all_places(text, delimiter, steps),
    }
}

fn all_places<S: Steps>(text: &[u8], delimiter: &[u8], mut steps: S) -> Result<Vec<usize>, S::Stop> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| r.len() >= delimiter.len()) {
        steps.step(delimiter.len())?;
        if rest.starts_with(delimiter) {
            places.push(at);
            at += delimiter.len();
        } else {
            at += 1;
        }
    }
    Ok(places)
}

fn last_places<S: Steps>(
    text: &[u8],
    delimiter: &[u8],
    wanted: usize,
    mut steps: S,
) -> Result<Vec<usize>, S::Stop> {
    let mut places = Vec::new();
    let mut rest = text;
    while places.len() < wanted && !rest.is_empty() {
        steps.step(delimiter.len())?;
        match rest.strip_suffix(delimiter) {
            Some(before) => {
                places.push(before.len());
                rest = before;
            }
            None => rest = &rest[..rest.len() - 1],
        }
    }
    Ok(places)
}
