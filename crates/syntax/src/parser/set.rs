//! SET.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{Expr, Roles, SetClause, Statement, UserSpec, UserStatement, VariableScope, current_user};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    pub fn set(&mut self) -> Result<Statement> {
        self.advance();
        if self.is(Kw::PASSWORD) && self.peek().kind != Kind::Dot {
            return self.set_password();
        }
        if self.eat_all(&[Kw::DEFAULT, Kw::ROLE]) {
            return self.set_default_role();
        }
        if self.is(Kw::ROLE) && !matches!(self.peek().kind, Kind::Equal | Kind::Assign) {
            return self.set_role();
        }
        if self.are(&[Kw::RESOURCE, Kw::GROUP]) {
            return Err(Error::not_supported(
                "resource groups",
                "limit accounts and statements instead: MAX_USER_CONNECTIONS, max_execution_time",
            ));
        }
        let scope = self.transaction_scope();
        if let Some(scope) = scope {
            return Ok(Statement::Set(vec![self.set_transaction(scope)?]));
        }
        Ok(Statement::Set(self.comma_separated(Self::set_clause)?))
    }

    /// `SET ROLE DEFAULT | NONE | ALL [EXCEPT role, ...] | role, ...`.
    fn set_role(&mut self) -> Result<Statement> {
        self.advance();
        let roles = match self.eat(Kw::DEFAULT) {
            true => Roles::Default,
            false => self.roles()?,
        };
        Ok(Statement::User(UserStatement::SetRole(match roles {
            Roles::All if self.eat(Kw::EXCEPT) => Roles::AllExcept(self.comma_separated(Self::account_name)?),
            roles => roles,
        })))
    }

    /// `SET DEFAULT ROLE NONE | ALL | role, ... TO user, ...`, the first words taken.
    fn set_default_role(&mut self) -> Result<Statement> {
        let roles = self.roles()?;
        self.expect(Kw::TO)?;
        let users = self.comma_separated(Self::account_name)?;
        Ok(Statement::User(UserStatement::SetDefaultRole { roles, users }))
    }

    /// `NONE | ALL | role, ...`.
    pub fn roles(&mut self) -> Result<Roles> {
        if self.eat(Kw::NONE) {
            return Ok(Roles::None);
        }
        if self.eat(Kw::ALL) {
            return Ok(Roles::All);
        }
        Ok(Roles::List(self.comma_separated(Self::account_name)?))
    }

    /// `SET [SESSION | GLOBAL] TRANSACTION`: takes these words.
    fn transaction_scope(&mut self) -> Option<VariableScope> {
        if self.is(Kw::TRANSACTION) && !matches!(self.peek().kind, Kind::Equal | Kind::Assign) {
            self.advance();
            return Some(VariableScope::NextTransaction);
        }
        for (word, scope) in [
            (Kw::SESSION, VariableScope::Session),
            (Kw::LOCAL, VariableScope::Session),
            (Kw::GLOBAL, VariableScope::Global),
        ] {
            if self.eat_all(&[word, Kw::TRANSACTION]) {
                return Some(scope);
            }
        }
        None
    }

    fn set_transaction(&mut self, scope: VariableScope) -> Result<SetClause> {
        let mut isolation = None;
        let mut read_only = None;
        loop {
            if isolation.is_none() && self.eat_all(&[Kw::ISOLATION, Kw::LEVEL]) {
                isolation = Some(self.isolation_level()?);
            } else if read_only.is_none() && self.eat(Kw::READ) {
                read_only = match self.eat_any(&[Kw::ONLY, Kw::WRITE]) {
                    Some(word) => Some(word == Kw::ONLY),
                    None => return self.fail(),
                };
            } else {
                return self.fail();
            }
            if !self.eat_kind(Kind::Comma) {
                return Ok(SetClause::Transaction {
                    scope,
                    isolation,
                    read_only,
                });
            }
        }
    }

    /// The level's name in the form of `@@transaction_isolation`.
    fn isolation_level(&mut self) -> Result<&'static str> {
        for (words, name) in [
            (&[Kw::REPEATABLE, Kw::READ][..], "REPEATABLE-READ"),
            (&[Kw::READ, Kw::COMMITTED], "READ-COMMITTED"),
            (&[Kw::READ, Kw::UNCOMMITTED], "READ-UNCOMMITTED"),
            (&[Kw::SERIALIZABLE], "SERIALIZABLE"),
        ] {
            if self.eat_all(words) {
                return Ok(name);
            }
        }
        self.fail()
    }

    fn set_clause(&mut self) -> Result<SetClause> {
        if self.kind() == Kind::At {
            let name = self.user_variable_name()?;
            if name.is_empty() {
                return Err(Error::new(
                    errno::ER_ILLEGAL_USER_VAR,
                    "User variable name '' is illegal",
                ));
            }
            self.assignment_sign()?;
            let value = self.expression()?;
            return Ok(SetClause::User { name, value });
        }
        if self.kind() == Kind::AtAt {
            let (scope, name) = self.system_variable_name()?;
            self.assignment_sign()?;
            return self.variable(scope.unwrap_or(VariableScope::Session), name);
        }
        if self.is(Kw::NAMES) && !matches!(self.peek().kind, Kind::Equal | Kind::Assign) {
            return self.set_names();
        }
        if self.eat_all(&[Kw::CHARACTER, Kw::SET])
            || self.eat_all(&[Kw::CHAR, Kw::SET])
            || self.eat(Kw::CHARSET)
        {
            return Ok(SetClause::CharacterSet(self.charset_or_default()?));
        }
        let scope = match self.eat_any(&[Kw::SESSION, Kw::LOCAL, Kw::GLOBAL, Kw::PERSIST, Kw::PERSIST_ONLY]) {
            None | Some(Kw::SESSION | Kw::LOCAL) => VariableScope::Session,
            Some(Kw::GLOBAL) => VariableScope::Global,
            Some(_) => {
                return Err(Error::not_supported(
                    "SET PERSIST",
                    "use the configuration file; on a cluster, SET GLOBAL survives restarts",
                ));
            }
        };
        let mut name = self.name()?;
        if self.eat_kind(Kind::Dot) {
            let rest = self.name_behind_point()?;
            name = format!("{name}.{rest}");
        }
        self.assignment_sign()?;
        self.variable(scope, name.to_lowercase())
    }

    fn assignment_sign(&mut self) -> Result<()> {
        if self.eat_kind(Kind::Equal) || self.eat_kind(Kind::Assign) {
            Ok(())
        } else {
            self.fail()
        }
    }

    fn variable(&mut self, scope: VariableScope, name: String) -> Result<SetClause> {
        let value = self.variable_value()?;
        Ok(SetClause::Variable { scope, name, value })
    }

    /// `ON`, `ALL`, `BINARY`, `ROW`, `SYSTEM` are words of the language that stand for themselves here, as is
    /// any bare name.
    fn variable_value(&mut self) -> Result<Option<Expr>> {
        if self.eat(Kw::DEFAULT) {
            return Ok(None);
        }
        let next = self.peek().kind;
        let alone = matches!(next, Kind::Comma | Kind::Semicolon | Kind::End);
        if alone
            && matches!(self.kind(), Kind::Word | Kind::QuotedWord)
            && !self.is_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE])
        {
            let is_word = self.is_any(&[Kw::ON, Kw::ALL, Kw::BINARY, Kw::ROW, Kw::SYSTEM]);
            let is_function = self.is_any(&[
                Kw::CURRENT_TIMESTAMP,
                Kw::CURRENT_DATE,
                Kw::CURRENT_TIME,
                Kw::CURRENT_USER,
            ]);
            if is_word {
                let word = self.word().to_string();
                self.advance();
                return Ok(Some(Expr::Text(word)));
            }
            if !is_function {
                return Ok(Some(Expr::Text(self.name()?)));
            }
        }
        self.expression().map(Some)
    }

    fn set_names(&mut self) -> Result<SetClause> {
        self.advance();
        let charset = self.charset_or_default()?;
        let collation = if charset.is_some() && self.eat(Kw::COLLATE) {
            Some(if self.eat(Kw::BINARY) {
                "binary".into()
            } else {
                self.name_or_text()?
            })
        } else {
            None
        };
        Ok(SetClause::Names { charset, collation })
    }

    fn charset_or_default(&mut self) -> Result<Option<String>> {
        if self.eat(Kw::DEFAULT) {
            return Ok(None);
        }
        if self.eat(Kw::BINARY) {
            return Ok(Some("binary".into()));
        }
        self.name_or_text().map(Some)
    }

    /// `SET PASSWORD [FOR user] = 'text'`
    fn set_password(&mut self) -> Result<Statement> {
        self.advance();
        let mut spec = UserSpec::default();
        (spec.user, spec.host) = match self.eat(Kw::FOR) {
            true => self.account_name()?,
            false => current_user(),
        };
        match self.eat_all(&[Kw::TO, Kw::RANDOM]) {
            true => spec.is_random = true,
            false => {
                self.assignment_sign()?;
                spec.password = Some(self.text_literal()?);
            }
        }
        self.retained(&mut spec)?;
        Ok(Statement::User(UserStatement::SetPassword(Box::new(spec))))
    }
}
