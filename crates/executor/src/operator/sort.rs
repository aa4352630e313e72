//! ORDER BY: rows in the order of their keys, stable; all of them, or the first `limit`.
//!
//! Held in memory, and counted: a sort beyond the statement's memory limit fails. With a limit only about twice the
//! wanted rows are ever held. Sorts that need disk belong to `analytics`.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use planner::plan::SortKey;
use types::Result;

use super::limit::Limit;
use super::project::evaluate;
use super::{BoxOperator, Operator};
use crate::batch::{BATCH_BYTES, BATCH_ROWS, batch_bytes, gather};
use crate::env::Env;
use crate::order::{Order, Ordered};

/// The operator for `keys`; without keys the input's own order stays.
pub(crate) fn sorted<'p>(
    input: BoxOperator<'p>,
    keys: &'p [SortKey],
    limit: Option<u64>,
) -> Result<BoxOperator<'p>> {
    if keys.is_empty() {
        return Ok(match limit {
            Some(_) => Box::new(Limit::new(input, 0, limit)),
            None => input,
        });
    }
    Ok(Box::new(Sort::new(input, keys, limit)?))
}

pub(crate) struct Sort<'p> {
    input: BoxOperator<'p>,
    keys: &'p [SortKey],
    by: Order,
    /// More than this many rows are never wanted.
    limit: Option<usize>,
    held: Held,
    /// The held rows in order, once all input has been read.
    order: Option<Vec<(usize, usize)>>,
    given: usize,
}

/// Rows read so far: each batch with the keys of its rows.
#[derive(Default)]
struct Held {
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    keys: Vec<Ordered>,
    rows: usize,
    bytes: usize,
}

impl<'p> Sort<'p> {
    pub fn new(input: BoxOperator<'p>, keys: &'p [SortKey], limit: Option<u64>) -> Result<Self> {
        let order = keys.iter().map(|k| (k.expr.ty(), k.descending)).collect();
        Ok(Self {
            input,
            keys,
            by: Order::new(order)?,
            limit: limit.map(|l| usize::try_from(l).unwrap_or(usize::MAX)),
            held: Held::default(),
            order: None,
            given: 0,
        })
    }

    fn read_all(&mut self, env: &mut Env<'_, '_>) -> Result<Vec<(usize, usize)>> {
        if self.limit == Some(0) {
            return Ok(Vec::new());
        }
        while let Some(batch) = self.input.next(env, BATCH_ROWS)? {
            let columns = evaluate(self.keys.iter().map(|k| &k.expr), &batch, env)?;
            self.held.add(batch, self.by.of(&columns)?, env)?;
            if let Some(limit) = self.limit
                && self.held.is_worth_cutting(limit)
            {
                self.held.cut(limit, &self.by, env)?;
            }
        }
        let mut order = self.by.places(&self.held.keys);
        order.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(order)
    }
}

impl Held {
    fn add(&mut self, batch: RecordBatch, keys: Ordered, env: &Env<'_, '_>) -> Result<()> {
        let bytes = batch_bytes(&batch) + keys.size_bytes() + batch.num_rows() * 16;
        env.memory.grow(bytes)?;
        self.bytes += bytes;
        self.rows += batch.num_rows();
        self.schema.get_or_insert_with(|| batch.schema());
        self.batches.push(batch);
        self.keys.push(keys);
        Ok(())
    }

    /// Cutting sorts what is held, so it has to be rare: once for as many rows as are wanted, or for much memory.
    fn is_worth_cutting(&self, limit: usize) -> bool {
        let beyond = self.rows.saturating_sub(limit.saturating_mul(2));
        beyond > BATCH_ROWS || (beyond > 0 && self.bytes > BATCH_BYTES / 8)
    }

    /// Keeps the first `limit` rows only, as one batch.
    fn cut(&mut self, limit: usize, by: &Order, env: &Env<'_, '_>) -> Result<()> {
        let Some(schema) = self.schema.clone() else {
            return Ok(());
        };
        let mut order = by.places(&self.keys);
        order.truncate(limit);
        let batch = gather(&schema, &self.batches, &order)?;
        let keys = by.gather(&self.keys, &order)?;
        env.memory.shrink(self.bytes);
        *self = Self {
            schema: Some(schema),
            ..Self::default()
        };
        self.add(batch, keys, env)
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.order.is_none() {
            self.order = Some(self.read_all(env)?);
        }
        let (Some(order), Some(schema)) = (&self.order, &self.held.schema) else {
            return Ok(None);
        };
        let end = order.len().min(self.given.saturating_add(wanted));
        let Some(places) = order.get(self.given..end).filter(|p| !p.is_empty()) else {
            return Ok(None);
        };
        self.given = end;
        let batch = gather(schema, &self.held.batches, places)?;
        if self.given == order.len() {
            env.memory.shrink(std::mem::take(&mut self.held.bytes));
        }
        Ok(Some(batch))
    }
}
