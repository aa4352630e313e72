//! Rows of literals: a statement with thousands of them, as dumps have.

use functions::bind::literal_type;
use planner::plan::LiteralValues;
use syntax::ast::Literal;
use types::{Collation, Decimal, Error, Result, SqlType, Value};

use super::rows::{NewRow, NewRows, RowMaker, no_column};
use crate::batch::{BATCH_BYTES, BATCH_ROWS};

impl RowMaker<'_> {
    /// The rows from one on, as many as make a batch; and how many they are.
    pub(super) fn of_literals(&mut self, values: &LiteralValues, first: usize) -> (NewRows, usize) {
        let eval = self.ctx.eval;
        let left = values.rows.len() - first;
        let text_type = literal_type(0, values.collation);
        let (mut count, mut bytes) = (0, 0);
        let made = values.rows.rows(first).take(BATCH_ROWS);
        let made = made.map_while(|row| {
            if bytes > BATCH_BYTES {
                return None;
            }
            count += 1;
            Some(self.of_literal_row(row, &text_type, left + 1 - count, &mut bytes))
        });
        (NewRows::of(made, eval), count)
    }

    fn of_literal_row<'l>(
        &mut self,
        literals: impl Iterator<Item = Literal<'l>>,
        text_type: &SqlType,
        rows_left: usize,
        bytes: &mut usize,
    ) -> Result<Option<NewRow>> {
        self.row_number += 1;
        let mut row = self.template.row.clone();
        *bytes += size_of_val(row.as_slice());
        for (&target, literal) in self.targets.iter().zip(literals) {
            let (Some(column), Some(cell)) = (self.table.columns.get(target), row.get_mut(target)) else {
                return Err(no_column(self.table, target));
            };
            *cell = match literal {
                Literal::Text(text) if text_type.collation != Collation::Binary => {
                    *bytes += text.len();
                    let from = SqlType {
                        length: u32::try_from(text.len()).unwrap_or(u32::MAX),
                        ..*text_type
                    };
                    self.target(column).text(text, &from, self.row_number)?
                }
                other => {
                    let (value, from) = plain(other)?;
                    if let Value::Bytes(blob) = &value {
                        *bytes += blob.len();
                    }
                    self.converted(value, &from, None, column)?
                }
            };
        }
        self.with_id(row, Some(rows_left))
    }
}

/// A literal that is no text, and its type.
fn plain(literal: Literal<'_>) -> Result<(Value, SqlType)> {
    let binary = |bytes: &[u8]| {
        (
            Value::Bytes(bytes.to_vec()),
            literal_type(bytes.len(), Collation::Binary),
        )
    };
    Ok(match literal {
        Literal::Null => (Value::Null, SqlType::NULL),
        // In a connection whose character set is `binary`.
        Literal::Text(text) => binary(text.as_bytes()),
        Literal::Integer(value) => (Value::Int(value), SqlType::BIGINT),
        Literal::Float(value) => (Value::Double(value), SqlType::DOUBLE),
        Literal::Decimal(digits) => {
            let value = Decimal::parse(digits)
                .ok_or_else(|| Error::internal("the text of a decimal literal is not a decimal"))?;
            let precision = u32::from(value.digits())
                .max(u32::from(value.scale) + u32::from(value.scale == 0))
                .max(1);
            let ty = SqlType::decimal(precision, value.scale);
            (Value::Decimal(value), ty)
        }
        Literal::Binary(bytes) | Literal::Raw(bytes) => binary(bytes),
        // Unsigned: a number where one is wanted, unlike `_binary'text'`.
        Literal::Hexadecimal(bytes) => {
            let (value, ty) = binary(bytes);
            (value, SqlType { unsigned: true, ..ty })
        }
    })
}
