//! SELECT ... INTO OUTFILE and INTO DUMPFILE: rows to a file on the server's disk.
//!
//! Source: manual 13.2.13.1, "SELECT ... INTO Statement".

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use arrow::record_batch::RecordBatch;
use executor::RowSink;
use planner::command::IntoFile;
use planner::plan::QueryPlan;
use schema::privilege::Privilege;
use types::array::ColumnView;
use types::{Error, Result, errno};

use super::field_writer::FieldWriter;
use super::inner_plan;
use crate::compile;
use crate::reply::Done;
use crate::server_files;
use crate::session::Session;

pub fn run(session: &mut Session, command: &IntoFile) -> Result<Done> {
    session.client.check_any("FILE", &[Privilege::File], &[])?;
    server_files::check_usable(&session.view(), &command.file)?;
    let planned = compile::optimized(session, command.query.clone(), true)?;
    let plan = inner_plan::lock(session, planned, command.schema_version)?;
    let query = inner_plan::query_of(&plan)?;
    let (path, file) = server_files::create(&session.view(), &command.file)?;
    let mut sink = FileSink {
        query,
        fields: command
            .format
            .as_ref()
            .map(|format| FieldWriter::new(format, command.charset, &query.columns)),
        out: BufWriter::new(file),
        path,
        line: Vec::new(),
        rows: 0,
    };
    if sink.fields.as_ref().is_some_and(FieldWriter::is_ambiguous) {
        session
            .diagnostics
            .add(super::field_writer::ambiguous_terminator());
    }
    let result = write(session, query, &mut sink);
    if let Err(error) = result {
        // A file with a part of the rows is useless, and would make the next attempt fail.
        let _ = fs::remove_file(&sink.path);
        return Err(error);
    }
    session.last.found_rows = sink.rows;
    Ok(Done {
        affected: sink.rows,
        ..Done::default()
    })
}

fn write(session: &mut Session, query: &QueryPlan, sink: &mut FileSink<'_>) -> Result<()> {
    inner_plan::query(session, query, sink)?;
    let flushed = sink.out.flush();
    flushed.map_err(|error| server_files::writing_failed(&sink.path, &error))
}

/// Writes rows to the file.
struct FileSink<'a> {
    query: &'a QueryPlan,
    /// `None`: DUMPFILE.
    fields: Option<FieldWriter>,
    out: BufWriter<File>,
    path: PathBuf,
    line: Vec<u8>,
    rows: u64,
}

impl RowSink for FileSink<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(&self.query.columns);
        let views: Vec<ColumnView<'_>> = columns
            .map(|(array, column)| ColumnView::new(array, &column.ty))
            .collect();
        for row in 0..batch.num_rows() {
            self.line.clear();
            match &mut self.fields {
                Some(fields) => fields.line(&views, row, &mut self.line),
                None if self.rows > 0 => {
                    return Err(Error::new(
                        errno::ER_TOO_MANY_ROWS,
                        "Result consisted of more than one row",
                    ));
                }
                None => dump(&views, row, &mut self.line),
            }
            self.rows += 1;
            let written = self.out.write_all(&self.line);
            written.map_err(|error| server_files::writing_failed(&self.path, &error))?;
        }
        Ok(())
    }
}

/// The values without separators. NULL is a byte 0.
fn dump(views: &[ColumnView<'_>], row: usize, out: &mut Vec<u8>) {
    for view in views {
        match view.is_null(row) {
            true => out.push(0),
            false => view.write_text(row, out),
        }
    }
}
