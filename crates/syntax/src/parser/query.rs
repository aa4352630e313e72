//! Query expressions: set operations, WITH, and what may follow any query.

use types::{Error, Result};

use super::Parser;
use crate::ast::{
    CommonTable, Expr, Limit, LockWait, LockingClause, NamedTable, NumberText, OrderItem, Query, QueryBody,
    Select, SelectInto, SelectItem, SetOperand, SetOperator, TableRef, With,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// A query expression, in parentheses or not.
    pub fn query(&mut self) -> Result<Query> {
        let with = self.with_clause()?;
        let query = self.query_without_with()?;
        Ok(Query { with, ..query })
    }

    pub fn query_without_with(&mut self) -> Result<Query> {
        let first = self.query_term()?;
        self.query_behind(first)
    }

    /// A query expression whose first operand has been read.
    pub fn query_behind(&mut self, first: QueryBody) -> Result<Query> {
        let first = self.set_operation(first, &[Kw::INTERSECT], Self::query_term)?;
        let mut body = self.set_operation(first, &[Kw::UNION, Kw::EXCEPT], Self::intersection)?;
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        let mut into = into_of_last(&mut body);
        if into.is_none() {
            into = self.select_into()?;
        }
        let locking = self.locking()?;
        if into.is_none() {
            into = self.select_into()?;
        }
        Ok(Query {
            into,
            with: None,
            body,
            order_by,
            limit,
            locking,
        })
    }

    /// Whether what follows a query in parentheses makes it an operand of another: no alias can be one of
    /// these words.
    pub fn is_behind_query_term(&self) -> bool {
        self.kind() == Kind::RightParen
            || self.is_any(&[
                Kw::UNION,
                Kw::EXCEPT,
                Kw::INTERSECT,
                Kw::ORDER,
                Kw::LIMIT,
                Kw::FOR,
                Kw::LOCK,
                Kw::INTO,
            ])
    }

    /// Whether a query without parentheses of its own starts here.
    pub fn at_query(&self) -> bool {
        self.is_any(&[Kw::SELECT, Kw::WITH, Kw::VALUES, Kw::TABLE])
            && !(self.is(Kw::VALUES) && self.peek().kind == Kind::LeftParen)
    }

    pub fn with_clause(&mut self) -> Result<Option<With>> {
        if !self.eat(Kw::WITH) {
            return Ok(None);
        }
        let recursive = self.eat(Kw::RECURSIVE);
        let tables = self.comma_separated(|parser| {
            let name = parser.name()?;
            let columns = parser.column_list()?;
            parser.expect(Kw::AS)?;
            let query = parser.query_in_parentheses()?;
            Ok(CommonTable { name, columns, query })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    /// `(column, ...)`, where it is there.
    pub fn column_list(&mut self) -> Result<Vec<String>> {
        if !self.eat_kind(Kind::LeftParen) {
            return Ok(Vec::new());
        }
        let columns = self.comma_separated(Self::name)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(columns)
    }

    /// An operand of UNION or EXCEPT.
    fn intersection(&mut self) -> Result<QueryBody> {
        let first = self.query_term()?;
        self.set_operation(first, &[Kw::INTERSECT], Self::query_term)
    }

    fn set_operation(
        &mut self,
        first: QueryBody,
        operators: &[Kw],
        operand: fn(&mut Self) -> Result<QueryBody>,
    ) -> Result<QueryBody> {
        let mut rest = Vec::new();
        while let Some(keyword) = self.eat_any(operators) {
            rest.push(SetOperand {
                operator: match keyword {
                    Kw::UNION => SetOperator::Union,
                    Kw::EXCEPT => SetOperator::Except,
                    _ => SetOperator::Intersect,
                },
                all: self.eat_any(&[Kw::ALL, Kw::DISTINCT]) == Some(Kw::ALL),
                operand: operand(self)?,
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

    fn query_term(&mut self) -> Result<QueryBody> {
        match self.keyword() {
            Some(Kw::SELECT) => Ok(QueryBody::Select(Box::new(self.select()?))),
            Some(Kw::TABLE) => self.table_statement(),
            Some(Kw::VALUES) => {
                self.advance();
                if !self.is(Kw::ROW) {
                    return self.fail();
                }
                Ok(QueryBody::Values(self.rows_of_values()?))
            }
            _ => Ok(QueryBody::Nested(self.query_in_parentheses()?)),
        }
    }

    /// `(query)`. Further parentheses around all of it change nothing.
    pub fn query_in_parentheses(&mut self) -> Result<Box<Query>> {
        let open = self.open_parentheses()?;
        if open == 0 {
            return self.fail();
        }
        let mut query = Box::new(self.nested(Self::query)?);
        self.expect_kind(Kind::RightParen)?;
        for _ in 1..open {
            if self.kind() != Kind::RightParen {
                self.grow()?;
                query = Box::new(self.query_behind(QueryBody::Nested(query))?);
            }
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(query)
    }

    /// `TABLE t`: `SELECT * FROM t`.
    fn table_statement(&mut self) -> Result<QueryBody> {
        self.advance();
        let table = NamedTable {
            name: self.object_name()?,
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

    /// INTO, where it is there.
    pub fn select_into(&mut self) -> Result<Option<Box<SelectInto>>> {
        if !self.eat(Kw::INTO) {
            return Ok(None);
        }
        if self.is_any(&[Kw::OUTFILE, Kw::DUMPFILE]) {
            return Ok(Some(Box::new(SelectInto::File(self.target_file()?))));
        }
        let variables = self.comma_separated(|parser| match parser.kind() {
            Kind::At => parser.user_variable_name(),
            Kind::Word | Kind::QuotedWord => Err(Error::new(
                1327,
                format!("Undeclared variable: {}", parser.name()?),
            )),
            _ => parser.fail(),
        })?;
        Ok(Some(Box::new(SelectInto::Variables(variables))))
    }

    pub fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.eat(Kw::ORDER) {
            return Ok(Vec::new());
        }
        self.expect(Kw::BY)?;
        self.comma_separated(|parser| {
            let expr = parser.expression()?;
            let descending = parser.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
            Ok(OrderItem { expr, descending })
        })
    }

    /// `LIMIT n`, `LIMIT offset, n`, `LIMIT n OFFSET offset`.
    fn limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_number()?;
        if self.eat_kind(Kind::Comma) {
            let count = self.limit_number()?;
            return Ok(Some(Limit {
                offset: Some(first),
                count,
            }));
        }
        let offset = if self.eat(Kw::OFFSET) {
            Some(self.limit_number()?)
        } else {
            None
        };
        Ok(Some(Limit { offset, count: first }))
    }

    /// `LIMIT n` of UPDATE and DELETE.
    pub fn row_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let count = self.limit_number()?;
        Ok(Some(Limit { offset: None, count }))
    }

    fn limit_number(&mut self) -> Result<Expr> {
        match self.kind() {
            Kind::Parameter => {
                let parameter = self.parameter()?;
                self.row_counts.push(parameter);
                Ok(Expr::Parameter(parameter))
            }
            Kind::Integer if self.word().parse::<u64>().is_ok() => {
                let text = self.word().to_string();
                self.advance();
                Ok(Expr::Number(NumberText::Integer(text)))
            }
            Kind::At => Err(Error::not_supported("variables in LIMIT", "use a parameter")),
            _ => self.fail(),
        }
    }

    /// LOCK IN SHARE MODE, or any number of FOR UPDATE and FOR SHARE.
    fn locking(&mut self) -> Result<Vec<LockingClause>> {
        if self.eat(Kw::LOCK) {
            self.expect(Kw::IN)?;
            self.expect(Kw::SHARE)?;
            self.expect(Kw::MODE)?;
            return Ok(vec![LockingClause {
                exclusive: false,
                wait: LockWait::Wait,
                of: Vec::new(),
            }]);
        }
        let mut clauses = Vec::new();
        while self.eat(Kw::FOR) {
            clauses.push(self.locking_clause()?);
        }
        Ok(clauses)
    }

    /// What follows FOR.
    fn locking_clause(&mut self) -> Result<LockingClause> {
        let exclusive = match self.eat_any(&[Kw::UPDATE, Kw::SHARE]) {
            Some(keyword) => keyword == Kw::UPDATE,
            None => return self.fail(),
        };
        let of = if self.eat(Kw::OF) {
            self.comma_separated(Self::object_name)?
        } else {
            Vec::new()
        };
        let wait = if self.eat(Kw::NOWAIT) {
            LockWait::NoWait
        } else if self.eat(Kw::SKIP) {
            self.expect(Kw::LOCKED)?;
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(LockingClause { exclusive, wait, of })
    }
}

/// The INTO after the last operand of a set operation, which is that of the whole query.
fn into_of_last(body: &mut QueryBody) -> Option<Box<SelectInto>> {
    match body {
        QueryBody::SetOperation { rest, .. } => match rest.last_mut().map(|last| &mut last.operand) {
            Some(QueryBody::Select(select)) => select.into.take(),
            _ => None,
        },
        _ => None,
    }
}
