//! CACHE INDEX and LOAD INDEX INTO CACHE: about MyISAM's key caches, which no table here uses.

use types::{Error, Result};

use super::Parser;
use crate::ast::{Maintenance, ObjectName, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

const ER_UNKNOWN_KEY_CACHE: u16 = 1284;

/// `CACHE INDEX t [[INDEX | KEY] (i, ...)], ... IN cache`, the cursor at CACHE.
pub fn cache_index(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    parser.expect(Kw::INDEX)?;
    let tables = parser.comma_separated(table)?;
    parser.expect(Kw::IN)?;
    let cache = match parser.eat(Kw::DEFAULT) {
        true => "default".to_owned(),
        false => parser.name()?,
    };
    match cache.eq_ignore_ascii_case("default") {
        true => Ok(Statement::TableMaintenance {
            action: Maintenance::AssignToKeyCache,
            tables,
        }),
        false => Err(Error::new(
            ER_UNKNOWN_KEY_CACHE,
            format!("Unknown key cache '{cache}'"),
        )),
    }
}

/// `LOAD INDEX INTO CACHE t [[INDEX | KEY] (i, ...)] [IGNORE LEAVES], ...`, the cursor at LOAD.
pub fn load_index(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    parser.expect(Kw::INDEX)?;
    parser.expect(Kw::INTO)?;
    parser.expect(Kw::CACHE)?;
    let tables = parser.comma_separated(|parser| {
        let name = table(parser)?;
        if parser.eat(Kw::IGNORE) {
            parser.expect(Kw::LEAVES)?;
        }
        Ok(name)
    })?;
    Ok(Statement::TableMaintenance {
        action: Maintenance::PreloadKeys,
        tables,
    })
}

fn table(parser: &mut Parser<'_>) -> Result<ObjectName> {
    let name = parser.object_name()?;
    if parser.is(Kw::PARTITION) {
        return Err(Error::not_supported(
            "key caches of partitions",
            "leave PARTITION out",
        ));
    }
    parser.eat_any(&[Kw::INDEX, Kw::KEY]);
    if parser.eat_kind(Kind::LeftParen) {
        if parser.kind() != Kind::RightParen {
            parser.comma_separated(|parser| match parser.eat(Kw::PRIMARY) {
                true => Ok(()),
                false => parser.name().map(drop),
            })?;
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(name)
}
