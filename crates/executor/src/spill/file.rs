//! The rows of one temporary file: written once, then read as often as needed, each time from the start.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use types::{Error, Result};

use crate::batch::{BATCH_BYTES, BATCH_ROWS, batch_bytes};
use crate::context::ExecContext;

/// MySQL's number for a disk without room.
const ER_DISK_FULL: u16 = 1021;

/// The fraction of a statement's memory that a batch in a file may have: files are merged, a batch of each at a time.
const PIECES: usize = 64;

/// A file that is being written.
pub(crate) struct RowWriter {
    stream: StreamWriter<BufWriter<File>>,
    rows: usize,
    bytes: usize,
    largest: usize,
    piece_bytes: usize,
}

/// A file that has been written.
pub(crate) struct RowFile {
    file: Arc<File>,
    pub rows: usize,
    pub bytes: usize,
    /// The bytes of its largest batch.
    pub largest: usize,
}

/// Reads a file's rows.
pub(crate) struct RowReader {
    stream: StreamReader<BufReader<At>>,
}

/// A position of its own in a file that others read, too.
struct At {
    file: Arc<File>,
    position: u64,
}

impl RowWriter {
    /// A new file for rows of the form of `batch`.
    ///
    /// # Errors
    /// 1021 if the disk is full; those of the system.
    pub fn new(batch: &RecordBatch, ctx: &ExecContext<'_>) -> Result<Self> {
        let file = ctx.spill.file()?;
        let stream = StreamWriter::try_new(BufWriter::new(file), &batch.schema()).map_err(failed)?;
        Ok(Self {
            stream,
            rows: 0,
            bytes: 0,
            largest: 0,
            piece_bytes: (ctx.memory_limit_bytes / PIECES).min(BATCH_BYTES / 8),
        })
    }

    /// How many rows of this size should be in a batch of the file.
    pub fn piece_rows(&self, row_bytes: usize) -> usize {
        (self.piece_bytes / row_bytes.max(1)).clamp(1, BATCH_ROWS)
    }

    /// # Errors
    /// As [`RowWriter::new`].
    pub fn write(&mut self, batch: &RecordBatch, ctx: &ExecContext<'_>) -> Result<()> {
        let bytes = batch_bytes(batch);
        ctx.spill.take(bytes)?;
        let step = self.piece_rows(bytes / batch.num_rows().max(1));
        for first in (0..batch.num_rows()).step_by(step) {
            let piece = batch.slice(first, step.min(batch.num_rows() - first));
            self.largest = self.largest.max(batch_bytes(&piece));
            self.stream.write(&piece).map_err(failed)?;
        }
        self.rows += batch.num_rows();
        self.bytes += bytes;
        Ok(())
    }

    /// # Errors
    /// As [`RowWriter::new`].
    pub fn finish(self) -> Result<RowFile> {
        let buffered = self.stream.into_inner().map_err(failed)?;
        let file = buffered
            .into_inner()
            .map_err(|error| io_failed(&error.into_error()))?;
        Ok(RowFile {
            file: Arc::new(file),
            rows: self.rows,
            bytes: self.bytes,
            largest: self.largest,
        })
    }
}

impl RowFile {
    /// # Errors
    /// Those of the system.
    pub fn read(&self) -> Result<RowReader> {
        let at = At {
            file: Arc::clone(&self.file),
            position: 0,
        };
        let stream = StreamReader::try_new(BufReader::new(at), None).map_err(failed)?;
        Ok(RowReader { stream })
    }
}

impl RowReader {
    /// # Errors
    /// Those of the system.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.stream.next().transpose().map_err(failed)
    }
}

impl Read for At {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(into, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

fn failed(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => io_failed(&error),
        other => Error::internal(format_args!("a temporary file of the statement: {other}")),
    }
}

/// The client's error where a temporary file cannot be written or read.
pub fn io_failed(error: &std::io::Error) -> Error {
    let full = matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    );
    match full {
        true => Error::new(
            ER_DISK_FULL,
            format!(
                "The disk is full: the statement needs more memory than one statement may hold, and there is no \
                 room for its temporary files; narrow what it sorts, groups or joins, or raise stemdb_memory_limit \
                 ({error})"
            ),
        ),
        false => Error::internal(format_args!("a temporary file of the statement: {error}")),
    }
}
