//! JSON_TABLE.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{JsonTable, JsonTableColumn, JsonTableCondition, JsonTableLevel, TableRef};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `JSON_TABLE(document, path COLUMNS (...)) [AS] alias`, the cursor at the name.
    pub fn json_table(&mut self) -> Result<TableRef> {
        self.advance();
        self.expect_kind(Kind::LeftParen)?;
        let document = self.expression()?;
        self.expect_kind(Kind::Comma)?;
        let root = self.json_table_level()?;
        self.expect_kind(Kind::RightParen)?;
        let Some(alias) = self.table_alias()? else {
            return Err(Error::new(
                errno::ER_TF_MUST_HAVE_ALIAS,
                "Every table function must have an alias",
            ));
        };
        self.grow()?;
        Ok(TableRef::Json(JsonTable {
            document,
            root,
            alias,
        }))
    }

    /// `path COLUMNS (...)`
    fn json_table_level(&mut self) -> Result<JsonTableLevel> {
        let path = self.text_literal()?;
        self.expect(Kw::COLUMNS)?;
        self.expect_kind(Kind::LeftParen)?;
        let columns = self.comma_separated(|parser| parser.nested(Self::json_table_column))?;
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        Ok(JsonTableLevel { path, columns })
    }

    fn json_table_column(&mut self) -> Result<JsonTableColumn> {
        if self.is(Kw::NESTED) && (self.peek().kind == Kind::Text || self.peek_is(Kw::PATH)) {
            self.advance();
            self.eat(Kw::PATH);
            return Ok(JsonTableColumn::Nested(self.json_table_level()?));
        }
        let name = self.name()?;
        if self.eat_all(&[Kw::FOR, Kw::ORDINALITY]) {
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let mut ty = self.data_type()?;
        if self.eat(Kw::COLLATE) {
            ty.collation = Some(self.name_or_text()?);
        }
        let exists = self.eat(Kw::EXISTS);
        self.expect(Kw::PATH)?;
        let path = self.text_literal()?;
        if exists {
            return Ok(JsonTableColumn::Exists { name, ty, path });
        }
        let mut on_empty = None;
        let mut on_error = None;
        while let Some(condition) = self.json_table_condition()? {
            match self.eat_any(&[Kw::EMPTY, Kw::ERROR]) {
                Some(Kw::EMPTY) if on_empty.is_none() && on_error.is_none() => on_empty = Some(condition),
                Some(Kw::ERROR) if on_error.is_none() => on_error = Some(condition),
                _ => return self.fail(),
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

    /// `NULL ON`, `ERROR ON`, `DEFAULT text ON`, where one is there.
    fn json_table_condition(&mut self) -> Result<Option<JsonTableCondition>> {
        let condition = match self.eat_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
            None => return Ok(None),
            Some(Kw::NULL) => JsonTableCondition::Null,
            Some(Kw::ERROR) => JsonTableCondition::Error,
            Some(_) => JsonTableCondition::Default(self.text_literal()?),
        };
        self.expect(Kw::ON)?;
        Ok(Some(condition))
    }
}
