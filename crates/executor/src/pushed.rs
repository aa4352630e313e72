//! Rows that the stores have computed ([`coprocessor`]). Both executors read them. If a store refuses, the
//! rows of its ranges are read and computed here, page by page. The operators above merge the groups and
//! first rows of any number of parts.

use std::borrow::Cow;

use arrow::record_batch::RecordBatch;
use coprocessor::{Program, Rows};
use functions::aggregate::{AggregateCall, GroupedAccumulator, RowGroups};
use functions::{EvalContext, Expr, RowPlace, eval_array};
use kv::{CoprocessorRequest, CoprocessorResponse, CoprocessorResponses, KeyRange, Reader};
use planner::plan::{Access, Rel, TableScan};
use schema::layout::{KeyParts, table_range};
use types::{Error, Result, SqlType};

use crate::batch::{batch_bytes, batch_of, schema_of};
use crate::operator::scan::{self, RangePages};
use crate::ranges;

/// The part of a statement's memory that responses in flight may take.
const MEMORY_SHARE: usize = 4;
/// The expected size of a row of a first page if memory is short.
const ROW_BYTES_EXPECTED: usize = 1 << 10;

/// The rows of a part of a plan, in the order of the regions that they come from.
pub struct PushedRows<'p> {
    input: Cow<'p, Rel>,
    responses: Box<dyn CoprocessorResponses>,
    rows: Rows,
    types: Vec<SqlType>,
    /// Ranges of the last response that are read here.
    refused: Option<RangePages>,
}

impl<'p> PushedRows<'p> {
    /// The table and the index that the stores read.
    pub fn place(&self) -> Option<RowPlace> {
        Program::scan(&self.input).map(TableScan::place)
    }

    /// `memory_bytes`: what the statement may hold. `None`: the stores do not compute it at this moment or with these
    /// constants. The caller runs `input`.
    ///
    /// # Errors
    /// Those of the ranges' expressions.
    pub fn open(
        input: Cow<'p, Rel>,
        reader: &dyn Reader,
        memory_bytes: usize,
        eval: &EvalContext,
    ) -> Result<Option<Self>> {
        let (Some(scan), Some(program)) = (Program::scan(&input), Program::new(&input, eval)) else {
            return Ok(None);
        };
        let memory_bytes = memory_bytes / MEMORY_SHARE;
        let most_rows = (memory_bytes / ROW_BYTES_EXPECTED).max(1) as u64;
        let responses = reader.coprocessor(CoprocessorRequest {
            ranges: key_ranges(scan, eval)?,
            program: program.bytes,
            page_rows: program.page_rows.map(|rows| rows.min(most_rows)),
            in_flight: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes,
        })?;
        Ok(responses.map(|responses| Self {
            input,
            responses,
            rows: Rows::new(&program.types, eval.time_zone),
            types: program.types,
            refused: None,
        }))
    }

    /// The next rows, and the bytes that they and the responses in flight take. `reader`: that of
    /// [`Self::open`].
    ///
    /// # Errors
    /// Those of the store; 1317 once interrupted.
    pub fn next_batch(
        &mut self,
        reader: &dyn Reader,
        eval: &EvalContext,
    ) -> Result<Option<(RecordBatch, usize)>> {
        loop {
            let batch = match &mut self.refused {
                Some(pages) => {
                    eval.check_interrupted()?;
                    let batch = page(&self.input, pages, reader, eval)?;
                    if batch.is_none() {
                        self.refused = None;
                    }
                    batch
                }
                None => match self.responses.next()? {
                    Some(response) => self.read(response, eval),
                    None => return Ok(None),
                },
            };
            if let Some(batch) = batch.filter(|batch| batch.num_rows() > 0) {
                let bytes = batch_bytes(&batch) + self.responses.in_flight_bytes();
                return Ok(Some((batch, bytes)));
            }
        }
    }

    /// The rows of a response. `None`: they are to be computed here.
    fn read(&mut self, response: CoprocessorResponse, eval: &EvalContext) -> Option<RecordBatch> {
        let read = response.result.and_then(|response| {
            let read = self.rows.read(&response);
            read.map_err(|error| error.message.to_string())
        });
        match read {
            Ok(batch) => Some(batch),
            Err(reason) => {
                self.responses.not_computed(&reason);
                // It may have read some of the response's rows.
                self.rows = Rows::new(&self.types, eval.time_zone);
                self.refused = Some(RangePages::new(response.ranges, false));
                None
            }
        }
    }
}

/// The result over the rows of a page; `None`: there are no more.
fn page(
    input: &Rel,
    pages: &mut RangePages,
    reader: &dyn Reader,
    eval: &EvalContext,
) -> Result<Option<RecordBatch>> {
    let scan = Program::scan(input).ok_or_else(|| Error::internal("a pushed part has no scan"))?;
    let rows = scan::page(scan, pages, reader, eval)?;
    match (rows, input) {
        (Some(rows), Rel::Aggregate { keys, aggregates, .. }) => {
            groups(&rows, keys, aggregates, eval).map(Some)
        }
        (rows, _) => Ok(rows),
    }
}

/// Each row as a group of its own, or all as one group: the operators above merge groups by their keys.
fn groups(
    rows: &RecordBatch,
    keys: &[Expr],
    calls: &[AggregateCall],
    eval: &EvalContext,
) -> Result<RecordBatch> {
    let each: Vec<usize> = (0..rows.num_rows()).collect();
    let (groups, count) = match keys.is_empty() {
        true => (RowGroups::One(rows.num_rows()), rows.num_rows().min(1)),
        false => (RowGroups::Each(&each), rows.num_rows()),
    };
    let evaluated = |expr: &Expr| eval_array(expr, rows, eval);
    let mut columns = keys.iter().map(evaluated).collect::<Result<Vec<_>>>()?;
    for call in calls.iter().filter(|_| count > 0) {
        let args = call.args.iter().map(evaluated).collect::<Result<Vec<_>>>()?;
        let mut accumulator = GroupedAccumulator::new(call)?;
        accumulator.update(&args, groups, count, eval)?;
        columns.push(accumulator.evaluate(eval)?);
    }
    let types = keys.iter().map(Expr::ty).chain(calls.iter().map(|call| call.ty));
    let schema = schema_of(&types.collect::<Vec<_>>());
    match count {
        0 => Ok(RecordBatch::new_empty(schema)),
        _ => batch_of(&schema, columns, count),
    }
}

fn key_ranges(scan: &TableScan, eval: &EvalContext) -> Result<Vec<KeyRange>> {
    match &scan.access {
        Access::PrimaryRanges { ranges, .. } => {
            ranges::of_keys(&KeyParts::primary(&scan.table)?, ranges, &[], eval)
        }
        Access::IndexRanges { index, ranges, .. } => {
            ranges::of_keys(&KeyParts::index(&scan.table, *index)?, ranges, &[], eval)
        }
        _ => Ok(vec![table_range(&scan.table).into()]),
    }
}
