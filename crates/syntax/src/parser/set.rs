//! SET.

use types::{Error, Result};

use super::{Parser, account, names};
use crate::ast::{Expr, SetClause, Statement, UserSpec, UserStatement, VariableScope, current_user};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

pub fn set(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.is(Kw::PASSWORD) && parser.peek().kind != Kind::Dot {
        return set_password(parser);
    }
    if parser.eat_all(&[Kw::DEFAULT, Kw::ROLE]) {
        return set_default_role(parser);
    }
    if parser.is(Kw::ROLE) && !matches!(parser.peek().kind, Kind::Equal | Kind::Assign) {
        return set_role(parser);
    }
    if parser.are(&[Kw::RESOURCE, Kw::GROUP]) {
        return Err(Error::not_supported(
            "resource groups",
            "limit accounts and statements instead: MAX_USER_CONNECTIONS, max_execution_time",
        ));
    }
    let scope = transaction_scope(parser);
    if let Some(scope) = scope {
        return Ok(Statement::Set(vec![set_transaction(parser, scope)?]));
    }
    let mut scope = VariableScope::Session;
    Ok(Statement::Set(
        parser.comma_separated(|parser| set_clause(parser, &mut scope))?,
    ))
}

/// `SET ROLE ...`
fn set_role(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let roles = account::active_roles(parser)?;
    Ok(Statement::User(UserStatement::SetRole(roles)))
}

/// `SET DEFAULT ROLE NONE | ALL | role, ... TO user, ...`, after the word ROLE.
fn set_default_role(parser: &mut Parser<'_>) -> Result<Statement> {
    let roles = account::role_list(parser)?;
    parser.expect(Kw::TO)?;
    let users = parser.comma_separated(account::account_name)?;
    Ok(Statement::User(UserStatement::SetDefaultRole { roles, users }))
}

/// `RESET PERSIST [[IF EXISTS] name]`
pub fn reset_persist(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    parser.advance();
    let if_exists = parser.eat_all(&[Kw::IF, Kw::EXISTS]);
    let is_all = !if_exists && matches!(parser.kind(), Kind::Semicolon | Kind::End);
    let mut name = None;
    if !is_all {
        let first = parser.name()?;
        name = Some(match parser.eat_kind(Kind::Dot) {
            true => format!("{first}.{}", parser.name_behind_point()?),
            false => first,
        });
    }
    Ok(Statement::ResetPersist { name, if_exists })
}

/// `SET [SESSION | GLOBAL | PERSIST | PERSIST_ONLY] TRANSACTION`: takes these words.
fn transaction_scope(parser: &mut Parser<'_>) -> Option<VariableScope> {
    if parser.is(Kw::TRANSACTION) && !matches!(parser.peek().kind, Kind::Equal | Kind::Assign) {
        parser.advance();
        return Some(VariableScope::NextTransaction);
    }
    for (word, scope) in [
        (Kw::SESSION, VariableScope::Session),
        (Kw::LOCAL, VariableScope::Session),
        (Kw::GLOBAL, VariableScope::Global),
        (Kw::PERSIST, VariableScope::Persist),
        (Kw::PERSIST_ONLY, VariableScope::PersistOnly),
    ] {
        if parser.eat_all(&[word, Kw::TRANSACTION]) {
            return Some(scope);
        }
    }
    None
}

fn set_transaction(parser: &mut Parser<'_>, scope: VariableScope) -> Result<SetClause> {
    let mut isolation = None;
    let mut read_only = None;
    loop {
        if isolation.is_none() && parser.eat_all(&[Kw::ISOLATION, Kw::LEVEL]) {
            isolation = Some(isolation_level(parser)?);
        } else if read_only.is_none() && parser.eat(Kw::READ) {
            read_only = match parser.eat_any(&[Kw::ONLY, Kw::WRITE]) {
                Some(word) => Some(word == Kw::ONLY),
                None => return parser.fail(),
            };
        } else {
            return parser.fail();
        }
        if !parser.eat_kind(Kind::Comma) {
            return Ok(SetClause::Transaction {
                scope,
                isolation,
                read_only,
            });
        }
    }
}

/// The level's name in the form of `@@transaction_isolation`.
fn isolation_level(parser: &mut Parser<'_>) -> Result<&'static str> {
    for (words, name) in [
        (&[Kw::REPEATABLE, Kw::READ][..], "REPEATABLE-READ"),
        (&[Kw::READ, Kw::COMMITTED], "READ-COMMITTED"),
        (&[Kw::READ, Kw::UNCOMMITTED], "READ-UNCOMMITTED"),
        (&[Kw::SERIALIZABLE], "SERIALIZABLE"),
    ] {
        if parser.eat_all(words) {
            return Ok(name);
        }
    }
    parser.fail()
}

/// One assignment. `word_scope` is what the last of the words SESSION and GLOBAL said in this statement: it holds for the
/// names behind it that have no such word (MySQL manual, "SET Syntax for Variable Assignment").
fn set_clause(parser: &mut Parser<'_>, word_scope: &mut VariableScope) -> Result<SetClause> {
    if parser.kind() == Kind::At {
        let name = names::assigned_variable_name(parser)?;
        assignment_sign(parser)?;
        let value = parser.expression()?;
        return Ok(SetClause::User { name, value });
    }
    if parser.kind() == Kind::AtAt {
        let (scope, name) = names::system_variable_name(parser)?;
        assignment_sign(parser)?;
        return variable(parser, scope.unwrap_or(VariableScope::NextTransaction), name);
    }
    if parser.is(Kw::NAMES) && !matches!(parser.peek().kind, Kind::Equal | Kind::Assign) {
        return set_names(parser);
    }
    if parser.eat_all(&[Kw::CHARACTER, Kw::SET])
        || parser.eat_all(&[Kw::CHAR, Kw::SET])
        || parser.eat(Kw::CHARSET)
    {
        return Ok(SetClause::CharacterSet(charset_or_default(parser)?));
    }
    // `SET global.name = 1` is wrong from its first word on.
    if parser.is_any(&[Kw::SESSION, Kw::LOCAL, Kw::GLOBAL]) && parser.peek().kind == Kind::Dot {
        return parser.fail();
    }
    // Other than those words, `persist` directly before a point is the beginning of a name.
    let is_name = parser.is_any(&[Kw::PERSIST, Kw::PERSIST_ONLY])
        && parser.peek().kind == Kind::Dot
        && parser.peek().start == parser.token.end;
    let scope = match is_name {
        true => None,
        false => parser.eat_any(&[Kw::SESSION, Kw::LOCAL, Kw::GLOBAL, Kw::PERSIST, Kw::PERSIST_ONLY]),
    };
    match scope {
        None => {}
        Some(Kw::GLOBAL) => *word_scope = VariableScope::Global,
        Some(Kw::PERSIST) => *word_scope = VariableScope::Persist,
        Some(Kw::PERSIST_ONLY) => *word_scope = VariableScope::PersistOnly,
        Some(_) => *word_scope = VariableScope::Session,
    }
    let mut name = parser.name()?;
    if parser.eat_kind(Kind::Dot) {
        let rest = parser.name_behind_point()?;
        name = format!("{name}.{rest}");
    }
    assignment_sign(parser)?;
    variable(parser, *word_scope, name)
}

fn assignment_sign(parser: &mut Parser<'_>) -> Result<()> {
    if parser.eat_kind(Kind::Equal) || parser.eat_kind(Kind::Assign) {
        Ok(())
    } else {
        parser.fail()
    }
}

fn variable(parser: &mut Parser<'_>, scope: VariableScope, name: String) -> Result<SetClause> {
    let value = variable_value(parser)?;
    Ok(SetClause::Variable { scope, name, value })
}

/// The keywords `ON`, `ALL`, `BINARY`, `ROW` and `SYSTEM` are values here, and so is any unquoted name.
fn variable_value(parser: &mut Parser<'_>) -> Result<Option<Expr>> {
    if parser.eat(Kw::DEFAULT) {
        return Ok(None);
    }
    let next = parser.peek().kind;
    let alone = matches!(next, Kind::Comma | Kind::Semicolon | Kind::End);
    if alone
        && matches!(parser.kind(), Kind::Word | Kind::QuotedWord)
        && !parser.is_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE])
    {
        let is_word = parser.is_any(&[Kw::ON, Kw::ALL, Kw::BINARY, Kw::ROW, Kw::SYSTEM]);
        let is_function = parser.is_any(&[
            Kw::CURRENT_TIMESTAMP,
            Kw::CURRENT_DATE,
            Kw::CURRENT_TIME,
            Kw::CURRENT_USER,
        ]);
        if is_word {
            let word = parser.word().to_string();
            parser.advance();
            return Ok(Some(Expr::Text(word)));
        }
        if !is_function {
            return Ok(Some(Expr::Text(parser.name()?)));
        }
    }
    parser.expression().map(Some)
}

fn set_names(parser: &mut Parser<'_>) -> Result<SetClause> {
    parser.advance();
    let charset = charset_or_default(parser)?;
    let collation = if charset.is_some() && parser.eat(Kw::COLLATE) {
        Some(if parser.eat(Kw::BINARY) {
            "binary".into()
        } else {
            parser.name_or_text()?
        })
    } else {
        None
    };
    Ok(SetClause::Names { charset, collation })
}

fn charset_or_default(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if parser.eat(Kw::DEFAULT) {
        return Ok(None);
    }
    if parser.eat(Kw::BINARY) {
        return Ok(Some("binary".into()));
    }
    parser.name_or_text().map(Some)
}

/// `SET PASSWORD [FOR user] = 'text'`
fn set_password(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let mut spec = UserSpec::default();
    (spec.user, spec.host) = match parser.eat(Kw::FOR) {
        true => account::account_name(parser)?,
        false => current_user(),
    };
    match parser.eat_all(&[Kw::TO, Kw::RANDOM]) {
        true => spec.is_random = true,
        false => {
            assignment_sign(parser)?;
            spec.password = Some(parser.text_literal()?);
        }
    }
    account::retained(parser, &mut spec)?;
    Ok(Statement::User(UserStatement::SetPassword(Box::new(spec))))
}
