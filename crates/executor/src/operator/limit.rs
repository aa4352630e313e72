//! LIMIT and OFFSET. It never asks its input for more rows than it returns or skips.

use arrow::record_batch::RecordBatch;
use functions::{Expr, eval_value};
use types::{Error, Result, Value};

use super::{BoxOperator, Operator};
use crate::env::Env;

pub(crate) struct Limit<'p> {
    input: BoxOperator<'p>,
    skip: u64,
    /// The number of rows that may still be returned; `None` if there is no limit.
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
        let wanted = self.left.map_or(wanted as u64, |left| left.min(wanted as u64));
        loop {
            let Some(batch) = self.input.next(env, self.skip.saturating_add(wanted) as usize)? else {
                return Ok(None);
            };
            let rows = batch.num_rows() as u64;
            let skipped = self.skip.min(rows);
            self.skip -= skipped;
            if skipped == rows {
                continue;
            }
            if let Some(left) = &mut self.left {
                *left -= rows - skipped;
            }
            return Ok(Some(batch.slice(skipped as usize, (rows - skipped) as usize)));
        }
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
