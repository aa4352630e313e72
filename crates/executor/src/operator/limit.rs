//! LIMIT and OFFSET: never asks its input for more rows than will be used.

use arrow::record_batch::RecordBatch;
use functions::{Expr, eval_value};
use types::{Error, Result, Value};

use super::{BoxOperator, Operator};
use crate::batch::BATCH_ROWS;
use crate::env::Env;

pub(crate) struct Limit<'p> {
    input: BoxOperator<'p>,
    skip: u64,
    /// Rows still to come; `None` is all of them.
    left: Option<u64>,
}

impl<'p> Limit<'p> {
    pub fn new(input: BoxOperator<'p>, offset: u64, count: Option<u64>) -> Self {
        Self {
            input,
            skip: offset,
            left: count,
        }
    }
}

impl Operator for Limit<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        while self.skip > 0 {
            let ask = self.skip.min(BATCH_ROWS as u64);
            let Some(batch) = self.input.next(env, ask as usize)? else {
                return Ok(None);
            };
            self.skip -= batch.num_rows() as u64;
        }
        let ask = match self.left {
            Some(left) => left.min(wanted as u64) as usize,
            None => wanted,
        };
        let batch = self.input.next(env, ask)?;
        if let (Some(batch), Some(left)) = (&batch, &mut self.left) {
            *left -= batch.num_rows() as u64;
        }
        Ok(batch)
    }
}

/// The value of a LIMIT's or OFFSET's expression.
pub(crate) fn count_of(expr: Option<&Expr>, env: &Env<'_, '_>) -> Result<Option<u64>> {
    let Some(expr) = expr else {
        return Ok(None);
    };
    match eval_value(expr, env.eval())? {
        Value::UInt(count) => Ok(Some(count)),
        Value::Int(count) => u64::try_from(count)
            .map(Some)
            .map_err(|_| Error::new(types::errno::ER_WRONG_ARGUMENTS, "Incorrect arguments to LIMIT")),
        _ => Err(Error::new(
            types::errno::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to LIMIT",
        )),
    }
}
