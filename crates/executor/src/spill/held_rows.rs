//! Rows that an operator makes once and reads later, once or several times: in memory and counted, until there is
//! no more memory; then all of them in a file.

use std::rc::Rc;

use arrow::record_batch::RecordBatch;
use types::Result;

use super::file::{RowFile, RowReader, RowWriter};
use crate::batch::batch_bytes;
use crate::context::ExecContext;
use crate::memory::Memory;

#[derive(Default)]
pub(crate) struct HeldRows {
    batches: Vec<RecordBatch>,
    bytes: usize,
    file: Option<RowFile>,
}

/// Rows that are still being added.
#[derive(Default)]
pub(crate) struct HeldRowsBuilder {
    rows: HeldRows,
    writer: Option<RowWriter>,
}

/// Reads all rows, in the order in which they were added.
pub(crate) struct HeldRowsReader {
    rows: Rc<HeldRows>,
    given: usize,
    file: Option<RowReader>,
}

impl HeldRowsBuilder {
    /// # Errors
    /// Those of [`Memory::try_grow`] and of the file.
    pub fn add(&mut self, batch: RecordBatch, memory: &Memory<'_>, ctx: &ExecContext<'_>) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return writer.write(&batch, ctx);
        }
        let bytes = batch_bytes(&batch);
        if memory.try_grow(bytes)? {
            self.rows.bytes += bytes;
            self.rows.batches.push(batch);
            return Ok(());
        }
        ctx.eval.reads.moved_to_files();
        let writer = self.writer.insert(RowWriter::new(&batch, ctx)?);
        for held in self.rows.batches.drain(..) {
            writer.write(&held, ctx)?;
        }
        memory.shrink(std::mem::take(&mut self.rows.bytes));
        writer.write(&batch, ctx)
    }

    pub fn is_empty(&self) -> bool {
        self.writer.is_none() && self.rows.batches.is_empty()
    }

    /// # Errors
    /// Those of the file.
    pub fn finish(self) -> Result<HeldRows> {
        Ok(HeldRows {
            file: self.writer.map(RowWriter::finish).transpose()?,
            ..self.rows
        })
    }
}

impl HeldRows {
    pub fn builder() -> HeldRowsBuilder {
        HeldRowsBuilder::default()
    }

    /// Rows that have been written.
    pub fn of_file(file: RowFile) -> Rc<Self> {
        Rc::new(Self {
            file: Some(file),
            ..Self::default()
        })
    }

    pub fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// The bytes of the statement's memory that they hold.
    pub fn held_bytes(&self) -> usize {
        self.bytes
    }

    /// # Errors
    /// Those of the file.
    pub fn read(self: &Rc<Self>) -> Result<HeldRowsReader> {
        Ok(HeldRowsReader {
            rows: Rc::clone(self),
            given: 0,
            file: self.file.as_ref().map(RowFile::read).transpose()?,
        })
    }
}

impl HeldRowsReader {
    /// # Errors
    /// Those of the file.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.rows.batches.get(self.given) {
            self.given += 1;
            return Ok(Some(batch.clone()));
        }
        match &mut self.file {
            Some(file) => file.next(),
            None => Ok(None),
        }
    }
}
