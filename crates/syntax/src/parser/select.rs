//! Query blocks: one SELECT each.

use types::{Error, Result, Warning, errno};

use super::literal::item_name;
use super::{Parser, deprecated, hints, into, table_ref, wide, window};
use crate::ast::{Expr, NamedExpr, Select, SelectItem};
use crate::lexer::echo::echo;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// One SELECT, up to the clauses that may follow any query.
pub fn select(parser: &mut Parser<'_>) -> Result<Select> {
    parser.expect(Kw::SELECT)?;
    let hints = hints::hints(parser);
    let options = select_options(parser)?;
    let items = select_items(parser)?;
    let into = into::select_into(parser)?;
    let mut select = Select {
        hints,
        items,
        into,
        ..options
    };
    clauses_of_tables(parser, &mut select)?;
    Ok(select)
}

/// The words between SELECT and its list. Those about caches have no effect here. Some are for the statement's
/// first block only: error 1234.
fn select_options(parser: &mut Parser<'_>) -> Result<Select> {
    let is_first = std::mem::take(&mut parser.is_first_select);
    let mut distinct = None;
    let mut misplaced = None;
    let mut select = Select::default();
    loop {
        match parser.eat_any(&[
            Kw::ALL,
            Kw::DISTINCT,
            Kw::DISTINCTROW,
            Kw::HIGH_PRIORITY,
            Kw::STRAIGHT_JOIN,
            Kw::SQL_SMALL_RESULT,
            Kw::SQL_BIG_RESULT,
            Kw::SQL_BUFFER_RESULT,
            Kw::SQL_NO_CACHE,
            Kw::SQL_CALC_FOUND_ROWS,
        ]) {
            None => {
                if let Some(word) = misplaced.filter(|_| !is_first) {
                    return Err(Error::new(
                        errno::ER_CANT_USE_OPTION_HERE,
                        format!("Incorrect usage/placement of '{word}'"),
                    ));
                }
                select.distinct = distinct.unwrap_or(false);
                return Ok(select);
            }
            Some(Kw::SQL_CALC_FOUND_ROWS) => {
                select.counts_all_rows = true;
                misplaced = misplaced.or(Some("SQL_CALC_FOUND_ROWS"));
            }
            Some(Kw::SQL_BUFFER_RESULT) => misplaced = misplaced.or(Some("SQL_BUFFER_RESULT")),
            Some(Kw::SQL_NO_CACHE) => deprecated::removed(parser, "SQL_NO_CACHE"),
            Some(Kw::HIGH_PRIORITY) => misplaced = misplaced.or(Some("HIGH_PRIORITY")),
            Some(Kw::STRAIGHT_JOIN) => select.straight_join = true,
            Some(word @ (Kw::ALL | Kw::DISTINCT | Kw::DISTINCTROW)) => {
                let wanted = word != Kw::ALL;
                if distinct.is_some_and(|d| d != wanted) {
                    return Err(Error::new(
                        errno::ER_WRONG_USAGE,
                        "Incorrect usage of ALL and DISTINCT",
                    ));
                }
                distinct = Some(wanted);
            }
            Some(_) => {}
        }
    }
}

fn select_items(parser: &mut Parser<'_>) -> Result<Vec<SelectItem>> {
    let mut items = Vec::new();
    loop {
        if parser.kind() == Kind::Star && items.is_empty() {
            parser.advance();
            items.push(SelectItem::All);
        } else {
            items.push(select_item(parser)?);
        }
        if !parser.eat_kind(Kind::Comma) {
            return Ok(items);
        }
    }
}

fn select_item(parser: &mut Parser<'_>) -> Result<SelectItem> {
    if let Some(all) = all_of(parser)? {
        return Ok(all);
    }
    let start = parser.start();
    let is_query = parser.kind() == Kind::LeftParen && parser.peek_is(Kw::SELECT);
    let expr = parser.expression()?;
    let end = parser.previous_end();
    let alias = item_alias(parser)?;
    let aliased = alias.is_some();
    let name = match alias {
        Some(alias) => alias,
        // A subquery is always named by its whole text.
        None if is_query => cut_name(echo(parser.source(start, end), &parser.mode).into_owned()),
        None => cut_name(item_name(&expr, parser.source(start, end), &parser.mode)),
    };
    Ok(SelectItem::Expr { expr, name, aliased })
}

/// The name of an expression without an alias has at most 255 bytes.
fn cut_name(mut name: String) -> String {
    const NAME_BYTES: usize = 255;
    name.truncate(name.floor_char_boundary(NAME_BYTES));
    name
}

/// `t.*`, `d.t.*`
fn all_of(parser: &mut Parser<'_>) -> Result<Option<SelectItem>> {
    if !matches!(parser.kind(), Kind::Word | Kind::QuotedWord) || parser.peek().kind != Kind::Dot {
        return Ok(None);
    }
    let mut ahead = parser.fork();
    if ahead.any_name().is_err() {
        return Ok(None);
    }
    ahead.advance();
    let mut is_all = ahead.kind() == Kind::Star;
    if !is_all && ahead.any_name_behind_point().is_ok() && ahead.eat_kind(Kind::Dot) {
        is_all = ahead.kind() == Kind::Star;
    }
    if !is_all {
        return Ok(None);
    }
    let first = parser.any_name()?;
    parser.expect_kind(Kind::Dot)?;
    let name = if parser.kind() == Kind::Star {
        if first.is_empty() {
            return Err(Error::new(errno::ER_NO_TABLES_USED, "No tables used"));
        }
        crate::ast::ObjectName {
            database: None,
            name: first,
        }
    } else {
        let name = parser.any_name_behind_point()?;
        parser.expect_kind(Kind::Dot)?;
        crate::ast::ObjectName {
            database: Some(first),
            name,
        }
    };
    parser.expect_kind(Kind::Star)?;
    Ok(Some(SelectItem::AllOf(name)))
}

/// An expression with an alias, which names nothing.
pub fn aliased_expression(parser: &mut Parser<'_>) -> Result<Expr> {
    let expr = parser.expression()?;
    item_alias(parser)?;
    Ok(expr)
}

fn item_alias(parser: &mut Parser<'_>) -> Result<Option<String>> {
    let has_as = parser.eat(Kw::AS);
    let alias = match parser.kind() {
        Kind::Text => {
            let alias = parser.text_literal()?;
            wide::check_alias(&alias)?;
            alias
        }
        Kind::QuotedWord => parser.alias_name()?,
        Kind::Word if has_as || !parser.is_reserved() => parser.alias_name()?,
        _ if has_as => return parser.fail(),
        _ => return Ok(None),
    };
    if parser.in_view {
        check_in_view(&alias)?;
    }
    Ok(Some(kept_alias(parser, alias)))
}

/// Error 1166 for an alias that no column of a view can have, even in a subquery.
fn check_in_view(alias: &str) -> Result<()> {
    if !alias.is_empty() && !alias.ends_with(' ') && !types::name::is_too_long(alias) {
        return Ok(());
    }
    Err(Error::wrong_column_name(alias))
}

/// An alias without the blanks that it begins with and the characters beyond the 256th. MySQL warns of both in the same
/// words.
fn kept_alias(parser: &mut Parser<'_>, alias: String) -> String {
    const ALIAS_CHARS: usize = 256;
    const ER_REMOVED_SPACES: u16 = 1466;
    const ER_NAME_BECOMES_EMPTY: u16 = 1474;
    let is_blank = |character: char| character.is_ascii() && !character.is_ascii_graphic();
    let start = alias
        .find(|character| !is_blank(character))
        .unwrap_or(alias.len());
    let kept: String = alias[start..].chars().take(ALIAS_CHARS).collect();
    if kept.is_empty() && !alias.is_empty() {
        let message = format!("Name '{alias}' has become ''");
        parser
            .warnings
            .push(Warning::warning(ER_NAME_BECOMES_EMPTY, message));
    } else if kept.len() < alias.len() {
        let message = format!("Leading spaces are removed from name '{alias}'");
        parser.warnings.push(Warning::warning(ER_REMOVED_SPACES, message));
    }
    kept
}

fn clauses_of_tables(parser: &mut Parser<'_>, select: &mut Select) -> Result<()> {
    if parser.eat(Kw::FROM) && !parser.eat(Kw::DUAL) {
        select.from = table_ref::table_refs(parser)?;
    }
    if parser.eat(Kw::WHERE) {
        select.filter = Some(parser.expression()?);
    }
    if parser.eat_all(&[Kw::GROUP, Kw::BY]) {
        select.group_by = parser.comma_separated(named_expression)?;
        select.rollup = parser.eat_all(&[Kw::WITH, Kw::ROLLUP]);
    }
    if parser.eat(Kw::HAVING) {
        select.having = Some(parser.expression()?);
    }
    select.windows = window::window_clause(parser)?;
    Ok(())
}

fn named_expression(parser: &mut Parser<'_>) -> Result<NamedExpr> {
    let start = parser.start();
    let expr = parser.expression()?;
    let text = parser.source(start, parser.previous_end()).to_string();
    Ok(NamedExpr { expr, text })
}
