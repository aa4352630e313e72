//! The contents of quoted tokens, and the names that expressions get from their text.

use types::{Charset, Error, Result, SqlMode, errno};

use crate::ast::{Expr, Introducer, NumberText};
use crate::lexer::echo::echo;
use crate::lexer::raw_bytes::{as_name, bytes_of, has_carried};
use crate::lexer::token::Kind;
use crate::lexer::{Lexer, plain_length};

/// The text of a string literal. `token` includes its quotes. Source: manual 9.1.1 "String Literals", table
/// 9.1.
pub fn unquote(token: &str, backslash_escapes: bool) -> String {
    let Some(&quote) = token.as_bytes().first() else {
        return String::new();
    };
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if plain_length(inner.as_bytes(), quote) == inner.len() {
        return inner.to_string();
    }
    let quote = char::from(quote);
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c == quote {
            // The lexer ends the token at a single quote, so this one is doubled.
            chars.next();
            text.push(quote);
        } else if c == '\\' && backslash_escapes {
            match chars.next() {
                Some('0') => text.push('\0'),
                Some('b') => text.push('\u{8}'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('Z') => text.push('\u{1a}'),
                // The backslash stays: in a pattern of LIKE it makes them ordinary characters.
                Some(c @ ('%' | '_')) => text.extend(['\\', c]),
                Some(c) => text.push(c),
                None => {}
            }
        } else {
            text.push(c);
        }
    }
    text
}

/// The text of a literal at a place that requires text: a comment, a name, a password.
pub fn text_of_bytes(text: String) -> Result<String> {
    if !has_carried(&text) {
        return Ok(text);
    }
    String::from_utf8(bytes_of(text)).map_err(|error| {
        Error::new(
            errno::ER_INVALID_CHARACTER_STRING,
            Charset::Utf8mb4.invalid_message(error.as_bytes()),
        )
    })
}

/// A literal as text, or as bytes if it is not valid text.
pub fn text_or_bytes(text: String) -> Expr {
    if !has_carried(&text) {
        return Expr::Text(text);
    }
    Expr::Introduced {
        charset: Introducer::Client,
        bytes: bytes_of(text),
        quoted: true,
    }
}

/// The name in a quoted word.
pub fn unquote_name(token: &str) -> String {
    as_name(unquote(token, false))
}

/// The bytes of `x'4142'` and `0x414`.
pub fn hex_bytes(token: &str) -> Vec<u8> {
    let digits = radix_digits(token);
    let nibble = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    let odd = digits.len() % 2;
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    bytes.extend(digits.iter().take(odd).map(|&b| nibble(b)));
    bytes.extend(
        digits[odd..]
            .chunks_exact(2)
            .map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])),
    );
    bytes
}

/// The bytes of `b'101'` and `0b101`, right-aligned.
pub fn bit_bytes(token: &str) -> Vec<u8> {
    let digits = radix_digits(token);
    digits
        .rchunks(8)
        .rev()
        .map(|chunk| chunk.iter().fold(0, |byte, &digit| byte << 1 | (digit - b'0')))
        .collect()
}

fn radix_digits(token: &str) -> &[u8] {
    let bytes = token.as_bytes();
    let end = if token.ends_with('\'') {
        bytes.len() - 1
    } else {
        bytes.len()
    };
    bytes.get(2..end).unwrap_or_default()
}

/// The name that MySQL gives to a select item without an alias. `source` is its text.
pub fn item_name(expr: &Expr, source: &str, mode: &SqlMode) -> String {
    match expr {
        Expr::Column(name) => name.column.clone(),
        Expr::Null => "NULL".into(),
        Expr::Text(_) => first_text(source, mode).unwrap_or_default(),
        Expr::Introduced { charset, .. } => {
            let name = first_text(source, mode).unwrap_or_else(|| echo(source, mode).into_owned());
            match charset {
                Introducer::Named(of) if of.eq_ignore_ascii_case(Charset::Binary.name()) => name,
                _ => as_name(name),
            }
        }
        Expr::Number(NumberText::Integer(text) | NumberText::Decimal(text) | NumberText::Float(text)) => {
            text.clone()
        }
        Expr::Bool(_) | Expr::Parameter(_) | Expr::Bytes(_) => source
            .trim_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '(' | ')' | '+'))
            .to_string(),
        Expr::Function { name, args } if name.eq_ignore_ascii_case("name_const") => match args.first() {
            Some(Expr::Text(name)) => name.clone(),
            Some(Expr::Introduced { bytes: name, .. } | Expr::Bytes(name)) => {
                String::from_utf8_lossy(name).into_owned()
            }
            Some(Expr::Number(NumberText::Integer(name) | NumberText::Decimal(name))) => name.clone(),
            _ => echo(source, mode).into_owned(),
        },
        _ => echo(source, mode).into_owned(),
    }
}

/// The first string literal of a text, because `'a' 'b'` is named `a`. Blanks before the text are not part of
/// the name.
fn first_text(source: &str, mode: &SqlMode) -> Option<String> {
    let mut lexer = Lexer::new(source, 0, mode);
    loop {
        let token = lexer.next_token();
        let quoted = match token.kind {
            Kind::Text => &source[token.start..token.end],
            Kind::NationalText => &source[token.start + 1..token.end],
            Kind::End | Kind::Bad => return None,
            _ => continue,
        };
        return Some(
            unquote(quoted, !mode.no_backslash_escapes)
                .trim_start()
                .to_string(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(unquote(r"'a\n\t\\\'\%\_\x''b'", true), "a\n\t\\'\\%\\_x'b");
        assert_eq!(unquote(r"'a\n'", false), r"a\n");
        assert_eq!(unquote("`a``b`", false), "a`b");
        assert_eq!(unquote("''", true), "");
    }

    #[test]
    fn hexadecimal_and_bits() {
        assert_eq!(hex_bytes("x'4142'"), b"AB");
        assert_eq!(hex_bytes("0x142"), [1, 0x42]);
        assert!(hex_bytes("x''").is_empty());
        assert_eq!(bit_bytes("b'101'"), [5]);
        assert_eq!(bit_bytes("0b100000001"), [1, 1]);
    }
}
