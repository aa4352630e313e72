//! What EXPLAIN ANALYZE puts around operators: it counts rows and takes the time.

use std::time::Instant;

use arrow::record_batch::RecordBatch;
use planner::plan::Measure;
use types::Result;

use super::join::page::{Found, Page};
use super::join::partners::Partners;
use super::{BoxOperator, Operator};
use crate::env::Env;

pub(super) struct Measured<'p> {
    input: BoxOperator<'p>,
    measure: &'p Measure,
    is_first: bool,
}

impl<'p> Measured<'p> {
    pub fn new(input: BoxOperator<'p>, measure: &'p Measure) -> Self {
        Self {
            input,
            measure,
            is_first: true,
        }
    }
}

impl Operator for Measured<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let start = Instant::now();
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first {
            self.measure.begin_loop();
        }
        let batch = self.input.next(env, wanted)?;
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        self.measure.called(start.elapsed(), rows, is_first);
        Ok(batch)
    }
}

/// The same of a table that a join looks rows up in: a run for each left row.
pub(super) struct MeasuredPartners<'p, P> {
    pub partners: P,
    pub measure: &'p Measure,
}

impl<P: Partners> Partners for MeasuredPartners<'_, P> {
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool> {
        self.measure.begin_loops(left.num_rows() as u64);
        self.partners.begin(left, env)
    }

    fn find(&mut self, page: &mut Page, found: &[Found], env: &mut Env<'_, '_>) -> Result<()> {
        let (start, before) = (Instant::now(), page.pairs());
        self.partners.find(page, found, env)?;
        let rows = page.pairs().saturating_sub(before);
        // Rows are looked up many at a time: the first one takes as long as the others.
        self.measure.called(start.elapsed(), rows, true);
        Ok(())
    }

    fn row_bytes(&self) -> usize {
        self.partners.row_bytes()
    }
}
