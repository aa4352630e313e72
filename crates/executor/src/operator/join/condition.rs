//! The condition of a join, which is checked on pairs of rows.

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use arrow::compute;
use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, eval_predicate, eval_truths};
use types::Result;

use super::page::Page;
use crate::batch::{arrow_error, arrow_schema, batch_of};

/// What a pair must satisfy, over the columns that it reads only.
pub(super) struct Condition {
    expr: Expr,
    left: Vec<usize>,
    right: Vec<usize>,
    /// Set if it assigns variables, which the next pair reads.
    pub one_by_one: bool,
}

impl Condition {
    /// `condition`: over the left side's columns, of which there are `left_width`, and the right side's.
    pub fn new(condition: &Expr, left_width: usize, eval: &EvalContext) -> Self {
        let one_by_one = functions::assigns(condition) || functions::reads_assigned(condition);
        let mut expr = functions::hoist(condition, eval).into_owned();
        let mut columns = Vec::new();
        expr.walk(&mut |expr| {
            if let Expr::Column { index, .. } = expr {
                columns.push(*index);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        expr.map_columns(&|column| columns.binary_search(&column).unwrap_or(column));
        let first_right = columns.partition_point(|column| *column < left_width);
        let right = columns.split_off(first_right);
        Self {
            expr,
            left: columns,
            right: right.into_iter().map(|column| column - left_width).collect(),
            one_by_one,
        }
    }

    /// The truth for each pair. Without `needs_nulls`, NULL counts as false.
    pub fn truths(
        &self,
        page: &Page,
        right: &RecordBatch,
        needs_nulls: bool,
        eval: &EvalContext,
    ) -> Result<BooleanArray> {
        let pairs = self.batch(page, right)?;
        match needs_nulls {
            true => eval_truths(&self.expr, &pairs, eval),
            false => eval_predicate(&self.expr, &pairs, eval),
        }
    }

    /// The columns that the condition reads, a row for each pair.
    fn batch(&self, page: &Page, right: &RecordBatch) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.left.len() + self.right.len());
        let sides = [
            (&self.left, page.left_rows(), &page.left),
            (&self.right, right, &page.right),
        ];
        for (wanted, rows, positions) in sides {
            let positions = UInt32Array::from(positions.clone());
            for column in wanted {
                columns.push(compute::take(rows.column(*column), &positions, None).map_err(arrow_error)?);
            }
        }
        let schema = arrow_schema(columns.iter().map(|column| column.data_type().clone()));
        batch_of(&schema, columns, page.pairs())
    }
}
