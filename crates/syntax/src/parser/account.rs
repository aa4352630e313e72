//! CREATE, ALTER, DROP and RENAME USER, GRANT and REVOKE.

use types::{Error, Result};

use super::Parser;
use super::literal::unquote_name;
use crate::ast::{GrantTarget, Statement, UserSpec, UserStatement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The host of an account that is written without one: any host.
const ANY_HOST: &str = "%";

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

    /// `GRANT ALL [PRIVILEGES] ON ... TO user, ... [WITH GRANT OPTION]`
    pub fn grant(&mut self) -> Result<Statement> {
        self.advance();
        let is_usage = self.eat(Kw::USAGE);
        if !is_usage && !self.eat(Kw::ALL) {
            return Err(no_single_privileges());
        }
        self.eat(Kw::PRIVILEGES);
        if self.kind() != Kind::Word || !self.is(Kw::ON) {
            return Err(no_single_privileges());
        }
        self.advance();
        let mut scope = self.grant_target()?;
        self.expect(Kw::TO)?;
        let users = self.comma_separated(Self::account_name)?;
        let with_grant_option = self.eat_all(&[Kw::WITH, Kw::GRANT, Kw::OPTION]);
        if let GrantTarget::Everything { grant_option } = &mut scope {
            *grant_option = with_grant_option;
        }
        if is_usage && !with_grant_option {
            return Ok(Statement::Empty);
        }
        Ok(Statement::Grant { scope, users })
    }

    /// `REVOKE ALL [PRIVILEGES] ON ... FROM user`, `REVOKE ALL [PRIVILEGES], GRANT OPTION FROM user`
    pub fn revoke(&mut self) -> Result<Statement> {
        self.advance();
        self.if_exists()?;
        if !self.eat(Kw::ALL) {
            return Err(no_single_privileges());
        }
        self.eat(Kw::PRIVILEGES);
        let scope = if self.eat_kind(Kind::Comma) {
            self.expect(Kw::GRANT)?;
            self.expect(Kw::OPTION)?;
            None
        } else {
            self.expect(Kw::ON)?;
            Some(self.grant_target()?)
        };
        self.expect(Kw::FROM)?;
        let users = self.comma_separated(Self::account_name)?;
        self.eat_all(&[Kw::IGNORE, Kw::UNKNOWN, Kw::USER]);
        Ok(Statement::Revoke { scope, users })
    }

    fn grant_target(&mut self) -> Result<GrantTarget> {
        if self.is_any(&[Kw::FUNCTION, Kw::PROCEDURE]) {
            return Err(no_single_privileges());
        }
        self.eat(Kw::TABLE);
        if self.eat_kind(Kind::Star) {
            if !self.eat_kind(Kind::Dot) {
                return Ok(GrantTarget::Database(None));
            }
            self.expect_kind(Kind::Star)?;
            return Ok(GrantTarget::Everything { grant_option: false });
        }
        let database = self.database_name()?;
        if !self.eat_kind(Kind::Dot) || !self.eat_kind(Kind::Star) {
            return Err(Error::not_supported(
                "privileges on tables",
                "grant them on the whole database",
            ));
        }
        // MySQL takes `_` and `%` for wildcards here. A backslash before them makes them ordinary characters.
        Ok(GrantTarget::Database(Some(
            database.replace("\\_", "_").replace("\\%", "%"),
        )))
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
                Kw::DEFAULT,
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

fn no_single_privileges() -> Error {
    Error::not_supported("single privileges", "GRANT ALL ON *.*, or ON a database")
}
