//! String literals: adjacent ones are joined, and a character set may introduce them.

use types::{Charset, Result};

use super::Parser;
use super::literal::{bit_bytes, hex_bytes, text_or_bytes, unquote};
use crate::ast::{Expr, Introducer};
use crate::lexer::raw_bytes::bytes_of;
use crate::lexer::token::Kind;

/// Joins adjacent literals: `'a' 'b'` is `'ab'`.
pub fn text_literals(parser: &mut Parser<'_>) -> Result<Expr> {
    let is_national = parser.kind() == Kind::NationalText;
    // `N` before the quote.
    let first = &parser.word()[usize::from(is_national)..];
    let mut text = unquote(first, parser.backslash_escapes());
    parser.advance();
    while parser.kind() == Kind::Text {
        text.push_str(&unquote(parser.word(), parser.backslash_escapes()));
        parser.advance();
    }
    if is_national {
        return Ok(Expr::Introduced {
            charset: Introducer::National,
            bytes: bytes_of(text),
            quoted: true,
        });
    }
    Ok(text_or_bytes(text))
}

/// `_latin1'text'`, where the word names a character set and a literal follows.
pub fn introduced(parser: &mut Parser<'_>) -> Result<Option<Expr>> {
    let name = parser.word().strip_prefix('_').unwrap_or_default();
    if Charset::from_name(name).is_none() {
        return Ok(None);
    }
    let charset = Introducer::Named(name.to_owned());
    if !matches!(parser.peek().kind, Kind::Text | Kind::Hex | Kind::Bits) {
        return Ok(None);
    }
    parser.advance();
    let bytes = match parser.kind() {
        Kind::Hex => hex_bytes(parser.word()),
        Kind::Bits => bit_bytes(parser.word()),
        _ => {
            let mut bytes = Vec::new();
            while parser.kind() == Kind::Text {
                bytes.extend(bytes_of(unquote(parser.word(), parser.backslash_escapes())));
                parser.advance();
            }
            return Ok(Some(Expr::Introduced {
                charset,
                bytes,
                quoted: true,
            }));
        }
    };
    parser.advance();
    Ok(Some(Expr::Introduced {
        charset,
        bytes,
        quoted: false,
    }))
}
