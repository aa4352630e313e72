//! SELECT.

use types::{Error, Result, errno};

use super::Parser;
use super::literal::item_name;
use crate::ast::{
    Expr, IndexHint, IndexHintKind, Limit, LockWait, LockingClause, NamedExpr, NumberText, ObjectName,
    OrderItem, Select, SelectItem, TableRef,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// A SELECT, in parentheses or not; whatever would combine it with another query is refused.
    pub fn select(&mut self) -> Result<Select> {
        if self.is(Kw::WITH) {
            return Err(Error::not_supported(
                "WITH (common table expressions)",
                "run the inner query first",
            ));
        }
        if self.is(Kw::VALUES) {
            return self.values_statement();
        }
        if self.is(Kw::TABLE) {
            return self.table_statement();
        }
        if self.kind() == Kind::LeftParen {
            return self.nested(Self::parenthesised_select);
        }
        self.expect(Kw::SELECT)?;
        let max_execution_ms = max_execution_time(self.source(self.previous_end(), self.start()));
        let (distinct, counts_all_rows) = self.select_options()?;
        let items = self.select_items()?;
        self.refuse_into()?;
        let mut select = Select {
            max_execution_ms,
            distinct,
            counts_all_rows,
            items,
            ..Select::default()
        };
        self.clauses_of_table(&mut select)?;
        self.end_of_query(&mut select)?;
        Ok(select)
    }

    /// What may follow any query: ORDER BY, LIMIT, FOR UPDATE and its like.
    pub fn end_of_query(&mut self, select: &mut Select) -> Result<()> {
        self.refuse_combination()?;
        select.order_by = self.order_by()?;
        select.limit = self.limit()?;
        self.refuse_into()?;
        select.locking = self.locking()?;
        self.refuse_into()?;
        self.refuse_combination()
    }

    fn parenthesised_select(&mut self) -> Result<Select> {
        self.advance();
        let mut select = self.select()?;
        self.expect_kind(Kind::RightParen)?;
        self.refuse_combination()?;
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        if (!order_by.is_empty() || limit.is_some()) && (select.limit.is_some() || select.locking.is_some()) {
            return Err(Error::not_supported(
                "ORDER BY or LIMIT around a query in parentheses",
                "",
            ));
        }
        if !order_by.is_empty() {
            select.order_by = order_by;
        }
        select.limit = select.limit.or(limit);
        if let Some(locking) = self.locking()? {
            select.locking = Some(locking);
        }
        Ok(select)
    }

    fn refuse_combination(&self) -> Result<()> {
        if self.is_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT]) {
            return Err(Error::not_supported(
                self.word().to_uppercase(),
                "run the queries one by one",
            ));
        }
        Ok(())
    }

    fn refuse_into(&self) -> Result<()> {
        if self.is(Kw::INTO) {
            return Err(Error::not_supported(
                "SELECT ... INTO",
                "read the result with the client",
            ));
        }
        Ok(())
    }

    /// Words between SELECT and its list: whether DISTINCT and SQL_CALC_FOUND_ROWS are among them. Those about caches
    /// and optimisation mean nothing here.
    fn select_options(&mut self) -> Result<(bool, bool)> {
        let mut distinct = None;
        let mut counts_all_rows = false;
        loop {
            let start = self.start();
            match self.eat_any(&[
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
                None => return Ok((distinct.unwrap_or(false), counts_all_rows)),
                Some(Kw::SQL_CALC_FOUND_ROWS) => counts_all_rows = true,
                Some(word @ (Kw::ALL | Kw::DISTINCT | Kw::DISTINCTROW)) => {
                    let wanted = word != Kw::ALL;
                    if distinct.is_some_and(|d| d != wanted) {
                        return Err(self.error_at(start));
                    }
                    distinct = Some(wanted);
                }
                Some(_) => {}
            }
        }
    }

    fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        let mut items = Vec::new();
        loop {
            if self.kind() == Kind::Star && items.is_empty() {
                self.advance();
                items.push(SelectItem::All);
            } else {
                items.push(self.select_item()?);
            }
            if !self.eat_kind(Kind::Comma) {
                return Ok(items);
            }
        }
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if let Some(all) = self.all_of()? {
            return Ok(all);
        }
        let start = self.start();
        let is_query = self.kind() == Kind::LeftParen && self.peek_is(Kw::SELECT);
        let expr = self.expression()?;
        let end = self.previous_end();
        let alias = self.item_alias()?;
        let aliased = alias.is_some();
        let name = match alias {
            Some(alias) => alias,
            // Whatever it is a query of.
            None if is_query => self.source(start, end).to_owned(),
            None => item_name(&expr, self.source(start, end), &self.mode),
        };
        Ok(SelectItem::Expr { expr, name, aliased })
    }

    /// `t.*`, `d.t.*`
    fn all_of(&mut self) -> Result<Option<SelectItem>> {
        if !matches!(self.kind(), Kind::Word | Kind::QuotedWord) || self.peek().kind != Kind::Dot {
            return Ok(None);
        }
        let mut ahead = self.fork();
        if ahead.name().is_err() {
            return Ok(None);
        }
        ahead.advance();
        let mut is_all = ahead.kind() == Kind::Star;
        if !is_all && ahead.name_behind_point().is_ok() && ahead.eat_kind(Kind::Dot) {
            is_all = ahead.kind() == Kind::Star;
        }
        if !is_all {
            return Ok(None);
        }
        let first = self.name()?;
        self.expect_kind(Kind::Dot)?;
        let name = if self.kind() == Kind::Star {
            if first.is_empty() {
                return Err(Error::new(errno::ER_NO_TABLES_USED, "No tables used"));
            }
            crate::ast::ObjectName {
                database: None,
                name: first,
            }
        } else {
            let name = self.name_behind_point()?;
            self.expect_kind(Kind::Dot)?;
            crate::ast::ObjectName {
                database: Some(first),
                name,
            }
        };
        self.expect_kind(Kind::Star)?;
        Ok(Some(SelectItem::AllOf(name)))
    }

    fn item_alias(&mut self) -> Result<Option<String>> {
        let has_as = self.eat(Kw::AS);
        match self.kind() {
            Kind::Text => Ok(Some(self.text_literal()?)),
            Kind::QuotedWord => Ok(Some(self.alias_name()?)),
            Kind::Word if has_as || !self.is_reserved() => Ok(Some(self.alias_name()?)),
            _ if has_as => self.fail(),
            _ => Ok(None),
        }
    }

    fn clauses_of_table(&mut self, select: &mut Select) -> Result<()> {
        if self.eat(Kw::FROM) {
            if !self.eat(Kw::DUAL) {
                select.from = Some(self.table_ref()?);
            }
            self.refuse_joins()?;
        }
        if self.eat(Kw::WHERE) {
            select.filter = Some(self.expression()?);
        }
        if self.are(&[Kw::GROUP, Kw::BY]) {
            self.advance();
            self.advance();
            select.group_by = self.comma_separated(Self::named_expression)?;
            if self.are(&[Kw::WITH, Kw::ROLLUP]) {
                self.advance();
                self.advance();
                select.rollup = true;
            }
        }
        if self.eat(Kw::HAVING) {
            select.having = Some(self.expression()?);
        }
        if self.is(Kw::WINDOW) {
            return Err(Error::not_supported("window functions", "use GROUP BY"));
        }
        if self.is(Kw::PROCEDURE) {
            return self.fail();
        }
        Ok(())
    }

    fn named_expression(&mut self) -> Result<NamedExpr> {
        let start = self.start();
        let expr = self.expression()?;
        let text = self.source(start, self.previous_end()).to_string();
        Ok(NamedExpr { expr, text })
    }

    /// `(SELECT ...) [AS] alias`, the cursor behind the parenthesis.
    fn derived_table(&mut self) -> Result<TableRef> {
        let query = self.nested(Self::select)?;
        self.expect_kind(Kind::RightParen)?;
        let Some(name) = self.table_alias()? else {
            return Err(Error::new(
                errno::ER_DERIVED_MUST_HAVE_ALIAS,
                "Every derived table must have its own alias",
            ));
        };
        if self.kind() == Kind::LeftParen {
            return Err(Error::not_supported(
                "names of a derived table's columns after its alias",
                "give the columns aliases in the query",
            ));
        }
        self.grow()?;
        Ok(TableRef {
            name: ObjectName { database: None, name },
            alias: None,
            query: Some(Box::new(query)),
            as_of: None,
            hints: Vec::new(),
        })
    }

    /// A table with its alias and hints.
    pub fn table_ref(&mut self) -> Result<TableRef> {
        if self.kind() == Kind::LeftParen {
            self.advance();
            if self.is(Kw::SELECT) {
                return self.derived_table();
            }
            if self.at_query() || self.kind() == Kind::LeftParen {
                return Err(subqueries_in_from());
            }
            let table = self.nested(Self::table_ref)?;
            self.refuse_joins()?;
            self.expect_kind(Kind::RightParen)?;
            return Ok(table);
        }
        if self.is(Kw::LATERAL) {
            return Err(subqueries_in_from());
        }
        if self.is(Kw::JSON_TABLE) {
            return Err(Error::not_supported("JSON_TABLE()", ""));
        }
        let name = self.object_name()?;
        if self.is(Kw::PARTITION) {
            return Err(Error::not_supported("partitions", ""));
        }
        let mut as_of = self.as_of()?;
        let alias = self.table_alias()?;
        if as_of.is_none() {
            as_of = self.as_of()?;
        }
        let hints = self.index_hints()?;
        if self.is(Kw::TABLESAMPLE) {
            return Err(Error::not_supported("TABLESAMPLE", ""));
        }
        Ok(TableRef {
            name,
            alias,
            query: None,
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

    fn index_hints(&mut self) -> Result<Vec<IndexHint>> {
        let mut hints = Vec::new();
        loop {
            let kind = match self.eat_any(&[Kw::USE, Kw::IGNORE, Kw::FORCE]) {
                Some(Kw::USE) => IndexHintKind::Use,
                Some(Kw::IGNORE) => IndexHintKind::Ignore,
                Some(_) => IndexHintKind::Force,
                None => return Ok(hints),
            };
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
                indexes = self.comma_separated(|p| {
                    if p.eat(Kw::PRIMARY) {
                        Ok("PRIMARY".into())
                    } else {
                        p.name()
                    }
                })?;
            } else if kind != IndexHintKind::Use {
                return self.fail();
            }
            self.expect_kind(Kind::RightParen)?;
            hints.push(IndexHint {
                kind,
                indexes,
                for_rows,
            });
            // Hints may be separated by nothing or by blanks only.
        }
    }

    /// More than one table.
    pub fn refuse_joins(&self) -> Result<()> {
        let joins = [
            Kw::JOIN,
            Kw::INNER,
            Kw::CROSS,
            Kw::LEFT,
            Kw::RIGHT,
            Kw::NATURAL,
            Kw::STRAIGHT_JOIN,
        ];
        if self.kind() == Kind::Comma || self.is_any(&joins) {
            return Err(Error::not_supported("joins", "read the tables one by one"));
        }
        Ok(())
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
    pub fn limit(&mut self) -> Result<Option<Limit>> {
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

    fn locking(&mut self) -> Result<Option<LockingClause>> {
        if self.is(Kw::LOCK) {
            self.advance();
            self.expect(Kw::IN)?;
            self.expect(Kw::SHARE)?;
            self.expect(Kw::MODE)?;
            return Ok(Some(LockingClause {
                exclusive: false,
                wait: LockWait::Wait,
                of: Vec::new(),
            }));
        }
        if !self.eat(Kw::FOR) {
            return Ok(None);
        }
        let exclusive = match self.eat_any(&[Kw::UPDATE, Kw::SHARE]) {
            Some(word) => word == Kw::UPDATE,
            None => return self.fail(),
        };
        let of = if self.eat(Kw::OF) {
            self.comma_separated(|p| Ok(p.object_name()?.name))?
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
        if self.is(Kw::FOR) {
            return Err(Error::not_supported("several locking clauses", "use one"));
        }
        Ok(Some(LockingClause { exclusive, wait, of }))
    }
}

/// The number of MAX_EXECUTION_TIME(n) in an optimizer hint, which is a comment right behind SELECT. The other hints are
/// about how MySQL finds the rows, and make no difference here. Zero is no limit of the statement's own.
fn max_execution_time(skipped: &str) -> Option<u64> {
    const NAME: &str = "max_execution_time";
    let hints = skipped.trim_start().strip_prefix("/*+")?;
    let hints = hints.get(..hints.find("*/")?)?.to_ascii_lowercase();
    let rest = hints.get(hints.find(NAME)? + NAME.len()..)?.trim_start();
    let number = rest.strip_prefix('(')?.split_once(')')?.0.trim();
    number.parse().ok().filter(|ms| *ms > 0)
}

fn subqueries_in_from() -> Error {
    Error::not_supported("this kind of subquery in FROM", "run the inner query first")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_read_from_hints_alone() {
        assert_eq!(
            max_execution_time(" /*+ MAX_EXECUTION_TIME(1000) */ "),
            Some(1000)
        );
        assert_eq!(
            max_execution_time("/*+ NO_ICP(t) max_execution_time ( 5 )*/"),
            Some(5)
        );
        assert_eq!(max_execution_time("/* MAX_EXECUTION_TIME(1000) */"), None);
        assert_eq!(max_execution_time("/*+ MAX_EXECUTION_TIME(0) */"), None);
        assert_eq!(max_execution_time("/*+ MAX_EXECUTION_TIME(x) */"), None);
        assert_eq!(max_execution_time(" "), None);
    }
}
