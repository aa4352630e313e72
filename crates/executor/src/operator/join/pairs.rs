//! Pairs of rows: takes them from [`Partners`], checks the condition on them, and makes the output of the join's kind.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, UInt32Array, new_null_array};
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr};
use planner::plan::JoinKind;
use types::{Error, Result, SqlType};

use super::condition::Condition;
use super::page::{Found, Page};
use super::partners::Partners;
use crate::batch::{ALL_ROWS, BATCH_BYTES, BATCH_ROWS, RowWidths, arrow_error, batch_of, schema_of};
use crate::env::Env;
use crate::operator::BoxOperator;
use crate::operator::filter::split;

/// Pairs the left side with the right side, or with a block of it.
pub(in crate::operator) struct Pairs<'p, P> {
    left: BoxOperator<'p>,
    partners: P,
    kind: JoinKind,
    condition: Option<Condition>,
    shape: Arc<JoinShape>,
    batch: Option<LeftBatch>,
    /// Where the right side comes in blocks: left rows that have been over the block.
    done: Option<LeftBatch>,
    /// The first left rows, once it is known that the right side comes in blocks.
    first: Option<RecordBatch>,
    /// How many left rows, and how many pairs, to ask for. They grow while few of them become rows.
    ask: usize,
    ask_pairs: usize,
    rest: Option<RecordBatch>,
    /// What a left row has failed with, after the rows of `rest`.
    failure: Option<Error>,
}

/// What a join takes from the types of its sides.
pub(in crate::operator) struct JoinShape {
    left_width: usize,
    right_types: Vec<SqlType>,
    schema: SchemaRef,
}

impl JoinShape {
    pub fn new(kind: JoinKind, (left_types, right_types): (Vec<SqlType>, Vec<SqlType>)) -> Arc<Self> {
        let left_width = left_types.len();
        let mut types = left_types;
        match kind {
            JoinKind::Inner | JoinKind::Left => types.extend(&right_types),
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::Mark => types.push(SqlType::BIGINT),
        }
        Arc::new(Self {
            left_width,
            right_types,
            schema: schema_of(&types),
        })
    }
}

/// Left rows whose partners are being found.
pub(in crate::operator) struct LeftBatch {
    rows: RecordBatch,
    found: Vec<Found>,
    /// Rows before this one are finished.
    finished: usize,
    /// No other block can have partners for them.
    is_last: bool,
    widths: Rc<RowWidths>,
}

/// The output rows of a page.
#[derive(Default)]
struct Output {
    left: Vec<u32>,
    /// Of an inner join.
    partners: Vec<u32>,
    /// Of a left join.
    right: Vec<Option<u32>>,
    marks: Vec<Option<i64>>,
}

impl<'p, P: Partners> Pairs<'p, P> {
    pub fn new(
        left: BoxOperator<'p>,
        partners: P,
        kind: JoinKind,
        condition: Option<&Expr>,
        shape: Arc<JoinShape>,
        eval: &EvalContext,
    ) -> Self {
        let condition = condition.map(|condition| Condition::new(condition, shape.left_width, eval));
        Self {
            left,
            partners,
            kind,
            condition,
            shape,
            batch: None,
            done: None,
            first: None,
            ask: 1,
            ask_pairs: 1,
            rest: None,
            failure: None,
        }
    }

    /// The first left rows, once it is known that the right side comes in blocks.
    pub fn take_first(&mut self) -> Option<RecordBatch> {
        self.first.take()
    }
}

impl<P: Partners> Pairs<'_, P> {
    /// How many columns the output has.
    pub fn width(&self) -> usize {
        self.shape.schema.fields().len()
    }

    pub fn kind(&self) -> JoinKind {
        self.kind
    }

    pub fn next_left(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        types::stack::with_room(|| self.left.next(env, wanted))
    }

    /// Whether there are left rows whose partners are being found.
    pub fn has_left(&self) -> bool {
        self.batch.is_some()
    }

    /// Begins with left rows of which so much is known.
    pub fn start(&mut self, rows: RecordBatch, found: Vec<Found>, env: &mut Env<'_, '_>) -> Result<()> {
        self.partners.begin(&rows, env)?;
        self.batch = Some(LeftBatch::new(rows, found, self.partners.is_last_block()));
        Ok(())
    }

    /// The left rows that have been over the block.
    pub fn take_done(&mut self) -> Option<LeftBatch> {
        self.done.take()
    }

    pub fn is_last_block(&self) -> bool {
        self.partners.is_last_block()
    }

    pub fn next_block(&mut self, env: &mut Env<'_, '_>) -> Result<bool> {
        self.partners.next_block(env)
    }

    pub fn first_block_again(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        self.partners.first_block_again(env)
    }

    /// Takes the next batch of the left side; `false` if there is none, or if no row can come of it.
    fn begin(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<bool> {
        // A row of the left side becomes at least one row.
        let ask = match self.kind {
            JoinKind::Left | JoinKind::Mark => wanted,
            JoinKind::Inner | JoinKind::Semi | JoinKind::Anti => self.ask.max(wanted),
        };
        let Some(rows) = self.next_left(env, ask)? else {
            return Ok(false);
        };
        self.ask = if ask == ALL_ROWS {
            1
        } else {
            ask.saturating_mul(4).min(BATCH_ROWS)
        };
        let has_partners = self.partners.begin(&rows, env)?;
        if self.partners.is_in_blocks() {
            self.first = Some(rows);
            return Ok(false);
        }
        if !has_partners && matches!(self.kind, JoinKind::Inner | JoinKind::Semi) {
            return Ok(false);
        }
        let found = vec![Found::Nothing; rows.num_rows()];
        self.batch = Some(LeftBatch::new(rows, found, true));
        Ok(true)
    }

    /// The number of pairs that the next page may have.
    fn page_pairs(&mut self, wanted: usize) -> usize {
        match &self.condition {
            Some(condition) if condition.one_by_one => 1,
            Some(_) => {
                let pairs = self.ask_pairs.max(wanted).min(BATCH_ROWS);
                self.ask_pairs = pairs.saturating_mul(4).min(BATCH_ROWS);
                pairs
            }
            None => wanted.min(BATCH_ROWS),
        }
    }

    /// The output rows of the next page of pairs, and which left rows they have.
    pub fn next_page(
        &mut self,
        env: &mut Env<'_, '_>,
        wanted: usize,
    ) -> Result<Option<(RecordBatch, Vec<u32>)>> {
        let limit = self.page_pairs(wanted);
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let is_enough = matches!(self.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark);
        let left = (&batch.rows, &batch.widths);
        let mut page = Page::new(left, limit, is_enough, self.condition.is_some(), wanted);
        page.limit_bytes(batch.widths.even + self.partners.row_bytes(), BATCH_BYTES);
        self.partners.find(&mut page, &batch.found, env)?;
        self.failure = page.take_failure();
        let right = page.right_rows(&self.shape.right_types)?;
        let truths = self.truths(&page, &right, env.eval())?;
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let output = batch.output(&page, truths.as_ref(), self.kind);
        let rows = batch.rows.clone();
        if batch.finished == rows.num_rows() {
            let done = self.batch.take();
            self.done = done.filter(|_| self.partners.is_in_blocks());
        }
        let batch = self.output_rows(&output, &rows, &right)?;
        Ok(batch.map(|batch| (batch, output.left)))
    }

    /// The condition's truth for each pair; `None` if all are true.
    fn truths(&self, page: &Page, right: &RecordBatch, eval: &EvalContext) -> Result<Option<BooleanArray>> {
        match &self.condition {
            Some(condition) if page.pairs() > 0 => {
                let needs_nulls = self.kind == JoinKind::Mark;
                condition.truths(page, right, needs_nulls, eval).map(Some)
            }
            _ => Ok(None),
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
        let mut columns = Vec::with_capacity(self.shape.schema.fields().len());
        take_rows(left, &output.left, &mut columns)?;
        match self.kind {
            JoinKind::Inner => take_rows(right, &output.partners, &mut columns)?,
            JoinKind::Left => match output.right.iter().copied().collect::<Option<Vec<u32>>>() {
                Some(all) => take_rows(right, &all, &mut columns)?,
                None => take_all(right, &UInt32Array::from(output.right.clone()), &mut columns)?,
            },
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::Mark => columns.push(Arc::new(Int64Array::from(output.marks.clone()))),
        }
        batch_of(&self.shape.schema, columns, rows).map(Some)
    }
}

impl<P: Partners> Pairs<'_, P> {
    /// As [`crate::operator::Operator::next`]. `None` also where [`Self::take_first`] has rows: the right side comes in blocks.
    pub fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.rest.take() {
                let (now, later) = split(batch, wanted);
                self.rest = later;
                return Ok(Some(now));
            }
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            env.check_interrupted()?;
            if self.batch.is_none() && !self.begin(env, wanted)? {
                return Ok(None);
            }
            self.rest = self.next_page(env, wanted)?.map(|(batch, _)| batch);
        }
    }
}

impl LeftBatch {
    fn new(rows: RecordBatch, found: Vec<Found>, is_last: bool) -> Self {
        Self {
            found,
            finished: 0,
            is_last,
            widths: Rc::new(RowWidths::of(&rows)),
            rows,
        }
    }

    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// What is known of each row.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Notes what a page has found, and makes its output rows.
    fn output(&mut self, page: &Page, truths: Option<&BooleanArray>, kind: JoinKind) -> Output {
        let mut output = Output::default();
        if kind == JoinKind::Inner && truths.is_none() {
            output.left.clone_from(&page.left);
            output.partners.clone_from(&page.right);
            self.finished = self.finished.max(page.done());
            return output;
        }
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
                    match kind {
                        JoinKind::Inner => {
                            output.left.push(left);
                            output.partners.push(right);
                        }
                        JoinKind::Left => {
                            output.left.push(left);
                            output.right.push(Some(right));
                        }
                        _ => {}
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
            let is_settled = has_partner && matches!(kind, JoinKind::Semi | JoinKind::Mark);
            if !self.is_last && !is_settled {
                continue;
            }
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

/// Appends the rows at some positions: the columns themselves, where these are all rows in their order.
fn take_rows(batch: &RecordBatch, positions: &[u32], columns: &mut Vec<ArrayRef>) -> Result<()> {
    let rows = positions.len();
    if rows == batch.num_rows() && positions.iter().copied().eq(0..rows as u32) {
        columns.extend(batch.columns().iter().cloned());
        return Ok(());
    }
    take_all(batch, &UInt32Array::from(positions.to_vec()), columns)
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
