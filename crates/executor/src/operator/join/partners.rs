//! What joins differ in: how the rows of the right side are found.

use arrow::record_batch::RecordBatch;
use types::Result;

use super::page::{Found, Page};
use crate::env::Env;

/// Finds the right side's rows that may go with the rows of the left side.
pub(in crate::operator) trait Partners {
    /// Takes the next batch of the left side. `false`: no row of the left side has a partner.
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool>;

    /// Adds pairs to a page, in the order of the left rows, and advances [`Page::done`]. It stops when the
    /// page is full or all left rows are done. A row that [`Page::is_settled`] needs no more pairs. `found`:
    /// what the pages before have found for each left row.
    fn find(&mut self, page: &mut Page, found: &[Found], env: &mut Env<'_, '_>) -> Result<()>;

    /// Whether the right side comes in blocks, because there is no memory for all of it. Known once [`Self::begin`]
    /// has been called. Then all left rows go over each block.
    fn is_in_blocks(&self) -> bool {
        false
    }

    /// Whether there is no block after this one.
    fn is_last_block(&self) -> bool {
        true
    }

    /// Goes on to the next block. `false`: there is none.
    fn next_block(&mut self, _: &mut Env<'_, '_>) -> Result<bool> {
        Ok(false)
    }

    /// Goes back to the first block. What it warns of has been reported before.
    fn first_block_again(&mut self, _: &mut Env<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// About how many bytes a row of the right side has, if that is known.
    fn row_bytes(&self) -> usize {
        0
    }
}
