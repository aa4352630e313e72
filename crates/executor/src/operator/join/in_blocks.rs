//! A join for whose right side there is no memory: all left rows go over one block of it after the other. Between
//! two blocks the left rows are in a file, with what has been found for them; those that need no more partners are
//! left out. What the blocks give is sorted by the places of the left rows, so that it has the order that it would
//! have with all memory. Under a LIMIT the left rows are taken in chunks that grow, so that it ends early.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Field, Int64Type, Schema};
use arrow::record_batch::RecordBatch;
use functions::Expr;
use planner::plan::{JoinKind, SortKey};
use types::{Result, SqlType};

use super::page::Found;
use super::pairs::{LeftBatch, Pairs};
use super::partners::Partners;
use crate::batch::{ALL_ROWS, BATCH_ROWS, arrow_error, batch_of, keep};
use crate::env::Env;
use crate::operator::Operator;
use crate::operator::sort::Sort;
use crate::spill::{RowReader, RowWriter};

/// Where a LIMIT wants some rows of the join, first as many left rows are taken over all blocks, and each time after
/// that so many times as many.
const GROWTH: usize = 8;

/// The rows of a join in the order of its left side.
pub(in crate::operator) struct Ordered<'p> {
    blocks: Rc<RefCell<dyn InChunks + 'p>>,
    /// The rows of the left rows that have been taken.
    sorted: Option<Sort<'p>>,
    place: SortKey,
    /// How many left rows are taken next at least, if not all are.
    chunk_rows: usize,
}

/// Makes the rows of so many left rows, and then those of the next ones.
trait InChunks: Operator {
    /// Begins with the next `rows` left rows. `false`: there are none.
    fn next_chunk(&mut self, rows: usize, env: &mut Env<'_, '_>) -> Result<bool>;
}

/// The input of the sort, which ends with the chunk.
struct Chunk<'p>(Rc<RefCell<dyn InChunks + 'p>>);

impl Operator for Chunk<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        self.0.borrow_mut().next(env, wanted)
    }
}

impl<'p> Ordered<'p> {
    /// `first`: left rows that have been taken from `pairs` already.
    pub fn new<P: Partners + 'p>(pairs: Pairs<'p, P>, first: RecordBatch) -> Self {
        let place = SortKey {
            expr: Expr::column(pairs.width(), SqlType::BIGINT, false),
            descending: false,
        };
        let blocks = InBlocks {
            pairs,
            first: Some(first),
            source: None,
            later: None,
            places: Int64Array::from(Vec::<i64>::new()),
            count: 0,
            chunk_end: 0,
            left_has_ended: false,
        };
        Self {
            blocks: Rc::new(RefCell::new(blocks)),
            sorted: None,
            place,
            chunk_rows: 1,
        }
    }
}

impl Operator for Ordered<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(sorted) = &mut self.sorted {
                if let Some(batch) = sorted.next(env, wanted)? {
                    let columns: Vec<usize> = (0..batch.num_columns() - 1).collect();
                    return batch.project(&columns).map(Some).map_err(arrow_error);
                }
                self.sorted = None;
            }
            // Each time the right side is read again, so few rows are taken only where few may be enough.
            let rows = match wanted {
                ALL_ROWS => ALL_ROWS,
                _ => self.chunk_rows.max(wanted.min(BATCH_ROWS)),
            };
            if !self.blocks.borrow_mut().next_chunk(rows, env)? {
                return Ok(None);
            }
            self.chunk_rows = rows.saturating_mul(GROWTH);
            let chunk = Box::new(Chunk(Rc::clone(&self.blocks)));
            let sorted = Sort::new(chunk, std::slice::from_ref(&self.place), None)?;
            self.sorted = Some(sorted.sharing().uncounted());
        }
    }
}

/// The rows that the blocks give, each with the place of its left row in the last column.
struct InBlocks<'p, P> {
    pairs: Pairs<'p, P>,
    first: Option<RecordBatch>,
    /// The left rows for this block; `None`: they come from the left side.
    source: Option<RowReader>,
    /// Left rows for the next block.
    later: Option<RowWriter>,
    /// Of the left rows whose partners are being found.
    places: Int64Array,
    /// How many left rows there have been.
    count: i64,
    /// How many there will have been when the chunk has all of its rows.
    chunk_end: i64,
    left_has_ended: bool,
}

impl<P: Partners> InBlocks<'_, P> {
    /// Begins with the next left rows. `false`: there are none for this block.
    fn begin(&mut self, env: &mut Env<'_, '_>) -> Result<bool> {
        let Some(source) = &mut self.source else {
            let wanted = usize::try_from(self.chunk_end - self.count).unwrap_or_default();
            let (batch, again) = match self.first.take() {
                Some(first) => (Some(first), true),
                None if wanted == 0 || self.left_has_ended => return Ok(false),
                None => (self.pairs.next_left(env, wanted)?, false),
            };
            let Some(batch) = batch else {
                self.left_has_ended = true;
                return Ok(false);
            };
            let rows = batch.num_rows();
            let from = self.count;
            self.count += rows as i64;
            self.places = Int64Array::from_iter_values(from..self.count);
            self.start(batch, vec![Found::Nothing; rows], again, env)?;
            return Ok(true);
        };
        let Some(batch) = source.next()? else {
            return Ok(false);
        };
        let width = batch.num_columns() - 2;
        let numbers = |column: usize| batch.column(column).as_primitive::<Int64Type>();
        self.places = numbers(width).clone();
        let found = numbers(width + 1).values().iter().map(|found| found_of(*found));
        let found = found.collect();
        let columns: Vec<usize> = (0..width).collect();
        let rows = batch.project(&columns).map_err(arrow_error)?;
        self.start(rows, found, true, env)?;
        Ok(true)
    }

    /// Begins with left rows. `again`: their keys have been computed before, and have warned.
    fn start(
        &mut self,
        rows: RecordBatch,
        found: Vec<Found>,
        again: bool,
        env: &mut Env<'_, '_>,
    ) -> Result<()> {
        let mark = env.eval().warnings.count();
        self.pairs.start(rows, found, env)?;
        if again {
            drop(env.eval().warnings.take_back(mark));
        }
        Ok(())
    }

    /// Writes the left rows that the next block may have partners for.
    fn keep_for_later(&mut self, left: &LeftBatch, env: &Env<'_, '_>) -> Result<()> {
        let is_open = |found: &Found| match self.pairs.kind() {
            JoinKind::Inner | JoinKind::Left => true,
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark => *found != Found::Partner,
        };
        let open: BooleanArray = left.found().iter().map(|found| Some(is_open(found))).collect();
        let found = Int64Array::from_iter_values(left.found().iter().map(|found| number_of(*found)));
        let rows = left.rows();
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(self.places.clone()));
        columns.push(Arc::new(found));
        let batch = keep(&unnamed(columns, rows.num_rows())?, &open)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let writer = match &mut self.later {
            Some(writer) => writer,
            None => self.later.insert(RowWriter::new(&batch, env.ctx)?),
        };
        writer.write(&batch, env.ctx)
    }

    /// Goes on to the next block. `false`: there are no more left rows, or no more blocks.
    fn next_block(&mut self, env: &mut Env<'_, '_>) -> Result<bool> {
        let Some(later) = self.later.take() else {
            return Ok(false);
        };
        self.source = Some(later.finish()?.read()?);
        self.pairs.next_block(env)
    }
}

impl<P: Partners> InChunks for InBlocks<'_, P> {
    fn next_chunk(&mut self, rows: usize, env: &mut Env<'_, '_>) -> Result<bool> {
        if self.left_has_ended {
            return Ok(false);
        }
        if self.count > 0 {
            self.pairs.first_block_again(env)?;
        }
        self.source = None;
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.chunk_end = self.count.saturating_add(rows);
        Ok(true)
    }
}

impl<P: Partners> Operator for InBlocks<'_, P> {
    fn next(&mut self, env: &mut Env<'_, '_>, _: usize) -> Result<Option<RecordBatch>> {
        loop {
            env.check_interrupted()?;
            if !self.pairs.has_left() && !self.begin(env)? {
                if !self.next_block(env)? {
                    return Ok(None);
                }
                continue;
            }
            let page = self.pairs.next_page(env, ALL_ROWS)?;
            if let Some(left) = self.pairs.take_done()
                && !self.pairs.is_last_block()
            {
                self.keep_for_later(&left, env)?;
            }
            if let Some((batch, left)) = page {
                let places = take(&self.places, &UInt32Array::from(left), None).map_err(arrow_error)?;
                let mut columns = batch.columns().to_vec();
                columns.push(places);
                return unnamed(columns, batch.num_rows()).map(Some);
            }
        }
    }
}

fn unnamed(columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let field = |column: &ArrayRef| Field::new("", column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    batch_of(&Arc::new(schema), columns, rows)
}

/// As it is in a file.
fn number_of(found: Found) -> i64 {
    match found {
        Found::Nothing => 0,
        Found::Unknown => 1,
        Found::Partner => 2,
    }
}

fn found_of(number: i64) -> Found {
    match number {
        0 => Found::Nothing,
        1 => Found::Unknown,
        _ => Found::Partner,
    }
}
