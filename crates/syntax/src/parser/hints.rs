//! Optimizer hints. Source: manual 8.9.3 "Optimizer Hints".

use types::Result;

use super::Parser;
use crate::ast::{Expr, Hint, HintTable, Hints, IndexUse, JoinOrderKind, UnaryOp};
use crate::lexer::token::Kind;
use crate::near;

/// Hints about indexes: the name, the use of the index, and whether the hint forbids it.
const INDEX_HINTS: &[(&str, IndexUse, bool)] = &[
    ("INDEX", IndexUse::All, false),
    ("NO_INDEX", IndexUse::All, true),
    ("JOIN_INDEX", IndexUse::Rows, false),
    ("NO_JOIN_INDEX", IndexUse::Rows, true),
    ("GROUP_INDEX", IndexUse::Group, false),
    ("NO_GROUP_INDEX", IndexUse::Group, true),
    ("ORDER_INDEX", IndexUse::Order, false),
    ("NO_ORDER_INDEX", IndexUse::Order, true),
    ("INDEX_MERGE", IndexUse::Way, false),
    ("NO_INDEX_MERGE", IndexUse::Way, true),
    ("MRR", IndexUse::Way, false),
    ("NO_MRR", IndexUse::Way, true),
    ("NO_ICP", IndexUse::Way, true),
    ("NO_RANGE_OPTIMIZATION", IndexUse::Way, true),
    ("SKIP_SCAN", IndexUse::Way, false),
    ("NO_SKIP_SCAN", IndexUse::Way, true),
];

/// Hints about ways to run a query.
const STRATEGIES: &[&str] = &[
    "BKA",
    "NO_BKA",
    "BNL",
    "NO_BNL",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "MERGE",
    "NO_MERGE",
];

/// Hints about ways to run a subquery, and the ways that each may name.
const SUBQUERY_HINTS: &[(&str, &[&str])] = &[
    ("SEMIJOIN", SEMI_JOINS),
    ("NO_SEMIJOIN", SEMI_JOINS),
    ("SUBQUERY", &["INTOEXISTS", "MATERIALIZATION"]),
];
const SEMI_JOINS: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"];

/// The hints in a comment between the last token taken and the current one, if there is such a comment.
pub fn hints(parser: &mut Parser<'_>) -> Option<Box<Hints>> {
    let gap = parser.source(parser.previous_end(), parser.start());
    let comment = gap.trim_start();
    if !comment.starts_with("/*+") {
        return None;
    }
    let start = parser.previous_end() + (gap.len() - comment.len()) + "/*+".len();
    let mut inner = Parser::new(parser.lexer.text(), start, parser.mode);
    let mut hints = Hints::default();
    loop {
        let at = inner.start();
        match hint(&mut inner) {
            Ok(hint) => hints.list.push(hint),
            Err(_) => {
                // If the comment has no hints, MySQL quotes only its end.
                let near = match inner.start() == at && hints.list.is_empty() && inner.kind() == Kind::Star {
                    true => near("*/", 1),
                    false => inner.near(inner.start()),
                };
                hints.error = Some(format!("Optimizer hint syntax error {near}"));
                break;
            }
        }
        inner.eat_kind(Kind::Comma);
        if inner.kind() == Kind::Star && inner.peek().kind == Kind::Slash {
            break;
        }
    }
    parser.set_vars.append(&mut inner.set_vars);
    Some(Box::new(hints))
}

fn hint(parser: &mut Parser<'_>) -> Result<Hint> {
    let name = parser.word().to_ascii_uppercase();
    if !matches!(parser.kind(), Kind::Word) || parser.peek().kind != Kind::LeftParen {
        return parser.fail();
    }
    if let Some((name, use_of, negated)) = INDEX_HINTS.iter().find(|(known, ..)| *known == name) {
        open_hint(parser);
        let block = hint_block(parser)?;
        let mut table = HintTable {
            name: hint_name(parser)?,
            block: hint_block(parser)?,
        };
        table.block = table.block.or(block);
        let mut indexes = Vec::new();
        if parser.kind() != Kind::RightParen {
            indexes = parser.comma_separated(hint_name)?;
        }
        parser.expect_kind(Kind::RightParen)?;
        return Ok(Hint::Index {
            name,
            use_of: *use_of,
            negated: *negated,
            table,
            indexes,
        });
    }
    if let Some(name) = STRATEGIES.iter().find(|known| **known == name) {
        open_hint(parser);
        let block = hint_block(parser)?;
        let tables = hint_tables(parser)?;
        return Ok(Hint::Strategy { name, block, tables });
    }
    if let Some((name, ways)) = SUBQUERY_HINTS.iter().find(|(known, _)| *known == name) {
        return subquery_hint(parser, name, ways);
    }
    let kind = match name.as_str() {
        "MAX_EXECUTION_TIME" => {
            open_hint(parser);
            let limit = parser.unsigned()?;
            parser.expect_kind(Kind::RightParen)?;
            return Ok(Hint::MaxExecutionTime(limit));
        }
        "SET_VAR" => return set_var(parser),
        "QB_NAME" | "RESOURCE_GROUP" => {
            open_hint(parser);
            let block = hint_name(parser)?;
            parser.expect_kind(Kind::RightParen)?;
            return Ok(match name.as_str() {
                "QB_NAME" => Hint::QueryBlockName(block),
                _ => Hint::ResourceGroup(block),
            });
        }
        "JOIN_FIXED_ORDER" => {
            open_hint(parser);
            let block = hint_block(parser)?;
            parser.expect_kind(Kind::RightParen)?;
            return Ok(Hint::JoinFixedOrder { block });
        }
        "JOIN_ORDER" => JoinOrderKind::Order,
        "JOIN_PREFIX" => JoinOrderKind::Prefix,
        "JOIN_SUFFIX" => JoinOrderKind::Suffix,
        _ => return parser.fail(),
    };
    open_hint(parser);
    let block = hint_block(parser)?;
    let tables = hint_tables(parser)?;
    Ok(Hint::JoinOrder { kind, block, tables })
}

fn subquery_hint(parser: &mut Parser<'_>, name: &'static str, ways: &[&'static str]) -> Result<Hint> {
    open_hint(parser);
    let block = hint_block(parser)?;
    let way = |parser: &mut Parser<'_>| {
        let found = ways.iter().find(|way| way.eq_ignore_ascii_case(parser.word()));
        match found {
            Some(way) => {
                parser.advance();
                Ok(*way)
            }
            None => parser.fail(),
        }
    };
    let strategies = match name {
        "SUBQUERY" => vec![way(parser)?],
        _ if parser.kind() == Kind::RightParen => Vec::new(),
        _ => parser.comma_separated(way)?,
    };
    parser.expect_kind(Kind::RightParen)?;
    Ok(Hint::Subquery {
        name,
        block,
        strategies,
    })
}

/// Takes the name of a hint and its parenthesis.
fn open_hint(parser: &mut Parser<'_>) {
    parser.advance();
    parser.advance();
}

/// An optional `@block`.
fn hint_block(parser: &mut Parser<'_>) -> Result<Option<String>> {
    match parser.eat_kind(Kind::At) {
        true => hint_name(parser).map(Some),
        false => Ok(None),
    }
}

/// A name, reserved or not.
fn hint_name(parser: &mut Parser<'_>) -> Result<String> {
    match parser.kind() {
        Kind::Word => {
            let name = parser.word().to_owned();
            parser.advance();
            Ok(name)
        }
        _ => parser.name(),
    }
}

/// Tables separated by commas, and the closing parenthesis.
fn hint_tables(parser: &mut Parser<'_>) -> Result<Vec<HintTable>> {
    let mut tables = Vec::new();
    if parser.kind() != Kind::RightParen {
        tables = parser.comma_separated(|parser| {
            Ok(HintTable {
                name: hint_name(parser)?,
                block: hint_block(parser)?,
            })
        })?;
    }
    parser.expect_kind(Kind::RightParen)?;
    Ok(tables)
}

/// `SET_VAR(name = value)`
fn set_var(parser: &mut Parser<'_>) -> Result<Hint> {
    open_hint(parser);
    let name = hint_name(parser)?.to_ascii_lowercase();
    parser.expect_kind(Kind::Equal)?;
    let is_negative = parser.eat_kind(Kind::Minus);
    let value = match parser.kind() {
        // MySQL's grammar does not allow an empty string either.
        Kind::Text if parser.word().len() == 2 => return parser.fail(),
        Kind::Integer | Kind::Decimal | Kind::Float | Kind::Text => parser.primary()?,
        _ => Expr::Text(hint_name(parser)?),
    };
    parser.expect_kind(Kind::RightParen)?;
    let value = match is_negative {
        true => Expr::Unary {
            op: UnaryOp::Minus,
            operand: Box::new(value),
        },
        false => value,
    };
    parser.set_vars.push((name, value));
    Ok(Hint::SetVar)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{QueryBody, Statement};
    use crate::parse_one;
    use crate::testing::sql_mode;

    fn hints(text: &str) -> Hints {
        let parsed = parse_one(&format!("select {text} 1"), sql_mode()).unwrap();
        let Statement::Query(query) = parsed.statement else {
            panic!("{text}")
        };
        let QueryBody::Select(select) = query.body else {
            panic!("{text}")
        };
        select.hints.map_or_else(Hints::default, |hints| *hints)
    }

    #[test]
    fn hints_are_read_from_their_comment_alone() {
        assert_eq!(hints("/* BKA(t) */"), Hints::default());
        assert_eq!(
            hints(" /*+ MAX_EXECUTION_TIME(1000) */ ").list,
            [Hint::MaxExecutionTime(1000)]
        );
        assert_eq!(hints("/*+ NO_ICP(t) max_execution_time ( 5 )*/").list.len(), 2);
        let Hint::Index { table, indexes, .. } = &hints("/*+ INDEX(@`a b` t i, PRIMARY) */").list[0] else {
            panic!()
        };
        assert_eq!((table.name.as_str(), table.block.as_deref()), ("t", Some("a b")));
        assert_eq!(indexes, &["i", "PRIMARY"]);
    }

    #[test]
    fn what_is_no_hint_ends_the_list() {
        let read = hints("/*+ BKA(t) NO_SUCH_HINT() MERGE(d) */");
        assert_eq!(read.list.len(), 1);
        assert_eq!(
            read.error.as_deref(),
            Some("Optimizer hint syntax error near 'NO_SUCH_HINT() MERGE(d) */ 1' at line 1")
        );
        assert_eq!(
            hints("/*+ */").error.as_deref(),
            Some("Optimizer hint syntax error near '*/' at line 1")
        );
        assert_eq!(
            hints("/*+ MAX_EXECUTION_TIME(x) */").error.as_deref(),
            Some("Optimizer hint syntax error near 'x) */ 1' at line 1")
        );
    }
}
