//! Files of rows without statements: CSV and its like, and Parquet. LOAD DATA reads them, one statement for the whole
//! file if the target has a faster way for that ([`crate::whole`]), or one for each part.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::input::Input;
use super::journal::Loaded;
use super::load::{Loader, PART_BYTES, check_same};
use super::load_data::Dumped;
use super::part::{Content, Part, Settings};
use super::records::{Format, Reader};
use super::{load_data, parquet, writer};
use crate::Result;
use crate::endpoint::quoted;
use crate::error::Error;
use crate::whole::{self, Whole};

/// Where the journal has a file that is loaded by one statement. No part begins there.
const WHOLE_FILE: u64 = u64::MAX;

const ER_BAD_DB_ERROR: u16 = 1049;

/// Some rows of a file, as lines.
struct Rows {
    begins_at: u64,
    ends_at: u64,
    /// The number of the first row.
    first: u64,
    bytes: Vec<u8>,
}

/// Reads a file from its begin.
type Source<'r> = Box<dyn FnMut() -> Result<Option<Rows>> + 'r>;

/// What is known of a file of rows.
struct FileOfRows<'i> {
    input: &'i Input,
    table: String,
    format: Arc<Format>,
    /// LOAD DATA of a part.
    load: String,
    /// That of all rows, if it is another one.
    whole: Option<String>,
    /// One part waits for the part before it.
    is_in_order: bool,
    /// The statements before it.
    settings: Arc<Settings>,
    settings_count: usize,
    earlier: BTreeMap<u64, Loaded>,
}

/// The bytes of a file.
type Bytes = Box<dyn Read + Send>;
type Open<'o> = &'o dyn Fn() -> Result<Bytes>;

/// A file of lines from its begin, and the last of the lines that are no rows.
fn begin<'f>(
    input: &Input,
    format: &'f Format,
    skipped: u64,
    open: Open<'_>,
) -> Result<(Vec<u8>, Reader<'f, Bytes>)> {
    let mut reader = Reader::new(open()?, format);
    let mut last = None;
    for _ in 0..skipped {
        last = reader.next(1).map_err(|error| in_file(input, &error))?;
    }
    Ok((last.map(|line| line.bytes).unwrap_or_default(), reader))
}

fn in_file(input: &Input, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: {error}", input.name))
}

/// The rows of a file of lines. `reader`: at its first row.
fn lines<'r>(input: &'r Input, mut reader: Reader<'r, Bytes>) -> Source<'r> {
    Box::new(move || {
        let records = reader.next(PART_BYTES).map_err(|error| in_file(input, &error))?;
        Ok(records.map(|records| Rows {
            begins_at: records.offset,
            ends_at: records.end(),
            first: records.number,
            bytes: records.bytes,
        }))
    })
}

impl Loader<'_, '_> {
    /// A file of lines.
    pub(super) fn records(&mut self, input: &Input, open: Open<'_>, show: &dyn Fn()) -> Result<()> {
        let table = self.table_of(input)?;
        let skipped = self.arguments.ignore_lines + u64::from(self.arguments.header);
        let format = Arc::clone(self.format);
        let (first_line, reader) = begin(input, &format, skipped, open)?;
        let mut columns = load_data::listed(self.arguments);
        if self.arguments.header {
            columns = Some(header(&first_line, &format));
        }
        let mut sets = self.arguments.set.clone();
        if let Some(null) = &self.arguments.null {
            let all = match columns {
                Some(columns) => columns,
                None => self.columns_of(input, &table)?,
            };
            let (fields, nulls) = load_data::with_null(all, null);
            columns = Some(fields);
            sets.splice(0..0, nulls);
        }
        let load = load_data::statement(
            input.database.as_deref(),
            &table,
            &format,
            columns.as_deref(),
            &sets,
        );
        // Standard input can be read once.
        let mut reader = Some(reader);
        let mut rows = || -> Result<Source<'_>> {
            let reader = match reader.take() {
                Some(reader) => reader,
                None => begin(input, &format, skipped, open)?.1,
            };
            Ok(lines(input, reader))
        };
        let file = self.file_of_rows(input, table, &format, load);
        self.load_rows(&file, &mut rows, show)
    }

    /// A file of Parquet, whose rows become lines.
    pub(super) fn parquet(&mut self, input: &Input, path: &Path, show: &dyn Fn()) -> Result<()> {
        let table = self.table_of(input)?;
        let found = parquet::Rows::open(path)?;
        if let Some(database) = &input.database {
            self.use_database(database)?;
        }
        self.client.run(&found.create_table(&table))?;
        let format = Arc::new(parquet::format());
        let load = load_data::statement(
            input.database.as_deref(),
            &table,
            &format,
            Some(&found.fields()),
            &found.sets(),
        );
        let mut rows = || -> Result<Source<'_>> {
            let mut found = parquet::Rows::open(path)?;
            Ok(Box::new(move || {
                Ok(found.next(PART_BYTES)?.map(|lines| Rows {
                    begins_at: lines.first,
                    ends_at: lines.first + lines.count,
                    first: lines.first,
                    bytes: lines.bytes,
                }))
            }))
        };
        let file = self.file_of_rows(input, table, &format, load);
        self.load_rows(&file, &mut rows, show)
    }

    /// Makes the database if there is none: files without statements cannot.
    fn use_database(&mut self, database: &str) -> Result<()> {
        let using = format!("USE {}", quoted(database));
        match self.client.run(&using) {
            Err(error) if error.code() == ER_BAD_DB_ERROR => {
                let create = format!("CREATE DATABASE IF NOT EXISTS {}", quoted(database));
                self.client.run(&create)?;
                self.client.run(&using)
            }
            done => done,
        }
    }

    /// A file of lines that a dump has beside a statement, which comes behind `settings`.
    pub(super) fn dumped(
        &mut self,
        input: &Input,
        dumped: Dumped,
        (settings, settings_count): (&Arc<Settings>, usize),
        open: Open<'_>,
        show: &dyn Fn(),
    ) -> Result<()> {
        let (format, skipped) = (Arc::new(dumped.format), dumped.skipped);
        let mut rows = || -> Result<Source<'_>> {
            let reader = begin(input, &format, skipped, open)?.1;
            Ok(lines(input, reader))
        };
        let file = FileOfRows {
            whole: Some(dumped.whole),
            is_in_order: dumped.replaces,
            settings: Arc::clone(settings),
            settings_count,
            ..self.file_of_rows(input, dumped.table, &format, dumped.load)
        };
        self.load_rows(&file, &mut rows, show)
    }

    fn file_of_rows<'i>(
        &mut self,
        input: &'i Input,
        table: String,
        format: &Arc<Format>,
        load: String,
    ) -> FileOfRows<'i> {
        let settings = Settings::default();
        settings.add(b"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
        FileOfRows {
            input,
            table,
            format: Arc::clone(format),
            load,
            whole: None,
            is_in_order: false,
            settings_count: settings.len(),
            settings: Arc::new(settings),
            earlier: self.loaded.remove(&input.name).unwrap_or_default(),
        }
    }

    fn load_rows<'r>(
        &mut self,
        file: &FileOfRows<'_>,
        rows: &mut dyn FnMut() -> Result<Source<'r>>,
        show: &dyn Fn(),
    ) -> Result<()> {
        self.check_local_files()?;
        if self.is_for_whole(file)? {
            let mut source = rows()?;
            if self.load_whole(file, &mut source, show)? {
                return Ok(());
            }
        }
        let load: Arc<str> = Arc::from(file.load.as_str());
        let name: Arc<str> = Arc::from(file.input.name.as_str());
        let mut source = rows()?;
        while let Some(rows) = source()? {
            let checksum = crc32fast::hash(&rows.bytes);
            if let Some(loaded) = file.earlier.get(&rows.begins_at) {
                check_same(&name, loaded, rows.ends_at, checksum)?;
                continue;
            }
            self.hand_over(Part {
                file: Arc::clone(&name),
                begins_at: rows.begins_at,
                ends_at: rows.ends_at,
                checksum,
                settings: Arc::clone(&file.settings),
                settings_count: file.settings_count,
                content: Content::Records {
                    load: Arc::clone(&load),
                    format: Arc::clone(&file.format),
                    first: rows.first,
                    bytes: rows.bytes,
                },
            })?;
            if file.is_in_order {
                self.wait()?;
            }
            show();
        }
        Ok(())
    }

    /// Whether one statement loads the file, or has loaded it.
    fn is_for_whole(&mut self, file: &FileOfRows<'_>) -> Result<bool> {
        if file.earlier.contains_key(&WHOLE_FILE) {
            return Ok(true);
        }
        // What has been begun in parts goes on in parts.
        if !file.earlier.is_empty() || file.input.path.is_none() {
            return Ok(false);
        }
        let least = whole::least_bytes(&mut self.client)?;
        Ok(least.is_some_and(|least| file.input.bytes > least)
            && self.is_empty(file.input.database.as_deref(), &file.table)?)
    }

    pub(super) fn is_empty(&mut self, database: Option<&str>, table: &str) -> Result<bool> {
        let table = match database {
            Some(database) => format!("{}.{}", quoted(database), quoted(table)),
            None => quoted(table),
        };
        let row = self.client.one(&format!("SELECT 1 FROM {table} LIMIT 1"))?;
        Ok(row.is_none())
    }

    /// Loads the file by one statement. `false`: the target does not take one of the rows, and has taken none.
    fn load_whole(&mut self, file: &FileOfRows<'_>, rows: &mut Source<'_>, show: &dyn Fn()) -> Result<bool> {
        let name = &file.input.name;
        let known = file.earlier.get(&WHOLE_FILE).copied();
        if let Some(known) = known
            && (!known.is_begun || !self.is_empty(file.input.database.as_deref(), &file.table)?)
        {
            // All of the rows are there: the statement takes none or all.
            let mut checksum = crc32fast::Hasher::new();
            while let Some(rows) = rows()? {
                checksum.update(&rows.bytes);
                show();
            }
            let checksum = checksum.finalize();
            if known.is_begun {
                self.end_whole(name, WHOLE_FILE, WHOLE_FILE, checksum)?;
            } else {
                check_same(name, &known, known.end, checksum)?;
            }
            return Ok(true);
        }
        if known.is_none() {
            self.begin_whole(name, WHOLE_FILE)?;
        }
        let load = file.whole.as_ref().unwrap_or(&file.load);
        let mut client = writer::session(self.endpoint, &file.settings)?;
        self.journal.lock_whole(&mut client)?;
        let statement = Whole::begin(client, load)?;
        let mut checksum = crc32fast::Hasher::new();
        loop {
            let Some(rows) = rows()? else { break };
            checksum.update(&rows.bytes);
            if !statement.give(rows.bytes) {
                break;
            }
            show();
        }
        match self.took_all(name, WHOLE_FILE, statement)? {
            true => {
                self.end_whole(name, WHOLE_FILE, WHOLE_FILE, checksum.finalize())?;
                Ok(true)
            }
            false => Ok(false),
        }
    }

    /// Says that one statement is about to load what begins there.
    pub(super) fn begin_whole(&mut self, name: &str, begins_at: u64) -> Result<()> {
        let begun = Loaded {
            end: begins_at,
            checksum: 0,
            is_begun: true,
        };
        self.journal.store(&mut self.client, name, begins_at, begun)
    }

    /// Says that it is loaded.
    pub(super) fn end_whole(
        &mut self,
        name: &str,
        begins_at: u64,
        ends_at: u64,
        checksum: u32,
    ) -> Result<()> {
        let loaded = Loaded {
            end: ends_at,
            checksum,
            is_begun: false,
        };
        self.journal
            .finish_whole(&mut self.client, name, begins_at, loaded)
    }

    /// Ends the statement. `false`: the target does not take one of the rows, and has taken none.
    pub(super) fn took_all(&mut self, name: &str, begins_at: u64, statement: Whole) -> Result<bool> {
        match statement.finish() {
            Ok(done) => {
                self.tally.rows.fetch_add(done.rows, Ordering::Relaxed);
                for warning in done.warnings {
                    self.tally
                        .warn(format!("{name}: {} ({})", warning.text(2), warning.text(1)));
                }
                Ok(true)
            }
            // The parts of the file, each row of which can be set aside, tell more than this error.
            Err(error) if error.is_about_rows() => {
                self.journal.forget_part(&mut self.client, name, begins_at)?;
                Ok(false)
            }
            Err(error) if error.is_lost() => Err(error),
            Err(error) => Err(Error::Input(format!("{name}: {error}"))),
        }
    }

    fn table_of(&self, input: &Input) -> Result<String> {
        if input.database.is_none() {
            return Err(Error::Arguments(format!(
                "{}: the database is not known: name it in --to (mysql://USER@HOST:PORT/DB) or in --table DB.TABLE",
                input.name
            )));
        }
        input.table.clone().ok_or_else(|| {
            Error::Arguments(format!(
                "{}: the table is not known: name it with --table",
                input.name
            ))
        })
    }

    fn columns_of(&mut self, input: &Input, table: &str) -> Result<Vec<String>> {
        let database = input.database.clone().unwrap_or_default();
        let (columns, _) = crate::inventory::columns_and_key(&mut self.client, &database, table)?;
        Ok(columns
            .into_iter()
            .filter(|column| !column.is_generated)
            .map(|column| quoted(&column.name))
            .collect())
    }

    pub(super) fn check_local_files(&mut self) -> Result<()> {
        match whole::takes_local_files(&mut self.client)? {
            true => Ok(()),
            false => Err(Error::Arguments(format!(
                "the server {} takes no files from clients: SET GLOBAL local_infile = ON there, for as long as this takes",
                self.endpoint.address()
            ))),
        }
    }
}

/// The columns that a first line names.
fn header(line: &[u8], format: &Format) -> Vec<String> {
    let line = line
        .strip_suffix(format.lines_terminated.as_slice())
        .unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let separator = String::from_utf8_lossy(&format.fields_terminated).into_owned();
    let quote = format.enclosed.map_or('"', char::from);
    text.split(separator.as_str())
        .map(|name| load_data::field(name.trim().trim_matches(quote)))
        .collect()
}
