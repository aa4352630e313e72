//! Stored bytes to batches: decoding, the scan's filter, and the check that a row still belongs to the access
//! path.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use arrow::array::{BinaryBuilder, BooleanArray};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, TimeZone, eval_predicate};
use kv::KeyRange;
use planner::plan::TableScan;
use schema::layout::{Decoder, RowEncoder, TableLayout};
use types::Result;

use super::layout::{RowsLayout, ScanLayout};
use crate::batch::batch_of;
use crate::ranges::contain;

/// A scan for each row of another table often reads a few rows only.
const ROWS_BEFORE_ARRANGED: usize = 1_024;

/// Collects the rows of one batch. Its columns are the scan's. The row's key follows if it is asked for and
/// is not one of them.
pub(super) struct Rows<'p> {
    scan: &'p TableScan,
    /// The scan's filter with its constants computed.
    filter: Option<Cow<'p, Expr>>,
    /// How many rows have been filtered.
    filtered: Cell<usize>,
    /// The filter with long lists in order, once that is worth the time.
    arranged: OnceCell<Expr>,
    zone: TimeZone,
    decoder: Decoder,
    /// The rows' keys, and their place among the columns.
    keys: Option<(BinaryBuilder, usize)>,
    /// The index that leads to the rows, and the ranges of its entries.
    index: Option<(usize, Vec<KeyRange>)>,
    schema: SchemaRef,
}

impl<'p> Rows<'p> {
    pub fn scan(&self) -> &'p TableScan {
        self.scan
    }

    /// `covering`: the position of the index whose entries are read instead of rows.
    pub fn new(
        scan: &'p TableScan,
        covering: Option<usize>,
        index: Option<(usize, Vec<KeyRange>)>,
        with_keys: bool,
        eval: &EvalContext,
    ) -> Result<Self> {
        let own;
        let layout = match ScanLayout::of(scan)?.rows(scan, covering, with_keys)? {
            Some(kept) => kept,
            None => {
                own = RowsLayout::new(scan, covering, with_keys)?;
                &own
            }
        };
        Ok(Self {
            scan,
            filter: scan.filter.as_ref().map(|filter| functions::hoist(filter, eval)),
            filtered: Cell::new(0),
            arranged: OnceCell::new(),
            zone: eval.time_zone,
            decoder: Decoder::new(layout.decoder.clone(), eval.time_zone),
            keys: layout.place.map(|place| (BinaryBuilder::new(), place)),
            index,
            schema: layout.schema.clone(),
        })
    }

    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.decoder.push(key, value)?;
        if let Some((keys, _)) = &mut self.keys {
            keys.append_value(key);
        }
        Ok(())
    }

    /// The rows pushed since the last call.
    pub fn take(&mut self) -> Result<RecordBatch> {
        let rows = self.decoder.len();
        let mut columns = self.decoder.finish()?;
        if let Some((keys, place)) = &mut self.keys {
            columns.insert(*place, Arc::new(keys.finish()));
        }
        batch_of(&self.schema, columns, rows)
    }

    /// The scan's filter with its constants computed.
    pub fn constant_filter(&self) -> Option<&Expr> {
        self.filter.as_deref()
    }

    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether rows may be filtered before those ahead of them have left the scan.
    pub fn filters_ahead(&self) -> bool {
        !self.filter.as_deref().is_some_and(functions::reads_assigned)
    }

    /// Which rows of a batch satisfy the scan's filter.
    pub fn filter(&self, batch: &RecordBatch, eval: &EvalContext) -> Result<BooleanArray> {
        let Some(filter) = &self.filter else {
            return Ok(BooleanArray::from(vec![true; batch.num_rows()]));
        };
        if self.filtered.get() < ROWS_BEFORE_ARRANGED {
            self.filtered.set(self.filtered.get() + batch.num_rows());
            return eval_predicate(filter, batch, eval);
        }
        let arranged = || functions::arranged(Cow::Borrowed(filter.as_ref()), eval);
        eval_predicate(self.arranged.get_or_init(|| arranged().into_owned()), batch, eval)
    }

    /// Whether this access path would find the row in its current state.
    pub fn belongs(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        let Some((index, ranges)) = &self.index else {
            return Ok(true);
        };
        let table = &self.scan.table;
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let layout = TableLayout::new(table, &all)?;
        let row = layout.decode_row_values(key, value, self.zone)?;
        let handle = layout.handle_of_row_key(key)?;
        let encoder = RowEncoder::new(table)?;
        let mut belongs = false;
        encoder.index_entries_of(*index, &row, (key, &handle), self.zone, |entry| {
            belongs |= contain(ranges, &entry.key);
        })?;
        Ok(belongs)
    }
}
