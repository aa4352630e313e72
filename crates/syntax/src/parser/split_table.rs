//! TiDB's SPLIT TABLE.

use types::{Error, Result};

use super::Parser;
use crate::ast::{Expr, SplitPoints, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// `SPLIT TABLE t [INDEX i] BETWEEN (...) AND (...) REGIONS n`, or `BY (...), ...`
pub fn split_table(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.is_any(&[Kw::PARTITION, Kw::REGION]) {
        return Err(Error::not_supported(
            "SPLIT PARTITION and SPLIT REGION",
            "use SPLIT TABLE, which splits a whole table",
        ));
    }
    parser.expect(Kw::TABLE)?;
    let table = parser.object_name()?;
    let index = index_to_split(parser)?;
    let points = if parser.eat(Kw::BY) {
        SplitPoints::By(parser.comma_separated(key_values)?)
    } else {
        parser.expect(Kw::BETWEEN)?;
        let lower = key_values(parser)?;
        parser.expect(Kw::AND)?;
        let upper = key_values(parser)?;
        parser.expect(Kw::REGIONS)?;
        SplitPoints::Between {
            lower,
            upper,
            regions: parser.unsigned()?,
        }
    };
    Ok(Statement::SplitTable { table, index, points })
}

/// `[INDEX i]`
pub fn index_to_split(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if parser.is(Kw::PARTITION) {
        return Err(Error::not_supported(
            "SPLIT TABLE ... PARTITION",
            "leave PARTITION out",
        ));
    }
    if !parser.eat(Kw::INDEX) {
        return Ok(None);
    }
    parser.name().map(Some)
}

fn key_values(parser: &mut Parser<'_>) -> Result<Vec<Expr>> {
    parser.expect_kind(Kind::LeftParen)?;
    let values = parser.comma_separated(Parser::expression)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(values)
}
