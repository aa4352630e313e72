//! Numbers as text for people, sounds and sets: FORMAT, SOUNDEX, MAKE_SET, EXPORT_SET.

use types::{Decimal, Result, SqlType, Value, errno};

use super::{too_large, value_of};
use crate::bind::arguments::text_length;
use crate::date::locale::Locale;
use crate::datum::Datum;
use crate::datum::to_decimal;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::math::rounding::round_double;
use crate::registry::{Family, MANY, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("format", 2, 3, resolve_format, format)
        .sees_null()
        .nullability(Nullability::Always),
    function("soundex", 1, 1, resolve_soundex, soundex).infallible(),
    function("make_set", 2, MANY, resolve_make_set, make_set)
        .sees_null()
        .nullability(Nullability::Always),
    function("export_set", 3, 5, resolve_export_set, export_set),
];

fn resolve_format(binding: &mut Binding<'_>) -> Result<SqlType> {
    // The width is that of the argument as it is written.
    let digits = text_length(&binding.ty(0));
    binding.number(0);
    binding.integer(1);
    if binding.args.len() > 2 {
        binding.text(2);
    }
    let chars = digits.saturating_add(digits / 3).saturating_add(32);
    Ok(binding.text_result(chars, binding.env.collation))
}

/// `FORMAT(x, digits[, locale])`. A locale that is NULL or unknown is en_US.
fn format(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [number, digits, rest @ ..] = args else {
        return Ok(Value::Null);
    };
    if number.is_null() || digits.is_null() {
        return Ok(Value::Null);
    }
    let locale = match rest.first() {
        None => Locale::en_us(),
        Some(name) => {
            let name = match name.is_null() {
                true => "NULL".into(),
                false => String::from_utf8_lossy(name.bytes()),
            };
            match Locale::named(&name) {
                Some(locale) => locale,
                None => {
                    call.ctx
                        .warn(errno::ER_UNKNOWN_LOCALE, format!("Unknown locale: '{name}'"))?;
                    Locale::en_us()
                }
            }
        }
    };
    // MySQL keeps the low 32 bits of the number of digits.
    let digits = (digits.int() as i32).clamp(0, 30) as u8;
    Ok(Value::String(locale.grouped(&fixed(number, digits))))
}

/// A DOUBLE that is too large for a DECIMAL: its shortest digits, and zeros.
fn beyond_decimals(value: f64, digits: u8) -> String {
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: usize = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |positive| ("-", positive));
    let written = mantissa.replace('.', "");
    let mut text = format!("{sign}{written:0<width$}", width = exponent + 1);
    if digits > 0 {
        text.push('.');
        text.extend(std::iter::repeat_n('0', usize::from(digits)));
    }
    text
}

/// The number with exactly `digits` digits after the point. A DOUBLE is rounded as `ROUND` does it: halves to
/// even.
fn fixed(number: &Datum<'_>, digits: u8) -> String {
    if let Datum::Double(v) = number {
        let v = &round_double(*v, i32::from(digits), false);
        return match Decimal::from_f64(*v).and_then(|d| d.rescale(digits)) {
            Some(d) => d.to_text(),
            None => beyond_decimals(*v, digits),
        };
    }
    let exact = to_decimal(number);
    match exact.rescale(digits) {
        Some(d) => d.to_text(),
        // A DECIMAL has no room for more zeros, so they are appended as text.
        None => {
            let mut text = exact.to_text();
            let have = text.split_once('.').map_or(0, |(_, f)| f.len());
            if have == 0 {
                text.push('.');
            }
            text.extend(std::iter::repeat_n('0', usize::from(digits).saturating_sub(have)));
            text
        }
    }
}

fn resolve_soundex(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    let length = binding.total_length(0..1).max(4);
    Ok(binding.text_result(length, binding.ty(0).collation))
}

/// The class of a letter's sound; 0 for vowels and letters that are not sounded.
fn sound(letter: char) -> char {
    const CLASSES: &[u8; 26] = b"01230120022455012623010202";
    let index = (letter.to_ascii_uppercase() as u32).wrapping_sub('A' as u32) as usize;
    CLASSES.get(index).map_or('0', |c| char::from(*c))
}

fn soundex(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let text = args.first().map_or(&b""[..], |d| d.bytes());
    let text = String::from_utf8_lossy(text);
    // MySQL takes all characters from U+00C0 on for letters.
    let letter = |c: &char| c.is_ascii_alphabetic() || *c >= '\u{c0}';
    let mut letters = text.chars().filter(letter);
    let Some(first) = letters.next() else {
        return Ok(value_of(&call.ty, Vec::new()));
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = sound(first);
    for c in letters {
        let class = sound(c);
        if class != '0' && class != last {
            out.push(class);
        }
        // In MySQL, vowels do not separate two letters of one class.
        if class != '0' {
            last = class;
        }
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    Ok(value_of(&call.ty, out.into_bytes()))
}

fn resolve_make_set(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    let all = 1..binding.args.len();
    let collation = binding.texts(all.clone())?;
    let commas = all.len().saturating_sub(1) as u32;
    let length = binding.total_length(all).saturating_add(commas);
    Ok(binding.text_result(length, collation))
}

fn make_set(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((bits, names)) = args.split_first().filter(|(b, _)| !b.is_null()) else {
        return Ok(Value::Null);
    };
    let bits = match bits {
        Datum::UInt(v) => *v,
        other => other.int() as u64,
    };
    let chosen: Vec<&[u8]> = names
        .iter()
        .take(64)
        .enumerate()
        .filter(|(i, name)| bits >> i & 1 == 1 && !name.is_null())
        .map(|(_, name)| name.bytes())
        .collect();
    Ok(value_of(&call.ty, chosen.join(&b","[..])))
}

fn resolve_export_set(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    binding.integer_if_given(4);
    let texts = 1..binding.args.len().min(4);
    let collation = binding.texts(texts)?;
    let each = binding.total_length(1..2).max(binding.total_length(2..3));
    let separator = if binding.args.len() > 3 {
        binding.total_length(3..4)
    } else {
        1
    };
    let separators = separator.saturating_mul(63);
    let length = each.saturating_mul(64).saturating_add(separators);
    Ok(binding.text_result(length, collation))
}

fn export_set(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [bits, on, off, rest @ ..] = args else {
        return Ok(Value::Null);
    };
    let bits = match bits {
        Datum::UInt(v) => *v,
        other => other.int() as u64,
    };
    let separator = rest.first().map_or(&b","[..], |d| d.bytes());
    let count = rest.get(1).map_or(64, |d| d.int());
    let count = if (0..=64).contains(&count) { count } else { 64 };
    let on_bits = match count {
        0 => 0,
        count => (bits & (u64::MAX >> (64 - count))).count_ones() as usize,
    };
    let separators = (count as usize).saturating_sub(1);
    let length = (on_bits.saturating_mul(on.bytes().len()))
        .saturating_add((count as usize - on_bits).saturating_mul(off.bytes().len()))
        .saturating_add(separators.saturating_mul(separator.len()));
    if length > call.ctx.max_allowed_packet {
        return too_large(call);
    }
    let parts: Vec<&[u8]> = (0..count)
        .map(|i| {
            if bits >> i & 1 == 1 {
                on.bytes()
            } else {
                off.bytes()
            }
        })
        .collect();
    Ok(value_of(&call.ty, parts.join(separator)))
}
