//! INSERT, REPLACE, UPDATE, DELETE.

use std::sync::Arc;

use types::Result;

use super::literal_rows::literal_rows;
use super::{Parser, clauses, hints, names, partition, table_ref, values};
use crate::ast::{Delete, Insert, InsertRows, LiteralRows, ObjectName, RowAlias, TableRef, Update};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// From this number of rows on, [`LiteralRows`] are tried first.
const LITERAL_ROWS_MIN: usize = 8;

/// INSERT and REPLACE, from the verb on.
pub fn insert(parser: &mut Parser<'_>) -> Result<Insert> {
    let replace = parser.is(Kw::REPLACE);
    parser.advance();
    let hints = hints::hints(parser);
    // Priorities have no effect here, as with InnoDB.
    let delayed = parser.eat(Kw::DELAYED);
    if !delayed && !parser.eat(Kw::LOW_PRIORITY) && !replace {
        parser.eat(Kw::HIGH_PRIORITY);
    }
    let ignore = !replace && parser.eat(Kw::IGNORE);
    parser.eat(Kw::INTO);
    let table = parser.object_name()?;
    let partitions = partition::partition_selection(parser)?;
    let mut insert = Insert {
        replace,
        delayed,
        ignore,
        table,
        partitions,
        columns: Vec::new(),
        has_columns: false,
        rows: InsertRows::Values(Vec::new()),
        alias: None,
        on_duplicate: Vec::new(),
        hints,
    };
    let may_have_alias = insert_rows(parser, &mut insert)?;
    if !replace && may_have_alias && parser.eat(Kw::AS) {
        insert.alias = Some(row_alias(parser)?);
    }
    if !replace && parser.eat(Kw::ON) {
        parser.expect(Kw::DUPLICATE)?;
        parser.expect(Kw::KEY)?;
        parser.expect(Kw::UPDATE)?;
        insert.on_duplicate = parser.comma_separated(values::assignment)?;
    }
    Ok(insert)
}

/// Returns whether an alias of the new row may follow. `VALUES ROW(...)` is a query, which has none.
fn insert_rows(parser: &mut Parser<'_>, insert: &mut Insert) -> Result<bool> {
    if parser.eat(Kw::SET) {
        let assignments = parser.comma_separated(values::assignment)?;
        let (columns, values) = assignments.into_iter().map(|a| (a.column, a.value)).unzip();
        insert.columns = columns;
        insert.has_columns = true;
        insert.rows = InsertRows::Values(vec![values]);
        return Ok(true);
    }
    if parser.kind() == Kind::LeftParen && !is_query_in_parentheses(parser) {
        parser.advance();
        insert.has_columns = true;
        if parser.kind() != Kind::RightParen {
            insert.columns = parser.comma_separated(names::column_name)?;
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    if !parser.peek_is(Kw::ROW) && parser.eat_any(&[Kw::VALUES, Kw::VALUE]).is_some() {
        insert.rows = match many_literals(parser) {
            Some(rows) => InsertRows::Literals(Arc::new(rows)),
            None => InsertRows::Values(values::rows_of_values(parser)?),
        };
        return Ok(true);
    }
    if parser.is_any(&[Kw::SELECT, Kw::WITH, Kw::TABLE, Kw::VALUES]) || parser.kind() == Kind::LeftParen {
        insert.rows = match Box::new(parser.query()?).into_inserted_rows() {
            // The same as without ROW: DEFAULT is allowed, for example.
            Ok(rows) => InsertRows::Values(rows),
            Err(query) => InsertRows::Query(query),
        };
        return Ok(false);
    }
    parser.fail()
}

/// Reads many rows of literals. For few rows the general parser is as fast, and accepts more.
fn many_literals(parser: &mut Parser<'_>) -> Option<LiteralRows> {
    let (rows, end) = literal_rows(
        parser.whole_text(),
        parser.start(),
        parser.backslash_escapes(),
        parser.mode.ansi_quotes,
    )?;
    if rows.len() < LITERAL_ROWS_MIN {
        return None;
    }
    parser.jump(end);
    Some(rows)
}

fn is_query_in_parentheses(parser: &Parser<'_>) -> bool {
    let (next, after) = parser.peek_two();
    (next.kind == Kind::LeftParen && after.kind != Kind::RightParen)
        || matches!(next.keyword, Some(Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES))
}

fn row_alias(parser: &mut Parser<'_>) -> Result<RowAlias> {
    let name = parser.any_name()?;
    let mut columns = Vec::new();
    if parser.eat_kind(Kind::LeftParen) {
        columns = parser.comma_separated(Parser::any_name)?;
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(RowAlias { name, columns })
}

pub fn update(parser: &mut Parser<'_>) -> Result<Update> {
    parser.advance();
    let hints = hints::hints(parser);
    parser.eat(Kw::LOW_PRIORITY);
    let ignore = parser.eat(Kw::IGNORE);
    let tables = table_ref::table_refs(parser)?;
    parser.expect(Kw::SET)?;
    let assignments = parser.comma_separated(values::assignment)?;
    let filter = if parser.eat(Kw::WHERE) {
        Some(parser.expression()?)
    } else {
        None
    };
    Ok(Update {
        with: None,
        ignore,
        tables,
        assignments,
        filter,
        order_by: clauses::order_by(parser)?,
        limit: clauses::row_limit(parser)?,
        hints,
    })
}

pub fn delete(parser: &mut Parser<'_>) -> Result<Delete> {
    parser.advance();
    let hints = hints::hints(parser);
    let mut ignore = false;
    // Each of these words can be a name, too. `DELETE quick FROM ...` names a table only with a comma or a
    // star.
    while let Some(word) = parser.eat_any(&[Kw::LOW_PRIORITY, Kw::QUICK, Kw::IGNORE]) {
        ignore |= word == Kw::IGNORE;
    }
    // The form for several tables: `DELETE t, ... FROM ...` or `DELETE FROM t, ... USING ...`. With one table
    // it means the same as the plain form, but allows no ORDER BY and LIMIT.
    let mut targets = Vec::new();
    if !parser.eat(Kw::FROM) {
        if !matches!(parser.kind(), Kind::Word | Kind::QuotedWord) || parser.is_reserved() {
            return parser.fail();
        }
        targets = parser.comma_separated(delete_target)?;
        parser.expect(Kw::FROM)?;
    } else if at_targets_of_using(parser) {
        targets = parser.comma_separated(delete_target)?;
        parser.expect(Kw::USING)?;
    }
    let tables = match targets.is_empty() {
        true => vec![TableRef::Table(table_ref::named_table(parser)?)],
        false => table_ref::table_refs(parser)?,
    };
    let filter = if parser.eat(Kw::WHERE) {
        Some(parser.expression()?)
    } else {
        None
    };
    let is_plain = targets.is_empty();
    Ok(Delete {
        with: None,
        ignore,
        targets,
        tables,
        filter,
        order_by: if is_plain {
            clauses::order_by(parser)?
        } else {
            Vec::new()
        },
        limit: if is_plain {
            clauses::row_limit(parser)?
        } else {
            None
        },
        hints,
    })
}

/// `[database.]table[.*]`
fn delete_target(parser: &mut Parser<'_>) -> Result<ObjectName> {
    let mut name = ObjectName {
        database: None,
        name: parser.name()?,
    };
    while parser.eat_kind(Kind::Dot) {
        if parser.eat_kind(Kind::Star) {
            break;
        }
        name = ObjectName {
            database: Some(name.name),
            name: parser.name_behind_point()?,
        };
    }
    Ok(name)
}

/// Whether the list of `DELETE FROM t, ... USING ...` begins here.
fn at_targets_of_using(parser: &Parser<'_>) -> bool {
    let mut ahead = parser.fork();
    ahead.comma_separated(delete_target).is_ok() && ahead.is(Kw::USING)
}
