//! `stemdb export`: writes databases at one consistent point, with several connections, as SQL, CSV or
//! Parquet.
//!
//! A directory has a file for each definition and for each chunk of rows, named as mydumper names them. One
//! file of SQL is what mysqldump would write. `stemdb import`, the `mysql` client and myloader load them.
//!
//! - [`value`]: values as text. [`sql`], [`csv`], [`parquet`]: files of rows. [`output`]: where bytes go.

mod csv;
mod output;
mod parquet;
mod sql;
mod value;

use std::collections::VecDeque;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use loadgen::progress::Progress;
use mysql::Value;

use crate::Result;
use crate::chunk::{self, Chunk, chunks};
use crate::endpoint::{Client, Endpoint, quoted};
use crate::error::Error;
use crate::inventory::{Column, Inventory, Table, View};
use crate::snapshot::Snapshot;
use output::{Output, Part};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Sql,
    /// With a header, and a LOAD DATA statement beside each file
    Csv,
    Parquet,
}

/// The command line of `stemdb export`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server, and the databases: `mysql://USER:PASSWORD@HOST:PORT/DB,DB`
    #[arg(long, value_name = "DSN")]
    from: String,
    /// A directory that is new or empty, or with --file a file of SQL; `-` is standard output
    #[arg(value_name = "DIR|FILE")]
    to: PathBuf,
    #[arg(long, value_enum, default_value = "sql")]
    format: Format,
    /// One file of SQL, as mysqldump writes it
    #[arg(long)]
    file: bool,
    /// Connections that read
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
}

/// Takes the rows of a chunk.
pub(crate) trait RowWriter {
    fn row(&mut self, row: Vec<Value>) -> Result<()>;
    /// Ends the file. Returns what could not be written as it is, one line each.
    fn finish(self: Box<Self>) -> Result<Vec<String>>;
}

/// A chunk to write.
struct Job<'i> {
    table: &'i Table,
    chunk: Chunk,
    part: Part,
}

/// Runs `stemdb export`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    let source = Endpoint::source(&arguments.from)?;
    let databases = source.databases();
    if databases.is_empty() {
        return Err(Error::Arguments(
            "--from names no database: mysql://USER@HOST/DB[,DB]".to_owned(),
        ));
    }
    if arguments.file && arguments.format != Format::Sql {
        return Err(Error::Arguments(
            "--file is for SQL: other formats have a file for each table".to_owned(),
        ));
    }
    let directory = (!arguments.file).then(|| prepare(&arguments.to)).transpose()?;
    let mut snapshot = Snapshot::open(&source, &databases, usize::from(arguments.threads))?;
    let inventory = std::mem::take(&mut snapshot.inventory);
    if let Some(directory) = &directory {
        definitions(directory, &inventory, arguments.format)?;
    }
    let planned = plan(&mut snapshot.readers, &inventory)?;
    let (jobs, mut receivers) = jobs(planned, directory.as_deref());
    let export = Export {
        format: arguments.format,
        progress: Progress::new("exporting", jobs.len() as u64),
        jobs: Mutex::new(jobs),
        stop: AtomicBool::new(false),
        done: AtomicU64::new(0),
        rows: AtomicU64::new(0),
        notes: Mutex::new(Vec::new()),
    };
    let (to, described) = (&arguments.to, &inventory);
    export.run(&mut snapshot.readers, move || match arguments.file {
        true => sql::whole(to, described, &mut receivers),
        false => Ok(()),
    })?;
    export.progress.finish();
    if let Some(directory) = &directory {
        finish(directory, &snapshot)?;
    }
    for note in inventory
        .left_out
        .iter()
        .chain(export.notes.into_inner().unwrap_or_default().iter())
    {
        eprintln!("Note: {note}");
    }
    let rows = export.rows.into_inner();
    let seconds = start.elapsed().as_secs_f64();
    eprintln!(
        "{} tables, {rows} rows in {seconds:.1} s ({:.0} rows/s).",
        inventory.tables.len(),
        rows as f64 / seconds.max(1e-3)
    );
    Ok(())
}

/// The jobs of the threads. Without a directory, also where the file of SQL gets the chunks from, in order.
fn jobs<'i>(planned: Vec<(&'i Table, Chunk)>, directory: Option<&Path>) -> (VecDeque<Job<'i>>, sql::Chunks) {
    let mut receivers = VecDeque::new();
    let job = |(table, chunk): (&'i Table, Chunk)| {
        let part = match directory {
            Some(directory) => {
                Part::File(directory.join(format!("{}.{}.{:05}", table.database, table.name, chunk.number)))
            }
            None => {
                let (part, receiver) = Part::in_order();
                receivers.push_back((table.shown(), receiver));
                part
            }
        };
        Job { table, chunk, part }
    };
    let jobs = planned.into_iter().map(job).collect();
    (jobs, receivers)
}

/// The work of all threads.
struct Export<'i> {
    format: Format,
    progress: Progress,
    jobs: Mutex<VecDeque<Job<'i>>>,
    stop: AtomicBool,
    done: AtomicU64,
    rows: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl<'i> Export<'i> {
    fn next(&self) -> Option<Job<'i>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.jobs.lock().ok()?.pop_front()
    }

    /// Runs a thread for each reader, and `write` meanwhile. The first error ends them all.
    fn run(&self, readers: &mut [Client], write: impl FnOnce() -> Result<()>) -> Result<()> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = readers
                .iter_mut()
                .map(|reader| scope.spawn(|| self.work(reader)))
                .collect();
            // At its end `write` drops the receivers, so that no thread waits to hand over a chunk.
            let written = write();
            if written.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            let results: Vec<Result<()>> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or(Err(Error::Thread)))
                .collect();
            match written {
                // A chunk ended before its end. The thread's error tells the reason.
                Err(Error::Thread) | Ok(()) => results.into_iter().chain([written]).collect::<Result<()>>(),
                Err(error) => Err(error),
            }
        })
    }

    fn work(&self, source: &mut Client) -> Result<()> {
        while let Some(job) = self.next() {
            let table = job.table.shown();
            let done = self.chunk(source, job);
            if done.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            let rows = self.rows.fetch_add(done?, Ordering::Relaxed);
            let chunks = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.progress.set(chunks, &format!("{rows} rows, {table}"));
        }
        Ok(())
    }

    /// Writes a chunk. Returns its number of rows.
    fn chunk(&self, source: &mut Client, job: Job<'_>) -> Result<u64> {
        let columns: Vec<&Column> = match self.format {
            // Nothing computes generated columns of a Parquet file.
            Format::Parquet => job.table.columns.iter().collect(),
            Format::Sql | Format::Csv => job.table.written().collect(),
        };
        let read: Vec<String> = columns
            .iter()
            .map(|column| as_read(column, self.format))
            .collect();
        let select = format!(
            "SELECT {} FROM {} WHERE {}",
            read.join(", "),
            job.table.quoted(),
            job.chunk.condition(job.table)
        );
        let mut writer: Box<dyn RowWriter + '_> = match self.format {
            Format::Sql => Box::new(sql::Rows::new(job.table, &columns, job.part.open("sql")?)?),
            Format::Csv => Box::new(csv::Rows::new(job.table, &columns, job.part)?),
            Format::Parquet => Box::new(parquet::Rows::new(
                job.table,
                &columns,
                job.part.open("parquet")?,
            )?),
        };
        let mut rows = 0;
        source.stream(&select, |row| {
            rows += 1;
            writer.row(row)
        })?;
        let notes = writer.finish()?;
        if let Ok(mut all) = self.notes.lock() {
            all.extend(notes);
        }
        Ok(rows)
    }
}

/// How a column is selected.
fn as_read(column: &Column, format: Format) -> String {
    let name = quoted(&column.name);
    match column.data_type.as_str() {
        "bit" => format!("CAST({name} AS UNSIGNED)"),
        // A year 0 is 0000: the text 0 is the year 2000.
        "year" if format != Format::Parquet => format!("CAST({name} AS CHAR)"),
        _ => name,
    }
}

/// Where the chunks of all tables end.
fn plan<'i>(readers: &mut [Client], inventory: &'i Inventory) -> Result<Vec<(&'i Table, Chunk)>> {
    let mut planned = Vec::new();
    let Some(reader) = readers.first_mut() else {
        return Ok(planned);
    };
    for table in &inventory.tables {
        let bounds = chunk::plan(reader, table)?;
        planned.extend(chunks(&bounds).into_iter().map(|chunk| (table, chunk)));
    }
    Ok(planned)
}

/// A directory to write to.
fn prepare(path: &Path) -> Result<PathBuf> {
    let failed = |error| Error::Output {
        path: path.display().to_string(),
        error,
    };
    fs::create_dir_all(path).map_err(failed)?;
    if fs::read_dir(path).map_err(failed)?.next().is_some() {
        return Err(Error::Arguments(format!(
            "{} is not empty: name another directory, so that two exports are not mixed",
            path.display()
        )));
    }
    fs::write(path.join("metadata.partial"), "Started dump of stemdb export\n").map_err(failed)?;
    Ok(path.to_owned())
}

/// Says that the export is whole.
fn finish(directory: &Path, snapshot: &Snapshot) -> Result<()> {
    let path = directory.join("metadata");
    let mut text = "Started dump at: a consistent snapshot of stemdb export\n".to_owned();
    if let Some(position) = &snapshot.position {
        text += &format!(
            "SHOW MASTER STATUS:\n\tLog: {}\n\tPos: {}\n\tGTID:{}\n\n",
            position.file, position.offset, position.gtids
        );
    }
    text += "Finished dump at: its end\n";
    let written = fs::write(&path, text).and_then(|()| fs::remove_file(directory.join("metadata.partial")));
    written.map_err(|error| Error::Output {
        path: path.display().to_string(),
        error,
    })
}

fn definitions(directory: &Path, inventory: &Inventory, format: Format) -> Result<()> {
    let write = |name: String, text: String| -> Result<()> {
        let mut output = Output::file(&directory.join(name))?;
        output.write(sql::HEADER.as_bytes())?;
        output.write(text.as_bytes())?;
        output.finish()
    };
    if format == Format::Parquet {
        return Ok(());
    }
    for (name, create) in &inventory.databases {
        write(format!("{name}-schema-create.sql"), sql::database(create))?;
    }
    for table in &inventory.tables {
        let name = format!("{}.{}-schema.sql", table.database, table.name);
        write(name, format!("{};\n", table.create))?;
    }
    for view in &inventory.views {
        // Files are loaded by their names: a view can come before one that it reads, which is a table until
        // then.
        let name = |end: &str| format!("{}.{}-schema{end}.sql", view.database, view.name);
        write(name(""), sql::in_place_of(view))?;
        write(name("-view"), sql::view(view))?;
    }
    Ok(())
}

/// Views after those that they name.
fn in_order(views: &[View]) -> Vec<&View> {
    let mut left: Vec<&View> = views.iter().collect();
    let mut ordered: Vec<&View> = Vec::new();
    while !left.is_empty() {
        let names_another = |view: &View| {
            left.iter().any(|other| {
                (&other.database, &other.name) != (&view.database, &view.name)
                    && view.create.contains(&quoted(&other.name))
            })
        };
        let (later, now): (Vec<&View>, Vec<&View>) =
            left.iter().copied().partition(|view| names_another(view));
        if now.is_empty() {
            ordered.extend(later);
            break;
        }
        ordered.extend(now);
        left = later;
    }
    ordered
}

/// Writes bytes to an output, as an error of the export.
fn failed_at(path: &str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Output { path, error }
}

/// A file or standard output.
fn create(path: &Path) -> Result<Box<dyn Write + Send>> {
    match path.as_os_str() == "-" {
        true => Ok(Box::new(std::io::stdout())),
        false => match fs::File::create(path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(failed_at(&path.display().to_string())(error)),
        },
    }
}
