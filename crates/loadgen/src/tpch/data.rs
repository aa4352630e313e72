//! The rows of the standard's generator (`dbgen`), from the crate `tpchgen`, as INSERT statements.

use std::fmt::{Display, Write};

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use crate::client::Connection;
use crate::error::{Error, Result};

/// A statement is sent when it has this length.
const STATEMENT_BYTES: usize = 512 * 1024;
/// How many of the generator's units (a part, an order) one part of the work has. An order has four lines on
/// average, a part has four suppliers.
const UNITS_A_PART: f64 = 4000.0;

/// A range of one table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Position in [`TABLES`].
    table: usize,
    /// From 1 to `parts`.
    number: i32,
    parts: i32,
}

/// The tables, and which columns of each are numbers (`n`) and which are text (`t`).
const TABLES: [(&str, &str); 8] = [
    ("region", "ntt"),
    ("nation", "ntnt"),
    ("supplier", "nttntnt"),
    ("customer", "nttntntt"),
    ("part", "nttttntnt"),
    ("partsupp", "nnnnt"),
    ("orders", "nntntttnt"),
    ("lineitem", "nnnnnnnntttttttt"),
];

/// All ranges of all tables.
pub fn parts(scale: f64) -> Vec<Part> {
    // Units at scale 1; regions and nations are the same at every scale.
    let units = [
        0.0,
        0.0,
        10_000.0,
        150_000.0,
        200_000.0,
        200_000.0,
        1_500_000.0,
        1_500_000.0,
    ];
    let mut all = Vec::new();
    for (table, units) in units.into_iter().enumerate() {
        let parts = (units * scale / UNITS_A_PART).ceil().max(1.0) as i32;
        all.extend((1..=parts).map(|number| Part { table, number, parts }));
    }
    all
}

impl Part {
    pub fn load(&self, connection: &mut Connection, scale: f64) -> Result<()> {
        let Self { table, number, parts } = *self;
        let mut insert = Insert::new(connection, table);
        match TABLES[table].0 {
            "region" => insert.rows(RegionGenerator::new(scale, number, parts).iter())?,
            "nation" => insert.rows(NationGenerator::new(scale, number, parts).iter())?,
            "supplier" => insert.rows(SupplierGenerator::new(scale, number, parts).iter())?,
            "customer" => insert.rows(CustomerGenerator::new(scale, number, parts).iter())?,
            "part" => insert.rows(PartGenerator::new(scale, number, parts).iter())?,
            "partsupp" => insert.rows(PartSuppGenerator::new(scale, number, parts).iter())?,
            "orders" => insert.rows(OrderGenerator::new(scale, number, parts).iter())?,
            _ => insert.rows(LineItemGenerator::new(scale, number, parts).iter())?,
        }
        insert.send()
    }
}

/// Rows to be inserted into one table.
struct Insert<'a> {
    connection: &'a mut Connection,
    table: &'static str,
    kinds: &'static str,
    sql: String,
    line: String,
}

impl<'a> Insert<'a> {
    fn new(connection: &'a mut Connection, table: usize) -> Self {
        let (table, kinds) = TABLES[table];
        Self {
            connection,
            table,
            kinds,
            sql: String::new(),
            line: String::new(),
        }
    }

    fn rows(&mut self, rows: impl Iterator<Item = impl Display>) -> Result<()> {
        for row in rows {
            self.line.clear();
            write!(self.line, "{row}")
                .map_err(|_| Error::Unexpected("a row that cannot be printed".into()))?;
            if self.sql.is_empty() {
                self.sql = format!("INSERT INTO {} VALUES ", self.table);
            } else {
                self.sql.push(',');
            }
            write_row(&mut self.sql, &self.line, self.kinds);
            if self.sql.len() >= STATEMENT_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        if !self.sql.is_empty() {
            self.connection.query(&self.sql)?;
            self.sql.clear();
        }
        Ok(())
    }
}

/// Appends a row of dbgen's format (`1|BLU|2.50|`) as a row of VALUES.
fn write_row(sql: &mut String, line: &str, kinds: &str) {
    sql.push('(');
    for (position, (value, kind)) in line.split('|').zip(kinds.bytes()).enumerate() {
        if position > 0 {
            sql.push(',');
        }
        if kind == b'n' {
            sql.push_str(value);
        } else {
            sql.push('\'');
            sql.push_str(&value.replace('\\', "\\\\").replace('\'', "''"));
            sql.push('\'');
        }
    }
    sql.push(')');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_values() {
        let mut sql = String::new();
        write_row(&mut sql, "0|it's|15|1996-03-13|-0.50| a, b|", "ntttnt");
        assert_eq!(sql, "(0,'it''s','15','1996-03-13',-0.50,' a, b')");
    }

    #[test]
    fn parts_make_the_rows_of_the_standard() {
        let rows = |table: usize, scale: f64| -> usize {
            let of_table = parts(scale).into_iter().filter(|part| part.table == table);
            of_table
                .map(|Part { number, parts, .. }| OrderGenerator::new(scale, number, parts).iter().count())
                .sum()
        };
        assert_eq!(rows(6, 0.01), 15_000);
        assert_eq!(parts(1.0).iter().filter(|part| part.table == 1).count(), 1);
    }
}
