//! SELECT ... INTO OUTFILE and INTO DUMPFILE: rows to a file on the server's disk.
//!
//! Source: manual 13.2.13.1, "SELECT ... INTO Statement".

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use executor::RowSink;
use functions::Strictness;
use optimizer::Planned;
use planner::CachedPlan;
use planner::command::IntoFile;
use planner::plan::{Plan, QueryPlan};
use runner::Evaluation;
use types::array::ColumnView;
use types::{Error, Result, errno};

use super::field_writer::FieldWriter;
use crate::compiled::Compiled;
use crate::execute::schema_has_changed;
use crate::reply::Done;
use crate::server_files;
use crate::session::Session;
use crate::virtual_tables::ServerTables;

pub fn run(session: &mut Session, command: &IntoFile) -> Result<Done> {
    server_files::check_usable(&session.view(), &command.file)?;
    let plan = plan(session, command)?;
    let Plan::Query(query) = &plan.plan else {
        return Err(Error::internal("rows of what is no query"));
    };
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
        // A part of the rows is of no use, and would stand in the way of the next try.
        let _ = fs::remove_file(&sink.path);
        return Err(error);
    }
    session.last.found_rows = sink.rows;
    Ok(Done {
        affected: sink.rows,
        ..Done::default()
    })
}

fn plan(session: &mut Session, command: &IntoFile) -> Result<Arc<CachedPlan>> {
    let Planned::Plan(planned) = session.optimized(command.query.clone(), true)? else {
        return Err(Error::internal("rows of what is no query"));
    };
    let plan = CachedPlan::new(planned.plan, planned.accesses, command.schema_version, 0, false);
    let mut compiled = Compiled::Plan(Arc::new(plan));
    session.lock_current(&mut compiled, &|_| Err(schema_has_changed()))?;
    match compiled {
        Compiled::Plan(plan) => Ok(plan),
        _ => Err(Error::internal("a plan that is none")),
    }
}

fn write(session: &mut Session, query: &QueryPlan, sink: &mut FileSink<'_>) -> Result<()> {
    let eval = session.command_context(Strictness::Warn);
    let mut parts = session.parts();
    let with = Evaluation {
        context: &eval,
        tables: &ServerTables { view: parts.view },
        file: None,
    };
    let result = parts
        .runner
        .statement(|runner| runner.query(query, with, &mut *sink));
    session.end_of_evaluation(&eval);
    result?;
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

/// The values and nothing else; NULL is a byte 0.
fn dump(views: &[ColumnView<'_>], row: usize, out: &mut Vec<u8>) {
    for view in views {
        match view.is_null(row) {
            true => out.push(0),
            false => view.write_text(row, out),
        }
    }
}
