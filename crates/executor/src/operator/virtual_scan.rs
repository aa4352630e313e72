//! Rows of the tables that the server itself provides: `information_schema` and others.

use std::collections::VecDeque;

use arrow::record_batch::RecordBatch;
use planner::plan;
use types::Result;

use super::Operator;
use super::filter::split;
use crate::batch::batch_bytes;
use crate::env::Env;

pub(super) struct VirtualScan<'p> {
    scan: &'p plan::VirtualScan,
    /// `None` before the first call.
    batches: Option<VecDeque<RecordBatch>>,
}

impl<'p> VirtualScan<'p> {
    pub fn open(scan: &'p plan::VirtualScan) -> Self {
        Self { scan, batches: None }
    }
}

impl Operator for VirtualScan<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        let batches = match &mut self.batches {
            Some(batches) => batches,
            None => {
                let plan::VirtualScan {
                    database,
                    table,
                    wanted,
                    conditions,
                } = self.scan;
                let tables = env.ctx.virtual_tables;
                let rows = tables.rows(database, &table.name, wanted, conditions, env.eval())?;
                env.memory.grow(rows.iter().map(batch_bytes).sum())?;
                self.batches.insert(rows.into())
            }
        };
        while let Some(batch) = batches.pop_front() {
            if batch.num_rows() == 0 {
                continue;
            }
            let (now, later) = split(batch, wanted);
            if let Some(later) = later {
                batches.push_front(later);
            }
            return Ok(Some(now));
        }
        Ok(None)
    }
}
