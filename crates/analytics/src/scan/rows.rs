//! From stored rows to batches. Rows that the scan's filter drops are decoded as little as possible.
//!
//! A condition that compares a stored number, date or text with a constant is checked on the row's bytes
//! ([`RowChecks`]). So is a condition that an operator above the scan has learned ([`super::learned`]). For
//! other conditions there are two ways:
//!
//! - *early*: all columns are decoded, the filter is evaluated over them, and the rows that it drops are
//!   removed;
//! - *late*: only the filter's columns are decoded and the rows' bytes are copied; the filter is evaluated,
//!   and only the rows that pass are decoded whole.
//!
//! Which way is cheaper depends on how many columns the filter does not read and on how many rows pass. The
//! latter is estimated from the rows so far.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use executor::row_checks::RowChecks;
use functions::{EvalContext, Expr};
use planner::plan::TableScan;
use schema::layout::Decoder;
use types::{Result, SqlType};

use super::learned::{GoOn, LearnedCheck};
use crate::columns::schema_of;
use crate::limits::BATCH_ROWS;
use crate::scan_filter::ScanFilter;

/// Rows in a scan's first batch. Each further batch may have twice as many, up to [`BATCH_ROWS`]. So a small
/// LIMIT is reached early.
const FIRST_BATCH_ROWS: usize = 64;

/// How many bytes of rows are copied before the filter is evaluated. They should still be in the processor's
/// cache then.
const KEPT_BYTES: usize = 512 << 10;

/// The cost of copying a row's bytes, in decoded cells.
const KEEPING_COST: u64 = 4;

/// The assumed selectivity of a filter before it has seen rows: one row in so many passes.
const EXPECTED_SELECTIVITY: u64 = 4;

/// Collects the rows of one batch after the other.
pub struct Rows {
    /// All columns of the scan.
    decoder: Decoder,
    /// The columns, with the positions if they are asked for.
    schema: SchemaRef,
    positions: Option<Vec<u64>>,
    /// The parts of the filter that are checked on a row's bytes.
    checks: RowChecks,
    /// Conditions that operators above have learned, checked before a row is decoded: on the column that
    /// orders the rows, and on other columns.
    leading: Vec<LearnedCheck>,
    learned: Vec<LearnedCheck>,
    filter: Option<Filter>,
    eval: Arc<EvalContext>,
    /// Bytes of the rows that were decoded whole.
    bytes: usize,
    max_bytes: usize,
    max_rows: usize,
}

/// The scan's filter.
struct Filter {
    /// The condition over all columns of the scan.
    whole: Condition,
    /// The condition over the columns that it reads, if the scan has others.
    alone: Option<Alone>,
    /// The number of rows so far, and of those that passed.
    seen: u64,
    kept: u64,
    /// Whether the batch that is being collected is decoded late.
    late: bool,
}

struct Condition {
    expr: Expr,
    schema: SchemaRef,
}

/// The filter's columns, and the bytes of the rows that are not decoded whole yet.
struct Alone {
    condition: Condition,
    decoder: Decoder,
    columns: u64,
    other_columns: u64,
    waiting: Waiting,
}

/// The keys and values of rows, stored one after the other.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The ends of each key and value, and the row's position.
    rows: Vec<(usize, usize, u64)>,
}

impl Rows {
    /// `filter`: the scan's, with its constants computed. `max_bytes`: a batch ends once its rows have more
    /// bytes.
    pub fn new(
        scan: &TableScan,
        filter: Option<&Expr>,
        learned: &[ScanFilter],
        positions: bool,
        max_bytes: usize,
        eval: &Arc<EvalContext>,
    ) -> Result<Self> {
        let types: Vec<SqlType> = scan.columns.iter().map(|&c| scan.table.columns[c].ty).collect();
        let position = positions.then_some(SqlType::BIGINT_UNSIGNED);
        let checks = RowChecks::of_filter(scan, filter);
        let learned = learned.iter().map(LearnedCheck::new);
        let (leading, learned) = learned.partition(LearnedCheck::leads);
        let filter = filter
            .map(|expr| Filter::new(scan, &types, expr, eval))
            .transpose()?;
        Ok(Self {
            decoder: Decoder::of_rows(&scan.table, &scan.columns, eval.time_zone)?,
            schema: schema_of(types.into_iter().chain(position)),
            positions: positions.then(Vec::new),
            checks,
            leading,
            learned,
            filter,
            eval: eval.clone(),
            bytes: 0,
            max_bytes,
            max_rows: FIRST_BATCH_ROWS,
        })
    }

    /// Bytes of the batch being collected.
    pub fn bytes(&self) -> usize {
        let alone = self.filter.as_ref().and_then(|filter| filter.alone.as_ref());
        self.bytes + alone.map_or(0, |alone| alone.waiting.bytes.capacity())
    }

    /// Whether the batch has enough rows.
    pub fn is_full(&self) -> bool {
        let rows = self.decoder.len();
        rows >= self.max_rows || (rows > 0 && self.bytes >= self.max_bytes)
    }

    /// Called before a turn of reading.
    pub fn begin(&mut self) {
        let all = self.leading.iter_mut().chain(&mut self.learned);
        all.for_each(LearnedCheck::begin);
    }

    /// Takes a row. Returns where the scan continues.
    pub fn push(&mut self, key: &[u8], value: &[u8], position: u64) -> Result<GoOn> {
        for check in &mut self.leading {
            if !check.may_hold(key, value) {
                return Ok(check.behind(key, value));
            }
        }
        if self.checks.may_hold(value) && self.learned.iter_mut().all(|check| check.may_hold(key, value)) {
            self.take(key, value, position)?;
        }
        Ok(GoOn::NextRow)
    }

    /// Takes a row that may satisfy the filter.
    fn take(&mut self, key: &[u8], value: &[u8], position: u64) -> Result<()> {
        if let Some(Filter {
            alone: Some(alone),
            late: true,
            ..
        }) = &mut self.filter
        {
            alone.decoder.push(key, value)?;
            alone.waiting.push(key, value, position);
            return if alone.waiting.is_full() {
                self.decide()
            } else {
                Ok(())
            };
        }
        self.decode(key, value, position)
    }

    /// Returns the rows so far that satisfy the filter, and begins the next batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.decide()?;
        let rows = self.decoder.len();
        let mut columns = self.decoder.finish()?;
        let keep = match &mut self.filter {
            Some(filter) if !filter.late => Some(filter.evaluate(&columns, rows, &self.eval)?),
            _ => None,
        };
        if let Some(filter) = &mut self.filter {
            filter.choose();
        }
        if let Some(positions) = &mut self.positions {
            columns.push(Arc::new(UInt64Array::from(std::mem::take(positions))));
        }
        self.bytes = 0;
        if rows > 0 {
            self.max_rows = (self.max_rows * 2).min(BATCH_ROWS);
        }
        let batch = batch_of(&self.schema, columns, rows)?;
        match keep {
            Some(keep) if keep.true_count() < rows => {
                filter_record_batch(&batch, &keep).map_err(types::Error::internal)
            }
            _ => Ok(batch),
        }
    }

    fn decode(&mut self, key: &[u8], value: &[u8], position: u64) -> Result<()> {
        self.decoder.push(key, value)?;
        self.bytes += key.len() + value.len();
        if let Some(positions) = &mut self.positions {
            positions.push(position);
        }
        Ok(())
    }

    /// Evaluates the filter for the copied rows, and decodes those that pass.
    fn decide(&mut self) -> Result<()> {
        let Some(filter) = &mut self.filter else {
            return Ok(());
        };
        let Some(alone) = &mut filter.alone else {
            return Ok(());
        };
        let rows = alone.waiting.rows.len();
        if rows == 0 {
            return Ok(());
        }
        let columns = alone.decoder.finish()?;
        let keep = alone.condition.evaluate(&columns, rows, &self.eval)?;
        let waiting = std::mem::take(&mut alone.waiting);
        filter.count(&keep);
        for index in keep.values().set_indices() {
            if let Some((key, value, position)) = waiting.row(index) {
                self.decode(key, value, position)?;
            }
        }
        if let Some(alone) = self.filter.as_mut().and_then(|filter| filter.alone.as_mut()) {
            alone.waiting = waiting.emptied();
        }
        Ok(())
    }
}

impl Filter {
    fn new(scan: &TableScan, types: &[SqlType], expr: &Expr, eval: &EvalContext) -> Result<Self> {
        let mut read = Vec::new();
        expr.walk(&mut |e| {
            if let Expr::Column { index, .. } = e
                && !read.contains(index)
            {
                read.push(*index);
            }
        });
        let alone = if read.len() < types.len() {
            Some(Alone::new(scan, types, expr, &read, eval)?)
        } else {
            None
        };
        let mut filter = Self {
            whole: Condition {
                expr: expr.clone(),
                schema: schema_of(types.iter().copied()),
            },
            alone,
            seen: EXPECTED_SELECTIVITY,
            kept: 1,
            late: false,
        };
        filter.choose();
        Ok(filter)
    }

    /// Decides whether the next batch is decoded early or late.
    fn choose(&mut self) {
        self.late = self.alone.as_ref().is_some_and(|alone| {
            let at_once = self.seen * alone.other_columns;
            let late = self.seen * KEEPING_COST + self.kept * (alone.columns + alone.other_columns);
            late < at_once
        });
    }

    /// Evaluates the condition over rows with all their columns.
    fn evaluate(&mut self, columns: &[ArrayRef], rows: usize, eval: &EvalContext) -> Result<BooleanArray> {
        let keep = self.whole.evaluate(columns, rows, eval)?;
        self.count(&keep);
        Ok(keep)
    }

    fn count(&mut self, keep: &BooleanArray) {
        self.seen += keep.len() as u64;
        self.kept += keep.true_count() as u64;
    }
}

impl Alone {
    /// `read`: the positions of the filter's columns among the scan's.
    fn new(
        scan: &TableScan,
        types: &[SqlType],
        expr: &Expr,
        read: &[usize],
        eval: &EvalContext,
    ) -> Result<Self> {
        let mut expr = expr.clone();
        // Each index is in the list, which was made from the same expression.
        expr.map_columns(&|index| read.iter().position(|&r| r == index).unwrap_or(0));
        let columns: Vec<usize> = read
            .iter()
            .filter_map(|&r| scan.columns.get(r).copied())
            .collect();
        Ok(Self {
            condition: Condition {
                expr,
                schema: schema_of(read.iter().filter_map(|&r| types.get(r).copied())),
            },
            decoder: Decoder::of_rows(&scan.table, &columns, eval.time_zone)?,
            columns: read.len() as u64,
            other_columns: (types.len() - read.len()) as u64,
            waiting: Waiting::default(),
        })
    }
}

impl Condition {
    fn evaluate(&self, columns: &[ArrayRef], rows: usize, eval: &EvalContext) -> Result<BooleanArray> {
        let batch = batch_of(&self.schema, columns.to_vec(), rows)?;
        functions::eval_predicate(&self.expr, &batch, eval)
    }
}

impl Waiting {
    fn push(&mut self, key: &[u8], value: &[u8], position: u64) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.rows.push((key_end, self.bytes.len(), position));
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= KEPT_BYTES || self.rows.len() >= BATCH_ROWS
    }

    fn row(&self, index: usize) -> Option<(&[u8], &[u8], u64)> {
        let start = match index.checked_sub(1) {
            Some(previous) => self.rows.get(previous)?.1,
            None => 0,
        };
        let &(key_end, end, position) = self.rows.get(index)?;
        Some((
            self.bytes.get(start..key_end)?,
            self.bytes.get(key_end..end)?,
            position,
        ))
    }

    /// Empties the buffer. Its allocation stays, unless a row was unusually long.
    fn emptied(mut self) -> Self {
        self.bytes.clear();
        self.bytes.shrink_to(2 * KEPT_BYTES);
        self.rows.clear();
        self
    }
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(types::Error::internal)
}
