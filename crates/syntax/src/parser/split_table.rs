//! SPLIT TABLE, as TiDB has it.

use types::{Error, Result};

use super::Parser;
use crate::ast::{Expr, SplitPoints, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `SPLIT TABLE t [INDEX i] BETWEEN (...) AND (...) REGIONS n`, or `BY (...), ...`
    pub fn split_table(&mut self) -> Result<Statement> {
        self.advance();
        if self.is_any(&[Kw::PARTITION, Kw::REGION]) {
            return Err(Error::not_supported(
                "SPLIT PARTITION and SPLIT REGION",
                "use SPLIT TABLE, which splits a whole table",
            ));
        }
        self.expect(Kw::TABLE)?;
        let table = self.object_name()?;
        let index = self.index_to_split()?;
        let points = if self.eat(Kw::BY) {
            SplitPoints::By(self.comma_separated(Self::key_values)?)
        } else {
            self.expect(Kw::BETWEEN)?;
            let lower = self.key_values()?;
            self.expect(Kw::AND)?;
            let upper = self.key_values()?;
            self.expect(Kw::REGIONS)?;
            SplitPoints::Between {
                lower,
                upper,
                regions: self.unsigned()?,
            }
        };
        Ok(Statement::SplitTable { table, index, points })
    }

    /// `[INDEX i]`
    pub fn index_to_split(&mut self) -> Result<Option<String>> {
        if self.is(Kw::PARTITION) {
            return Err(Error::not_supported(
                "SPLIT TABLE ... PARTITION",
                "leave PARTITION out",
            ));
        }
        if !self.eat(Kw::INDEX) {
            return Ok(None);
        }
        self.name().map(Some)
    }

    fn key_values(&mut self) -> Result<Vec<Expr>> {
        self.expect_kind(Kind::LeftParen)?;
        let values = self.comma_separated(Self::expression)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(values)
    }
}
