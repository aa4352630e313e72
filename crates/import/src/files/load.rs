//! Reads files, cuts them into parts, and gives these to the connections.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loadgen::progress::Progress;

use super::arguments::{Arguments, Kind};
use super::crew::Crew;
use super::dump_rows::{DumpRows, Head, takes_texts};
use super::input::{Input, Watched, open, unreadable};
use super::insert::Parts;
use super::journal::{Journal, Loaded};
use super::load_data::Dumped;
use super::part::{Content, Part, Settings, Sql, Tally};
use super::records::Format;
use super::statement::{self, kind};
use super::{insert, writer};
use crate::endpoint::{Client, Endpoint, quoted};
use crate::error::Error;
use crate::script::{Script, Statement};
use crate::whole::{self, Whole};
use crate::{Common, Result};

/// A part has about so many bytes.
pub(super) const PART_BYTES: usize = 4 << 20;
/// Short statements of the same kind become one, up to so many bytes.
const JOINED_BYTES: usize = 256 << 10;
const SHORT_STATEMENT: usize = 16 << 10;

/// Somebody has created the database before, which is no reason to stop: a table that is there is one.
const ER_DB_CREATE_EXISTS: u16 = 1007;

/// What a definition fails with if an earlier run has run it: it exists, or is gone.
const DONE_ALREADY: &[u16] = &[
    ER_DB_CREATE_EXISTS,
    1008,
    1050,
    1051,
    1060,
    1061,
    1091,
    1826,
    3822,
];
const ER_NO_SUCH_USER: u16 = 1449;
const ER_NOT_SUPPORTED_YET: u16 = 1235;

/// The kind of the files that have lines, for their separators.
pub(super) fn lines_kind(inputs: &[Input]) -> Kind {
    match inputs.iter().any(|input| input.kind == Kind::Csv) {
        true => Kind::Csv,
        false => Kind::Tsv,
    }
}

pub(super) struct Loader<'a, 's> {
    pub(super) arguments: &'a Arguments,
    common: &'a Common,
    pub(super) endpoint: &'a Endpoint,
    pub(super) journal: Journal,
    pub(super) format: &'a Arc<Format>,
    crew: &'a Crew<'s>,
    pub(super) tally: &'a Tally,
    pub(super) loaded: HashMap<String, BTreeMap<u64, Loaded>>,
    /// Runs definitions.
    pub(super) client: Client,
    /// Warnings about what was left out, or is different.
    pub(super) notes: Vec<String>,
    /// A script has to be read once more: rows that one statement was to load go in parts.
    reads_again: bool,
    /// Where those begin.
    only_in_parts: HashSet<(String, u64)>,
}

impl<'a, 's> Loader<'a, 's> {
    pub(super) fn new(
        arguments: &'a Arguments,
        common: &'a Common,
        endpoint: &'a Endpoint,
        journal: Journal,
        format: &'a Arc<Format>,
        (crew, tally): (&'a Crew<'s>, &'a Tally),
        loaded: HashMap<String, BTreeMap<u64, Loaded>>,
    ) -> Result<Self> {
        Ok(Self {
            arguments,
            common,
            endpoint,
            journal,
            format,
            crew,
            tally,
            loaded,
            client: endpoint.connect_raw(None)?,
            notes: Vec::new(),
            reads_again: false,
            only_in_parts: HashSet::new(),
        })
    }

    pub(super) fn run(&mut self, inputs: &[Input]) -> Result<()> {
        let tally = self.tally;
        let read = Arc::new(AtomicU64::new(0));
        let progress = Progress::new("loading", inputs.iter().map(|input| input.bytes).sum());
        let show = |file: &str| {
            let rows = tally.rows.load(Ordering::Relaxed);
            progress.set(read.load(Ordering::Relaxed), &format!("{rows} rows, {file}"));
        };
        for input in inputs {
            let open = || open(input.path.as_deref(), &read);
            let path = input
                .path
                .clone()
                .unwrap_or_else(|| PathBuf::from("standard input"));
            let failed = |error| unreadable(&path, &error);
            let show = || show(&input.name);
            match input.kind {
                Kind::Sql => loop {
                    let done = self.script(input, open().map_err(failed)?, &show);
                    if !std::mem::take(&mut self.reads_again) {
                        done?;
                        break;
                    }
                    self.wait()?;
                    self.loaded = self.journal.loaded(&mut self.client)?;
                },
                Kind::Csv | Kind::Tsv => self.records(input, &|| open().map_err(failed), &show)?,
                Kind::Parquet => self.parquet(input, &path, &show)?,
            }
            self.wait()?;
        }
        progress.finish();
        Ok(())
    }

    /// A file of statements.
    fn script(&mut self, input: &Input, bytes: impl Read, show: &dyn Fn()) -> Result<()> {
        let mut watched = Watched::new(bytes);
        let least = match &input.path {
            Some(_) => whole::least_bytes(&mut self.client)?,
            // It can be read once.
            None => None,
        };
        let mut file = ScriptFile {
            takes_whole: least.is_some_and(|least| input.bytes > least),
            open: None,
            in_parts: Vec::new(),
            name: Arc::from(input.name.as_str()),
            directory: input
                .path
                .as_ref()
                .and_then(|path| path.parent())
                .map(ToOwned::to_owned),
            settings: Arc::new(Settings::default()),
            earlier: self.loaded.remove(&input.name).unwrap_or_default(),
            skipping: None,
            gathered: Vec::new(),
            gathered_bytes: 0,
            rows_of_last: 0,
            begins_at: 0,
            ends_at: 0,
            checksum: crc32fast::Hasher::new(),
        };
        // What another file has set does not hold here.
        self.client.reset()?;
        writer::prepare(&mut self.client)?;
        if input.is_of_directory {
            self.session(&file, DIRECTORY_MODE, 0)?;
        }
        if let Some(database) = &input.database {
            self.session(&file, format!("USE {}", quoted(database)).as_bytes(), 0)?;
        }
        let mut script = Script::new(&mut watched);
        let read = self.statements(&mut file, &mut script, show);
        // Complete statements are loaded, whatever follows them.
        if !self.reads_again {
            self.give(&mut file)?;
        }
        read?;
        drop(script);
        if watched.is_unfinished_dump() {
            return Err(Error::Input(format!(
                "{}: the line \"-- Dump completed\" at the end of a dump is missing: it is cut off",
                input.name
            )));
        }
        Ok(())
    }

    fn statements(
        &mut self,
        file: &mut ScriptFile,
        script: &mut Script<impl Read>,
        show: &dyn Fn(),
    ) -> Result<()> {
        let (mut end, mut shown) = (0, 0);
        loop {
            let statement = script.next_statement().map_err(|error| {
                let hint = match error.kind() {
                    std::io::ErrorKind::UnexpectedEof => " (the file is cut off)",
                    _ => "",
                };
                Error::Input(format!("{}, behind byte {end}: {error}{hint}", file.name))
            })?;
            let Some(statement) = statement else {
                show();
                return Ok(());
            };
            end = statement.end;
            if statement.is_cut_off {
                return Err(Error::Input(format!(
                    "{}: the file ends within the statement that begins on line {}: it is cut off \
                     (a last statement ends with a semicolon, too)",
                    file.name, statement.line
                )));
            }
            self.statement(file, statement, show)?;
            if end - shown > PART_BYTES as u64 / 4 {
                shown = end;
                show();
            }
        }
    }

    fn statement(&mut self, file: &mut ScriptFile, statement: Statement, show: &dyn Fn()) -> Result<()> {
        let kind = kind(&statement.text);
        if kind == statement::Kind::NoStatement {
            let start = statement.text.get(..40).unwrap_or(&statement.text);
            return Err(Error::Input(format!(
                "{}, line {}: this is no SQL: {}",
                file.name,
                statement.line,
                start.escape_ascii()
            )));
        }
        match kind {
            statement::Kind::Session => {
                self.give(file)?;
                self.session(file, &statement.text, statement.line)
            }
            statement::Kind::Skipped => Ok(()),
            statement::Kind::Gtids => {
                let text = String::from_utf8_lossy(&statement.text);
                let set = text.rsplit_once('=').map_or("", |(_, set)| set.trim());
                self.notes.push(format!(
                    "{}: the rows are those of the transactions {set}; a source can be followed from there (--from, --gtid)",
                    file.name
                ));
                Ok(())
            }
            // A part does not go on behind what is not in it.
            _ if file.skips(&statement)? => self.give(file),
            statement::Kind::Rows if self.take_whole(file, &statement)? => Ok(()),
            statement::Kind::Rows => {
                let is_full = file.gathered_bytes + statement.text.len() > PART_BYTES;
                if is_full {
                    self.give(file)?;
                }
                file.gather(statement);
                Ok(())
            }
            statement::Kind::File => {
                self.give(file)?;
                self.file_beside(file, &statement, show)
            }
            _ => {
                self.give(file)?;
                self.definition(file, &statement)
            }
        }
    }

    /// Loads the file that LOAD DATA LOCAL of a dump reads.
    fn file_beside(&mut self, file: &ScriptFile, statement: &Statement, show: &dyn Fn()) -> Result<()> {
        let wrong = |error: Error| located(&file.name, statement.line, error);
        let charset = self.client.one("SELECT @@character_set_database")?;
        let charset = charset.as_deref().unwrap_or("utf8mb4");
        let dumped = Dumped::of(&statement.text, charset).map_err(wrong)?;
        // No server gets any other file.
        let name = Path::new(&dumped.file).file_name().unwrap_or_default();
        let Some(directory) = &file.directory else {
            return Err(wrong(Error::Input("the dump is in no directory".to_owned())));
        };
        let path = directory.join(name);
        let failed = |error| wrong(unreadable(&path, &error));
        let input = Input {
            name: name.to_string_lossy().into_owned(),
            path: Some(path.clone()),
            kind: Kind::Csv,
            database: match &dumped.database {
                Some(database) => Some(database.clone()),
                None => self.client.one("SELECT DATABASE()")?,
            },
            table: Some(dumped.table.clone()),
            is_of_directory: false,
            bytes: std::fs::metadata(&path).map_err(failed)?.len(),
        };
        // Rows before it may be those of its table.
        self.wait()?;
        let open = || open(Some(&path), &Arc::default()).map_err(failed);
        self.dumped(&input, dumped, (&file.settings, file.settings.len()), &open, show)
    }

    /// A statement that every connection has to run before what is behind it.
    fn session(&mut self, file: &ScriptFile, sql: &[u8], line: u64) -> Result<()> {
        self.client
            .run_bytes(sql)
            .map_err(|error| located(&file.name, line, error))?;
        file.settings.add(sql);
        Ok(())
    }

    /// Whether the rows of an INSERT go to the statement that loads all of its table.
    fn take_whole(&mut self, file: &mut ScriptFile, statement: &Statement) -> Result<bool> {
        if !file.takes_whole {
            return Ok(false);
        }
        if file
            .open
            .as_ref()
            .is_some_and(|open| !open.takes(&statement.text))
        {
            self.close(file)?;
        }
        if file.open.is_none() {
            let Some(open) = self.open(file, statement)? else {
                return Ok(false);
            };
            file.open = Some(open);
        }
        let sent = file
            .open
            .as_mut()
            .is_none_or(|open| open.add(&statement.text, statement.end));
        match sent {
            true => Ok(true),
            // Its error tells why.
            false => self.close(file).map(|()| true),
        }
    }

    /// Begins a statement for the table of an INSERT, if it can load all of its rows.
    fn open(&mut self, file: &mut ScriptFile, statement: &Statement) -> Result<Option<DumpRows>> {
        let sql = &statement.text;
        let is_judged = !file.in_parts.is_empty() && sql.starts_with(&file.in_parts);
        let head = Head::of(sql).filter(|_| !is_judged);
        let Some(head) = head else { return Ok(None) };
        let begun = sql.get(..head.length).unwrap_or_default();
        let known = file.earlier.get(&statement.offset).copied();
        let mut rows = DumpRows::new(begun, statement.offset, None);
        // What is gathered may be of this table.
        self.give(file)?;
        self.wait()?;
        let place = (file.name.to_string(), statement.offset);
        let is_taken = rows.takes(sql) && !self.only_in_parts.contains(&place);
        let database = match head.database.clone() {
            Some(database) => Some(database),
            None => self.client.one("SELECT DATABASE()")?,
        };
        let is_empty = match is_taken {
            // If it is not there, the INSERT says so.
            true => match self.is_empty(database.as_deref(), &head.name) {
                Err(error) if error.is_lost() => return Err(error),
                is_empty => is_empty.unwrap_or(false),
            },
            false => false,
        };
        if known.is_some() && !is_empty {
            // All of the rows are there: the statement of an earlier run takes none or all.
            return Ok(is_taken.then_some(rows));
        }
        if !is_empty || !self.reads_as_written(database.as_deref(), &head.name)? {
            file.in_parts = begun.to_vec();
            if known.is_some() {
                let name = &file.name;
                self.journal
                    .forget_part(&mut self.client, name, statement.offset)?;
            }
            return Ok(None);
        }
        if known.is_none() {
            self.begin_whole(&file.name, statement.offset)?;
        }
        let charset = self.client.one("SELECT @@character_set_client")?;
        let load = head.load(charset.as_deref().unwrap_or("utf8mb4"));
        let mut client = writer::session(self.endpoint, &file.settings)?;
        self.journal.lock_whole(&mut client)?;
        rows.statement = Some(Whole::begin(client, &load)?);
        Ok(Some(rows))
    }

    /// Whether LOAD DATA reads the literals of INSERTs into a table as INSERT does.
    fn reads_as_written(&mut self, database: Option<&str>, table: &str) -> Result<bool> {
        let settings = "SELECT @@GLOBAL.local_infile AND NOT FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@sql_mode)";
        if self.client.one(settings)?.as_deref() != Some("1") {
            return Ok(false);
        }
        let (columns, _) =
            crate::inventory::columns_and_key(&mut self.client, database.unwrap_or_default(), table)?;
        Ok(takes_texts(&columns))
    }

    /// Ends the statement that loads all of a table.
    fn close(&mut self, file: &mut ScriptFile) -> Result<()> {
        let Some(mut rows) = file.open.take() else {
            return Ok(());
        };
        // If it has ended, its error tells why.
        rows.send();
        let begins_at = rows.begins_at;
        if let Some(statement) = rows.statement.take()
            && !self.took_all(&file.name, begins_at, statement)?
        {
            self.only_in_parts.insert((file.name.to_string(), begins_at));
            self.reads_again = true;
            return Err(Error::Input(format!("{}: a row is not taken", file.name)));
        }
        let checksum = rows.checksum.finalize();
        self.end_whole(&file.name, begins_at, rows.ends_at, checksum)
    }

    /// Gives what is gathered to a connection.
    fn give(&mut self, file: &mut ScriptFile) -> Result<()> {
        self.close(file)?;
        match file.take() {
            Some(part) => self.hand_over(part),
            None => Ok(()),
        }
    }

    /// Waits until all that has been given is loaded.
    pub(super) fn wait(&self) -> Result<()> {
        match self.crew.wait() {
            true => Ok(()),
            false => Err(Error::Thread),
        }
    }

    pub(super) fn hand_over(&self, part: Part) -> Result<()> {
        match self.crew.give(part) {
            true => Ok(()),
            false => Err(Error::Thread),
        }
    }

    /// Runs a definition when all that is before it is loaded.
    fn definition(&mut self, file: &mut ScriptFile, statement: &Statement) -> Result<()> {
        self.wait()?;
        let was_begun = file
            .earlier
            .get(&statement.offset)
            .is_some_and(|part| part.is_begun);
        if !was_begun {
            let loaded = Loaded {
                end: statement.end,
                checksum: crc32fast::hash(&statement.text),
                is_begun: true,
            };
            self.journal
                .store(&mut self.client, &file.name, statement.offset, loaded)?;
        }
        let mut done = self.run_definition(&statement.text);
        if done.as_ref().is_err_and(|error| match error.code() {
            ER_DB_CREATE_EXISTS => true,
            code => was_begun && DONE_ALREADY.contains(&code),
        }) {
            done = Ok(());
        }
        if let Err(error) = &done
            && error.code() == ER_NOT_SUPPORTED_YET
            && self.common.skip_unsupported
        {
            self.notes.push(format!(
                "{}, line {}: left out: {}",
                file.name,
                statement.line,
                crate::live::reason(error)
            ));
            done = Ok(());
        }
        done.map_err(|error| {
            let hint = match error.code() {
                ER_NOT_SUPPORTED_YET => ". --skip-unsupported leaves it out",
                1050 => ". Drop it, or name another database in --to",
                _ => "",
            };
            match located(&file.name, statement.line, error) {
                Error::Input(message) => Error::Input(format!("{message}{hint}")),
                other => other,
            }
        })?;
        self.journal
            .finish(&mut self.client, &file.name, statement.offset)
    }

    fn run_definition(&mut self, sql: &[u8]) -> Result<()> {
        let Ok(text) = std::str::from_utf8(sql) else {
            return self.client.run_bytes(sql);
        };
        let sql = crate::live::adapted(text);
        match self.client.run(&sql) {
            Err(error) if error.code() == ER_NO_SUCH_USER => {
                self.client.run(&crate::live::without_definer(&sql))
            }
            other => other,
        }
    }
}

/// The mode in which myloader runs the files of a directory. They do not set one: an id of 0 stays 0, and dates of zeros
/// are taken.
const DIRECTORY_MODE: &[u8] = b"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'";

/// A script that is being read.
struct ScriptFile {
    name: Arc<str>,
    directory: Option<PathBuf>,
    /// Whether tables of it may be loaded by one statement each.
    takes_whole: bool,
    /// The table that is.
    open: Option<DumpRows>,
    /// The begin of INSERTs that are loaded in parts.
    in_parts: Vec<u8>,
    settings: Arc<Settings>,
    /// The parts of it that earlier runs have loaded.
    earlier: BTreeMap<u64, Loaded>,
    /// Within a part that is loaded: it, and the checksum so far.
    skipping: Option<(Loaded, crc32fast::Hasher)>,
    gathered: Vec<Sql>,
    gathered_bytes: usize,
    /// Of the last statement, if it was made of several.
    rows_of_last: usize,
    begins_at: u64,
    ends_at: u64,
    checksum: crc32fast::Hasher,
}

impl ScriptFile {
    /// Whether an earlier run has loaded the statement.
    fn skips(&mut self, statement: &Statement) -> Result<bool> {
        if self.skipping.is_none() {
            let part = self.earlier.get(&statement.offset).filter(|part| !part.is_begun);
            let Some(part) = part else { return Ok(false) };
            self.skipping = Some((*part, crc32fast::Hasher::new()));
        }
        if let Some((part, checksum)) = &mut self.skipping {
            checksum.update(&statement.text);
            if statement.end >= part.end {
                let (part, checksum) = (*part, checksum.clone().finalize());
                self.skipping = None;
                check_same(&self.name, &part, statement.end, checksum)?;
            }
        }
        Ok(true)
    }

    fn gather(&mut self, statement: Statement) {
        if self.gathered.is_empty() {
            self.begins_at = statement.offset;
        }
        self.ends_at = statement.end;
        self.checksum.update(&statement.text);
        self.gathered_bytes += statement.text.len();
        if statement.text.len() <= SHORT_STATEMENT
            && let Some(last) = self.gathered.last_mut()
            && last.text.len() <= JOINED_BYTES
        {
            let before = match last.lines.len() {
                1 => Parts::of(&last.text).map_or(0, |parts| parts.count()),
                _ => self.rows_of_last,
            };
            if let Some(rows) = insert::append(&mut last.text, &statement.text) {
                last.lines.push((before, statement.line));
                self.rows_of_last = before + rows;
                return;
            }
        }
        self.gathered.push(Sql::new(statement.line, statement.text));
    }

    fn take(&mut self) -> Option<Part> {
        if self.gathered.is_empty() {
            return None;
        }
        self.gathered_bytes = 0;
        Some(Part {
            file: Arc::clone(&self.name),
            begins_at: self.begins_at,
            ends_at: self.ends_at,
            checksum: std::mem::take(&mut self.checksum).finalize(),
            settings: Arc::clone(&self.settings),
            settings_count: self.settings.len(),
            content: Content::Inserts(std::mem::take(&mut self.gathered)),
        })
    }
}

/// Fails if what an earlier run has loaded is not what the file has there.
pub(super) fn check_same(file: &str, loaded: &Loaded, end: u64, checksum: u32) -> Result<()> {
    if loaded.end == end && loaded.checksum == checksum {
        return Ok(());
    }
    Err(Error::Arguments(format!(
        "{file} is not the file that an earlier run has begun to load: give that one, or --restart (and drop what \
         it has loaded)"
    )))
}

pub(super) fn located(file: &str, line: u64, error: Error) -> Error {
    match error.is_lost() {
        true => error,
        false => Error::Input(format!("{file}, line {line}: {error}")),
    }
}
