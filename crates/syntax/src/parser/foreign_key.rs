//! FOREIGN KEY, and REFERENCES after a column.

use types::Result;

use super::Parser;
use crate::ast::{ForeignKeyDefinition, ObjectName, ReferenceAction};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// What follows REFERENCES.
struct References {
    parent: ObjectName,
    columns: Vec<String>,
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
}

impl Parser<'_> {
    /// `[CONSTRAINT [name]] FOREIGN KEY ...`, where it begins.
    pub fn foreign_key(&mut self) -> Result<Option<ForeignKeyDefinition>> {
        if !self.begins_foreign_key() {
            return Ok(None);
        }
        let mut name = None;
        if self.eat(Kw::CONSTRAINT) && !self.is(Kw::FOREIGN) {
            name = Some(self.name()?);
        }
        self.expect(Kw::FOREIGN)?;
        self.expect(Kw::KEY)?;
        let index = match self.kind() {
            Kind::LeftParen => None,
            _ => Some(self.index_name()?),
        };
        self.expect_kind(Kind::LeftParen)?;
        let columns = self.comma_separated(Self::name)?;
        self.expect_kind(Kind::RightParen)?;
        let references = self.references()?;
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

    fn begins_foreign_key(&self) -> bool {
        if self.is(Kw::FOREIGN) {
            return true;
        }
        if !self.is(Kw::CONSTRAINT) {
            return false;
        }
        let mut ahead = self.fork();
        ahead.advance();
        if !ahead.is(Kw::FOREIGN) {
            ahead.advance();
        }
        ahead.is(Kw::FOREIGN)
    }

    /// REFERENCES after a column: as in MySQL, it is read and has no meaning.
    pub fn column_references(&mut self) -> Result<()> {
        if self.is(Kw::REFERENCES) {
            self.references()?;
        }
        Ok(())
    }

    fn references(&mut self) -> Result<References> {
        self.expect(Kw::REFERENCES)?;
        let mut references = References {
            parent: self.object_name()?,
            columns: Vec::new(),
            on_delete: ReferenceAction::NoAction,
            on_update: ReferenceAction::NoAction,
        };
        if self.eat_kind(Kind::LeftParen) {
            references.columns = self.comma_separated(Self::name)?;
            self.expect_kind(Kind::RightParen)?;
        }
        // InnoDB checks all keys as MATCH SIMPLE.
        if self.eat(Kw::MATCH) && self.eat_any(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE]).is_none() {
            return self.fail();
        }
        let (mut delete, mut update) = (None, None);
        while self.is(Kw::ON) {
            self.advance();
            let action = match self.eat_any(&[Kw::DELETE, Kw::UPDATE]) {
                Some(Kw::DELETE) if delete.is_none() => &mut delete,
                Some(Kw::UPDATE) if update.is_none() => &mut update,
                _ => return self.fail(),
            };
            *action = Some(self.reference_action()?);
        }
        references.on_delete = delete.unwrap_or_default();
        references.on_update = update.unwrap_or_default();
        Ok(references)
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        Ok(if self.eat(Kw::RESTRICT) {
            ReferenceAction::Restrict
        } else if self.eat(Kw::CASCADE) {
            ReferenceAction::Cascade
        } else if self.eat_all(&[Kw::NO, Kw::ACTION]) {
            ReferenceAction::NoAction
        } else if self.eat_all(&[Kw::SET, Kw::NULL]) {
            ReferenceAction::SetNull
        } else if self.eat_all(&[Kw::SET, Kw::DEFAULT]) {
            ReferenceAction::SetDefault
        } else {
            return self.fail();
        })
    }
}
