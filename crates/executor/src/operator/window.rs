//! Window functions: the rows of each partition in the window's order, with what the calls give for them.
//!
//! The input is sorted by the partitions' keys and then by the window's order. One partition at a time is held
//! as one batch beside the sorted rows, and counted. Not here: what each call gives ([`functions::window`]).

use std::collections::VecDeque;
use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use functions::order::RowKeys;
use functions::window::{self, Frame, Partition, WindowCall};
use functions::{EvalContext, Expr};
use planner::plan::SortKey;
use types::{Result, SqlType};

use super::filter::split;
use super::project::evaluate;
use super::sort::Sort;
use super::{BoxOperator, Operator};
use crate::batch::{ALL_ROWS, BATCH_ROWS, arrow_error, batch_bytes, batch_of, schema_of};
use crate::env::Env;

/// What the plan says of a window.
#[derive(Clone, Copy)]
pub(super) struct WindowParts<'p> {
    pub partition_by: &'p [Expr],
    pub order_by: &'p [SortKey],
    pub frame: &'p Frame,
    pub calls: &'p [WindowCall],
}

pub(super) struct Window<'p> {
    /// In order.
    input: BoxOperator<'p>,
    parts: WindowParts<'p>,
    partition_keys: RowKeys,
    order_keys: RowKeys,
    schema: SchemaRef,
    input_schema: SchemaRef,
    /// Input rows, cut where a partition ends.
    runs: VecDeque<Run>,
    /// The partition of the last row that has been read.
    last_key: Option<Vec<u8>>,
    has_ended: bool,
    rest: Option<RecordBatch>,
}

/// Rows of one partition.
struct Run {
    rows: RecordBatch,
    /// They belong to the partition of the rows before them.
    continues: bool,
}

impl<'p> Window<'p> {
    /// `types`: those of the input's columns.
    pub fn new(input: BoxOperator<'p>, types: Vec<SqlType>, parts: WindowParts<'p>) -> Result<Self> {
        let partition = parts.partition_by.iter().map(|expr| SortKey {
            expr: expr.clone(),
            descending: false,
        });
        let keys: Vec<SortKey> = partition.chain(parts.order_by.iter().cloned()).collect();
        let input: BoxOperator<'p> = match keys.is_empty() {
            true => input,
            false => Box::new(Sort::new(input, keys, None)?),
        };
        let input_schema = schema_of(&types);
        let mut types = types;
        types.extend(parts.calls.iter().map(|call| call.ty));
        let order = parts.order_by.iter().map(|key| (key.expr.ty(), key.descending));
        Ok(Self {
            input,
            partition_keys: RowKeys::new(parts.partition_by.iter().map(Expr::ty).collect())?,
            order_keys: RowKeys::with_order(order.collect())?,
            parts,
            schema: schema_of(&types),
            input_schema,
            runs: VecDeque::new(),
            last_key: None,
            has_ended: false,
            rest: None,
        })
    }

    /// The rows of the next partition.
    fn partition(&mut self, env: &mut Env<'_, '_>) -> Result<Option<RecordBatch>> {
        let mut rows: Vec<RecordBatch> = Vec::new();
        loop {
            match self.runs.pop_front() {
                Some(run) if run.continues || rows.is_empty() => {
                    env.memory.grow(batch_bytes(&run.rows))?;
                    rows.push(run.rows);
                }
                Some(run) => {
                    self.runs.push_front(run);
                    break;
                }
                None if self.has_ended => break,
                None => self.read(env)?,
            }
        }
        match rows.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => compute::concat_batches(&self.input_schema, several)
                .map(Some)
                .map_err(arrow_error),
        }
    }

    /// Reads input rows and cuts them into runs.
    fn read(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        let Some(batch) = self.input.next(env, ALL_ROWS)? else {
            self.has_ended = true;
            return Ok(());
        };
        let continues = self.last_key.is_some();
        if self.parts.partition_by.is_empty() {
            self.last_key = Some(Vec::new());
            self.runs.push_back(Run {
                rows: batch,
                continues,
            });
            return Ok(());
        }
        let columns = evaluate(self.parts.partition_by.iter(), &batch, env)?;
        let keys = self.partition_keys.encode(&columns)?;
        let same_as_before = self.last_key.as_deref() == keys.iter().next().map(|key| key.data());
        for (number, rows) in runs_of_equal(&keys).into_iter().enumerate() {
            self.runs.push_back(Run {
                rows: batch.slice(rows.start, rows.len()),
                continues: number == 0 && same_as_before,
            });
        }
        let last = keys.num_rows().checked_sub(1);
        self.last_key = last.map(|last| keys.row(last).data().to_vec());
        Ok(())
    }

    /// A partition's rows with the values of the calls.
    fn with_calls(&self, rows: &RecordBatch, env: &Env<'_, '_>) -> Result<RecordBatch> {
        let WindowParts {
            order_by,
            frame,
            calls,
            ..
        } = self.parts;
        let ctx: &EvalContext = env.eval();
        let all = 0..rows.num_rows();
        let peers = match order_by {
            [] => vec![all],
            keys => {
                let columns = evaluate(keys.iter().map(|key| &key.expr), rows, env)?;
                runs_of_equal(&self.order_keys.encode(&columns)?)
            }
        };
        let key = order_by.first().map(|key| (&key.expr, key.descending));
        let frames = window::frames(frame, rows, &peers, key, ctx)?;
        let partition = Partition {
            rows,
            peers: &peers,
            frames: &frames,
        };
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        for call in calls {
            columns.push(window::evaluate(call, &partition, ctx)?);
        }
        batch_of(&self.schema, columns, rows.num_rows())
    }
}

/// The ranges of rows with equal keys that follow each other.
fn runs_of_equal(keys: &Rows) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in 0..keys.num_rows() {
        match runs.last_mut() {
            Some(run) if keys.row(run.start) == keys.row(row) => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

impl Operator for Window<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.rest.is_none() {
            env.check_interrupted()?;
            let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
            // Several small partitions make one batch.
            while rows < wanted.min(BATCH_ROWS) {
                let Some(partition) = self.partition(env)? else {
                    break;
                };
                bytes += batch_bytes(&partition);
                rows += partition.num_rows();
                batches.push(self.with_calls(&partition, env)?);
            }
            env.memory.shrink(bytes);
            self.rest = match batches.as_slice() {
                [] => None,
                [one] => Some(one.clone()),
                several => Some(compute::concat_batches(&self.schema, several).map_err(arrow_error)?),
            };
        }
        Ok(self.rest.take().map(|batch| {
            let (now, later) = split(batch, wanted.min(BATCH_ROWS));
            self.rest = later;
            now
        }))
    }
}
