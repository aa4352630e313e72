//! Rows that consist of literals only. Dumps have thousands of them in a statement. They are stored flat,
//! with their texts in one buffer, so that no expression has to be created, visited and dropped for each
//! value.

use super::{Expr, Introducer, NumberText, UnaryOp};

#[derive(Debug, Clone, Default)]
pub struct LiteralRows {
    width: usize,
    cells: Vec<Cell>,
    text: String,
    bytes: Vec<u8>,
    has_hexadecimal: bool,
    has_raw: bool,
    is_ascii: bool,
}

/// A value. Its range is of `text` or of `bytes`.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Float(f64),
    Decimal(u32, u32),
    Text(u32, u32),
    Binary(u32, u32),
    Hexadecimal(u32, u32),
    Raw(u32, u32),
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal<'a> {
    Null,
    Integer(i64),
    Float(f64),
    /// Its digits, with a sign.
    Decimal(&'a str),
    Text(&'a str),
    /// `_binary'...'`
    Binary(&'a [u8]),
    /// `0x...`, which becomes a number in a numeric column.
    Hexadecimal(&'a [u8]),
    /// A text as the client sent it, with bytes that are invalid in its character set.
    Raw(&'a [u8]),
}

impl LiteralRows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The number of values in each row.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn has_hexadecimal(&self) -> bool {
        self.has_hexadecimal
    }

    pub fn has_raw(&self) -> bool {
        self.has_raw
    }

    /// Whether all texts are ASCII, and so the same in nearly every character set.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// The rows from number `from` on.
    pub fn rows(&self, from: usize) -> impl Iterator<Item = impl Iterator<Item = Literal<'_>>> {
        let cells = self.cells.get(from * self.width..).unwrap_or_default();
        cells
            .chunks_exact(self.width.max(1))
            .map(move |row| row.iter().map(move |cell| self.literal(*cell)))
    }

    fn literal(&self, cell: Cell) -> Literal<'_> {
        let text = |from: u32, to: u32| self.text.get(from as usize..to as usize).unwrap_or_default();
        let bytes = |from: u32, to: u32| self.bytes.get(from as usize..to as usize).unwrap_or_default();
        match cell {
            Cell::Null => Literal::Null,
            Cell::Integer(value) => Literal::Integer(value),
            Cell::Float(value) => Literal::Float(value),
            Cell::Decimal(from, to) => Literal::Decimal(text(from, to)),
            Cell::Text(from, to) => Literal::Text(text(from, to)),
            Cell::Binary(from, to) => Literal::Binary(bytes(from, to)),
            Cell::Hexadecimal(from, to) => Literal::Hexadecimal(bytes(from, to)),
            Cell::Raw(from, to) => Literal::Raw(bytes(from, to)),
        }
    }

    /// The values as expressions, for a statement that does more than store them.
    pub fn to_expressions(&self) -> Vec<Vec<Option<Expr>>> {
        let row = |row: &[Cell]| {
            row.iter()
                .map(|cell| Some(expression(self.literal(*cell))))
                .collect()
        };
        self.cells.chunks_exact(self.width.max(1)).map(row).collect()
    }

    /// Reserves memory for so many bytes of texts.
    pub(crate) fn reserve(&mut self, text_bytes: usize) {
        self.text.reserve(text_bytes);
    }

    /// Ends a row. The first one sets the width; returns whether a later one has it.
    pub(crate) fn end_row(&mut self, cells_before: usize) -> bool {
        let width = self.cells.len() - cells_before;
        if self.width == 0 {
            self.width = width;
        }
        width == self.width && width > 0
    }

    pub(crate) fn cell_count(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    pub(crate) fn push_integer(&mut self, value: i64) {
        self.cells.push(Cell::Integer(value));
    }

    pub(crate) fn push_float(&mut self, value: f64) {
        self.cells.push(Cell::Float(value));
    }

    pub(crate) fn push_decimal(&mut self, digits: &str) -> Option<()> {
        let from = u32::try_from(self.text.len()).ok()?;
        self.text.push_str(digits);
        self.cells
            .push(Cell::Decimal(from, u32::try_from(self.text.len()).ok()?));
        Some(())
    }

    /// Where the text of the next value begins.
    pub(crate) fn text_end(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn push_part(&mut self, part: &str) {
        self.text.push_str(part);
    }

    /// Ends a text that began at `from`.
    pub(crate) fn end_text(&mut self, from: usize) -> Option<()> {
        let (from, to) = (u32::try_from(from).ok()?, u32::try_from(self.text.len()).ok()?);
        self.cells.push(Cell::Text(from, to));
        Some(())
    }

    /// The text that began at `from`.
    pub(crate) fn text_from(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Removes the text that began at `from`.
    pub(crate) fn take_text(&mut self, from: usize) -> String {
        self.text.split_off(from)
    }

    pub(crate) fn push_binary(&mut self, bytes: &[u8]) -> Option<()> {
        self.push_bytes(bytes, Cell::Binary)
    }

    pub(crate) fn push_hexadecimal(&mut self, bytes: &[u8]) -> Option<()> {
        self.has_hexadecimal = true;
        self.push_bytes(bytes, Cell::Hexadecimal)
    }

    pub(crate) fn push_raw(&mut self, bytes: &[u8]) -> Option<()> {
        self.has_raw = true;
        self.push_bytes(bytes, Cell::Raw)
    }

    fn push_bytes(&mut self, bytes: &[u8], cell: fn(u32, u32) -> Cell) -> Option<()> {
        let from = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.extend_from_slice(bytes);
        self.cells.push(cell(from, u32::try_from(self.bytes.len()).ok()?));
        Some(())
    }

    /// Ends the rows.
    pub(crate) fn finished(mut self) -> Self {
        self.is_ascii = self.text.is_ascii();
        self
    }
}

fn expression(literal: Literal<'_>) -> Expr {
    let number = |text: String, make: fn(String) -> NumberText| match text.strip_prefix('-') {
        Some(digits) => Expr::Unary {
            op: UnaryOp::Minus,
            operand: Box::new(Expr::Number(make(digits.to_owned()))),
        },
        None => Expr::Number(make(text)),
    };
    match literal {
        Literal::Null => Expr::Null,
        Literal::Integer(value) => number(value.to_string(), NumberText::Integer),
        Literal::Float(value) => number(format!("{value:e}"), NumberText::Float),
        Literal::Decimal(digits) => number(digits.to_owned(), NumberText::Decimal),
        Literal::Text(text) => Expr::Text(text.to_owned()),
        Literal::Binary(bytes) => Expr::Introduced {
            charset: Introducer::Named("binary".to_owned()),
            bytes: bytes.to_vec(),
            quoted: true,
        },
        Literal::Hexadecimal(bytes) => Expr::Bytes(bytes.to_vec()),
        Literal::Raw(bytes) => Expr::Introduced {
            charset: Introducer::Client,
            bytes: bytes.to_vec(),
            quoted: true,
        },
    }
}
