//! Columns computed from the input's columns.
//!
//! A batch of short values may become one of long ones (REPEAT, CONCAT, JSON functions). If the types allow
//! that, rows are computed one by one until they fill a batch.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::{Expr, append_row, eval_array};
use planner::plan::Rel;
use types::Result;
use types::array::ColumnBuilder;

use super::filter::split;
use super::{BoxOperator, Operator};
use crate::batch::{BATCH_BYTES, BATCH_ROWS, batch_of, schema_of, widest};
use crate::env::Env;
use crate::memory::Held;

/// How often a large row is in memory: as columns, as a packet, and in the client's buffer.
const COPIES: usize = 3;

pub(super) struct Project<'p> {
    input: BoxOperator<'p>,
    exprs: &'p [Expr],
    schema: SchemaRef,
    /// Set if the expressions assign variables, which the next row reads.
    one_by_one: bool,
    /// The input may be asked for several rows all the same, because it reads no variables.
    asks_ahead: bool,
    /// The expressions whose values may be long: positions.
    wide: Vec<usize>,
    /// What the wide columns of a large row hold.
    held: Held,
    /// Rows of the input that are not computed yet.
    rest: Option<RecordBatch>,
}

impl<'p> Project<'p> {
    pub fn new(input: BoxOperator<'p>, exprs: &'p [Expr]) -> Self {
        let types: Vec<_> = exprs.iter().map(Expr::ty).collect();
        Self {
            input,
            exprs,
            schema: schema_of(&types),
            one_by_one: exprs.iter().any(functions::assigns),
            asks_ahead: false,
            wide: wide(exprs),
            held: Held::default(),
            rest: None,
        }
    }

    /// The projection of a locking read. One request locks its rows at one moment and returns them in order.
    /// If others write between two requests, rows of the second may precede rows of the first: so there
    /// should be one request only. `source`: what makes the input.
    pub fn locking(self, source: &Rel) -> Self {
        Self {
            asks_ahead: reads_no_variables(source),
            ..self
        }
    }

    /// The next row, for what it assigns.
    fn one(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let batch = match self.rest.take() {
            Some(batch) => Some(batch),
            None => self.input.next(env, if self.asks_ahead { wanted } else { 1 })?,
        };
        Ok(batch.map(|batch| {
            let (one, rest) = split(batch, 1);
            self.rest = rest;
            one
        }))
    }

    /// As many rows as make a batch. The wide columns of them are computed first.
    fn some(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let batch = match self.rest.take() {
            Some(batch) => batch,
            None => match self.input.next(env, wanted)? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        self.held.resize(0, env.memory)?;
        let mut builders: Vec<(usize, ColumnBuilder)> = Vec::with_capacity(self.wide.len());
        for &position in &self.wide {
            let ty = self.exprs.get(position).map_or(types::SqlType::NULL, Expr::ty);
            builders.push((position, ColumnBuilder::new(&ty, batch.num_rows())));
        }
        let (mut rows, mut bytes) = (0, 0);
        while rows < batch.num_rows() && bytes < BATCH_BYTES {
            bytes = 0;
            for (position, builder) in &mut builders {
                if let Some(expr) = self.exprs.get(*position) {
                    append_row(expr, (&batch, rows), builder, env.eval())?;
                }
                bytes += builder.data_bytes();
                if bytes > BATCH_BYTES {
                    self.held.resize(bytes * COPIES, env.memory)?;
                }
            }
            rows += 1;
            if bytes > BATCH_BYTES / 2 {
                env.check_interrupted()?;
            }
        }
        let (now, later) = split(batch, rows);
        self.rest = later;
        let mut made = builders.into_iter().peekable();
        let mut columns = Vec::with_capacity(self.exprs.len());
        for (position, expr) in self.exprs.iter().enumerate() {
            columns.push(match made.next_if(|(wide, _)| *wide == position) {
                Some((_, mut builder)) => builder.finish(),
                None => evaluate_one(expr, &now, env)?,
            });
        }
        batch_of(&self.schema, columns, rows).map(Some)
    }
}

/// The positions of expressions whose values may together be more than a batch should hold.
fn wide(exprs: &[Expr]) -> Vec<usize> {
    let computed = |expr: &Expr| match expr {
        Expr::Column { .. } => 0,
        expr => widest(&expr.ty()),
    };
    let all = exprs.iter().map(computed).fold(0, usize::saturating_add);
    if all <= BATCH_BYTES / BATCH_ROWS {
        return Vec::new();
    }
    let narrow = BATCH_BYTES / BATCH_ROWS / exprs.len().max(1);
    (0..exprs.len())
        .filter(|&position| exprs.get(position).is_some_and(|expr| computed(expr) > narrow))
        .collect()
}

impl Operator for Project<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let batch = match self.one_by_one {
            true => self.one(env, wanted)?,
            false if self.wide.is_empty() => self.input.next(env, wanted)?,
            false => return self.some(env, wanted),
        };
        let Some(batch) = batch else {
            return Ok(None);
        };
        let columns = evaluate(self.exprs.iter(), &batch, env)?;
        batch_of(&self.schema, columns, batch.num_rows()).map(Some)
    }
}

/// Whether the rows of an input are the same whatever variables hold.
fn reads_no_variables(rel: &Rel) -> bool {
    match rel {
        Rel::Scan(scan) => scan.filter.as_ref().is_none_or(functions::is_deterministic),
        Rel::Filter { input, predicate } => {
            functions::is_deterministic(predicate) && reads_no_variables(input)
        }
        Rel::Project { input, exprs } => {
            exprs.iter().all(functions::is_deterministic) && reads_no_variables(input)
        }
        Rel::Sort { input, .. } | Rel::Limit { input, .. } => reads_no_variables(input),
        _ => false,
    }
}

/// One array per expression.
pub(super) fn evaluate<'x>(
    exprs: impl Iterator<Item = &'x Expr>,
    batch: &RecordBatch,
    env: &Env<'_, '_>,
) -> Result<Vec<ArrayRef>> {
    exprs.map(|expr| evaluate_one(expr, batch, env)).collect()
}

fn evaluate_one(expr: &Expr, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<ArrayRef> {
    match expr {
        Expr::Column { index, .. } => match batch.columns().get(*index) {
            Some(column) => Ok(Arc::clone(column)),
            None => Err(types::Error::internal(format!("no column {index} in a batch"))),
        },
        expr => eval_array(expr, batch, env.eval()),
    }
}
