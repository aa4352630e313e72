//! Table references: tables, derived tables, joins.

use types::{Error, Result, errno};

use super::Parser;
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

/// What parentheses in FROM hold.
enum Parenthesised {
    Query(Box<Query>),
    Tables(Vec<TableRef>),
}

impl Parser<'_> {
    /// What commas separate: tables, with the joins after each.
    pub fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        self.comma_separated(Self::joined_tables)
    }

    /// What follows the first of several tables in parentheses.
    fn table_refs_behind(&mut self, first: TableRef) -> Result<Vec<TableRef>> {
        let mut tables = vec![self.joins_behind(first)?];
        while self.eat_kind(Kind::Comma) {
            tables.push(self.joined_tables()?);
        }
        Ok(tables)
    }

    fn joined_tables(&mut self) -> Result<TableRef> {
        let first = self.table_factor()?;
        self.joins_behind(first)
    }

    /// A table reference with all joins. A condition is that of the last join before it that has none.
    fn joins_behind(&mut self, mut last: TableRef) -> Result<TableRef> {
        let mut pending: Vec<PendingJoin> = Vec::new();
        loop {
            if self.is_any(&[Kw::ON, Kw::USING])
                && !self.are(&[Kw::ON, Kw::DUPLICATE, Kw::KEY])
                && let Some(PendingJoin { kind, left }) = pending.pop()
            {
                let condition = self.join_condition()?;
                last = self.join(kind, left, last, condition)?;
            } else if self.eat(Kw::NATURAL) {
                let kind = match self.eat_any(&[Kw::INNER, Kw::LEFT, Kw::RIGHT]) {
                    None | Some(Kw::INNER) => JoinKind::Inner,
                    outer => self.outer_kind(outer),
                };
                self.expect(Kw::JOIN)?;
                let right = self.table_factor()?;
                last = self.join(kind, last, right, JoinCondition::Natural)?;
            } else if let Some(kind) = self.join_operator()? {
                pending.push(PendingJoin { kind, left: last });
                last = self.table_factor()?;
            } else {
                break;
            }
        }
        // Joins without a condition have waited for one on their right; they come before what is joined
        // there.
        while let Some(PendingJoin { kind, left }) = pending.pop() {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return self.fail();
            }
            self.grow()?;
            last = join_to_leftmost(kind, left, last);
        }
        Ok(last)
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: TableRef,
        right: TableRef,
        condition: JoinCondition,
    ) -> Result<TableRef> {
        self.grow()?;
        Ok(TableRef::Join(Box::new(Join {
            kind,
            left,
            right,
            condition,
        })))
    }

    fn join_operator(&mut self) -> Result<Option<JoinKind>> {
        let first = self.eat_any(&[
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
            outer => self.outer_kind(outer),
        };
        self.expect(Kw::JOIN)?;
        Ok(Some(kind))
    }

    /// LEFT or RIGHT, and OUTER after it.
    fn outer_kind(&mut self, side: Option<Kw>) -> JoinKind {
        self.eat(Kw::OUTER);
        match side {
            Some(Kw::LEFT) => JoinKind::Left,
            _ => JoinKind::Right,
        }
    }

    fn join_condition(&mut self) -> Result<JoinCondition> {
        if self.eat(Kw::ON) {
            return self.expression().map(JoinCondition::On);
        }
        self.expect(Kw::USING)?;
        if self.kind() != Kind::LeftParen {
            return self.fail();
        }
        self.column_list().map(JoinCondition::Using)
    }

    /// A table, a derived table, or table references in parentheses.
    fn table_factor(&mut self) -> Result<TableRef> {
        if self.eat(Kw::LATERAL) {
            let query = self.query_in_parentheses()?;
            return self.derived_table(true, query);
        }
        if self.kind() == Kind::LeftParen {
            return match self.parenthesised_from()? {
                Parenthesised::Query(query) => self.derived_table(false, query),
                Parenthesised::Tables(tables) => Ok(TableRef::Nested(tables)),
            };
        }
        if self.kind() == Kind::LeftBrace {
            return self.odbc_join();
        }
        if self.is(Kw::JSON_TABLE) {
            return self.json_table();
        }
        self.named_table().map(TableRef::Table)
    }

    /// `{ OJ joined tables }`, ODBC's way to write an outer join.
    fn odbc_join(&mut self) -> Result<TableRef> {
        self.advance();
        self.name()?;
        let joined = self.nested(Self::joined_tables)?;
        self.expect_kind(Kind::RightBrace)?;
        self.grow()?;
        Ok(TableRef::Nested(vec![joined]))
    }

    /// A query or table references in parentheses. Which of them shows after the innermost parenthesis:
    /// `((SELECT 1) UNION ...)`, but `((SELECT 1) AS t, ...)`.
    fn parenthesised_from(&mut self) -> Result<Parenthesised> {
        let open = self.open_parentheses()?;
        let mut inner = match self.at_query() {
            true => Parenthesised::Query(Box::new(self.nested(Self::query)?)),
            false => Parenthesised::Tables(self.nested(Self::table_refs)?),
        };
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        for _ in 1..open {
            if self.kind() != Kind::RightParen {
                inner = self.parenthesised_behind(inner)?;
                self.grow()?;
            }
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(inner)
    }

    /// What parentheses hold that begin with other ones.
    fn parenthesised_behind(&mut self, inner: Parenthesised) -> Result<Parenthesised> {
        Ok(match inner {
            Parenthesised::Query(query) if self.is_behind_query_term() => {
                let query = self.query_behind(QueryBody::Nested(query))?;
                Parenthesised::Query(Box::new(query))
            }
            Parenthesised::Query(query) => {
                let first = self.derived_table(false, query)?;
                Parenthesised::Tables(self.table_refs_behind(first)?)
            }
            Parenthesised::Tables(tables) => {
                Parenthesised::Tables(self.table_refs_behind(TableRef::Nested(tables))?)
            }
        })
    }

    /// `[AS] alias [(column, ...)]` after a query.
    fn derived_table(&mut self, lateral: bool, query: Box<Query>) -> Result<TableRef> {
        let Some(alias) = self.table_alias()? else {
            return Err(Error::new(
                errno::ER_DERIVED_MUST_HAVE_ALIAS,
                "Every derived table must have its own alias",
            ));
        };
        let columns = self.column_list()?;
        self.grow()?;
        Ok(TableRef::Derived(DerivedTable {
            lateral,
            query,
            alias,
            columns,
        }))
    }

    /// A table with its alias and hints.
    pub fn named_table(&mut self) -> Result<NamedTable> {
        let name = self.object_name()?;
        let partitions = self.partition_selection()?;
        let mut as_of = self.as_of()?;
        let alias = self.table_alias()?;
        if as_of.is_none() {
            as_of = self.as_of()?;
        }
        let hints = self.index_hints()?;
        if self.is(Kw::TABLESAMPLE) {
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

    fn as_of(&mut self) -> Result<Option<Expr>> {
        if !self.eat_all(&[Kw::AS, Kw::OF, Kw::TIMESTAMP]) {
            return Ok(None);
        }
        self.arithmetic(0).map(Some)
    }

    pub fn table_alias(&mut self) -> Result<Option<String>> {
        let has_as = self.eat(Kw::AS);
        match self.kind() {
            Kind::QuotedWord => Ok(Some(self.alias_name()?)),
            Kind::Word if has_as || !self.is_reserved() => Ok(Some(self.name()?)),
            _ if has_as => self.fail(),
            _ => Ok(None),
        }
    }

    /// Hints follow each other with blanks between them.
    fn index_hints(&mut self) -> Result<Vec<IndexHint>> {
        let mut hints = Vec::new();
        while let Some(keyword) = self.eat_any(&[Kw::USE, Kw::IGNORE, Kw::FORCE]) {
            let kind = match keyword {
                Kw::USE => IndexHintKind::Use,
                Kw::IGNORE => IndexHintKind::Ignore,
                _ => IndexHintKind::Force,
            };
            hints.push(self.index_hint(kind)?);
        }
        Ok(hints)
    }

    /// `INDEX [FOR JOIN | ORDER BY | GROUP BY] (index, ...)`
    fn index_hint(&mut self, kind: IndexHintKind) -> Result<IndexHint> {
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_none() {
            return self.fail();
        }
        let mut for_rows = true;
        if self.eat(Kw::FOR) {
            for_rows = match self.eat_any(&[Kw::JOIN, Kw::ORDER, Kw::GROUP]) {
                Some(Kw::JOIN) => true,
                Some(_) => {
                    self.expect(Kw::BY)?;
                    false
                }
                None => return self.fail(),
            };
        }
        self.expect_kind(Kind::LeftParen)?;
        let mut indexes = Vec::new();
        if self.kind() != Kind::RightParen {
            indexes = self.comma_separated(|parser| match parser.eat(Kw::PRIMARY) {
                true => Ok("PRIMARY".into()),
                false => parser.name(),
            })?;
        } else if kind != IndexHintKind::Use {
            return self.fail();
        }
        self.expect_kind(Kind::RightParen)?;
        Ok(IndexHint {
            kind,
            indexes,
            for_rows,
        })
    }
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
