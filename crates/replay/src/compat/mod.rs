//! `stemdb check-compat`: reads the statements of dumps and logs, and lists those that will not work, by line, with what to
//! do instead.
//!
//! - [`findings`]: what was found, and how it is printed. [`trial`]: an empty server of its own, on which definitions are run
//!   and other statements prepared, because the grammar alone does not know names and types.
//!
//! Not here: what only the rows can show.

mod findings;
mod trial;

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use import::script::Script;
use syntax::ast::Statement;
use types::{SqlMode, errno};

use crate::error::{Error, Result};
use crate::log::{Action, Log};
use findings::Findings;
use trial::Trial;

/// The first bytes of a file, which show whether it is a log.
const HEAD: u64 = 64 << 10;
/// A longer statement has rows, not something that is not known yet.
const TRIED_BYTES: usize = 64 << 10;

#[derive(Debug, clap::Args)]
pub struct CheckCompatArguments {
    /// Dumps of mysqldump or mydumper, files of statements, general logs or slow logs, packed by gzip or zstd or not. The
    /// statements of a log are checked with the tables of the dumps before it.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Runs `stemdb check-compat`.
pub fn check_compat(arguments: &CheckCompatArguments) -> Result<()> {
    let mut check = Check {
        trial: Trial::start()?,
        findings: Findings::default(),
    };
    for path in &arguments.files {
        let in_file = |source| Error::File {
            path: path.clone(),
            source,
        };
        let shown = (arguments.files.len() > 1).then(|| path.display().to_string());
        check.findings.begin_file(shown);
        let open = || import::files::open(path).map(BufReader::new).map_err(in_file);
        match is_log(open()?.take(HEAD)) {
            true => check.log(Log::new(open()?), path)?,
            false => check.script(Script::new(open()?), path)?,
        }
    }
    check.findings.report()
}

fn is_log(head: impl Read) -> bool {
    let mut log = Log::new(BufReader::new(head));
    // The format is known before the first entry is complete.
    let _ = log.by_ref().next();
    log.is_known()
}

struct Check {
    trial: Trial,
    findings: Findings,
}

impl Check {
    fn log(&mut self, mut log: Log<impl std::io::BufRead>, path: &Path) -> Result<()> {
        // By connection: the database that it uses.
        let mut databases: HashMap<u64, String> = HashMap::new();
        for entry in &mut log {
            let entry = entry.map_err(|source| Error::File {
                path: path.to_owned(),
                source,
            })?;
            match entry.action {
                Action::Connect(Some(database)) | Action::UseDatabase(database) => {
                    databases.insert(entry.connection, database);
                }
                Action::Connect(None) | Action::Quit => {
                    databases.remove(&entry.connection);
                }
                Action::Statement(sql) => {
                    self.trial.select(databases.get(&entry.connection))?;
                    self.statement(&sql, entry.line)?;
                }
            }
        }
        let skipped = log.skipped();
        if skipped.unreadable > 0 {
            println!(
                "{} statements were skipped: their bytes are not UTF-8",
                skipped.unreadable
            );
        }
        if skipped.is_cut_off {
            println!("The log is cut off within its last statement, which was left out.");
        }
        Ok(())
    }

    fn script(&mut self, mut script: Script<impl Read>, path: &Path) -> Result<()> {
        let in_file = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        while let Some(statement) = script.next_statement().map_err(in_file)? {
            // Binary values in a dump: bytes that are not ASCII are in quotes or in names.
            let sql = String::from_utf8_lossy(&statement.text);
            self.statement(&sql, statement.line)?;
        }
        Ok(())
    }

    fn statement(&mut self, sql: &str, line: u64) -> Result<()> {
        let message = match syntax::parse(sql, &SqlMode::default()) {
            Ok(parsed) => match parsed.as_slice() {
                [parsed] => match &parsed.statement {
                    Statement::Invalid(error) => Some(error.message.to_string()),
                    _ if sql.len() > TRIED_BYTES => None,
                    statement => self.trial.try_out(sql, statement)?,
                },
                several => several.iter().find_map(|parsed| match &parsed.statement {
                    Statement::Invalid(error) => Some(error.message.to_string()),
                    _ => None,
                }),
            },
            // Nothing but comments.
            Err(error) if error.code == errno::ER_EMPTY_QUERY => None,
            Err(error) => Some(error.message.to_string()),
        };
        self.findings.add(sql, line, message);
        Ok(())
    }
}

/// The statements of a dump.
pub(crate) fn count_statements(input: &[u8]) -> std::io::Result<usize> {
    let mut script = Script::new(input);
    let mut count = 0;
    while script.next_statement()?.is_some() {
        count += 1;
    }
    Ok(count)
}
