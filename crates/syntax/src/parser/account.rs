//! CREATE, ALTER, DROP and RENAME USER, CREATE and DROP ROLE.

use types::{Error, Result};

use super::Parser;
use super::literal::unquote_name;
use crate::ast::{Statement, UserSpec, UserStatement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The host of an account that is written without one: any host.
pub(super) const ANY_HOST: &str = "%";

impl Parser<'_> {
    pub fn create_user(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let mut users = self.comma_separated(Self::user_spec)?;
        self.user_options(&mut users)?;
        Ok(Statement::User(UserStatement::Create { users, if_not_exists }))
    }

    pub fn alter_user(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let mut users = self.comma_separated(Self::user_spec)?;
        self.user_options(&mut users)?;
        Ok(Statement::User(UserStatement::Alter { users, if_exists }))
    }

    pub fn drop_user(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let users = self.comma_separated(Self::account_name)?;
        Ok(Statement::User(UserStatement::Drop { users, if_exists }))
    }

    /// RENAME has been taken.
    pub fn rename_user(&mut self) -> Result<Statement> {
        self.expect(Kw::USER)?;
        let renames = self.comma_separated(|parser| {
            let from = parser.account_name()?;
            parser.expect(Kw::TO)?;
            Ok((from, parser.account_name()?))
        })?;
        Ok(Statement::User(UserStatement::Rename(renames)))
    }

    pub fn create_role(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let roles = self.comma_separated(Self::account_name)?;
        Ok(Statement::User(UserStatement::CreateRole {
            roles,
            if_not_exists,
        }))
    }

    pub fn drop_role(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let roles = self.comma_separated(Self::account_name)?;
        Ok(Statement::User(UserStatement::DropRole { roles, if_exists }))
    }

    /// `user[@host]`, `CURRENT_USER()` as two empty names.
    pub fn account_name(&mut self) -> Result<(String, String)> {
        if self.eat(Kw::CURRENT_USER)
            || (self.is(Kw::USER) && self.peek().kind == Kind::LeftParen && self.eat(Kw::USER))
        {
            if self.eat_kind(Kind::LeftParen) {
                self.expect_kind(Kind::RightParen)?;
            }
            return Ok((String::new(), String::new()));
        }
        let user = self.name_or_text()?;
        if !self.eat_kind(Kind::At) {
            return Ok((user, ANY_HOST.into()));
        }
        let host = match self.kind() {
            Kind::Text => self.text_literal()?,
            Kind::QuotedWord => {
                let host = unquote_name(self.word());
                self.advance();
                host
            }
            // An unquoted host may hold points and digits: `a@127.0.0.1`.
            Kind::Word | Kind::Integer | Kind::Decimal | Kind::Percent => {
                let start = self.start();
                self.advance();
                while self.start() == self.previous_end()
                    && matches!(
                        self.kind(),
                        Kind::Word | Kind::Integer | Kind::Decimal | Kind::Dot
                    )
                {
                    self.advance();
                }
                self.source(start, self.previous_end()).to_string()
            }
            _ => return self.fail(),
        };
        Ok((user, host.to_lowercase()))
    }

    fn user_spec(&mut self) -> Result<UserSpec> {
        let (user, host) = self.account_name()?;
        let mut spec = UserSpec {
            user,
            host,
            ..UserSpec::default()
        };
        if !self.eat(Kw::IDENTIFIED) {
            return Ok(spec);
        }
        if self.eat(Kw::WITH) {
            spec.plugin = Some(self.name_or_text()?);
            if self.eat(Kw::AS) {
                spec.hash = Some(self.hash()?);
                return Ok(spec);
            }
            if !self.eat(Kw::BY) {
                return Ok(spec);
            }
        } else {
            self.expect(Kw::BY)?;
        }
        if self.eat(Kw::PASSWORD) {
            spec.hash = Some(self.hash()?);
            return Ok(spec);
        }
        if self.is(Kw::RANDOM) {
            return Err(Error::not_supported(
                "IDENTIFIED BY RANDOM PASSWORD",
                "choose a password",
            ));
        }
        spec.password = Some(self.text_literal()?);
        if self.is_any(&[Kw::REPLACE, Kw::RETAIN]) {
            return Err(Error::not_supported(
                "REPLACE and RETAIN CURRENT PASSWORD",
                "leave them out",
            ));
        }
        Ok(spec)
    }

    /// A stored hash, as text or as hexadecimal digits.
    fn hash(&mut self) -> Result<String> {
        if self.kind() == Kind::Hex {
            let bytes = super::literal::hex_bytes(self.word());
            self.advance();
            // One character per byte, so that bytes that are not UTF-8 are not lost.
            return Ok(bytes.into_iter().map(char::from).collect());
        }
        self.text_literal()
    }

    /// The options behind the accounts. Those that change nothing in StemDB are read and ignored; others are
    /// refused.
    fn user_options(&mut self, users: &mut [UserSpec]) -> Result<()> {
        while !self.at_statement_end() {
            if self.eat_all(&[Kw::ACCOUNT, Kw::LOCK]) {
                users.iter_mut().for_each(|user| user.locked = Some(true));
                continue;
            }
            if self.eat_all(&[Kw::ACCOUNT, Kw::UNLOCK]) {
                users.iter_mut().for_each(|user| user.locked = Some(false));
                continue;
            }
            if self.eat_all(&[Kw::DEFAULT, Kw::ROLE]) {
                let roles = self.roles()?;
                users
                    .iter_mut()
                    .for_each(|user| user.default_roles = Some(roles.clone()));
                continue;
            }
            if self.eat_all(&[Kw::REQUIRE, Kw::NONE])
                || self.eat_all(&[Kw::PASSWORD, Kw::EXPIRE, Kw::DEFAULT])
                || self.eat_all(&[Kw::PASSWORD, Kw::EXPIRE, Kw::NEVER])
                || self.eat_all(&[Kw::PASSWORD, Kw::HISTORY, Kw::DEFAULT])
                || self.eat_all(&[Kw::PASSWORD, Kw::REUSE, Kw::INTERVAL, Kw::DEFAULT])
                || self.eat_all(&[Kw::PASSWORD, Kw::REQUIRE, Kw::CURRENT, Kw::DEFAULT])
            {
                continue;
            }
            if self.is_any(&[
                Kw::REQUIRE,
                Kw::WITH,
                Kw::PASSWORD,
                Kw::ACCOUNT,
                Kw::COMMENT,
                Kw::ATTRIBUTE,
                Kw::FAILED_LOGIN_ATTEMPTS,
                Kw::PASSWORD_LOCK_TIME,
            ]) {
                return Err(Error::not_supported(
                    format!("the account option {}", self.word().to_uppercase()),
                    "leave it out",
                ));
            }
            return self.fail();
        }
        Ok(())
    }
}
