//! Names of columns and variables, and aliases of tables.

use types::{Error, Result, errno};

use super::Parser;
use super::literal::unquote;
use crate::ast::{BinaryOp, ColumnName, Expr, VariableScope};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The longest name of a user variable, in characters.
const MAX_VARIABLE_CHARS: usize = 64;

/// `@name` in lower case, as they are compared.
pub fn user_variable_name(parser: &mut Parser<'_>) -> Result<String> {
    Ok(user_variable_spelling(parser)?.to_lowercase())
}

/// `@name` of a variable that gets a value.
pub fn assigned_variable_name(parser: &mut Parser<'_>) -> Result<String> {
    let spelling = user_variable_spelling(parser)?;
    check_assigned_variable(&spelling)?;
    Ok(spelling.to_lowercase())
}

/// Error 3061 for a name that no value can be assigned to. Reading such a variable gives NULL.
pub fn check_assigned_variable(spelling: &str) -> Result<()> {
    let is_too_long = spelling.len() > MAX_VARIABLE_CHARS && spelling.chars().count() > MAX_VARIABLE_CHARS;
    if spelling.is_empty() || is_too_long || spelling.ends_with(' ') {
        return Err(Error::new(
            errno::ER_ILLEGAL_USER_VAR,
            format!("User variable name '{spelling}' is illegal"),
        ));
    }
    Ok(())
}

/// `@name`: letters, digits, `.`, `_`, `$`, or a quoted name.
pub fn user_variable_spelling(parser: &mut Parser<'_>) -> Result<String> {
    parser.expect_kind(Kind::At)?;
    let adjacent = parser.start() == parser.previous_end();
    let name = match parser.kind() {
        Kind::QuotedWord if adjacent => parser.quoted_name(),
        Kind::Text if adjacent => unquote(parser.word(), parser.backslash_escapes()),
        Kind::Dot | Kind::Word | Kind::Integer | Kind::Decimal if adjacent => {
            let start = parser.start();
            parser.advance();
            while parser.start() == parser.previous_end()
                && matches!(
                    parser.kind(),
                    Kind::Dot | Kind::Word | Kind::Integer | Kind::Decimal
                )
            {
                parser.advance();
            }
            return Ok(parser.source(start, parser.previous_end()).to_owned());
        }
        _ => return parser.fail(),
    };
    parser.advance();
    Ok(name)
}

/// `@@name`, `@@scope.name`.
pub fn system_variable_name(parser: &mut Parser<'_>) -> Result<(Option<VariableScope>, String)> {
    parser.expect_kind(Kind::AtAt)?;
    let first = parser.name_behind_point()?;
    if !parser.eat_kind(Kind::Dot) {
        return Ok((None, first));
    }
    let scope = match first.to_ascii_lowercase().as_str() {
        "global" => Some(VariableScope::Global),
        "session" | "local" => Some(VariableScope::Session),
        "persist" => Some(VariableScope::Persist),
        "persist_only" => Some(VariableScope::PersistOnly),
        _ => None,
    };
    let mut second = parser.name_behind_point()?;
    if scope.is_some() && parser.eat_kind(Kind::Dot) {
        second = format!("{second}.{}", parser.name_behind_point()?);
    }
    let name = if scope.is_some() {
        second
    } else {
        format!("{first}.{second}")
    };
    Ok((scope, name))
}

/// `[[database.]table.]column`, `column -> path`.
pub fn column(parser: &mut Parser<'_>) -> Result<Expr> {
    let name = column_name(parser)?;
    let op = match parser.kind() {
        Kind::Arrow => BinaryOp::JsonExtract,
        Kind::LongArrow => BinaryOp::JsonUnquote,
        Kind::Assign => return parser.fail(),
        _ => return Ok(Expr::Column(name)),
    };
    parser.advance();
    let path = Expr::Text(parser.text_literal()?);
    parser.binary(op, Expr::Column(name), path)
}

pub fn column_name(parser: &mut Parser<'_>) -> Result<ColumnName> {
    let mut names = vec![parser.any_name()?];
    while names.len() < 3 && parser.kind() == Kind::Dot && parser.peek().kind != Kind::Star {
        parser.advance();
        names.push(parser.any_name_behind_point()?);
    }
    let column = names.pop().unwrap_or_default();
    let mut table = names.pop();
    let database = names.pop();
    match database.as_deref() {
        Some("") => return Err(Error::new(errno::ER_WRONG_DB_NAME, "Incorrect database name ''")),
        Some(_) => {}
        // MySQL treats an empty table name as none.
        None => table = table.filter(|table| !table.is_empty()),
    }
    Ok(ColumnName {
        database,
        table,
        column,
    })
}

pub fn table_alias(parser: &mut Parser<'_>) -> Result<Option<String>> {
    let has_as = parser.eat(Kw::AS);
    match parser.kind() {
        Kind::QuotedWord => Ok(Some(parser.alias_name()?)),
        Kind::Word if has_as || !parser.is_reserved() => Ok(Some(parser.any_name()?)),
        _ if has_as => parser.fail(),
        _ => Ok(None),
    }
}
