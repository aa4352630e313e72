//! Rows for which a predicate is true (not false, not NULL).

use std::borrow::Cow;

use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, eval_predicate};
use types::Result;

use super::{BoxOperator, Operator};
use crate::batch::{BATCH_ROWS, keep};
use crate::env::Env;

pub(super) struct Filter<'p> {
    input: BoxOperator<'p>,
    /// With its constants computed.
    predicate: Cow<'p, Expr>,
    /// How many rows to ask for: grows while few of them pass.
    ask: usize,
    /// What one row assigns to variables is read by the next.
    one_by_one: bool,
    /// Rows that passed beyond what was wanted.
    rest: Option<RecordBatch>,
}

impl<'p> Filter<'p> {
    pub fn new(input: BoxOperator<'p>, predicate: &'p Expr, eval: &EvalContext) -> Self {
        Self {
            input,
            predicate: functions::hoist(predicate, eval),
            ask: 1,
            one_by_one: functions::assigns(predicate) || functions::reads_assigned(predicate),
            rest: None,
        }
    }
}

impl Operator for Filter<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.rest.take() {
                let (now, later) = split(batch, wanted);
                self.rest = later;
                return Ok(Some(now));
            }
            self.ask = if self.one_by_one { 1 } else { self.ask.max(wanted) };
            let Some(batch) = self.input.next(env, self.ask)? else {
                return Ok(None);
            };
            self.ask = self.ask.saturating_mul(4).min(BATCH_ROWS);
            let passed = keep(&batch, &eval_predicate(&self.predicate, &batch, env.eval())?)?;
            if passed.num_rows() > 0 {
                self.rest = Some(passed);
            }
        }
    }
}

/// At most `wanted` rows, and those beyond.
pub(super) fn split(batch: RecordBatch, wanted: usize) -> (RecordBatch, Option<RecordBatch>) {
    if batch.num_rows() <= wanted {
        return (batch, None);
    }
    let rest = batch.slice(wanted, batch.num_rows() - wanted);
    (batch.slice(0, wanted), Some(rest))
}
