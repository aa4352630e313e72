//! All rows of the right side are partners of each left row. They are held in memory and counted.

use arrow::record_batch::RecordBatch;
use types::Result;

use super::page::{Found, Page};
use super::partners::Partners;
use super::right_side::RightSide;
use crate::batch::RowWidths;
use crate::env::Env;

pub(in crate::operator) struct AllPartners<'p> {
    right: RightSide<'p>,
    /// `None` before the first left row.
    rows: Option<(RecordBatch, RowWidths)>,
    left_rows: usize,
    /// The next pair.
    row: usize,
    right_row: usize,
}

impl<'p> AllPartners<'p> {
    pub fn new(right: RightSide<'p>) -> Self {
        Self {
            right,
            rows: None,
            left_rows: 0,
            row: 0,
            right_row: 0,
        }
    }
}

impl Partners for AllPartners<'_> {
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool> {
        if self.rows.is_none() {
            let rows = self.right.rows(env)?;
            let widths = RowWidths::of(&rows);
            self.rows = Some((rows, widths));
        }
        self.left_rows = left.num_rows();
        (self.row, self.right_row) = (0, 0);
        Ok(self.rows.as_ref().is_some_and(|(rows, _)| rows.num_rows() > 0))
    }

    fn find(&mut self, page: &mut Page, found: &[Found], _: &mut Env<'_, '_>) -> Result<()> {
        let Some((rows, widths)) = &self.rows else {
            return Ok(());
        };
        page.add_right(rows.clone());
        while self.row < self.left_rows && !page.is_full() {
            let found = found.get(self.row).copied().unwrap_or(Found::Nothing);
            let is_settled = page.is_settled(found) || page.settles_at_once() && self.right_row > 0;
            if is_settled || self.right_row == rows.num_rows() {
                (self.row, self.right_row) = (self.row + 1, 0);
                continue;
            }
            page.push(self.row, self.right_row as u32);
            page.count_bytes(widths.wide(self.right_row));
            self.right_row += 1;
        }
        page.set_done(self.row);
        Ok(())
    }

    fn is_in_blocks(&self) -> bool {
        self.right.is_in_blocks()
    }

    fn is_last_block(&self) -> bool {
        self.right.is_last_block()
    }

    fn next_block(&mut self, env: &mut Env<'_, '_>) -> Result<bool> {
        self.rows = None;
        let rows = self.right.next_block(env)?;
        self.rows = rows.map(|rows| {
            let widths = RowWidths::of(&rows);
            (rows, widths)
        });
        Ok(self.rows.is_some())
    }

    fn first_block_again(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        self.rows = None;
        let rows = self.right.first_block_again(env)?;
        let widths = RowWidths::of(&rows);
        self.rows = Some((rows, widths));
        Ok(())
    }

    fn row_bytes(&self) -> usize {
        self.rows.as_ref().map_or(0, |(_, widths)| widths.even)
    }
}
