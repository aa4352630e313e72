//! `stemdb check-compat`: parses the statements of a dump or a log, without a server, and lists those that
//! the grammar refuses, by line, with what to do instead.
//!
//! Not here: what only a server with the tables can check (names, types, rows).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use import::script::Script;
use types::{SqlMode, errno};

use crate::error::{Error, Result};
use crate::log::{Action, Log};
use crate::tally::{digest, printable};

/// The first bytes of a file, which show whether it is a log.
const HEAD: u64 = 64 << 10;
const SHOWN_STATEMENT: usize = 120;

#[derive(Debug, clap::Args)]
pub struct CheckCompatArguments {
    /// A dump of mysqldump or mydumper, a file of statements, a general log or a slow log.
    file: PathBuf,
}

/// A problem of statements of one kind.
#[derive(Debug, Default)]
struct Finding {
    count: u64,
    line: u64,
    statement: String,
}

#[derive(Debug, Default)]
struct Findings {
    statements: u64,
    /// By the message, and by the digest of the statement.
    found: BTreeMap<(String, String), Finding>,
}

/// Runs `stemdb check-compat`.
pub fn check_compat(arguments: &CheckCompatArguments) -> Result<()> {
    let in_file = |source| Error::File {
        path: arguments.file.clone(),
        source,
    };
    let open = || File::open(&arguments.file).map(BufReader::new).map_err(in_file);
    let mut findings = Findings::default();
    if is_log(open()?.take(HEAD)) {
        let mut log = Log::new(open()?);
        for entry in &mut log {
            let entry = entry.map_err(in_file)?;
            if let Action::Statement(sql) = &entry.action {
                findings.check(sql, entry.line);
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
    } else {
        let mut script = Script::new(open()?);
        while let Some(statement) = script.next_statement().map_err(in_file)? {
            match std::str::from_utf8(&statement.text) {
                Ok(sql) => findings.check(sql, statement.line),
                // Binary values in a dump: bytes that are not ASCII are in quotes or in names.
                Err(_) => findings.check(&String::from_utf8_lossy(&statement.text), statement.line),
            }
        }
    }
    findings.report()
}

fn is_log(head: impl Read) -> bool {
    let mut log = Log::new(BufReader::new(head));
    // The format is known before the first entry is complete.
    let _ = log.by_ref().next();
    log.is_known()
}

impl Findings {
    fn check(&mut self, sql: &str, line: u64) {
        self.statements += 1;
        let message = match syntax::parse(sql, &SqlMode::default()) {
            Ok(parsed) => parsed.into_iter().find_map(|parsed| match parsed.statement {
                syntax::ast::Statement::Invalid(error) => Some(error),
                _ => None,
            }),
            Err(error) => Some(error),
        };
        // 1065: nothing but comments.
        let Some(error) = message.filter(|error| error.code != errno::ER_EMPTY_QUERY) else {
            return;
        };
        let finding = self
            .found
            .entry((error.message.to_string(), digest(sql)))
            .or_default();
        if finding.count == 0 {
            finding.line = line;
            finding.statement = sql.trim().chars().take(SHOWN_STATEMENT).collect();
        }
        finding.count += 1;
    }

    fn report(&self) -> Result<()> {
        let mut found: Vec<_> = self.found.iter().collect();
        found.sort_by_key(|(_, finding)| finding.line);
        for ((message, _), finding) in &found {
            let times = match finding.count {
                1 => String::new(),
                count => format!(" ({count} times)"),
            };
            println!(
                "line {}{times}: {}\n    {}",
                finding.line,
                printable(message),
                printable(&finding.statement)
            );
        }
        match found.iter().map(|(_, finding)| finding.count).sum() {
            0 => {
                println!("{} statements: the grammar takes all of them.", self.statements);
                Ok(())
            }
            count => {
                println!("{} statements, {count} that will not work.", self.statements);
                Err(Error::Incompatible(count))
            }
        }
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
