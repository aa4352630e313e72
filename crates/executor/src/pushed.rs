//! Rows that the stores have computed ([`coprocessor`]). Both executors read them.

use arrow::record_batch::RecordBatch;
use coprocessor::{Program, Rows};
use functions::EvalContext;
use kv::{CoprocessorRequest, CoprocessorResponses, KeyRange, Reader};
use planner::plan::{Access, Rel, TableScan};
use schema::layout::{KeyParts, table_range};
use types::Result;

use crate::ranges;

/// The rows of a part of a plan, in the order of the regions that they come from.
pub struct PushedRows {
    responses: Box<dyn CoprocessorResponses>,
    rows: Rows,
}

impl PushedRows {
    /// `None`: the stores do not compute it at this moment or with these constants. The caller runs `input`.
    ///
    /// # Errors
    /// Those of the ranges' expressions.
    pub fn open(input: &Rel, reader: &dyn Reader, eval: &EvalContext) -> Result<Option<Self>> {
        let (Some(scan), Some(program)) = (Program::scan(input), Program::new(input, eval)) else {
            return Ok(None);
        };
        let responses = reader.coprocessor(CoprocessorRequest {
            ranges: key_ranges(scan, eval)?,
            program: program.bytes,
            page_rows: program.page_rows,
            in_flight: std::thread::available_parallelism().map_or(1, usize::from),
        })?;
        Ok(responses.map(|responses| Self {
            responses,
            rows: Rows::new(&program.types, eval.time_zone),
        }))
    }

    /// The rows of the next response that has any, and the bytes that they took there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn next_batch(&mut self) -> Result<Option<(RecordBatch, usize)>> {
        while let Some(response) = self.responses.next()? {
            let batch = self.rows.read(&response)?;
            if batch.num_rows() > 0 {
                return Ok(Some((batch, response.len())));
            }
        }
        Ok(None)
    }
}

fn key_ranges(scan: &TableScan, eval: &EvalContext) -> Result<Vec<KeyRange>> {
    match &scan.access {
        Access::PrimaryRanges { ranges, .. } => {
            ranges::of_keys(&KeyParts::primary(&scan.table)?, ranges, &[], eval)
        }
        _ => Ok(vec![table_range(&scan.table).into()]),
    }
}
