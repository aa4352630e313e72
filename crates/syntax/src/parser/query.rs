//! Query expressions: set operations, WITH, and the clauses that may follow any query.

use types::{Error, Result};

use super::{Parser, clauses, into, select, values};
use crate::ast::{
    CommonTable, IntoPlace, LockWait, LockingClause, NamedTable, Query, QueryBody, Select, SelectInto,
    SelectItem, SetOperand, SetOperator, TableRef, With,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// A query expression, in parentheses or not.
pub fn query(parser: &mut Parser<'_>) -> Result<Query> {
    let with = with_clause(parser)?;
    let query = query_without_with(parser)?;
    Ok(Query { with, ..query })
}

pub fn query_without_with(parser: &mut Parser<'_>) -> Result<Query> {
    let first = query_term(parser)?;
    parser.query_behind(first)
}

/// A query expression whose first operand has been read.
pub fn query_behind(parser: &mut Parser<'_>, first: QueryBody) -> Result<Query> {
    let first = set_operation(parser, first, &[Kw::INTERSECT], query_term)?;
    let mut body = set_operation(parser, first, &[Kw::UNION, Kw::EXCEPT], intersection)?;
    let order_by = clauses::order_by(parser)?;
    let limit = clauses::limit(parser)?;
    let into = into_of_last(&mut body);
    let mut into_place = IntoPlace::AtEnd;
    let mut into = into.map(|(into, place)| {
        into_place = place;
        into
    });
    let has_own = has_into(&body);
    let mut further = |parser: &mut Parser<'_>| match into::select_into(parser)? {
        Some(_) if has_own || into.is_some() => Err(several_intos()),
        None => Ok(()),
        found => {
            into = found;
            Ok(())
        }
    };
    further(parser)?;
    let locking = locking(parser)?;
    further(parser)?;
    Ok(Query {
        into,
        into_place,
        with: None,
        body,
        order_by,
        limit,
        locking,
    })
}

pub fn with_clause(parser: &mut Parser<'_>) -> Result<Option<With>> {
    if !parser.eat(Kw::WITH) {
        return Ok(None);
    }
    let recursive = parser.eat(Kw::RECURSIVE);
    let is_first_select = std::mem::take(&mut parser.is_first_select);
    let tables = parser.comma_separated(|parser| {
        let name = parser.any_name()?;
        let columns = clauses::column_list(parser)?;
        parser.expect(Kw::AS)?;
        let query = parser.query_in_parentheses()?;
        Ok(CommonTable { name, columns, query })
    })?;
    parser.is_first_select = is_first_select;
    Ok(Some(With { recursive, tables }))
}

/// An operand of UNION or EXCEPT.
fn intersection(parser: &mut Parser<'_>) -> Result<QueryBody> {
    let first = query_term(parser)?;
    set_operation(parser, first, &[Kw::INTERSECT], query_term)
}

fn set_operation(
    parser: &mut Parser<'_>,
    first: QueryBody,
    operators: &[Kw],
    operand: fn(&mut Parser<'_>) -> Result<QueryBody>,
) -> Result<QueryBody> {
    let mut rest = Vec::new();
    while let Some(keyword) = parser.eat_any(operators) {
        rest.push(SetOperand {
            operator: match keyword {
                Kw::UNION => SetOperator::Union,
                Kw::EXCEPT => SetOperator::Except,
                _ => SetOperator::Intersect,
            },
            all: parser.eat_any(&[Kw::ALL, Kw::DISTINCT]) == Some(Kw::ALL),
            operand: operand(parser)?,
        });
    }
    if rest.is_empty() {
        return Ok(first);
    }
    Ok(QueryBody::SetOperation {
        first: Box::new(first),
        rest,
    })
}

fn query_term(parser: &mut Parser<'_>) -> Result<QueryBody> {
    match parser.keyword() {
        Some(Kw::SELECT) => Ok(QueryBody::Select(Box::new(select::select(parser)?))),
        Some(Kw::TABLE) => table_statement(parser),
        Some(Kw::VALUES) => {
            parser.advance();
            if !parser.is(Kw::ROW) {
                return parser.fail();
            }
            Ok(QueryBody::Values(values::rows_of_values(parser)?))
        }
        _ => Ok(QueryBody::Nested(parser.query_in_parentheses()?)),
    }
}

/// `(query)`. More parentheses around it have no effect.
pub fn query_in_parentheses(parser: &mut Parser<'_>) -> Result<Box<Query>> {
    let open = parser.open_parentheses()?;
    if open == 0 {
        return parser.fail();
    }
    let mut query = Box::new(parser.nested(Parser::query)?);
    parser.expect_kind(Kind::RightParen)?;
    for _ in 1..open {
        if parser.kind() != Kind::RightParen {
            parser.grow()?;
            query = Box::new(parser.query_behind(QueryBody::Nested(query))?);
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(query)
}

/// `TABLE t`: `SELECT * FROM t`.
fn table_statement(parser: &mut Parser<'_>) -> Result<QueryBody> {
    parser.advance();
    let table = NamedTable {
        name: parser.object_name()?,
        alias: None,
        partitions: Vec::new(),
        as_of: None,
        hints: Vec::new(),
    };
    Ok(QueryBody::Select(Box::new(Select {
        items: vec![SelectItem::All],
        from: vec![TableRef::Table(table)],
        ..Select::default()
    })))
}

/// LOCK IN SHARE MODE, or any number of FOR UPDATE and FOR SHARE.
fn locking(parser: &mut Parser<'_>) -> Result<Vec<LockingClause>> {
    if parser.eat(Kw::LOCK) {
        parser.expect(Kw::IN)?;
        parser.expect(Kw::SHARE)?;
        parser.expect(Kw::MODE)?;
        return Ok(vec![LockingClause {
            exclusive: false,
            wait: LockWait::Wait,
            of: Vec::new(),
        }]);
    }
    let mut clauses = Vec::new();
    while parser.eat(Kw::FOR) {
        clauses.push(locking_clause(parser)?);
    }
    Ok(clauses)
}

/// A locking clause after FOR.
fn locking_clause(parser: &mut Parser<'_>) -> Result<LockingClause> {
    let exclusive = match parser.eat_any(&[Kw::UPDATE, Kw::SHARE]) {
        Some(keyword) => keyword == Kw::UPDATE,
        None => return parser.fail(),
    };
    let of = if parser.eat(Kw::OF) {
        parser.comma_separated(Parser::object_name)?
    } else {
        Vec::new()
    };
    let wait = if parser.eat(Kw::NOWAIT) {
        LockWait::NoWait
    } else if parser.eat(Kw::SKIP) {
        parser.expect(Kw::LOCKED)?;
        LockWait::SkipLocked
    } else {
        LockWait::Wait
    };
    Ok(LockingClause { exclusive, wait, of })
}

/// The INTO within the last operand of a set operation. It belongs to the whole query.
fn into_of_last(body: &mut QueryBody) -> Option<(Box<SelectInto>, IntoPlace)> {
    match body {
        QueryBody::SetOperation { rest, .. } => into_of_operand(&mut rest.last_mut()?.operand),
        _ => None,
    }
}

/// Whether a query that is no set operation has an INTO of its own.
fn has_into(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => select.into.is_some(),
        QueryBody::Nested(query) => query.into.is_some() || has_into(&query.body),
        QueryBody::Values(_) | QueryBody::SetOperation { .. } => false,
    }
}

/// Error 3953.
fn several_intos() -> Error {
    Error::new(3953, "Multiple INTO clauses in one query block.")
}

fn into_of_operand(operand: &mut QueryBody) -> Option<(Box<SelectInto>, IntoPlace)> {
    match operand {
        QueryBody::Select(select) => {
            let into = select.into.take()?;
            Some((
                into,
                match select.from.is_empty() {
                    true => IntoPlace::EndsOperand,
                    false => IntoPlace::WithinOperand,
                },
            ))
        }
        QueryBody::Nested(query) => {
            let within = |into| (into, IntoPlace::WithinOperand);
            let own = query.into.take().map(within);
            own.or_else(|| into_of_operand(&mut query.body).map(|(into, _)| within(into)))
        }
        QueryBody::SetOperation { rest, .. } => into_of_operand(&mut rest.last_mut()?.operand),
        QueryBody::Values(_) => None,
    }
}
