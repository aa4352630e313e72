//! Joins, and what works like them: rows of a left side, and what a right side has for each of them.
//!
//! [`Pairing`] is the operator. It takes the left side batch by batch and asks its [`Partners`] for pairs of
//! rows, a page at a time: [`hash`] finds them by keys, [`nested`] pairs each row with all of the right side,
//! [`lookup`] reads them from a table, and `super::apply` runs a subquery. It checks the join's condition on
//! each pair and makes the output of the join's kind from it. All rows come in the order of the left side.

mod hash;
mod lookup;
pub(super) mod nested;
mod page;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, UInt32Array, new_null_array};
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, eval_predicate, eval_truths};
use planner::plan::{self, JoinKind};
use types::{Result, SqlType};

pub(super) use self::page::Page;

use self::hash::HashPartners;
use self::lookup::LookupPartners;
use self::nested::AllPartners;
use super::common_table::Scope;
use super::filter::split;
use super::scan::lookup::TableLookup;
use super::{BoxOperator, Operator, tree};
use crate::batch::{
    ALL_ROWS, BATCH_BYTES, BATCH_ROWS, arrow_error, arrow_schema, batch_bytes, batch_of, schema_of,
};
use crate::env::Env;

/// The operator of a join of two inputs.
pub(super) fn open<'p>(
    join: &'p plan::Join,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let types = (join.left.output_types(), join.right.output_types());
    let left = tree::build(&join.left, scope, env)?;
    let right = tree::build(&join.right, scope, env)?;
    let (kind, residual) = (join.kind, join.residual.as_ref());
    if join.keys.is_empty() {
        let partners = AllPartners::new(right, types.1.clone());
        return Ok(Box::new(Pairing::new(
            left,
            partners,
            kind,
            residual,
            types,
            env.eval(),
        )));
    }
    let partners = HashPartners::new(right, types.1.clone(), &join.keys, kind)?;
    Ok(Box::new(Pairing::new(
        left,
        partners,
        kind,
        residual,
        types,
        env.eval(),
    )))
}

/// The operator of a join with a table by its keys.
pub(super) fn open_lookup<'p>(
    join: &'p plan::LookupJoin,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let types = (join.left.output_types(), join.right.output_types());
    let left = tree::build(&join.left, scope, env)?;
    let partners = LookupPartners::new(TableLookup::open(&join.right, &types.0, env)?);
    let residual = join.residual.as_ref();
    Ok(Box::new(Pairing::new(
        left,
        partners,
        join.kind,
        residual,
        types,
        env.eval(),
    )))
}

/// Finds the right side's rows that may go with the rows of the left side.
pub(super) trait Partners {
    /// Takes the next batch of the left side. `false`: no row of the left side has a partner.
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool>;

    /// Adds pairs to a page, in the order of the left rows, and advances [`Page::done`]. It stops when the page
    /// is full or all left rows are done. A row that [`Page::is_settled`] needs no more pairs. `found`: what
    /// the pages before have found for each left row.
    fn find(&mut self, page: &mut Page, found: &[Found], env: &mut Env<'_, '_>) -> Result<()>;

    /// About how many bytes a row of the right side has, if that is known.
    fn row_bytes(&self) -> usize {
        0
    }
}

/// What is known of a left row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// The comparison with some right row is NULL.
    Unknown,
    Partner,
}

/// See the module.
pub(super) struct Pairing<'p, P> {
    left: BoxOperator<'p>,
    partners: P,
    kind: JoinKind,
    condition: Option<Condition>,
    schema: SchemaRef,
    right_types: Vec<SqlType>,
    batch: Option<LeftBatch>,
    /// How many left rows, and how many pairs, to ask for. They grow while few of them become rows.
    ask: usize,
    ask_pairs: usize,
    rest: Option<RecordBatch>,
}

/// Left rows whose partners are being found.
struct LeftBatch {
    rows: RecordBatch,
    found: Vec<Found>,
    /// Rows before this one are finished.
    finished: usize,
    row_bytes: usize,
}

/// The output rows of a page.
#[derive(Default)]
struct Output {
    left: Vec<u32>,
    right: Vec<Option<u32>>,
    marks: Vec<Option<i64>>,
}

/// What a pair must satisfy, over the columns that it reads only.
struct Condition {
    expr: Expr,
    left: Vec<usize>,
    right: Vec<usize>,
    /// Set if it assigns variables, which the next pair reads.
    one_by_one: bool,
}

impl<'p, P: Partners> Pairing<'p, P> {
    /// `types`: those of the left side's columns and of the right side's.
    pub fn new(
        left: BoxOperator<'p>,
        partners: P,
        kind: JoinKind,
        condition: Option<&Expr>,
        (left_types, right_types): (Vec<SqlType>, Vec<SqlType>),
        eval: &EvalContext,
    ) -> Self {
        let condition = condition.map(|condition| Condition::new(condition, left_types.len(), eval));
        let mut types = left_types;
        match kind {
            JoinKind::Inner | JoinKind::Left => types.extend(&right_types),
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::Mark => types.push(SqlType::BIGINT),
        }
        Self {
            left,
            partners,
            kind,
            condition,
            schema: schema_of(&types),
            right_types,
            batch: None,
            ask: 1,
            ask_pairs: 1,
            rest: None,
        }
    }

    /// Takes the next batch of the left side; `false` if there is none, or if no row can come of it.
    fn begin(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<bool> {
        // A row of the left side becomes at least one row.
        let ask = match self.kind {
            JoinKind::Left | JoinKind::Mark => wanted,
            JoinKind::Inner | JoinKind::Semi | JoinKind::Anti => self.ask.max(wanted),
        };
        let Some(rows) = self.left.next(env, ask)? else {
            return Ok(false);
        };
        self.ask = if ask == ALL_ROWS {
            1
        } else {
            ask.saturating_mul(4).min(BATCH_ROWS)
        };
        let has_partners = self.partners.begin(&rows, env)?;
        if !has_partners && matches!(self.kind, JoinKind::Inner | JoinKind::Semi) {
            return Ok(false);
        }
        self.batch = Some(LeftBatch {
            found: vec![Found::Nothing; rows.num_rows()],
            finished: 0,
            row_bytes: batch_bytes(&rows) / rows.num_rows().max(1),
            rows,
        });
        Ok(true)
    }

    /// The number of pairs that the next page may have, where each has about `row_bytes`.
    fn page_pairs(&mut self, wanted: usize) -> usize {
        match &self.condition {
            Some(condition) if condition.one_by_one => return 1,
            Some(_) => {
                let pairs = self.ask_pairs.max(wanted).min(BATCH_ROWS);
                self.ask_pairs = pairs.saturating_mul(4).min(BATCH_ROWS);
                pairs
            }
            None => wanted.min(BATCH_ROWS),
        }
    }

    /// The output rows of the next page of pairs.
    fn next_page(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let limit = self.page_pairs(wanted);
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let is_enough = matches!(self.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark);
        let mut page = Page::new(&batch.rows, limit, is_enough, self.condition.is_some(), wanted);
        page.limit_bytes(batch.row_bytes + self.partners.row_bytes(), BATCH_BYTES);
        self.partners.find(&mut page, &batch.found, env)?;
        let right = page.right_rows(&self.right_types)?;
        let truths = self.truths(&page, &right, env.eval())?;
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let output = batch.output(&page, truths.as_ref(), self.kind);
        let left = Arc::clone(batch.rows.schema_ref());
        let rows = match batch.finished == batch.rows.num_rows() {
            true => self.batch.take().map(|batch| batch.rows),
            false => Some(batch.rows.clone()),
        };
        let rows = rows.unwrap_or_else(|| RecordBatch::new_empty(left));
        self.output_rows(&output, &rows, &right)
    }

    /// The condition's truth for each pair; `None` if all are true.
    fn truths(&self, page: &Page, right: &RecordBatch, eval: &EvalContext) -> Result<Option<BooleanArray>> {
        let Some(condition) = &self.condition else {
            return Ok(None);
        };
        if page.pairs() == 0 {
            return Ok(None);
        }
        let pairs = condition.batch(page, right)?;
        match self.kind {
            JoinKind::Mark => eval_truths(&condition.expr, &pairs, eval).map(Some),
            _ => eval_predicate(&condition.expr, &pairs, eval).map(Some),
        }
    }

    fn output_rows(
        &self,
        output: &Output,
        left: &RecordBatch,
        right: &RecordBatch,
    ) -> Result<Option<RecordBatch>> {
        let rows = output.left.len();
        if rows == 0 {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        let is_same = rows == left.num_rows() && output.left.iter().copied().eq(0..rows as u32);
        match is_same {
            true => columns.extend(left.columns().iter().cloned()),
            false => take_all(left, &UInt32Array::from(output.left.clone()), &mut columns)?,
        }
        match self.kind {
            JoinKind::Inner | JoinKind::Left => {
                take_all(right, &UInt32Array::from(output.right.clone()), &mut columns)?;
            }
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::Mark => columns.push(Arc::new(Int64Array::from(output.marks.clone()))),
        }
        batch_of(&self.schema, columns, rows).map(Some)
    }
}

impl<P: Partners> Operator for Pairing<'_, P> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.rest.take() {
                let (now, later) = split(batch, wanted);
                self.rest = later;
                return Ok(Some(now));
            }
            env.check_interrupted()?;
            if self.batch.is_none() && !self.begin(env, wanted)? {
                return Ok(None);
            }
            self.rest = self.next_page(env, wanted)?;
        }
    }
}

impl LeftBatch {
    /// Notes what a page has found, and makes its output rows.
    fn output(&mut self, page: &Page, truths: Option<&BooleanArray>, kind: JoinKind) -> Output {
        let mut output = Output::default();
        for pair in 0..page.pairs() {
            let (left, right) = (page.left[pair], page.right[pair]);
            self.finish(left as usize, kind, &mut output);
            let known = !page.is_unknown(pair);
            let truth = match truths {
                None => known.then_some(true),
                Some(truths) if truths.is_null(pair) => None,
                Some(truths) if truths.value(pair) => known.then_some(true),
                Some(_) => Some(false),
            };
            let Some(found) = self.found.get_mut(left as usize) else {
                continue;
            };
            match truth {
                Some(true) => {
                    *found = Found::Partner;
                    if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                        output.left.push(left);
                        output.right.push(Some(right));
                    }
                }
                None if *found == Found::Nothing => *found = Found::Unknown,
                _ => {}
            }
        }
        self.finish(page.done(), kind, &mut output);
        output
    }

    /// Makes the output of the rows before `end`, which have no more pairs.
    fn finish(&mut self, end: usize, kind: JoinKind, output: &mut Output) {
        for row in self.finished..end {
            let found = self.found.get(row).copied().unwrap_or(Found::Nothing);
            let has_partner = found == Found::Partner;
            match kind {
                JoinKind::Left if !has_partner => {
                    output.left.push(row as u32);
                    output.right.push(None);
                }
                JoinKind::Semi if has_partner => output.left.push(row as u32),
                JoinKind::Anti if !has_partner => output.left.push(row as u32),
                JoinKind::Mark => {
                    output.left.push(row as u32);
                    output.marks.push(match found {
                        Found::Partner => Some(1),
                        Found::Unknown => None,
                        Found::Nothing => Some(0),
                    });
                }
                _ => {}
            }
        }
        self.finished = self.finished.max(end);
    }
}

impl Condition {
    fn new(condition: &Expr, left_width: usize, eval: &EvalContext) -> Self {
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

/// Appends the rows at some positions; NULL positions make NULLs.
fn take_all(batch: &RecordBatch, positions: &UInt32Array, columns: &mut Vec<ArrayRef>) -> Result<()> {
    for column in batch.columns() {
        columns.push(match batch.num_rows() {
            0 => new_null_array(column.data_type(), positions.len()),
            _ => compute::take(column, positions, None).map_err(arrow_error)?,
        });
    }
    Ok(())
}
