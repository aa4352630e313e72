//! Rows for whose keys there is no memory, in one file for each part of the keys' hashes: all rows of a key are in
//! the same part, and a part has fewer keys.

use std::hash::{DefaultHasher, Hasher};

use arrow::array::{BooleanArray, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use types::Result;

use super::file::{RowFile, RowWriter};
use crate::batch::{BATCH_ROWS, arrow_error, batch_bytes};
use crate::context::ExecContext;
use crate::env::Env;
use crate::memory::Held;

/// How many parts there are.
pub(crate) const PARTS: usize = 16;

/// What a part gathers before it is written: this, or [`SHARE`] of a small limit of the statement.
const GATHERED_BYTES: usize = 64 << 10;
const SHARE: usize = 256;

pub(crate) struct SetAside {
    /// How often the rows have been divided before. Each time other keys come together.
    level: u64,
    parts: [Part; PARTS],
    held: Held,
}

#[derive(Default)]
struct Part {
    gathered: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    writer: Option<RowWriter>,
}

impl SetAside {
    pub fn new(level: u64) -> Self {
        Self {
            level,
            parts: Default::default(),
            held: Held::default(),
        }
    }

    /// Takes the rows of a batch for which `waits` is true. `keys`: one for each row of the batch.
    ///
    /// # Errors
    /// Those of the files.
    pub fn add(
        &mut self,
        batch: &RecordBatch,
        keys: &Rows,
        waits: &BooleanArray,
        env: &Env<'_, '_>,
    ) -> Result<()> {
        let mut of_parts: [Vec<u32>; PARTS] = Default::default();
        for (row, key) in keys.iter().enumerate().filter(|(row, _)| waits.value(*row)) {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(self.level);
            hasher.write(key.data());
            of_parts[hasher.finish() as usize % PARTS].push(row as u32);
        }
        for (part, rows) in self.parts.iter_mut().zip(of_parts) {
            if !rows.is_empty() {
                let rows = take_record_batch(batch, &UInt32Array::from(rows)).map_err(arrow_error)?;
                part.add(rows, env.ctx)?;
            }
        }
        self.held
            .note(self.parts.iter().map(|part| part.bytes).sum(), env.memory)
    }

    /// The parts; `None` for one without rows.
    ///
    /// # Errors
    /// Those of the files.
    pub fn finish(mut self, env: &Env<'_, '_>) -> Result<Vec<Option<RowFile>>> {
        self.held.note(0, env.memory)?;
        let finish = |mut part: Part| {
            part.write(env.ctx)?;
            part.writer.map(RowWriter::finish).transpose()
        };
        self.parts.into_iter().map(finish).collect()
    }
}

impl Part {
    fn add(&mut self, rows: RecordBatch, ctx: &ExecContext<'_>) -> Result<()> {
        self.rows += rows.num_rows();
        self.bytes += batch_bytes(&rows);
        self.gathered.push(rows);
        if self.rows >= BATCH_ROWS || self.bytes >= GATHERED_BYTES.min(ctx.memory_limit_bytes / SHARE) {
            self.write(ctx)?;
        }
        Ok(())
    }

    fn write(&mut self, ctx: &ExecContext<'_>) -> Result<()> {
        let Some(first) = self.gathered.first() else {
            return Ok(());
        };
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(RowWriter::new(first, ctx)?),
        };
        let rows = concat_batches(first.schema_ref(), &self.gathered).map_err(arrow_error)?;
        writer.write(&rows, ctx)?;
        self.gathered.clear();
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}
