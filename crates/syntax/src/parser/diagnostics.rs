//! GET DIAGNOSTICS, SIGNAL and RESIGNAL.

use types::{Error, Result, errno};

use super::{Parser, names, primary};
use crate::ast::{ConditionItem, Diagnostics, Expr, Signal, Statement, StatementItem};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

const CONDITION_ITEMS: &[(Kw, ConditionItem)] = &[
    (Kw::CLASS_ORIGIN, ConditionItem::ClassOrigin),
    (Kw::SUBCLASS_ORIGIN, ConditionItem::SubclassOrigin),
    (Kw::RETURNED_SQLSTATE, ConditionItem::SqlState),
    (Kw::MESSAGE_TEXT, ConditionItem::Message),
    (Kw::MYSQL_ERRNO, ConditionItem::Number),
    (Kw::CONSTRAINT_CATALOG, ConditionItem::ConstraintCatalog),
    (Kw::CONSTRAINT_SCHEMA, ConditionItem::ConstraintSchema),
    (Kw::CONSTRAINT_NAME, ConditionItem::ConstraintName),
    (Kw::CATALOG_NAME, ConditionItem::CatalogName),
    (Kw::SCHEMA_NAME, ConditionItem::SchemaName),
    (Kw::TABLE_NAME, ConditionItem::TableName),
    (Kw::COLUMN_NAME, ConditionItem::ColumnName),
    (Kw::CURSOR_NAME, ConditionItem::CursorName),
];

const STATEMENT_ITEMS: &[(Kw, StatementItem)] = &[
    (Kw::NUMBER, StatementItem::Number),
    (Kw::ROW_COUNT, StatementItem::RowCount),
];

/// `GET [CURRENT] DIAGNOSTICS [CONDITION n] @a = item, ...`, the cursor at GET.
pub fn get_diagnostics(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let area = parser.eat_any(&[Kw::CURRENT, Kw::STACKED]);
    parser.expect(Kw::DIAGNOSTICS)?;
    let items = match parser.eat(Kw::CONDITION) {
        true => Diagnostics::OfCondition {
            number: value(parser)?,
            items: parser.comma_separated(|parser| assignment(parser, CONDITION_ITEMS))?,
        },
        false => {
            Diagnostics::OfStatement(parser.comma_separated(|parser| assignment(parser, STATEMENT_ITEMS))?)
        }
    };
    if area == Some(Kw::STACKED) {
        return Err(Error::new(
            errno::ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER,
            "GET STACKED DIAGNOSTICS when handler not active",
        ));
    }
    Ok(Statement::GetDiagnostics(items))
}

fn assignment<I: Copy>(parser: &mut Parser<'_>, items: &[(Kw, I)]) -> Result<(String, I)> {
    // Anything else would be a variable of a stored program.
    if parser.kind() != Kind::At {
        let name = parser.name()?;
        return Err(Error::new(
            errno::ER_SP_UNDECLARED_VAR,
            format!("Undeclared variable: {name}"),
        ));
    }
    let variable = names::user_variable_name(parser)?;
    parser.expect_kind(Kind::Equal)?;
    for (word, item) in items {
        if parser.eat(*word) {
            return Ok((variable, *item));
        }
    }
    parser.fail()
}

/// `SIGNAL SQLSTATE [VALUE] 'state' [SET item = value, ...]`, the cursor at SIGNAL.
pub fn signal(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let state = state(parser)?;
    let items = signal_items(parser)?;
    Ok(Statement::Signal(Signal { state, items }))
}

/// `RESIGNAL [SQLSTATE [VALUE] 'state'] [SET item = value, ...]`, the cursor at RESIGNAL.
pub fn resignal(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if !parser.at_statement_end() && !parser.is(Kw::SET) {
        state(parser)?;
    }
    signal_items(parser)?;
    Ok(Statement::Resignal)
}

fn state(parser: &mut Parser<'_>) -> Result<String> {
    if !parser.eat(Kw::SQLSTATE) {
        // Only a stored program declares conditions.
        let name = parser.name()?;
        let message = format!("Undefined CONDITION: {name}");
        return Err(Error::new(errno::ER_SP_COND_MISMATCH, message));
    }
    parser.eat(Kw::VALUE);
    if parser.kind() != Kind::Text {
        return parser.fail();
    }
    let state = parser.text_literal()?;
    let is_valid = state.len() == 5
        && state
            .bytes()
            .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        && !state.starts_with("00");
    match is_valid {
        true => Ok(state),
        false => Err(Error::new(
            errno::ER_SP_BAD_SQLSTATE,
            format!("Bad SQLSTATE: '{state}'"),
        )),
    }
}

fn signal_items(parser: &mut Parser<'_>) -> Result<Vec<(ConditionItem, &'static str, Expr)>> {
    if !parser.eat(Kw::SET) {
        return Ok(Vec::new());
    }
    let mut items: Vec<(ConditionItem, &'static str, Expr)> = Vec::new();
    loop {
        let found = CONDITION_ITEMS
            .iter()
            .find(|(word, item)| parser.is(*word) && *item != ConditionItem::SqlState);
        let Some((word, item)) = found else {
            return parser.fail();
        };
        parser.advance();
        parser.expect_kind(Kind::Equal)?;
        let value = value(parser)?;
        if items.iter().any(|(other, ..)| other == item) {
            return Err(Error::new(
                errno::ER_DUP_SIGNAL_SET,
                format!("Duplicate condition information item '{}'", word.text()),
            ));
        }
        items.push((*item, word.text(), value));
        if !parser.eat_kind(Kind::Comma) {
            break;
        }
    }
    items.sort_by_key(|(item, ..)| *item);
    Ok(items)
}

/// A literal, a variable or a name: no calls and no operators.
fn value(parser: &mut Parser<'_>) -> Result<Expr> {
    match parser.kind() {
        Kind::At => names::user_variable_name(parser).map(Expr::UserVariable),
        Kind::LeftParen | Kind::LeftBrace | Kind::Parameter => parser.fail(),
        Kind::Word if parser.peek().kind == Kind::LeftParen => {
            parser.advance();
            parser.fail()
        }
        Kind::Word if parser.is_reserved() && !parser.is_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE]) => {
            parser.fail()
        }
        _ => primary::primary(parser),
    }
}
