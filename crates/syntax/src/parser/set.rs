//! SET.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{Expr, SetClause, Statement, UserStatement, VariableScope};
use crate::lexer::token::Kind;

impl Parser<'_> {
    pub fn set(&mut self) -> Result<Statement> {
        self.advance();
        if self.is("PASSWORD") && self.peek().kind != Kind::Dot {
            return self.set_password();
        }
        if self.eat_all(&["DEFAULT", "ROLE"]) {
            return self.set_default_role();
        }
        if self.is("ROLE") && !matches!(self.peek().kind, Kind::Equal | Kind::Assign) {
            return self.set_role();
        }
        if self.are(&["RESOURCE", "GROUP"]) {
            return Err(Error::not_supported("resource groups", ""));
        }
        let scope = self.transaction_scope();
        if let Some(scope) = scope {
            return Ok(Statement::Set(vec![self.set_transaction(scope)?]));
        }
        Ok(Statement::Set(self.comma_separated(Self::set_clause)?))
    }

    /// `SET ROLE DEFAULT | NONE | ALL [EXCEPT role, ...] | role, ...`. There are no roles, so that only those with a name
    /// make a difference.
    fn set_role(&mut self) -> Result<Statement> {
        self.advance();
        if self.eat_any(&["DEFAULT", "NONE"]).is_some() {
            return Ok(Statement::Empty);
        }
        if self.eat("ALL") {
            if self.eat("EXCEPT") {
                self.comma_separated(Self::account_name)?;
            }
            return Ok(Statement::Empty);
        }
        let mut roles = self.comma_separated(Self::account_name)?.into_iter();
        let Some(role) = roles.next() else {
            return self.fail();
        };
        Ok(Statement::User(UserStatement::SetRole { role, user: None }))
    }

    /// `SET DEFAULT ROLE NONE | ALL | role, ... TO user, ...`, the first words taken.
    fn set_default_role(&mut self) -> Result<Statement> {
        let role = if self.eat_any(&["NONE", "ALL"]).is_some() {
            None
        } else {
            self.comma_separated(Self::account_name)?.into_iter().next()
        };
        self.expect("TO")?;
        let user = self.comma_separated(Self::account_name)?.into_iter().next();
        Ok(match role {
            None => Statement::Empty,
            Some(role) => Statement::User(UserStatement::SetRole { role, user }),
        })
    }

    /// `SET [SESSION | GLOBAL] TRANSACTION`: takes these words.
    fn transaction_scope(&mut self) -> Option<VariableScope> {
        if self.is("TRANSACTION") && !matches!(self.peek().kind, Kind::Equal | Kind::Assign) {
            self.advance();
            return Some(VariableScope::NextTransaction);
        }
        for (word, scope) in [
            ("SESSION", VariableScope::Session),
            ("LOCAL", VariableScope::Session),
            ("GLOBAL", VariableScope::Global),
        ] {
            if self.eat_all(&[word, "TRANSACTION"]) {
                return Some(scope);
            }
        }
        None
    }

    fn set_transaction(&mut self, scope: VariableScope) -> Result<SetClause> {
        let mut isolation = None;
        let mut read_only = None;
        loop {
            if isolation.is_none() && self.eat_all(&["ISOLATION", "LEVEL"]) {
                isolation = Some(self.isolation_level()?);
            } else if read_only.is_none() && self.eat("READ") {
                read_only = match self.eat_any(&["ONLY", "WRITE"]) {
                    Some(word) => Some(word == "ONLY"),
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
            (&["REPEATABLE", "READ"][..], "REPEATABLE-READ"),
            (&["READ", "COMMITTED"], "READ-COMMITTED"),
            (&["READ", "UNCOMMITTED"], "READ-UNCOMMITTED"),
            (&["SERIALIZABLE"], "SERIALIZABLE"),
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
        if self.is("NAMES") && !matches!(self.peek().kind, Kind::Equal | Kind::Assign) {
            return self.set_names();
        }
        if self.eat_all(&["CHARACTER", "SET"]) || self.eat_all(&["CHAR", "SET"]) || self.eat("CHARSET") {
            return Ok(SetClause::CharacterSet(self.charset_or_default()?));
        }
        let scope = match self.eat_any(&["SESSION", "LOCAL", "GLOBAL", "PERSIST", "PERSIST_ONLY"]) {
            None | Some("SESSION" | "LOCAL") => VariableScope::Session,
            Some("GLOBAL") => VariableScope::Global,
            Some(_) => {
                return Err(Error::not_supported(
                    "SET PERSIST",
                    "use the configuration file; on a cluster, SET GLOBAL is kept",
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

    /// `ON`, `ALL`, `BINARY`, `ROW`, `SYSTEM` are words of the language that stand for themselves here, as is any bare name.
    fn variable_value(&mut self) -> Result<Option<Expr>> {
        if self.eat("DEFAULT") {
            return Ok(None);
        }
        let next = self.peek().kind;
        let alone = matches!(next, Kind::Comma | Kind::Semicolon | Kind::End);
        if alone
            && matches!(self.kind(), Kind::Word | Kind::QuotedWord)
            && !self.is_any(&["NULL", "TRUE", "FALSE"])
        {
            let is_word = self.is_any(&["ON", "ALL", "BINARY", "ROW", "SYSTEM"]);
            let is_function = self.is_any(&[
                "CURRENT_TIMESTAMP",
                "CURRENT_DATE",
                "CURRENT_TIME",
                "CURRENT_USER",
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
        let collation = if charset.is_some() && self.eat("COLLATE") {
            Some(if self.eat("BINARY") {
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
        if self.eat("DEFAULT") {
            return Ok(None);
        }
        if self.eat("BINARY") {
            return Ok(Some("binary".into()));
        }
        self.name_or_text().map(Some)
    }

    /// `SET PASSWORD [FOR user] = 'text'`
    fn set_password(&mut self) -> Result<Statement> {
        self.advance();
        let user = if self.eat("FOR") {
            Some(self.account_name()?)
        } else {
            None
        };
        self.assignment_sign()?;
        let password = self.text_literal()?;
        Ok(Statement::User(UserStatement::SetPassword { user, password }))
    }
}
