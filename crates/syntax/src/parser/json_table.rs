//! JSON_TABLE.

use types::{Error, Result, errno};

use super::{Parser, data_type, deprecated, names};
use crate::ast::{JsonTable, JsonTableColumn, JsonTableCondition, JsonTableLevel, TableRef};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// `JSON_TABLE(document, path COLUMNS (...)) [AS] alias`, from the name on.
pub fn json_table(parser: &mut Parser<'_>) -> Result<TableRef> {
    parser.advance();
    parser.expect_kind(Kind::LeftParen)?;
    let document = parser.expression()?;
    parser.expect_kind(Kind::Comma)?;
    let root = json_table_level(parser)?;
    parser.expect_kind(Kind::RightParen)?;
    let Some(alias) = names::table_alias(parser)? else {
        return Err(Error::new(
            errno::ER_TF_MUST_HAVE_ALIAS,
            "Every table function must have an alias",
        ));
    };
    parser.grow_tables()?;
    Ok(TableRef::Json(JsonTable {
        document,
        root,
        alias,
    }))
}

/// `path COLUMNS (...)`
fn json_table_level(parser: &mut Parser<'_>) -> Result<JsonTableLevel> {
    let path = parser.text_literal()?;
    parser.expect(Kw::COLUMNS)?;
    parser.expect_kind(Kind::LeftParen)?;
    let columns = parser.comma_separated(|parser| parser.nested(json_table_column))?;
    parser.expect_kind(Kind::RightParen)?;
    parser.grow_tables()?;
    Ok(JsonTableLevel { path, columns })
}

fn json_table_column(parser: &mut Parser<'_>) -> Result<JsonTableColumn> {
    if parser.is(Kw::NESTED) && (parser.peek().kind == Kind::Text || parser.peek_is(Kw::PATH)) {
        parser.advance();
        parser.eat(Kw::PATH);
        return Ok(JsonTableColumn::Nested(json_table_level(parser)?));
    }
    let name = parser.name()?;
    if parser.eat_all(&[Kw::FOR, Kw::ORDINALITY]) {
        return Ok(JsonTableColumn::Ordinality(name));
    }
    let mut ty = data_type::data_type(parser)?;
    if parser.eat(Kw::COLLATE) {
        ty.collation = Some(parser.name_or_text()?);
    }
    let exists = parser.eat(Kw::EXISTS);
    parser.expect(Kw::PATH)?;
    let path = parser.text_literal()?;
    if exists {
        return Ok(JsonTableColumn::Exists { name, ty, path });
    }
    let mut on_empty = None;
    let mut on_error = None;
    while let Some(condition) = json_table_condition(parser)? {
        match parser.eat_any(&[Kw::EMPTY, Kw::ERROR]) {
            Some(Kw::EMPTY) if on_empty.is_none() => {
                if on_error.is_some() {
                    deprecated::empty_after_error(parser);
                }
                on_empty = Some(condition);
            }
            Some(Kw::ERROR) if on_error.is_none() => on_error = Some(condition),
            _ => return parser.fail(),
        }
    }
    Ok(JsonTableColumn::Value {
        name,
        ty,
        path,
        on_empty: on_empty.unwrap_or(JsonTableCondition::Null),
        on_error: on_error.unwrap_or(JsonTableCondition::Null),
    })
}

/// An optional `NULL ON`, `ERROR ON` or `DEFAULT text ON`.
fn json_table_condition(parser: &mut Parser<'_>) -> Result<Option<JsonTableCondition>> {
    let condition = match parser.eat_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
        None => return Ok(None),
        Some(Kw::NULL) => JsonTableCondition::Null,
        Some(Kw::ERROR) => JsonTableCondition::Error,
        Some(_) => JsonTableCondition::Default(parser.text_literal()?),
    };
    parser.expect(Kw::ON)?;
    Ok(Some(condition))
}
