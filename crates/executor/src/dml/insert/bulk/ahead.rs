//! How long a file is, by reading ahead: whether it is worth a bulk load, and whether a transaction could hold it.

use types::{Result, errno};

use crate::context::ExecContext;
use crate::dml::image::ImageMaker;
use crate::field_reader::FieldReader;
use crate::memory::Memory;

/// What is read ahead at most.
const AHEAD_BYTES: usize = 64 << 20;
/// What a row or an index entry takes in a transaction besides the bytes of its fields: its key, and what is kept
/// with it.
const ENTRY_BYTES: usize = 200;
/// The length of a line, where nothing ends lines.
const SHORT_LINE: usize = 16;

pub(in super::super) struct Ahead<'m, 'e> {
    /// A file that is not longer is not worth a bulk load.
    bulk_bytes: usize,
    /// A row with its index entries.
    entries: usize,
    memory: &'m Memory<'e>,
    /// Of the reader's buffer, in the statement's memory.
    counted: usize,
    /// In the first bytes of what has been read.
    lines: usize,
    seen: usize,
}

impl<'m, 'e> Ahead<'m, 'e> {
    pub fn new(bulk_bytes: usize, maker: &ImageMaker<'_>, memory: &'m Memory<'e>) -> Self {
        Self {
            bulk_bytes,
            entries: 1 + maker.secondary().len(),
            memory,
            counted: 0,
            lines: 0,
            seen: 0,
        }
    }

    /// Whether a file is worth a bulk load into an empty table.
    pub(super) fn is_worth_it(&mut self, reader: &mut FieldReader<'_>) -> Result<bool> {
        match self.bulk_bytes {
            // A limit that no file is compared with.
            least if least > AHEAD_BYTES => Ok(false),
            least => self.read(reader, |bytes, _| bytes > least),
        }
    }

    /// The same for a table that has rows.
    pub(super) fn is_worth_it_behind_rows(
        &mut self,
        reader: &mut FieldReader<'_>,
        ctx: &ExecContext<'_>,
    ) -> Result<bool> {
        Ok(self.bulk_bytes == 0 || self.is_long(reader, ctx)?)
    }

    /// Whether a file might be more than a transaction may write. A shorter one can be inserted row by row.
    pub(super) fn is_long(&mut self, reader: &mut FieldReader<'_>, ctx: &ExecContext<'_>) -> Result<bool> {
        let entries = self.entries;
        let most = ctx.store.limits().transaction_bytes / 4 * 3;
        self.read(reader, |bytes, lines| {
            let written = 2 * bytes + lines.saturating_mul(entries * ENTRY_BYTES);
            bytes >= AHEAD_BYTES || written > most
        })
    }

    /// Reads ahead until `is_enough` says so of the bytes and lines, or there is no more memory for it. `false`: the
    /// file ends before.
    fn read(
        &mut self,
        reader: &mut FieldReader<'_>,
        is_enough: impl Fn(usize, usize) -> bool,
    ) -> Result<bool> {
        loop {
            let ahead = reader.ahead();
            let new = ahead.get(self.seen..).unwrap_or_default();
            self.lines += match reader.line_end() {
                Some(end) => new.iter().filter(|byte| **byte == end).count(),
                None => new.len() / SHORT_LINE,
            };
            self.seen = ahead.len();
            if is_enough(self.seen, self.lines) {
                return Ok(true);
            }
            if !reader.read_ahead()? {
                return Ok(false);
            }
            let more = reader.ahead_bytes().saturating_sub(self.counted);
            match self.memory.grow(more) {
                Ok(()) => self.counted += more,
                Err(error) if error.code == errno::ER_MEMORY_EXCEEDED => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// Once all of it has been taken, it is held no longer.
    pub fn forget_taken(&mut self, reader: &FieldReader<'_>) {
        let less = self.counted.saturating_sub(reader.ahead_bytes());
        self.counted -= less;
        self.memory.shrink(less);
    }
}
