//! The tokens of optimizer hints, which have words of their own.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::SqlMode;

use super::words::{self, sign};
use super::{DigestTokens, Lexer};
use crate::lexer::token::Kind;

static WORDS: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let lines = include_str!("hints.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (word, number) = line.split_once(' ')?;
            Some((word, number.parse().ok()?))
        })
        .collect()
});

/// Adds the tokens between `/*+` and `*/`.
pub fn read<'a>(text: &'a str, mode: &SqlMode, digest: &mut DigestTokens<'a>) {
    let mut lexer = Lexer::new(text, 0, mode);
    loop {
        let token = lexer.next_token();
        let slice = text.get(token.start..token.end).unwrap_or_default();
        match token.kind {
            Kind::End | Kind::Bad => return,
            Kind::Word => match WORDS.get_key_value(slice.to_ascii_uppercase().as_str()) {
                Some((word, number)) => digest.push_fixed(*number, word),
                None => digest.push_identifier(slice, false),
            },
            Kind::QuotedWord => digest.push_identifier(&slice[1..slice.len() - 1], slice.contains("``")),
            Kind::RightParen => digest.push_right(),
            Kind::Integer | Kind::Decimal | Kind::Float | Kind::Hex | Kind::Bits | Kind::Text => {
                digest.push_value(false);
            }
            // Not the operator of expressions.
            Kind::Equal => digest.push_fixed(sign(b'='), "="),
            Kind::At => digest.push_fixed(sign(b'@'), "@"),
            kind => {
                let (number, sign) = words::of_sign(kind, slice.as_bytes().first().copied().unwrap_or(0));
                digest.push_fixed(number, sign);
            }
        }
    }
}
