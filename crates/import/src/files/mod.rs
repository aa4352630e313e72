//! `stemdb import DIR|FILE`: loads dumps, CSV and Parquet files, with several connections, and goes on where
//! a run was interrupted.
//!
//! - [`input`]: the files, their order and their bytes. [`statement`]: what a statement of a dump is.
//!   [`insert`]: the rows of an INSERT. [`records`]: lines of CSV. [`parquet`]: rows of Parquet as such lines.
//! - [`load`]: reads the files and cuts them into parts. [`rows`]: those without statements. [`part`]: a part.
//!   [`crew`]: the connections at work. [`writer`]: one of them. [`dump_rows`]: the INSERTs of a table in a dump
//!   as one statement ([`crate::whole`]). [`journal`]: what is loaded, on the target.
//! - [`report`]: the rows that were not taken, in files.
//!
//! A definition runs alone, after all that is before it; rows are loaded in any order.

mod arguments;
mod crew;
mod dump_rows;
mod input;
mod insert;
mod journal;
mod load;
mod load_data;
mod parquet;
mod part;
mod records;
mod report;
mod rows;
mod statement;
mod writer;

pub use arguments::Arguments;
pub use input::open_file as open;
pub(crate) use parquet::civil;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::{Common, Result};
use crew::Crew;
use input::Input;
use journal::Journal;
use load::Loader;
use part::Tally;
use writer::Writer;

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let start = Instant::now();
    let endpoint = Endpoint::target(&common.to)?;
    let database = endpoint.databases().into_iter().next();
    let inputs = into_database(
        input::inputs(arguments.inputs(), arguments.format)?,
        database.as_deref(),
        arguments,
    )?;
    let mut target = endpoint.connect()?;
    let journal = Journal::open(&mut target, &name(&inputs, &endpoint), common.restart)?;
    let loaded = journal.loaded(&mut target)?;
    let is_resumed = !loaded.is_empty();
    let format = Arc::new(arguments.lines(load::lines_kind(&inputs))?);
    let tally = Tally::default();
    let done = std::thread::scope(|scope| {
        let writer = || Writer::new(journal, &tally);
        let crew = Crew::start(scope, &endpoint, writer, &tally, usize::from(common.threads))?;
        let mut loader = Loader::new(
            arguments,
            common,
            &endpoint,
            journal,
            &format,
            (&crew, &tally),
            loaded,
        )?;
        let read = loader.run(&inputs);
        let notes = std::mem::take(&mut loader.notes);
        drop(loader);
        // A connection's own error is more useful than the error that reading was stopped because of it.
        crew.finish()?;
        read.map(|()| notes)
    });
    // A run that fails says where its rows are, too.
    let rejected = report::write(&mut target, journal, &arguments.rejected);
    let notes = match done {
        Ok(notes) => notes,
        Err(error) => {
            let hint = "\nWhat is loaded is stored: the same command goes on from there.";
            return Err(match error {
                Error::Arguments(_) => error,
                other => Error::Input(format!("{other}{hint}")),
            });
        }
    };
    let rejected = rejected?;
    for note in notes {
        eprintln!("Note: {note}");
    }
    report::summary(&tally, inputs.len(), start, is_resumed);
    journal.forget(&mut target)?;
    match rejected {
        None => match tally.rejected.load(Ordering::Relaxed) {
            0 => Ok(()),
            count => Err(Error::Rejected(format!(
                "{count} rows were not taken; see the warnings"
            ))),
        },
        Some(message) => Err(Error::Rejected(message)),
    }
}

/// The files of one database, in the one that the target's DSN names.
fn into_database(
    mut inputs: Vec<Input>,
    database: Option<&str>,
    arguments: &Arguments,
) -> Result<Vec<Input>> {
    if let Some(table) = &arguments.table {
        let (of_table, table) = match table.split_once('.') {
            Some((database, table)) => (Some(database.to_owned()), table),
            None => (None, table.as_str()),
        };
        for input in inputs
            .iter_mut()
            .filter(|input| input.kind != arguments::Kind::Sql)
        {
            input.table = Some(table.to_owned());
            input.database = of_table.clone();
        }
    }
    let Some(database) = database else {
        return Ok(inputs);
    };
    let mut names: Vec<&String> = inputs
        .iter()
        .filter_map(|input| input.database.as_ref())
        .collect();
    names.sort();
    names.dedup();
    if names.len() > 1 {
        return Err(Error::Arguments(format!(
            "--to names the database {database}, and the files are of {}: leave it out",
            names
                .into_iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    inputs.retain(|input| !input.name.contains("-schema-create."));
    for input in &mut inputs {
        input.database = Some(database.to_owned());
    }
    Ok(inputs)
}

/// The name of the import on the target.
fn name(inputs: &[Input], endpoint: &Endpoint) -> String {
    let paths = inputs.iter().map(|input| match &input.path {
        Some(path) => std::path::absolute(path)
            .unwrap_or_else(|_| path.clone())
            .display()
            .to_string(),
        None => "-".to_owned(),
    });
    let paths: Vec<String> = paths.collect();
    format!(
        "{} {:08x} to {}",
        paths.first().map_or("", String::as_str),
        crc32fast::hash(paths.join("\n").as_bytes()),
        endpoint.databases().join(",")
    )
}
