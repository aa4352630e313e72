//! A query that gives one row, and runs for each of several rows: the subqueries of ON DUPLICATE KEY UPDATE, of
//! LOAD DATA's SET and of WITH CHECK OPTION.

use arrow::record_batch::RecordBatch;
use kv::Transaction;
use planner::plan;
use types::array::ColumnView;
use types::{Error, Result, SqlType, Value};

use super::part::PlanPart;
use super::scope::Scope;
use super::tree;
use crate::context::ExecContext;
use crate::env::Env;
use crate::memory::Memory;
use crate::source::ReadSource;

pub(crate) struct RowQuery<'p> {
    query: &'p plan::RowQuery,
    types: Vec<SqlType>,
    /// Has the rows of what depends on no row: it runs once.
    scope: Scope<'p>,
    reads_past: bool,
    memory: &'p Memory<'p>,
}

impl<'p> RowQuery<'p> {
    pub fn new(query: &'p plan::RowQuery, memory: &'p Memory<'p>) -> Self {
        Self {
            scope: tree::scope().remembering(),
            ..Self::anew(query, memory)
        }
    }

    /// The same where all of the query runs for each row.
    pub fn anew(query: &'p plan::RowQuery, memory: &'p Memory<'p>) -> Self {
        Self {
            query,
            types: query.root.output_types(),
            scope: tree::scope(),
            reads_past: query.root.scans().iter().any(|scan| scan.as_of.is_some()),
            memory,
        }
    }

    /// The query's values for a row.
    pub fn run(&self, row: &[Value], txn: &mut Transaction, ctx: &ExecContext<'_>) -> Result<Vec<Value>> {
        for outer in &self.query.outer {
            let value = row.get(outer.position).cloned();
            let value =
                value.ok_or_else(|| Error::internal("a subquery takes a column that is not there"))?;
            ctx.eval.state.set_outer(outer.slot, value);
        }
        let is_optimistic = txn.is_optimistic();
        let mut source = ReadSource::Transaction(txn);
        let mut env = Env {
            implied_locking: ctx.insert_select.filter(|_| !self.reads_past),
            is_optimistic,
            ..Env::new(ctx, &mut source, self.memory)
        };
        let mut part = PlanPart::open(&self.query.root, &self.scope, &mut env)?;
        let values = match part.next(&mut env, 1)? {
            Some(batch) => self.first_row(&batch),
            None => Err(Error::internal("subqueries without a row")),
        };
        part.close(&env);
        values
    }

    fn first_row(&self, batch: &RecordBatch) -> Result<Vec<Value>> {
        if batch.num_rows() != 1 {
            return Err(Error::internal("subqueries with several rows"));
        }
        let columns = batch.columns().iter().zip(&self.types);
        Ok(columns
            .map(|(array, ty)| ColumnView::new(array, ty).value(0))
            .collect())
    }
}
