//! XA: transactions of several servers.

use types::Result;

use super::Parser;
use super::literal::{bit_bytes, hex_bytes};
use crate::ast::{XaJoin, XaStatement, Xid};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The longest part of an xid.
const PART_BYTES_MAX: usize = 64;
/// The default format of an xid.
const FORMAT: u64 = 1;

pub fn xa(parser: &mut Parser<'_>) -> Result<XaStatement> {
    parser.advance();
    let Some(word) = parser.eat_any(&[
        Kw::START,
        Kw::BEGIN,
        Kw::END,
        Kw::PREPARE,
        Kw::COMMIT,
        Kw::ROLLBACK,
        Kw::RECOVER,
    ]) else {
        return parser.fail();
    };
    if word == Kw::RECOVER {
        let convert = parser.eat(Kw::CONVERT);
        if convert {
            parser.expect(Kw::XID)?;
        }
        return Ok(XaStatement::Recover { convert });
    }
    let xid = xid(parser)?;
    Ok(match word {
        Kw::START | Kw::BEGIN => XaStatement::Start {
            xid,
            joins: match parser.eat_any(&[Kw::JOIN, Kw::RESUME]) {
                Some(Kw::JOIN) => XaJoin::Join,
                Some(_) => XaJoin::Resume,
                None => XaJoin::Nothing,
            },
        },
        Kw::END => {
            let suspends = parser.eat(Kw::SUSPEND);
            if suspends && parser.eat(Kw::FOR) {
                parser.expect(Kw::MIGRATE)?;
            }
            XaStatement::End { xid, suspends }
        }
        Kw::PREPARE => XaStatement::Prepare(xid),
        Kw::COMMIT => {
            let one_phase = parser.eat(Kw::ONE);
            if one_phase {
                parser.expect(Kw::PHASE)?;
            }
            XaStatement::Commit { xid, one_phase }
        }
        _ => XaStatement::Rollback(xid),
    })
}

/// `gtrid [, bqual [, formatID]]`
fn xid(parser: &mut Parser<'_>) -> Result<Xid> {
    let global = xid_part(parser)?;
    let mut xid = Xid {
        format: FORMAT,
        global,
        branch: Vec::new(),
    };
    if parser.eat_kind(Kind::Comma) {
        xid.branch = xid_part(parser)?;
        if parser.eat_kind(Kind::Comma) {
            xid.format = xid_format(parser)?;
        }
    }
    Ok(xid)
}

fn xid_format(parser: &mut Parser<'_>) -> Result<u64> {
    if parser.kind() != Kind::Hex {
        let start = parser.start();
        let number = parser.unsigned()?;
        return match i64::try_from(number) {
            Ok(_) => Ok(number),
            Err(_) => Err(parser.error_at(start)),
        };
    }
    let bytes = hex_bytes(parser.word());
    let mut number = [0; 8];
    let Some(room) = number.len().checked_sub(bytes.len()) else {
        return parser.fail();
    };
    number[room..].copy_from_slice(&bytes);
    parser.advance();
    Ok(u64::from_be_bytes(number))
}

fn xid_part(parser: &mut Parser<'_>) -> Result<Vec<u8>> {
    let start = parser.start();
    let bytes = match parser.kind() {
        Kind::Hex => {
            let bytes = hex_bytes(parser.word());
            parser.advance();
            bytes
        }
        Kind::Bits => {
            let bytes = bit_bytes(parser.word());
            parser.advance();
            bytes
        }
        _ => parser.text_literal()?.into_bytes(),
    };
    match bytes.len() <= PART_BYTES_MAX {
        true => Ok(bytes),
        false => Err(parser.error_at(start)),
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{Statement, XaJoin, XaStatement, Xid};
    use crate::parse_one;

    fn parse(text: &str) -> Option<XaStatement> {
        match parse_one(text, crate::testing::sql_mode()).ok()?.statement {
            Statement::Xa(statement) => Some(statement),
            _ => None,
        }
    }

    #[test]
    fn an_xid_is_up_to_three_parts() {
        let xid = |format, global: &[u8], branch: &[u8]| Xid {
            format,
            global: global.into(),
            branch: branch.into(),
        };
        assert_eq!(
            parse("XA PREPARE 'a'"),
            Some(XaStatement::Prepare(xid(1, b"a", b"")))
        );
        assert_eq!(
            parse("XA ROLLBACK 0x6162,b'01100011', 0x100"),
            Some(XaStatement::Rollback(xid(256, b"ab", b"c")))
        );
        assert_eq!(parse("XA ROLLBACK 'a', 'b', 0x010203040506070809"), None);
        assert_eq!(
            parse("XA ROLLBACK 0x6162,b'01100011', 7"),
            Some(XaStatement::Rollback(xid(7, b"ab", b"c")))
        );
        assert_eq!(
            parse("XA BEGIN 'a' RESUME"),
            Some(XaStatement::Start {
                xid: xid(1, b"a", b""),
                joins: XaJoin::Resume
            })
        );
        let long = "x".repeat(65);
        assert_eq!(parse(&format!("XA PREPARE '{long}'")), None);
        assert_eq!(parse("XA COMMIT"), None);
        assert_eq!(
            parse("XA RECOVER CONVERT XID"),
            Some(XaStatement::Recover { convert: true })
        );
    }
}
