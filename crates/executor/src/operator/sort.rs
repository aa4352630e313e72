//! ORDER BY: rows in the order of their keys, stable; all of them, or the first `limit`.
//!
//! Rows are held in memory and counted. With a limit, only about twice as many rows are held. Where there is no
//! memory for more, those that are held are sorted and written to a file, and the files are merged ([`Runs`]).
//!
//! `SELECT DISTINCT ... ORDER BY` all its columns is one sort, too: equal rows are neighbours, so no set of
//! keys is needed.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use planner::plan::{Rel, SortKey};
use types::{Result, TypeKind};

use super::computed::Computed;
use super::limit::Limit;
use super::merge::{Merge, Order, Runs};
use super::{BoxOperator, Operator};
use crate::batch::{ALL_ROWS, BATCH_BYTES, BATCH_ROWS, batch_bytes, gather};
use crate::env::Env;
use crate::row_order::{BatchKeys, RowOrder};
use crate::spill::RowWriter;

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
    order: Order,
    /// `None` before the first row.
    computed: Option<Computed>,
    /// The operator above needs memory beside the sorted rows, so these get half of it.
    shares: bool,
    /// The sort is one of the statement's, which `Sort_rows` counts.
    is_counted: bool,
    held: Held,
    runs: Runs,
    /// Set once all input has been read.
    sorted: Option<Sorted>,
}

/// All rows in order.
enum Sorted {
    InMemory {
        /// As (batch, row).
        order: Vec<(usize, usize)>,
        /// What a row has, on average.
        row_bytes: usize,
        given: usize,
    },
    InFiles(Box<Merge>),
}

/// Rows read so far: each batch with the keys of its rows.
#[derive(Default)]
struct Held {
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    keys: Vec<BatchKeys>,
    rows: usize,
    bytes: usize,
    /// What sorting them takes.
    scratch: usize,
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
    pub fn new(input: BoxOperator<'p>, keys: &[SortKey], limit: Option<u64>) -> Result<Self> {
        let by = keys.iter().map(|k| (k.expr.ty(), k.descending)).collect();
        Ok(Self {
            input,
            order: Order {
                by: RowOrder::new(by)?,
                keys: keys.iter().map(|key| key.expr.clone()).collect(),
                distinct: false,
                limit: limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX)),
            },
            computed: None,
            shares: false,
            is_counted: true,
            held: Held::default(),
            runs: Runs::default(),
            sorted: None,
        })
    }

    /// Returns only the first of equal rows. The keys must cover all columns ([`covers_all_columns`]).
    pub fn distinct(mut self) -> Self {
        self.order.distinct = true;
        self
    }

    /// Leaves memory to the operator above, which holds rows, too.
    pub fn sharing(self) -> Self {
        Self { shares: true, ..self }
    }

    /// The statement does not sort here: another operator does its own work so.
    pub fn uncounted(self) -> Self {
        Self {
            is_counted: false,
            ..self
        }
    }

    fn count(&self, rows: usize, env: &Env<'_, '_>) {
        if self.is_counted {
            env.eval().reads.sorted(rows);
        }
    }

    fn read_all(&mut self, env: &mut Env<'_, '_>) -> Result<Sorted> {
        while self.order.limit > 0
            && let Some(batch) = self.input.next(env, ALL_ROWS)?
        {
            let keys = &mut self.order.keys;
            let computed = self
                .computed
                .get_or_insert_with(|| Computed::take(keys.iter_mut(), batch.num_columns()));
            let batch = computed.add(batch, env)?;
            let keys = self.order.keys(&batch, env)?;
            let most_bytes = env.ctx.memory_limit_bytes / if self.shares { 2 } else { 1 };
            if !self.held.add(batch, keys, most_bytes, env)? {
                self.spill(env)?;
            } else if self.is_worth_cutting() {
                let order = self.wanted(env)?;
                self.held.cut(&order, &self.order.by, env)?;
            }
        }
        if self.runs.is_empty() {
            let order = self.wanted(env)?;
            env.memory.shrink(std::mem::take(&mut self.held.scratch));
            self.count(order.len(), env);
            return Ok(Sorted::InMemory {
                order,
                row_bytes: self.held.bytes / self.held.rows.max(1),
                given: 0,
            });
        }
        self.spill(env)?;
        let runs = std::mem::take(&mut self.runs);
        let merge = runs.merged(&self.order, env)?;
        self.count(merge.rows(), env);
        env.eval().reads.merged(1);
        Ok(Sorted::InFiles(Box::new(merge)))
    }

    /// Writes the held rows to a file, in order.
    fn spill(&mut self, env: &Env<'_, '_>) -> Result<()> {
        let order = self.wanted(env)?;
        if let (Some(schema), Some(first)) = (&self.held.schema, self.held.batches.first()) {
            let mut writer = RowWriter::new(first, env.ctx)?;
            for rows in order.chunks(writer.piece_rows(self.held.bytes / self.held.rows.max(1))) {
                env.check_interrupted()?;
                writer.write(&gather(schema, &self.held.batches, rows)?, env.ctx)?;
            }
            self.held.clear(env);
            self.runs.push(writer.finish()?, &self.order, env)?;
        }
        Ok(())
    }

    /// The held rows that are wanted, in order, as (batch, row).
    fn wanted(&self, env: &Env<'_, '_>) -> Result<Vec<(usize, usize)>> {
        let check = &mut || env.check_interrupted();
        let mut order = match self.order.distinct {
            true => self.order.by.sort_distinct(&self.held.keys, check),
            false => self.order.by.sort(&self.held.keys, check),
        }?;
        order.truncate(self.order.limit);
        Ok(order)
    }

    /// A cut sorts all held rows, so it has to be rare: once for as many rows as stay, or if they hold much
    /// memory.
    fn is_worth_cutting(&self) -> bool {
        let stay = match (self.order.limit, self.order.distinct) {
            // The last cut left the distinct rows: there will be about as many.
            (limit, true) => limit.min(self.held.cut_to.max(BATCH_ROWS)),
            (usize::MAX, false) => return false,
            (limit, false) => limit,
        };
        let beyond = self.held.rows.saturating_sub(stay.saturating_mul(2));
        beyond > BATCH_ROWS || (beyond > 0 && self.held.bytes > BATCH_BYTES / 8)
    }
}

impl Held {
    /// Takes rows. `false`: there is no memory for them, or they are more than `most_bytes` with those that are held:
    /// all have to go.
    fn add(
        &mut self,
        batch: RecordBatch,
        keys: BatchKeys,
        most_bytes: usize,
        env: &Env<'_, '_>,
    ) -> Result<bool> {
        let rows = batch.num_rows();
        let bytes = batch_bytes(&batch) + keys.size_bytes() + rows * 16;
        let scratch = RowOrder::scratch_bytes(rows);
        let fits = self.bytes + self.scratch + bytes + scratch <= most_bytes;
        let granted = fits && env.memory.try_grow(bytes + scratch)?;
        if granted {
            self.bytes += bytes;
            self.scratch += scratch;
        }
        self.rows += rows;
        self.schema.get_or_insert_with(|| batch.schema());
        self.batches.push(batch);
        self.keys.push(keys);
        Ok(granted)
    }

    fn clear(&mut self, env: &Env<'_, '_>) {
        env.memory.shrink(self.bytes + self.scratch);
        *self = Self::default();
    }

    /// Keeps only `rows`, as one batch.
    fn cut(&mut self, rows: &[(usize, usize)], by: &RowOrder, env: &Env<'_, '_>) -> Result<()> {
        let Some(schema) = self.schema.clone() else {
            return Ok(());
        };
        let batch = gather(&schema, &self.batches, rows)?;
        let keys = by.gather(&self.keys, rows)?;
        self.clear(env);
        self.cut_to = rows.len();
        // There is less than before.
        self.add(batch, keys, usize::MAX, env).map(|_| ())
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.read_all(env)?);
            if env.holds_least_after_sort {
                env.memory.trim();
            }
        }
        let batch = match (&mut self.sorted, &self.held.schema) {
            (Some(Sorted::InFiles(merge)), _) => merge.next(wanted, &self.order, env)?,
            (
                Some(Sorted::InMemory {
                    order,
                    row_bytes,
                    given,
                }),
                Some(schema),
            ) => {
                let most = (BATCH_BYTES / (*row_bytes).max(1)).clamp(1, BATCH_ROWS);
                let end = order.len().min(given.saturating_add(wanted.min(most)));
                let rows = order.get(*given..end).unwrap_or_default();
                *given = end;
                let batch = match rows {
                    [] => None,
                    rows => Some(gather(schema, &self.held.batches, rows)?),
                };
                if end == order.len() {
                    env.memory.shrink(std::mem::take(&mut self.held.bytes));
                }
                batch
            }
            _ => None,
        };
        match (batch, &self.computed) {
            (Some(batch), Some(computed)) => computed.remove(batch).map(Some),
            (batch, _) => Ok(batch),
        }
    }
}
