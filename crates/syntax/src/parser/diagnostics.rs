//! GET DIAGNOSTICS.

use types::{Error, Result, errno};

use super::{Parser, names, primary};
use crate::ast::{ConditionItem, Diagnostics, Statement, StatementItem};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

const CONDITION_ITEMS: &[(Kw, ConditionItem)] = &[
    (Kw::CLASS_ORIGIN, ConditionItem::ClassOrigin),
    (Kw::SUBCLASS_ORIGIN, ConditionItem::SubclassOrigin),
    (Kw::RETURNED_SQLSTATE, ConditionItem::SqlState),
    (Kw::MESSAGE_TEXT, ConditionItem::Message),
    (Kw::MYSQL_ERRNO, ConditionItem::Number),
    (Kw::CONSTRAINT_CATALOG, ConditionItem::Unset),
    (Kw::CONSTRAINT_SCHEMA, ConditionItem::Unset),
    (Kw::CONSTRAINT_NAME, ConditionItem::Unset),
    (Kw::CATALOG_NAME, ConditionItem::Unset),
    (Kw::SCHEMA_NAME, ConditionItem::Unset),
    (Kw::TABLE_NAME, ConditionItem::Unset),
    (Kw::COLUMN_NAME, ConditionItem::Unset),
    (Kw::CURSOR_NAME, ConditionItem::Unset),
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
            number: primary::primary(parser)?,
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
