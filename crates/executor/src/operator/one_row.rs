//! One row without columns: what `SELECT 1` reads.

use arrow::record_batch::RecordBatch;
use types::Result;

use super::Operator;
use crate::batch::{batch_of, schema_of};
use crate::env::Env;

#[derive(Default)]
pub(super) struct OneRow {
    done: bool,
}

impl Operator for OneRow {
    fn next(&mut self, _: &mut Env<'_, '_>, _: usize) -> Result<Option<RecordBatch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        batch_of(&schema_of(&[]), Vec::new(), 1).map(Some)
    }
}
