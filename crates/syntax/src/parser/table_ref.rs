//! Table references: tables, derived tables, joins.

use types::{Error, Result, errno};

use super::{Parser, clauses, json_table, names, partition};
use crate::ast::{
    DerivedTable, Expr, IndexHint, IndexHintKind, Join, JoinCondition, JoinKind, NamedTable, Query,
    QueryBody, TableRef,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// A join whose condition has not been read. Conditions may follow later: `a JOIN b JOIN c ON ... ON ...`.
struct PendingJoin {
    kind: JoinKind,
    left: TableRef,
}

/// The contents of parentheses in FROM.
enum Parenthesised {
    Query(Box<Query>),
    Tables(Vec<TableRef>),
}

/// Table references separated by commas, each with its joins.
pub fn table_refs(parser: &mut Parser<'_>) -> Result<Vec<TableRef>> {
    parser.comma_separated(joined_tables)
}

/// The rest of a list in parentheses, after its first table.
fn table_refs_behind(parser: &mut Parser<'_>, first: TableRef) -> Result<Vec<TableRef>> {
    let mut tables = vec![joins_behind(parser, first)?];
    while parser.eat_kind(Kind::Comma) {
        tables.push(joined_tables(parser)?);
    }
    Ok(tables)
}

fn joined_tables(parser: &mut Parser<'_>) -> Result<TableRef> {
    let first = table_factor(parser)?;
    joins_behind(parser, first)
}

/// A table reference with all its joins. A condition belongs to the last join before it that has none.
fn joins_behind(parser: &mut Parser<'_>, mut last: TableRef) -> Result<TableRef> {
    let mut pending: Vec<PendingJoin> = Vec::new();
    loop {
        if parser.is_any(&[Kw::ON, Kw::USING])
            && !parser.are(&[Kw::ON, Kw::DUPLICATE, Kw::KEY])
            && let Some(PendingJoin { kind, left }) = pending.pop()
        {
            let condition = join_condition(parser)?;
            last = join(parser, kind, left, last, condition)?;
        } else if parser.eat(Kw::NATURAL) {
            let kind = match parser.eat_any(&[Kw::INNER, Kw::LEFT, Kw::RIGHT]) {
                None | Some(Kw::INNER) => JoinKind::Inner,
                outer => outer_kind(parser, outer),
            };
            parser.expect(Kw::JOIN)?;
            let right = table_factor(parser)?;
            last = join(parser, kind, last, right, JoinCondition::Natural)?;
        } else if let Some(kind) = join_operator(parser)? {
            pending.push(PendingJoin { kind, left: last });
            last = table_factor(parser)?;
        } else {
            break;
        }
    }
    // Joins that got no condition come before the joins on their right.
    while let Some(PendingJoin { kind, left }) = pending.pop() {
        if matches!(kind, JoinKind::Left | JoinKind::Right) {
            return parser.fail();
        }
        parser.grow_tables()?;
        last = join_to_leftmost(kind, left, last);
    }
    Ok(last)
}

fn join(
    parser: &mut Parser<'_>,
    kind: JoinKind,
    left: TableRef,
    right: TableRef,
    condition: JoinCondition,
) -> Result<TableRef> {
    parser.grow_tables()?;
    Ok(TableRef::Join(Box::new(Join {
        kind,
        left,
        right,
        condition,
    })))
}

fn join_operator(parser: &mut Parser<'_>) -> Result<Option<JoinKind>> {
    let first = parser.eat_any(&[
        Kw::JOIN,
        Kw::INNER,
        Kw::CROSS,
        Kw::STRAIGHT_JOIN,
        Kw::LEFT,
        Kw::RIGHT,
    ]);
    let kind = match first {
        None => return Ok(None),
        Some(Kw::JOIN) => return Ok(Some(JoinKind::Inner)),
        Some(Kw::STRAIGHT_JOIN) => return Ok(Some(JoinKind::Straight)),
        Some(Kw::INNER | Kw::CROSS) => JoinKind::Inner,
        outer => outer_kind(parser, outer),
    };
    parser.expect(Kw::JOIN)?;
    Ok(Some(kind))
}

/// LEFT or RIGHT, and OUTER after it.
fn outer_kind(parser: &mut Parser<'_>, side: Option<Kw>) -> JoinKind {
    parser.eat(Kw::OUTER);
    match side {
        Some(Kw::LEFT) => JoinKind::Left,
        _ => JoinKind::Right,
    }
}

fn join_condition(parser: &mut Parser<'_>) -> Result<JoinCondition> {
    if parser.eat(Kw::ON) {
        return parser.expression().map(JoinCondition::On);
    }
    parser.expect(Kw::USING)?;
    if parser.kind() != Kind::LeftParen {
        return parser.fail();
    }
    clauses::column_list(parser).map(JoinCondition::Using)
}

/// A table, a derived table, or table references in parentheses.
fn table_factor(parser: &mut Parser<'_>) -> Result<TableRef> {
    if parser.eat(Kw::LATERAL) {
        let query = parser.query_in_parentheses()?;
        return derived_table(parser, true, query);
    }
    if parser.kind() == Kind::LeftParen {
        return match parenthesised_from(parser)? {
            Parenthesised::Query(query) => derived_table(parser, false, query),
            Parenthesised::Tables(tables) => Ok(TableRef::Nested(tables)),
        };
    }
    if parser.kind() == Kind::LeftBrace {
        return odbc_join(parser);
    }
    if parser.is(Kw::JSON_TABLE) {
        return json_table::json_table(parser);
    }
    named_table(parser).map(TableRef::Table)
}

/// `{ OJ joined tables }`, ODBC's way to write an outer join.
fn odbc_join(parser: &mut Parser<'_>) -> Result<TableRef> {
    parser.advance();
    parser.name()?;
    let joined = parser.nested(joined_tables)?;
    parser.expect_kind(Kind::RightBrace)?;
    parser.grow_tables()?;
    Ok(TableRef::Nested(vec![joined]))
}

/// A query or table references in parentheses. Which of the two it is becomes clear only after the innermost
/// parenthesis: `((SELECT 1) UNION ...)`, but `((SELECT 1) AS t, ...)`.
fn parenthesised_from(parser: &mut Parser<'_>) -> Result<Parenthesised> {
    let open = parser.open_parentheses()?;
    let mut inner = match clauses::at_query(parser) {
        true => Parenthesised::Query(Box::new(parser.nested(Parser::query)?)),
        false => Parenthesised::Tables(parser.nested(table_refs)?),
    };
    parser.expect_kind(Kind::RightParen)?;
    parser.grow_tables()?;
    for _ in 1..open {
        if parser.kind() != Kind::RightParen {
            inner = parenthesised_behind(parser, inner)?;
            parser.grow_tables()?;
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(inner)
}

/// The contents of parentheses that begin with other parentheses.
fn parenthesised_behind(parser: &mut Parser<'_>, inner: Parenthesised) -> Result<Parenthesised> {
    Ok(match inner {
        Parenthesised::Query(query) if clauses::is_behind_query_term(parser) => {
            let query = parser.query_behind(QueryBody::Nested(query))?;
            Parenthesised::Query(Box::new(query))
        }
        Parenthesised::Query(query) => {
            let first = derived_table(parser, false, query)?;
            Parenthesised::Tables(table_refs_behind(parser, first)?)
        }
        Parenthesised::Tables(tables) => {
            Parenthesised::Tables(table_refs_behind(parser, TableRef::Nested(tables))?)
        }
    })
}

/// `[AS] alias [(column, ...)]` after a query.
fn derived_table(parser: &mut Parser<'_>, lateral: bool, query: Box<Query>) -> Result<TableRef> {
    let Some(alias) = names::table_alias(parser)? else {
        let may_follow = [
            Kind::Word,
            Kind::QuotedWord,
            Kind::Comma,
            Kind::LeftParen,
            Kind::RightParen,
            Kind::RightBrace,
            Kind::Semicolon,
            Kind::End,
        ];
        if !may_follow.contains(&parser.kind()) {
            return parser.fail();
        }
        return Err(Error::new(
            errno::ER_DERIVED_MUST_HAVE_ALIAS,
            "Every derived table must have its own alias",
        ));
    };
    let columns = clauses::column_list(parser)?;
    parser.grow_tables()?;
    Ok(TableRef::Derived(DerivedTable {
        lateral,
        query,
        alias,
        columns,
    }))
}

/// A table with its alias and hints.
pub fn named_table(parser: &mut Parser<'_>) -> Result<NamedTable> {
    let name = parser.object_name()?;
    let partitions = partition::partition_selection(parser)?;
    let mut as_of = as_of_clause(parser)?;
    let alias = names::table_alias(parser)?;
    if as_of.is_none() {
        as_of = as_of_clause(parser)?;
    }
    let hints = index_hints(parser)?;
    if parser.is(Kw::TABLESAMPLE) {
        return Err(Error::not_supported("TABLESAMPLE", "use WHERE RAND() < fraction"));
    }
    Ok(NamedTable {
        name,
        alias,
        partitions,
        as_of,
        hints,
    })
}

fn as_of_clause(parser: &mut Parser<'_>) -> Result<Option<Expr>> {
    if !parser.eat_all(&[Kw::AS, Kw::OF, Kw::TIMESTAMP]) {
        return Ok(None);
    }
    parser.arithmetic(0).map(Some)
}

/// Index hints, separated by blanks.
fn index_hints(parser: &mut Parser<'_>) -> Result<Vec<IndexHint>> {
    let mut hints = Vec::new();
    while let Some(keyword) = parser.eat_any(&[Kw::USE, Kw::IGNORE, Kw::FORCE]) {
        let kind = match keyword {
            Kw::USE => IndexHintKind::Use,
            Kw::IGNORE => IndexHintKind::Ignore,
            _ => IndexHintKind::Force,
        };
        hints.push(index_hint(parser, kind)?);
    }
    Ok(hints)
}

/// `INDEX [FOR JOIN | ORDER BY | GROUP BY] (index, ...)`
fn index_hint(parser: &mut Parser<'_>, kind: IndexHintKind) -> Result<IndexHint> {
    if parser.eat_any(&[Kw::INDEX, Kw::KEY]).is_none() {
        return parser.fail();
    }
    let mut for_rows = true;
    if parser.eat(Kw::FOR) {
        for_rows = match parser.eat_any(&[Kw::JOIN, Kw::ORDER, Kw::GROUP]) {
            Some(Kw::JOIN) => true,
            Some(_) => {
                parser.expect(Kw::BY)?;
                false
            }
            None => return parser.fail(),
        };
    }
    parser.expect_kind(Kind::LeftParen)?;
    let mut indexes = Vec::new();
    if parser.kind() != Kind::RightParen {
        indexes = parser.comma_separated(|parser| match parser.eat(Kw::PRIMARY) {
            true => Ok("PRIMARY".into()),
            false => parser.name(),
        })?;
    } else if kind != IndexHintKind::Use {
        return parser.fail();
    }
    parser.expect_kind(Kind::RightParen)?;
    Ok(IndexHint {
        kind,
        indexes,
        for_rows,
    })
}

/// Joins a table to the first one of those that were joined after it: `a JOIN b JOIN c ON ...` is `(a JOIN
/// b) JOIN c ON ...`.
fn join_to_leftmost(kind: JoinKind, left: TableRef, right: TableRef) -> TableRef {
    match right {
        TableRef::Join(mut join) => {
            join.left = join_to_leftmost(kind, left, join.left);
            TableRef::Join(join)
        }
        right => TableRef::Join(Box::new(Join {
            kind,
            left,
            right,
            condition: JoinCondition::None,
        })),
    }
}
