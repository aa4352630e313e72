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
        let hints = self.hints();
        let options = self.select_options()?;
        let items = self.select_items()?;
        let into = self.select_into()?;
        let mut select = Select {
            hints,
            items,
            into,
            ..options
        };
        self.clauses_of_tables(&mut select)?;
        Ok(select)
    }

    /// Words between SELECT and its list. Those about caches mean nothing here.
    fn select_options(&mut self) -> Result<Select> {
        let mut distinct = None;
        let mut select = Select::default();
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
                None => {
                    select.distinct = distinct.unwrap_or(false);
                    return Ok(select);
                }
                Some(Kw::SQL_CALC_FOUND_ROWS) => select.counts_all_rows = true,
                Some(Kw::STRAIGHT_JOIN) => select.straight_join = true,
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
