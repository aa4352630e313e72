//! FOREIGN KEY, and REFERENCES after a column.

use types::Result;

use super::Parser;
use crate::ast::{ForeignKeyDefinition, ObjectName, ReferenceAction};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The clauses after REFERENCES.
struct References {
    parent: ObjectName,
    columns: Vec<String>,
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
}

/// An optional `[CONSTRAINT [name]] FOREIGN KEY ...`.
pub fn foreign_key(parser: &mut Parser<'_>) -> Result<Option<ForeignKeyDefinition>> {
    if !begins_foreign_key(parser) {
        return Ok(None);
    }
    let mut name = None;
    if parser.eat(Kw::CONSTRAINT) && !parser.is(Kw::FOREIGN) {
        name = Some(parser.name()?);
    }
    parser.expect(Kw::FOREIGN)?;
    parser.expect(Kw::KEY)?;
    let index = match parser.kind() {
        Kind::LeftParen => None,
        _ => Some(parser.index_name()?),
    };
    parser.expect_kind(Kind::LeftParen)?;
    let columns = parser.comma_separated(Parser::name)?;
    parser.expect_kind(Kind::RightParen)?;
    let references = references(parser)?;
    Ok(Some(ForeignKeyDefinition {
        name,
        index,
        columns,
        parent: references.parent,
        parent_columns: references.columns,
        on_delete: references.on_delete,
        on_update: references.on_update,
    }))
}

fn begins_foreign_key(parser: &Parser<'_>) -> bool {
    if parser.is(Kw::FOREIGN) {
        return true;
    }
    if !parser.is(Kw::CONSTRAINT) {
        return false;
    }
    let mut ahead = parser.fork();
    ahead.advance();
    if !ahead.is(Kw::FOREIGN) {
        ahead.advance();
    }
    ahead.is(Kw::FOREIGN)
}

/// REFERENCES after a column. As in MySQL, it is parsed and has no effect.
pub fn column_references(parser: &mut Parser<'_>) -> Result<()> {
    if parser.is(Kw::REFERENCES) {
        references(parser)?;
    }
    Ok(())
}

fn references(parser: &mut Parser<'_>) -> Result<References> {
    parser.expect(Kw::REFERENCES)?;
    let mut references = References {
        parent: parser.object_name()?,
        columns: Vec::new(),
        on_delete: ReferenceAction::NoAction,
        on_update: ReferenceAction::NoAction,
    };
    if parser.eat_kind(Kind::LeftParen) {
        references.columns = parser.comma_separated(Parser::name)?;
        parser.expect_kind(Kind::RightParen)?;
    }
    // InnoDB checks all keys as MATCH SIMPLE.
    if parser.eat(Kw::MATCH) && parser.eat_any(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE]).is_none() {
        return parser.fail();
    }
    let (mut delete, mut update) = (None, None);
    while parser.is(Kw::ON) {
        parser.advance();
        let action = match parser.eat_any(&[Kw::DELETE, Kw::UPDATE]) {
            Some(Kw::DELETE) if delete.is_none() => &mut delete,
            Some(Kw::UPDATE) if update.is_none() => &mut update,
            _ => return parser.fail(),
        };
        *action = Some(reference_action(parser)?);
    }
    references.on_delete = delete.unwrap_or_default();
    references.on_update = update.unwrap_or_default();
    Ok(references)
}

fn reference_action(parser: &mut Parser<'_>) -> Result<ReferenceAction> {
    Ok(if parser.eat(Kw::RESTRICT) {
        ReferenceAction::Restrict
    } else if parser.eat(Kw::CASCADE) {
        ReferenceAction::Cascade
    } else if parser.eat_all(&[Kw::NO, Kw::ACTION]) {
        ReferenceAction::NoAction
    } else if parser.eat_all(&[Kw::SET, Kw::NULL]) {
        ReferenceAction::SetNull
    } else if parser.eat_all(&[Kw::SET, Kw::DEFAULT]) {
        ReferenceAction::SetDefault
    } else {
        return parser.fail();
    })
}
