//! CREATE and ALTER DATABASE.

use types::{Error, Result};

use super::Parser;
use crate::ast::{DatabaseOptions, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    pub fn create_database(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.database_name()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase {
            name,
            if_not_exists,
            options,
        })
    }

    pub fn alter_database(&mut self) -> Result<Statement> {
        let has_name = !self.is_any(&[
            Kw::DEFAULT,
            Kw::CHARACTER,
            Kw::CHARSET,
            Kw::CHAR,
            Kw::COLLATE,
            Kw::ENCRYPTION,
            Kw::READ,
        ]);
        let name = if has_name {
            Some(self.database_name()?)
        } else {
            None
        };
        let start = self.start();
        let options = self.database_options()?;
        if self.start() == start {
            return self.fail();
        }
        Ok(Statement::AlterDatabase { name, options })
    }

    fn database_options(&mut self) -> Result<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        while !self.at_statement_end() {
            if self.is(Kw::READ) {
                return Err(Error::not_supported(
                    "READ ONLY databases",
                    "revoke the privileges to write",
                ));
            }
            self.eat(Kw::DEFAULT);
            if self.eat(Kw::ENCRYPTION) {
                self.eat_kind(Kind::Equal);
                if self.text_literal()?.eq_ignore_ascii_case("y") {
                    return Err(Error::not_supported("ENCRYPTION", "encrypt the file system"));
                }
            } else if !self.charset_or_collation(&mut options.charset, &mut options.collation)? {
                return self.fail();
            }
        }
        Ok(options)
    }

    /// `CHARACTER SET [=] x` or `COLLATE [=] x`, where one is there.
    pub fn charset_or_collation(
        &mut self,
        charset: &mut Option<String>,
        collation: &mut Option<String>,
    ) -> Result<bool> {
        let target = if self.eat_all(&[Kw::CHARACTER, Kw::SET])
            || self.eat_all(&[Kw::CHAR, Kw::SET])
            || self.eat(Kw::CHARSET)
        {
            charset
        } else if self.eat(Kw::COLLATE) {
            collation
        } else {
            return Ok(false);
        };
        self.eat_kind(Kind::Equal);
        if self.eat(Kw::DEFAULT) {
            return Ok(true);
        }
        *target = Some(if self.eat(Kw::BINARY) {
            "binary".into()
        } else {
            self.name_or_text()?
        });
        Ok(true)
    }
}
