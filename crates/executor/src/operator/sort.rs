//! ORDER BY: rows in the order of their keys, stable; all of them, or the first `limit`.
//!
//! Rows are held in memory and counted: a sort beyond the statement's memory limit fails. With a limit, only
//! about twice as many rows are held. Sorts that need disk run in `analytics`.
//!
//! `SELECT DISTINCT ... ORDER BY` all its columns is one sort, too: equal rows are neighbours, so no set of
//! keys is needed.

use std::borrow::Cow;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use planner::plan::{Rel, SortKey};
use types::{Result, TypeKind};

use super::limit::Limit;
use super::project::evaluate;
use super::{BoxOperator, Operator};
use crate::batch::{ALL_ROWS, BATCH_BYTES, BATCH_ROWS, batch_bytes, gather};
use crate::env::Env;
use crate::memory;
use crate::row_order::{BatchKeys, RowOrder};

/// The operator for `keys`. Without keys the input's order stays.
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
    keys: Cow<'p, [SortKey]>,
    by: RowOrder,
    /// How many rows are returned at most.
    limit: Option<usize>,
    /// Of rows that compare as equal, return only the first.
    distinct: bool,
    held: Held,
    /// The held rows in order, once all input has been read.
    order: Option<Vec<(usize, usize)>>,
    /// What a held row has, on average.
    row_bytes: usize,
    given: usize,
}

/// Rows read so far: each batch with the keys of its rows.
#[derive(Default)]
struct Held {
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    keys: Vec<BatchKeys>,
    rows: usize,
    bytes: usize,
    /// How many rows the last cut left.
    cut_to: usize,
}

/// Whether the operators of a plan hold next to no memory beside the rows of its first sort once that has
/// read its input: what is above passes rows on, and below there is one source and no window.
pub(crate) fn holds_least_after_sort(rel: &Rel) -> bool {
    let mut above = true;
    rel.operators().all(|rel| match rel {
        Rel::OneRow | Rel::Scan(_) | Rel::Virtual(_) | Rel::Values { .. } | Rel::JsonTable(_) => true,
        Rel::Window { .. } => false,
        Rel::Sort { .. } => {
            above = false;
            true
        }
        Rel::Project { .. } | Rel::Limit { .. } | Rel::Filter { .. } => true,
        rel => !above && rel.input().is_some(),
    })
}

/// Whether rows of `input` that are equal under `keys` are equal in all columns.
pub(crate) fn covers_all_columns(keys: &[SortKey], input: &Rel) -> bool {
    input.output_types().iter().enumerate().all(|(position, ty)| {
        // JSON values that ORDER BY does not distinguish may differ.
        ty.kind != TypeKind::Json
            && keys
                .iter()
                .any(|key| matches!(&key.expr, Expr::Column { index, .. } if *index == position))
    })
}

impl<'p> Sort<'p> {
    pub fn new(
        input: BoxOperator<'p>,
        keys: impl Into<Cow<'p, [SortKey]>>,
        limit: Option<u64>,
    ) -> Result<Self> {
        let keys = keys.into();
        let order = keys.iter().map(|k| (k.expr.ty(), k.descending)).collect();
        Ok(Self {
            input,
            keys,
            by: RowOrder::new(order)?,
            limit: limit.map(|l| usize::try_from(l).unwrap_or(usize::MAX)),
            distinct: false,
            held: Held::default(),
            order: None,
            row_bytes: 0,
            given: 0,
        })
    }

    /// Returns only the first of equal rows. `keys` must cover all columns ([`covers_all_columns`]).
    pub fn distinct(mut self) -> Self {
        self.distinct = true;
        self
    }

    fn read_all(&mut self, env: &mut Env<'_, '_>) -> Result<Vec<(usize, usize)>> {
        if self.limit == Some(0) {
            return Ok(Vec::new());
        }
        while let Some(batch) = self.input.next(env, ALL_ROWS)? {
            let columns = evaluate(self.keys.iter().map(|k| &k.expr), &batch, env)?;
            self.held.add(batch, self.by.keys(&columns)?, env)?;
            if self.is_worth_cutting() {
                let order = self.wanted(env)?;
                self.held.cut(&order, &self.by, env)?;
            }
        }
        let order = self.wanted(env)?;
        env.eval().reads.sorted(order.len());
        Ok(order)
    }

    /// The held rows that are wanted, in order, as (batch, row).
    fn wanted(&self, env: &Env<'_, '_>) -> Result<Vec<(usize, usize)>> {
        let mut scratch = memory::Held::default();
        scratch.resize(RowOrder::scratch_bytes(self.held.rows), env.memory)?;
        let check = &mut || env.check_interrupted();
        let mut order = match self.distinct {
            true => self.by.sort_distinct(&self.held.keys, check),
            false => self.by.sort(&self.held.keys, check),
        }?;
        scratch.resize(0, env.memory)?;
        order.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(order)
    }

    /// A cut sorts all held rows, so it has to be rare: once for as many rows as stay, or if they hold much
    /// memory.
    fn is_worth_cutting(&self) -> bool {
        let stay = match (self.limit, self.distinct) {
            (Some(limit), false) => limit,
            // The last cut left the distinct rows: there will be about as many.
            (limit, true) => limit.unwrap_or(usize::MAX).min(self.held.cut_to.max(BATCH_ROWS)),
            (None, false) => return false,
        };
        let beyond = self.held.rows.saturating_sub(stay.saturating_mul(2));
        beyond > BATCH_ROWS || (beyond > 0 && self.held.bytes > BATCH_BYTES / 8)
    }
}

impl Held {
    fn add(&mut self, batch: RecordBatch, keys: BatchKeys, env: &Env<'_, '_>) -> Result<()> {
        let bytes = batch_bytes(&batch) + keys.size_bytes() + batch.num_rows() * 16;
        env.memory.grow(bytes)?;
        self.bytes += bytes;
        self.rows += batch.num_rows();
        self.schema.get_or_insert_with(|| batch.schema());
        self.batches.push(batch);
        self.keys.push(keys);
        Ok(())
    }

    /// Keeps only `rows`, as one batch.
    fn cut(&mut self, rows: &[(usize, usize)], by: &RowOrder, env: &Env<'_, '_>) -> Result<()> {
        let Some(schema) = self.schema.clone() else {
            return Ok(());
        };
        let batch = gather(&schema, &self.batches, rows)?;
        let keys = by.gather(&self.keys, rows)?;
        env.memory.shrink(self.bytes);
        *self = Self {
            schema: Some(schema),
            cut_to: rows.len(),
            ..Self::default()
        };
        self.add(batch, keys, env)
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.order.is_none() {
            self.order = Some(self.read_all(env)?);
            self.row_bytes = self.held.bytes / self.held.rows.max(1);
            if env.holds_least_after_sort {
                env.memory.trim();
            }
        }
        let (Some(order), Some(schema)) = (&self.order, &self.held.schema) else {
            return Ok(None);
        };
        let most = (BATCH_BYTES / self.row_bytes.max(1)).clamp(1, BATCH_ROWS);
        let end = order.len().min(self.given.saturating_add(wanted.min(most)));
        let Some(rows) = order.get(self.given..end).filter(|rows| !rows.is_empty()) else {
            return Ok(None);
        };
        self.given = end;
        let batch = gather(schema, &self.held.batches, rows)?;
        if self.given == order.len() {
            env.memory.shrink(std::mem::take(&mut self.held.bytes));
        }
        Ok(Some(batch))
    }
}
