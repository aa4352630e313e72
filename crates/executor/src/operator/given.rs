//! Rows that come from outside the plan: the input of a pipeline.

use arrow::record_batch::RecordBatch;
use types::Result;

use super::Operator;
use super::filter::split;
use crate::batch::BATCH_ROWS;
use crate::env::Env;

/// Gives the next batch, which may be empty; `None` at the end.
pub(crate) type NextBatch<'i> = &'i mut dyn FnMut() -> Result<Option<RecordBatch>>;

pub(crate) struct Given<'i> {
    input: NextBatch<'i>,
    rest: Option<RecordBatch>,
}

impl<'i> Given<'i> {
    pub fn new(input: NextBatch<'i>) -> Self {
        Self { input, rest: None }
    }
}

impl Operator for Given<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.rest.take().filter(|batch| batch.num_rows() > 0) {
                let (now, later) = split(batch, wanted.min(BATCH_ROWS));
                self.rest = later;
                return Ok(Some(now));
            }
            env.check_interrupted()?;
            match (self.input)()? {
                Some(batch) => self.rest = Some(batch),
                None => return Ok(None),
            }
        }
    }
}
