//! Query blocks: one SELECT each.

use types::{Error, Result, errno};

use super::Parser;
use super::literal::item_name;
use crate::ast::{NamedExpr, Select, SelectItem};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// One SELECT, up to what may follow any query.
    pub fn select(&mut self) -> Result<Select> {
        self.expect(Kw::SELECT)?;
        let max_execution_ms = max_execution_time(self.source(self.previous_end(), self.start()));
        let (distinct, counts_all_rows) = self.select_options()?;
        let items = self.select_items()?;
        let into = self.variables_of_into()?;
        let mut select = Select {
            max_execution_ms,
            distinct,
            counts_all_rows,
            items,
            into,
            ..Select::default()
        };
        self.clauses_of_tables(&mut select)?;
        Ok(select)
    }

    /// Words between SELECT and its list: whether DISTINCT and SQL_CALC_FOUND_ROWS are among them. Those
    /// about caches and optimisation mean nothing here.
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

    fn clauses_of_tables(&mut self, select: &mut Select) -> Result<()> {
        if self.eat(Kw::FROM) && !self.eat(Kw::DUAL) {
            select.from = self.table_refs()?;
        }
        if self.eat(Kw::WHERE) {
            select.filter = Some(self.expression()?);
        }
        if self.eat_all(&[Kw::GROUP, Kw::BY]) {
            select.group_by = self.comma_separated(Self::named_expression)?;
            select.rollup = self.eat_all(&[Kw::WITH, Kw::ROLLUP]);
        }
        if self.eat(Kw::HAVING) {
            select.having = Some(self.expression()?);
        }
        select.windows = self.window_clause()?;
        Ok(())
    }

    fn named_expression(&mut self) -> Result<NamedExpr> {
        let start = self.start();
        let expr = self.expression()?;
        let text = self.source(start, self.previous_end()).to_string();
        Ok(NamedExpr { expr, text })
    }
}

/// The number of MAX_EXECUTION_TIME(n) in an optimizer hint, which is a comment right behind SELECT. The
/// other hints are about how MySQL finds the rows, and make no difference here. Zero is no limit of the
/// statement's own.
fn max_execution_time(skipped: &str) -> Option<u64> {
    const NAME: &str = "max_execution_time";
    let hints = skipped.trim_start().strip_prefix("/*+")?;
    let hints = hints.get(..hints.find("*/")?)?.to_ascii_lowercase();
    let rest = hints.get(hints.find(NAME)? + NAME.len()..)?.trim_start();
    let number = rest.strip_prefix('(')?.split_once(')')?.0.trim();
    number.parse().ok().filter(|ms| *ms > 0)
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
