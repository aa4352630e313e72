//! A page of pairs of rows, which [`super::partners::Partners`] fill.

use std::rc::Rc;

use arrow::compute;
use arrow::record_batch::RecordBatch;
use types::{Error, Result, SqlType};

use crate::batch::{BATCH_BYTES, RowWidths, arrow_error, batch_bytes, schema_of};

/// Pairs for which there is room from the start.
const PAIRS: usize = 32;

/// What is known of a left row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::operator) enum Found {
    Nothing,
    /// The comparison with some right row is NULL.
    Unknown,
    Partner,
}

pub(in crate::operator) struct Page {
    rows: RecordBatch,
    /// The pairs: positions in the left batch and in [`Page::right_rows`].
    pub left: Vec<u32>,
    pub right: Vec<u32>,
    /// The numbers of the pairs whose keys compare as NULL, in order.
    unknown: Vec<usize>,
    /// The right side's rows, one batch after the other.
    parts: Vec<RecordBatch>,
    part_rows: usize,
    part_bytes: usize,
    left_widths: Rc<RowWidths>,
    /// What the wide rows of the pairs have together. A row may be in many pairs.
    pair_bytes: usize,
    done: usize,
    /// What ended the page early. The rows before it still count.
    failure: Option<Error>,
    limit: usize,
    one_is_enough: bool,
    has_condition: bool,
    /// How many rows the statement can still use.
    pub wanted: usize,
}

impl Page {
    /// `limit`: the number of pairs. `one_is_enough`: a left row needs one partner only.
    pub fn new(
        (rows, left_widths): (&RecordBatch, &Rc<RowWidths>),
        limit: usize,
        one_is_enough: bool,
        has_condition: bool,
        wanted: usize,
    ) -> Self {
        Self {
            rows: rows.clone(),
            left: Vec::with_capacity(limit.min(PAIRS)),
            right: Vec::with_capacity(limit.min(PAIRS)),
            unknown: Vec::new(),
            parts: Vec::new(),
            part_rows: 0,
            part_bytes: 0,
            left_widths: Rc::clone(left_widths),
            pair_bytes: 0,
            done: 0,
            failure: None,
            limit,
            one_is_enough,
            has_condition,
            wanted,
        }
    }

    /// Limits the page to so many pairs as have `bytes`, where each has `row_bytes`.
    pub fn limit_bytes(&mut self, row_bytes: usize, bytes: usize) {
        self.limit = self.limit.min(bytes / row_bytes.max(1)).max(1);
    }

    pub fn left_rows(&self) -> &RecordBatch {
        &self.rows
    }

    pub fn pairs(&self) -> usize {
        self.left.len()
    }

    /// How many more pairs there may be.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.left.len())
    }

    pub fn is_full(&self) -> bool {
        self.left.len() >= self.limit || self.pair_bytes >= BATCH_BYTES
    }

    /// Counts the bytes of the last pair's right row, if it is wide.
    pub fn count_bytes(&mut self, bytes: usize) {
        self.pair_bytes += bytes;
    }

    /// Whether more rows of the right side may be added.
    pub fn has_room_for_rows(&self) -> bool {
        self.part_bytes < BATCH_BYTES
    }

    /// Whether a left row needs one partner only.
    pub fn one_is_enough(&self) -> bool {
        self.one_is_enough
    }

    /// Whether a left row needs no more pairs, after the pages before.
    pub fn is_settled(&self, found: Found) -> bool {
        self.one_is_enough && found == Found::Partner
    }

    /// Whether one pair settles a left row.
    pub fn settles_at_once(&self) -> bool {
        self.one_is_enough && !self.has_condition
    }

    /// The left rows before `row` have no more pairs.
    pub fn set_done(&mut self, row: usize) {
        self.done = row;
    }

    pub fn done(&self) -> usize {
        self.done
    }

    /// Ends the page: the left row `row` has failed. The rows before it come first, as they would without
    /// pages.
    pub fn fail(&mut self, row: usize, error: Error) {
        let pairs = self.left.partition_point(|left| (*left as usize) < row);
        self.left.truncate(pairs);
        self.right.truncate(pairs);
        self.done = row;
        self.failure = Some(error);
    }

    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Pairs a left row with the row at a position of the right side.
    pub fn push(&mut self, left: usize, right: u32) {
        self.pair_bytes += self.left_widths.wide(left);
        self.left.push(left as u32);
        self.right.push(right);
    }

    /// The same for rows whose keys compare as NULL.
    pub fn push_unknown(&mut self, left: usize, right: u32) {
        self.unknown.push(self.left.len());
        self.push(left, right);
    }

    pub fn is_unknown(&self, pair: usize) -> bool {
        !self.unknown.is_empty() && self.unknown.binary_search(&pair).is_ok()
    }

    /// Adds rows of the right side. Returns the position of the first of them.
    pub fn add_right(&mut self, rows: RecordBatch) -> u32 {
        let first = self.part_rows;
        self.part_rows += rows.num_rows();
        self.part_bytes += batch_bytes(&rows);
        self.parts.push(rows);
        first as u32
    }

    /// Adds rows of the right side, each of which is a pair with a left row.
    pub fn push_rows(&mut self, left: usize, rows: RecordBatch) {
        let count = rows.num_rows();
        let first = self.add_right(rows);
        for row in 0..count as u32 {
            self.push(left, first + row);
        }
    }

    /// The right side's rows as one batch.
    pub fn right_rows(&mut self, types: &[SqlType]) -> Result<RecordBatch> {
        match self.parts.as_slice() {
            [] => Ok(RecordBatch::new_empty(schema_of(types))),
            [one] => Ok(one.clone()),
            several => compute::concat_batches(several[0].schema_ref(), several).map_err(arrow_error),
        }
    }
}
