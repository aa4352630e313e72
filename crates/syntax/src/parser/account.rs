//! CREATE, ALTER, DROP and RENAME USER, CREATE and DROP ROLE.

use types::{Error, Result, errno};

use super::Parser;
use super::literal::unquote_name;
use crate::ast::{
    AccountOptions, SecondPassword, Statement, TlsRequirement, UserSpec, UserStatement, current_user,
};
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

    /// `user[@host]`, `CURRENT_USER()`.
    pub fn account_name(&mut self) -> Result<(String, String)> {
        if self.eat(Kw::CURRENT_USER)
            || (self.is(Kw::USER) && self.peek().kind == Kind::LeftParen && self.eat(Kw::USER))
        {
            if self.eat_kind(Kind::LeftParen) {
                self.expect_kind(Kind::RightParen)?;
            }
            return Ok(current_user());
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
        match host.chars().find(|c| matches!(c, '@' | '\0')) {
            Some(symbol) => Err(Error::new(
                errno::ER_UNKNOWN_ERROR,
                format!("Malformed hostname (illegal symbol: '{symbol}')"),
            )),
            None => Ok((user, host.to_lowercase())),
        }
    }

    fn user_spec(&mut self) -> Result<UserSpec> {
        let (user, host) = self.account_name()?;
        let mut spec = UserSpec {
            user,
            host,
            ..UserSpec::default()
        };
        if self.eat_all(&[Kw::DISCARD, Kw::OLD, Kw::PASSWORD]) {
            spec.second_password = SecondPassword::Discard;
            return Ok(spec);
        }
        if !self.eat(Kw::IDENTIFIED) {
            return Ok(spec);
        }
        if self.eat(Kw::WITH) {
            spec.plugin = Some(self.name_or_text()?);
            if self.eat(Kw::AS) {
                spec.hash = Some(self.hash()?);
                self.retained(&mut spec)?;
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
        match self.eat_all(&[Kw::RANDOM, Kw::PASSWORD]) {
            true => spec.is_random = true,
            false => spec.password = Some(self.text_literal()?),
        }
        self.retained(&mut spec)?;
        Ok(spec)
    }

    /// `[REPLACE 'current password'] [RETAIN CURRENT PASSWORD]`
    pub(super) fn retained(&mut self, spec: &mut UserSpec) -> Result<()> {
        if self.eat(Kw::REPLACE) {
            spec.current_password = Some(self.text_literal()?);
        }
        if self.eat_all(&[Kw::RETAIN, Kw::CURRENT, Kw::PASSWORD]) {
            spec.second_password = SecondPassword::Retain;
        }
        Ok(())
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

    /// The options after the accounts, which all of them get.
    fn user_options(&mut self, users: &mut [UserSpec]) -> Result<()> {
        let (mut locked, mut roles) = (None, None);
        let mut options = AccountOptions::default();
        while !self.at_statement_end() {
            if self.eat_all(&[Kw::ACCOUNT, Kw::LOCK]) {
                locked = Some(true);
            } else if self.eat_all(&[Kw::ACCOUNT, Kw::UNLOCK]) {
                locked = Some(false);
            } else if self.eat_all(&[Kw::DEFAULT, Kw::ROLE]) {
                roles = Some(self.roles()?);
            } else if self.eat(Kw::REQUIRE) {
                options.tls = Some(self.requirement()?);
            } else if self.eat(Kw::WITH) {
                self.resource_limits(&mut options)?;
            } else if self.eat(Kw::PASSWORD) {
                self.password_option(&mut options)?;
            } else if self.eat(Kw::FAILED_LOGIN_ATTEMPTS) {
                options.failed_logins = Some(self.days("FAILED_LOGIN_ATTEMPTS", LOCK_MAX)?);
            } else if self.eat(Kw::PASSWORD_LOCK_TIME) {
                options.lock_days = Some(match self.eat(Kw::UNBOUNDED) {
                    true => -1,
                    false => i32::from(self.days("PASSWORD_LOCK_TIME", LOCK_MAX)?),
                });
            } else if self.eat(Kw::COMMENT) {
                options.comment = Some(self.text_literal()?);
                break;
            } else if self.eat(Kw::ATTRIBUTE) {
                options.attribute = Some(self.text_literal()?);
                break;
            } else {
                return self.fail();
            }
        }
        for user in users {
            user.locked = locked;
            user.default_roles.clone_from(&roles);
            user.options.clone_from(&options);
        }
        Ok(())
    }

    /// `NONE | SSL | X509 | {CIPHER | ISSUER | SUBJECT} text [[AND] ...]`
    fn requirement(&mut self) -> Result<TlsRequirement> {
        for (keyword, requirement) in [
            (Kw::NONE, TlsRequirement::None),
            (Kw::SSL, TlsRequirement::Ssl),
            (Kw::X509, TlsRequirement::X509),
        ] {
            if self.eat(keyword) {
                return Ok(requirement);
            }
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        while let Some(keyword) = self.eat_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
            let (option, name) = match keyword {
                Kw::CIPHER => (&mut cipher, "CIPHER"),
                Kw::ISSUER => (&mut issuer, "ISSUER"),
                _ => (&mut subject, "SUBJECT"),
            };
            if option.replace(self.text_literal()?).is_some() {
                return Err(Error::new(
                    errno::ER_DUP_ARGUMENT,
                    format!("Option '{name}' used twice in statement"),
                ));
            }
            if self.eat(Kw::AND) && !self.is_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
                return self.fail();
            }
        }
        if cipher.is_none() && issuer.is_none() && subject.is_none() {
            return self.fail();
        }
        Ok(TlsRequirement::Specified {
            cipher,
            issuer,
            subject,
        })
    }

    fn resource_limits(&mut self, options: &mut AccountOptions) -> Result<()> {
        let mut found = false;
        loop {
            let limit = if self.eat(Kw::MAX_QUERIES_PER_HOUR) {
                &mut options.max_queries
            } else if self.eat(Kw::MAX_UPDATES_PER_HOUR) {
                &mut options.max_updates
            } else if self.eat(Kw::MAX_CONNECTIONS_PER_HOUR) {
                &mut options.max_connections
            } else if self.eat(Kw::MAX_USER_CONNECTIONS) {
                &mut options.max_user_connections
            } else if found {
                return Ok(());
            } else {
                return self.fail();
            };
            *limit = Some(self.unsigned_32()?);
            found = true;
        }
    }

    /// PASSWORD has been taken.
    fn password_option(&mut self, options: &mut AccountOptions) -> Result<()> {
        if self.eat(Kw::EXPIRE) {
            if self.eat(Kw::INTERVAL) {
                let days = self.days("DAY", u16::MAX)?;
                self.expect(Kw::DAY)?;
                if days == 0 {
                    return Err(wrong_value("DAY", 0));
                }
                options.password_days = Some(Some(days));
            } else if self.eat(Kw::NEVER) {
                options.password_days = Some(Some(0));
            } else if self.eat(Kw::DEFAULT) {
                options.password_days = Some(None);
            } else {
                options.expires_now = true;
            }
        } else if self.eat(Kw::HISTORY) {
            options.history = Some(match self.eat(Kw::DEFAULT) {
                true => None,
                false => Some(self.days("PASSWORD HISTORY", u16::MAX)?),
            });
        } else if self.eat_all(&[Kw::REUSE, Kw::INTERVAL]) {
            options.reuse_days = Some(match self.eat(Kw::DEFAULT) {
                true => None,
                false => {
                    let days = self.days("DAY", u16::MAX)?;
                    self.expect(Kw::DAY)?;
                    Some(days)
                }
            });
        } else {
            self.expect(Kw::REQUIRE)?;
            self.expect(Kw::CURRENT)?;
            options.requires_current = Some(if self.eat(Kw::DEFAULT) {
                None
            } else {
                Some(!self.eat(Kw::OPTIONAL))
            });
        }
        Ok(())
    }

    fn days(&mut self, what: &str, most: u16) -> Result<u16> {
        let days = self.unsigned()?;
        let fits = u16::try_from(days).ok().filter(|days| *days <= most);
        fits.ok_or_else(|| wrong_value(what, days))
    }
}

const ER_WRONG_VALUE: u16 = 1525;

/// Of FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
const LOCK_MAX: u16 = 32767;

fn wrong_value(what: &str, value: u64) -> Error {
    Error::new(ER_WRONG_VALUE, format!("Incorrect {what} value: '{value}'"))
}
