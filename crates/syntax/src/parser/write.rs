//! INSERT, REPLACE, UPDATE, DELETE.

use std::sync::Arc;

use types::Result;

use super::Parser;
use super::literal_rows::literal_rows;
use crate::ast::{
    Assignment, ColumnName, Delete, Expr, Insert, InsertRows, LiteralRows, ObjectName, RowAlias, TableRef,
    Update,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// So many rows are read as literals only.
const LITERAL_ROWS_MIN: usize = 8;

impl Parser<'_> {
    /// INSERT and REPLACE, the cursor at the verb.
    pub fn insert(&mut self) -> Result<Insert> {
        let replace = self.is(Kw::REPLACE);
        self.advance();
        let hints = self.hints();
        // Priorities mean nothing here, as with InnoDB.
        if self.eat_any(&[Kw::LOW_PRIORITY, Kw::DELAYED]).is_none() && !replace {
            self.eat(Kw::HIGH_PRIORITY);
        }
        let ignore = !replace && self.eat(Kw::IGNORE);
        self.eat(Kw::INTO);
        let table = self.object_name()?;
        let partitions = self.partition_selection()?;
        let mut insert = Insert {
            replace,
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
        self.insert_rows(&mut insert)?;
        if !replace && !matches!(insert.rows, InsertRows::Query(_)) && self.eat(Kw::AS) {
            insert.alias = Some(self.row_alias()?);
        }
        if !replace && self.eat(Kw::ON) {
            self.expect(Kw::DUPLICATE)?;
            self.expect(Kw::KEY)?;
            self.expect(Kw::UPDATE)?;
            insert.on_duplicate = self.comma_separated(Self::assignment)?;
        }
        Ok(insert)
    }

    fn insert_rows(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat(Kw::SET) {
            let assignments = self.comma_separated(Self::assignment)?;
            let (columns, values) = assignments.into_iter().map(|a| (a.column, a.value)).unzip();
            insert.columns = columns;
            insert.has_columns = true;
            insert.rows = InsertRows::Values(vec![values]);
            return Ok(());
        }
        if self.kind() == Kind::LeftParen && !self.is_query_in_parentheses() {
            self.advance();
            insert.has_columns = true;
            if self.kind() != Kind::RightParen {
                insert.columns = self.comma_separated(Self::column_name)?;
            }
            self.expect_kind(Kind::RightParen)?;
        }
        if self.eat_any(&[Kw::VALUES, Kw::VALUE]).is_some() {
            insert.rows = match self.literal_rows() {
                Some(rows) => InsertRows::Literals(Arc::new(rows)),
                None => InsertRows::Values(self.rows_of_values()?),
            };
            return Ok(());
        }
        if self.is_any(&[Kw::SELECT, Kw::WITH, Kw::TABLE]) || self.kind() == Kind::LeftParen {
            insert.rows = match Box::new(self.query()?).into_plain_values() {
                // As without the parentheses: with DEFAULT, for one.
                Ok(rows) => InsertRows::Values(rows),
                Err(query) => InsertRows::Query(query),
            };
            return Ok(());
        }
        self.fail()
    }

    /// Many rows of literals. Few are as quick the usual way, which knows more of them.
    fn literal_rows(&mut self) -> Option<LiteralRows> {
        let (rows, end) = literal_rows(
            self.whole_text(),
            self.start(),
            self.backslash_escapes(),
            self.mode.ansi_quotes,
        )?;
        if rows.len() < LITERAL_ROWS_MIN {
            return None;
        }
        self.jump(end);
        Some(rows)
    }

    fn is_query_in_parentheses(&self) -> bool {
        let (next, after) = self.peek_two();
        (next.kind == Kind::LeftParen && after.kind != Kind::RightParen)
            || matches!(next.keyword, Some(Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES))
    }

    pub fn rows_of_values(&mut self) -> Result<Vec<Vec<Option<Expr>>>> {
        let named = self.eat(Kw::ROW);
        let mut rows = vec![self.row_of_values(0)?];
        while self.eat_kind(Kind::Comma) {
            if self.eat(Kw::ROW) != named {
                return self.fail();
            }
            let width = rows.last().map_or(0, Vec::len);
            rows.push(self.row_of_values(width)?);
        }
        Ok(rows)
    }

    /// `width`: how many values there probably are, as many as in the row before.
    fn row_of_values(&mut self, width: usize) -> Result<Vec<Option<Expr>>> {
        self.expect_kind(Kind::LeftParen)?;
        let mut values = Vec::with_capacity(width);
        if self.eat_kind(Kind::RightParen) {
            return Ok(values);
        }
        values.push(self.value_or_default()?);
        while self.eat_kind(Kind::Comma) {
            values.push(self.value_or_default()?);
        }
        self.expect_kind(Kind::RightParen)?;
        Ok(values)
    }

    /// `DEFAULT` by itself, as `None`, or an expression.
    fn value_or_default(&mut self) -> Result<Option<Expr>> {
        if self.is(Kw::DEFAULT) && self.peek().kind != Kind::LeftParen {
            self.advance();
            return Ok(None);
        }
        self.expression().map(Some)
    }

    fn row_alias(&mut self) -> Result<RowAlias> {
        let name = self.name()?;
        let mut columns = Vec::new();
        if self.eat_kind(Kind::LeftParen) {
            columns = self.comma_separated(Self::name)?;
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(RowAlias { name, columns })
    }

    pub fn assignment(&mut self) -> Result<Assignment> {
        let column: ColumnName = self.column_name()?;
        if !self.eat_kind(Kind::Equal) && !self.eat_kind(Kind::Assign) {
            return self.fail();
        }
        let value = self.value_or_default()?;
        Ok(Assignment { column, value })
    }

    pub fn update(&mut self) -> Result<Update> {
        self.advance();
        let hints = self.hints();
        self.eat(Kw::LOW_PRIORITY);
        let ignore = self.eat(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(Kw::SET)?;
        let assignments = self.comma_separated(Self::assignment)?;
        let filter = if self.eat(Kw::WHERE) {
            Some(self.expression()?)
        } else {
            None
        };
        Ok(Update {
            with: None,
            ignore,
            tables,
            assignments,
            filter,
            order_by: self.order_by()?,
            limit: self.row_limit()?,
            hints,
        })
    }

    pub fn delete(&mut self) -> Result<Delete> {
        self.advance();
        let hints = self.hints();
        let mut ignore = false;
        // Each of them is a name too: `DELETE quick FROM ...` is about a table only with a comma or a star.
        while let Some(word) = self.eat_any(&[Kw::LOW_PRIORITY, Kw::QUICK, Kw::IGNORE]) {
            ignore |= word == Kw::IGNORE;
        }
        // The form for several tables, `DELETE t, ... FROM ...` or `DELETE FROM t, ... USING ...`: with one
        // table it is the plain one, but for ORDER BY and LIMIT.
        let mut targets = Vec::new();
        if !self.eat(Kw::FROM) {
            if !matches!(self.kind(), Kind::Word | Kind::QuotedWord) || self.is_reserved() {
                return self.fail();
            }
            targets = self.comma_separated(Self::delete_target)?;
            self.expect(Kw::FROM)?;
        } else if self.at_targets_of_using() {
            targets = self.comma_separated(Self::delete_target)?;
            self.expect(Kw::USING)?;
        }
        let tables = match targets.is_empty() {
            true => vec![TableRef::Table(self.named_table()?)],
            false => self.table_refs()?,
        };
        let filter = if self.eat(Kw::WHERE) {
            Some(self.expression()?)
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
            order_by: if is_plain { self.order_by()? } else { Vec::new() },
            limit: if is_plain { self.row_limit()? } else { None },
            hints,
        })
    }

    /// `[database.]table[.*]`
    fn delete_target(&mut self) -> Result<ObjectName> {
        let mut name = ObjectName {
            database: None,
            name: self.name()?,
        };
        while self.eat_kind(Kind::Dot) {
            if self.eat_kind(Kind::Star) {
                break;
            }
            name = ObjectName {
                database: Some(name.name),
                name: self.name_behind_point()?,
            };
        }
        Ok(name)
    }

    /// Whether what follows is the `t, ... USING` of `DELETE FROM t, ... USING ...`.
    fn at_targets_of_using(&self) -> bool {
        let mut ahead = self.fork();
        ahead.comma_separated(Self::delete_target).is_ok() && ahead.is(Kw::USING)
    }
}
