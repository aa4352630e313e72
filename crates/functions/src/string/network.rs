//! INET_ATON, INET_NTOA, INET6_ATON, INET6_NTOA, IS_IPV4, IS_IPV6 and others.

use std::net::{Ipv4Addr, Ipv6Addr};

use types::{Collation, Result, SqlType, Value};

use super::encode::wrong_argument;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("inet_aton", 1, 1, resolve_aton, inet_aton).nullability(Nullability::Always),
    function("inet_ntoa", 1, 1, resolve_ntoa, inet_ntoa).nullability(Nullability::Always),
    function("inet6_aton", 1, 1, resolve_aton6, inet6_aton).nullability(Nullability::Always),
    function("inet6_ntoa", 1, 1, resolve_ntoa6, inet6_ntoa).nullability(Nullability::Always),
    test("is_ipv4"),
    test("is_ipv6"),
    test("is_ipv4_compat"),
    test("is_ipv4_mapped"),
];

const fn test(name: &'static str) -> FunctionDef {
    function(name, 1, 1, resolve_test, run_test).infallible()
}

fn text<'a>(datum: &Datum<'a>) -> &'a str {
    std::str::from_utf8(datum.bytes()).unwrap_or_default()
}

fn octets(datum: &Datum<'_>) -> Option<[u8; 16]> {
    datum.bytes().try_into().ok()
}

fn run_test(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let holds = match call.def.name {
        "is_ipv4" => ipv4(text(datum)).is_some(),
        "is_ipv6" => ipv6(text(datum)).is_some(),
        "is_ipv4_compat" => {
            matches!(octets(datum), Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, rest @ ..]) if rest > [0, 0, 0, 1])
        }
        _ => matches!(octets(datum), Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ..])),
    };
    Ok(Value::Int(i64::from(holds)))
}

fn resolve_test(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::BOOL)
}

fn resolve_aton(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType {
        length: 21,
        ..SqlType::BIGINT_UNSIGNED
    })
}

/// Up to four parts, of which the last fills the remaining bytes: `127.1` is 127.0.0.1.
fn inet_aton(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    // A part without digits is 0, except the last.
    let parts: Option<Vec<u64>> = text(datum).split('.').map(octet).collect();
    match parts.as_deref() {
        Some([first @ .., last])
            if first.len() <= 3 && !text(datum).ends_with('.') && !text(datum).is_empty() =>
        {
            let high = first.iter().fold(0, |v, p| v << 8 | p);
            let shift = if first.is_empty() {
                0
            } else {
                8 * (4 - first.len())
            };
            Ok(Value::UInt(high << shift | last))
        }
        _ => {
            wrong_argument(call, "string")?;
            Ok(Value::Null)
        }
    }
}

/// A part of an address: digits, of a number up to 255.
fn octet(part: &str) -> Option<u64> {
    part.bytes().try_fold(0, |value: u64, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(value * 10 + digit).filter(|value| *value <= 255)
    })
}

fn resolve_ntoa(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    Ok(SqlType::varchar(31, binding.env.collation))
}

fn inet_ntoa(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let number = match args.first() {
        Some(Datum::Int(v)) => u32::try_from(*v).ok(),
        Some(Datum::UInt(v)) => u32::try_from(*v).ok(),
        _ => None,
    };
    let Some(number) = number else {
        wrong_argument(call, "integer")?;
        return Ok(Value::Null);
    };
    Ok(Value::String(Ipv4Addr::from(number).to_string()))
}

fn resolve_aton6(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::varchar(16, Collation::Binary))
}

fn inet6_aton(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let text = text(datum);
    if let Some(address) = ipv4(text) {
        return Ok(Value::Bytes(address.to_vec()));
    }
    match ipv6(text) {
        Some(address) => Ok(Value::Bytes(address.octets().to_vec())),
        None => {
            wrong_argument(call, "string")?;
            Ok(Value::Null)
        }
    }
}

/// Four numbers of one to three digits. Leading zeros are accepted; the standard library's parser refuses
/// them.
fn ipv4(text: &str) -> Option<[u8; 4]> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        *octet = digits.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(octets)
}

/// Groups of one to four hexadecimal digits; an IPv4 address may stand for the last two of them.
fn ipv6(text: &str) -> Option<Ipv6Addr> {
    let Some((front, tail)) = text.rsplit_once(':').filter(|(_, tail)| tail.contains('.')) else {
        return text.parse().ok();
    };
    let [a, b, c, d] = ipv4(tail)?;
    format!("{front}:{a:x}{b:02x}:{c:x}{d:02x}").parse().ok()
}

/// An address as MySQL writes it: the first of the longest runs of zeros is `::`, even if it is only one
/// group.
fn ipv6_text(address: Ipv6Addr) -> String {
    let groups = address.segments();
    let (mut start, mut length) = (0, 0);
    let mut at = 0;
    while at < groups.len() {
        let zeros = groups[at..].iter().take_while(|group| **group == 0).count();
        if zeros > length {
            (start, length) = (at, zeros);
        }
        at += zeros + 1;
    }
    // `::a.b.c.d` and `::ffff:a.b.c.d`.
    let embeds = start == 0 && (length == 6 || length == 5 && groups[5] == 0xffff);
    let written = if embeds { 6 } else { 8 };
    let mut text = String::new();
    for (position, group) in groups.iter().enumerate().take(written) {
        if (start..start + length).contains(&position) {
            if position == start {
                text.push_str("::");
            }
            continue;
        }
        if !text.is_empty() && !text.ends_with(':') {
            text.push(':');
        }
        text.push_str(&format!("{group:x}"));
    }
    if embeds {
        let [.., a, b, c, d] = address.octets();
        if !text.ends_with(':') {
            text.push(':');
        }
        text.push_str(&Ipv4Addr::new(a, b, c, d).to_string());
    }
    text
}

fn resolve_ntoa6(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::varchar(39, binding.env.collation))
}

fn inet6_ntoa(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    // Text is never an address.
    if matches!(datum, Datum::String(_)) {
        wrong_argument(call, "string")?;
        return Ok(Value::Null);
    }
    if let Ok(four) = <[u8; 4]>::try_from(datum.bytes()) {
        return Ok(Value::String(Ipv4Addr::from(four).to_string()));
    }
    match octets(datum) {
        Some(sixteen) => Ok(Value::String(ipv6_text(Ipv6Addr::from(sixteen)))),
        None => {
            wrong_argument(call, "string")?;
            Ok(Value::Null)
        }
    }
}
