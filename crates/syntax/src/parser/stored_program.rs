//! CALL, ALTER and SHOW CREATE of stored programs. There are none, so these statements can only fail.

use types::{Error, Result};

use super::{Parser, account};
use crate::ast::{ObjectKind, ProgramAction, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// `CALL name [(arguments)]`
pub fn call(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let name = parser.object_name()?;
    if parser.eat_kind(Kind::LeftParen) && !parser.eat_kind(Kind::RightParen) {
        parser.comma_separated(Parser::expression)?;
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(Statement::OfProgram {
        action: ProgramAction::Call,
        kind: ObjectKind::Procedure,
        name,
    })
}

/// `SHOW CREATE` of a stored program, after CREATE.
pub fn show_create(parser: &mut Parser<'_>) -> Result<Option<Statement>> {
    let Some(kind) = program_kind(parser) else {
        return Ok(None);
    };
    Ok(Some(Statement::OfProgram {
        action: ProgramAction::ShowCreate,
        kind,
        name: parser.object_name()?,
    }))
}

fn program_kind(parser: &mut Parser<'_>) -> Option<ObjectKind> {
    match parser.eat_any(&[Kw::PROCEDURE, Kw::FUNCTION, Kw::TRIGGER, Kw::EVENT])? {
        Kw::PROCEDURE => Some(ObjectKind::Procedure),
        Kw::FUNCTION => Some(ObjectKind::Function),
        Kw::TRIGGER => Some(ObjectKind::Trigger),
        _ => Some(ObjectKind::Event),
    }
}

/// `ALTER PROCEDURE | FUNCTION | [DEFINER = ...] EVENT`, after ALTER. `None`, with nothing taken, if it is
/// something else.
pub fn alter(parser: &mut Parser<'_>) -> Result<Option<Statement>> {
    let kind = match parser.eat_any(&[Kw::PROCEDURE, Kw::FUNCTION]) {
        Some(Kw::PROCEDURE) => ObjectKind::Procedure,
        Some(_) => ObjectKind::Function,
        None if eat_event(parser) => ObjectKind::Event,
        None => return Ok(None),
    };
    let name = parser.object_name()?;
    match kind {
        ObjectKind::Event => event_changes(parser)?,
        _ => while routine_characteristic(parser)? {},
    }
    Ok(Some(Statement::OfProgram {
        action: ProgramAction::Alter,
        kind,
        name,
    }))
}

fn eat_event(parser: &mut Parser<'_>) -> bool {
    let mut ahead = parser.fork();
    let has_definer = ahead.eat(Kw::DEFINER);
    if has_definer && !(ahead.eat_kind(Kind::Equal) && account::account_name(&mut ahead).is_ok()) {
        return false;
    }
    let is_event = ahead.eat(Kw::EVENT);
    if is_event {
        *parser = ahead;
    }
    is_event
}

fn routine_characteristic(parser: &mut Parser<'_>) -> Result<bool> {
    if parser.eat(Kw::COMMENT) {
        parser.text_literal()?;
        return Ok(true);
    }
    if parser.eat_all(&[Kw::SQL, Kw::SECURITY]) {
        return match parser.eat_any(&[Kw::DEFINER, Kw::INVOKER]) {
            Some(_) => Ok(true),
            None => parser.fail(),
        };
    }
    Ok(parser.eat_all(&[Kw::LANGUAGE, Kw::SQL])
        || parser.eat_all(&[Kw::NO, Kw::SQL])
        || parser.eat_all(&[Kw::CONTAINS, Kw::SQL])
        || parser.eat_all(&[Kw::READS, Kw::SQL, Kw::DATA])
        || parser.eat_all(&[Kw::MODIFIES, Kw::SQL, Kw::DATA]))
}

/// The clauses of ALTER EVENT in their order, at least one.
fn event_changes(parser: &mut Parser<'_>) -> Result<()> {
    let start = parser.start();
    refuse_event_clause(parser)?;
    if parser.eat_all(&[Kw::ON, Kw::COMPLETION]) {
        parser.eat(Kw::NOT);
        parser.expect(Kw::PRESERVE)?;
    }
    if parser.eat(Kw::RENAME) {
        parser.expect(Kw::TO)?;
        parser.object_name()?;
    }
    if parser.eat(Kw::DISABLE) {
        parser.eat_all(&[Kw::ON, Kw::SLAVE]);
    } else {
        parser.eat(Kw::ENABLE);
    }
    if parser.eat(Kw::COMMENT) {
        parser.text_literal()?;
    }
    refuse_event_clause(parser)?;
    match parser.start() == start {
        true => parser.fail(),
        false => Ok(()),
    }
}

/// A schedule and a body are not read.
fn refuse_event_clause(parser: &Parser<'_>) -> Result<()> {
    match parser.are(&[Kw::ON, Kw::SCHEDULE]) || parser.is(Kw::DO) {
        true => Err(Error::not_supported(
            "ALTER EVENT",
            "use the operating system's scheduler",
        )),
        false => Ok(()),
    }
}
