//! The values after `.bind`: SQL literals, each of which determines its type in the binary protocol.

use mysql::Value;

/// `1, -2.5, 'text', x'00ff', NULL, date '2024-01-31', time '-12:00:00', timestamp '2024-01-31 12:00:00.5'`;
/// `u18446744073709551615` is unsigned, a number with `.` or `e` a double.
pub fn parse_list(text: &str) -> Result<Vec<Value>, String> {
    let mut rest = text.trim();
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (value, tail) = parse(rest)?;
        values.push(value);
        let tail = tail.trim_start();
        rest = match tail.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if tail.is_empty() => tail,
            None => return Err(format!("expected ',' at: {tail}")),
        };
    }
    Ok(values)
}

fn parse(text: &str) -> Result<(Value, &str), String> {
    if let Some(rest) = text.strip_prefix('\'') {
        let (string, tail) = quoted(rest)?;
        return Ok((Value::Bytes(string.into_bytes()), tail));
    }
    if let Some(rest) = text.strip_prefix("x'") {
        let (hex, tail) = quoted(rest)?;
        return Ok((Value::Bytes(bytes(&hex)?), tail));
    }
    for (word, read) in [
        ("date '", datetime as fn(&str) -> Option<Value>),
        ("timestamp '", datetime),
        ("time '", time),
    ] {
        if let Some(rest) = text.strip_prefix(word) {
            let (string, tail) = quoted(rest)?;
            let value = read(&string).ok_or_else(|| format!("not a {word}{string}'"))?;
            return Ok((value, tail));
        }
    }
    let end = text.find([',', ' ']).unwrap_or(text.len());
    let (word, tail) = text.split_at(end);
    let value = if word == "NULL" {
        Value::NULL
    } else if let Some(unsigned) = word.strip_prefix('u') {
        Value::UInt(unsigned.parse().map_err(|_| format!("not a number: {word}"))?)
    } else if word.contains(['.', 'e']) {
        Value::Double(word.parse().map_err(|_| format!("not a number: {word}"))?)
    } else {
        Value::Int(word.parse().map_err(|_| format!("not a value: {word}"))?)
    };
    Ok((value, tail))
}

/// The string up to its closing quote, and the rest. `''` is a quote; `\n`, `\t` and `\\` have their usual
/// meaning.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.next_if(|(_, c)| *c == '\'').is_some() => out.push('\''),
            '\'' => return Ok((out, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, c)) => out.push(c),
                None => break,
            },
            c => out.push(c),
        }
    }
    Err(format!("no closing quote: {text}"))
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u32>> = hex.chars().map(|c| c.to_digit(16)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|d| (d[0] * 16 + d[1]) as u8).collect())
        }
        _ => Err(format!("not hexadecimal: {hex}")),
    }
}

fn datetime(text: &str) -> Option<Value> {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (hour, minute, second, micros) = clock(time)?;
    Some(Value::Date(
        year.parse().ok()?,
        month.parse().ok()?,
        day.parse().ok()?,
        u8::try_from(hour).ok()?,
        minute,
        second,
        micros,
    ))
}

fn time(text: &str) -> Option<Value> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (hours, minute, second, micros) = clock(text)?;
    Some(Value::Time(
        negative,
        hours / 24,
        (hours % 24) as u8,
        minute,
        second,
        micros,
    ))
}

fn clock(text: &str) -> Option<(u32, u8, u8, u32)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.splitn(3, ':');
    let (hours, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let micros = format!("{fraction:0<6}");
    Some((
        hours.parse().ok()?,
        minute.parse().ok()?,
        second.parse().ok()?,
        micros.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_literal_has_its_type() {
        let values = parse_list("1, -2.5, 'it''s, ok', x'00ff', NULL, u18446744073709551615").unwrap();
        assert_eq!(
            values,
            [
                Value::Int(1),
                Value::Double(-2.5),
                Value::Bytes(b"it's, ok".to_vec()),
                Value::Bytes(vec![0, 255]),
                Value::NULL,
                Value::UInt(u64::MAX),
            ]
        );
        assert_eq!(
            parse_list("date '2024-01-31', timestamp '2024-01-31 12:00:01.5', time '-34:00:00'").unwrap(),
            [
                Value::Date(2024, 1, 31, 0, 0, 0, 0),
                Value::Date(2024, 1, 31, 12, 0, 1, 500_000),
                Value::Time(true, 1, 10, 0, 0, 0),
            ]
        );
        assert_eq!(parse_list("").unwrap(), []);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["'open", "1 2", "x'0'", "date 'soon'", "abc"] {
            assert!(parse_list(text).is_err(), "{text}");
        }
    }
}
