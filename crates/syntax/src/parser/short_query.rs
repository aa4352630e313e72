//! TABLE and VALUES: queries without a select list.

use types::Result;

use super::Parser;
use crate::ast::{Select, SelectItem, TableRef};
use crate::lexer::keywords::Keyword as Kw;

impl Parser<'_> {
    /// `TABLE t [ORDER BY ...] [LIMIT ...]`: `SELECT * FROM t`.
    pub fn table_statement(&mut self) -> Result<Select> {
        self.advance();
        let name = self.object_name()?;
        let mut select = Select {
            items: vec![SelectItem::All],
            from: Some(TableRef {
                name,
                alias: None,
                query: None,
                as_of: None,
                hints: Vec::new(),
            }),
            ..Select::default()
        };
        self.end_of_query(&mut select)?;
        Ok(select)
    }

    /// `VALUES ROW(1, 2), ROW(3, 4) [ORDER BY ...] [LIMIT ...]`
    pub fn values_statement(&mut self) -> Result<Select> {
        self.advance();
        if !self.is(Kw::ROW) {
            return self.fail();
        }
        let mut select = Select {
            values: Some(self.rows_of_values()?),
            ..Select::default()
        };
        self.end_of_query(&mut select)?;
        Ok(select)
    }
}
