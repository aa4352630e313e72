//! What check-compat has found.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::tally::{digest, printable};

const SHOWN_STATEMENT: usize = 120;

/// A problem of statements of one kind.
#[derive(Debug, Default)]
struct Finding {
    count: u64,
    /// The first of them.
    line: u64,
    statement: String,
}

#[derive(Debug, Default)]
pub(super) struct Findings {
    statements: u64,
    /// The names of the files, if there are several.
    files: Vec<Option<String>>,
    /// By the place of the file, the message, and the digest of the statement.
    found: BTreeMap<(usize, String, String), Finding>,
}

impl Findings {
    pub(super) fn begin_file(&mut self, name: Option<String>) {
        self.files.push(name);
    }

    /// `message`: why a statement of the last file will not work.
    pub(super) fn add(&mut self, sql: &str, line: u64, message: Option<String>) {
        self.statements += 1;
        let Some(message) = message else { return };
        let finding = self
            .found
            .entry((self.files.len(), message, digest(sql)))
            .or_default();
        if finding.count == 0 {
            finding.line = line;
            finding.statement = sql.trim().chars().take(SHOWN_STATEMENT).collect();
        }
        finding.count += 1;
    }

    /// Prints all of it. Fails if there is something.
    pub(super) fn report(&self) -> Result<()> {
        let mut found: Vec<_> = self.found.iter().collect();
        found.sort_by_key(|((file, ..), finding)| (*file, finding.line));
        for ((file, message, _), finding) in &found {
            let name = file.checked_sub(1).and_then(|at| self.files.get(at)?.as_deref());
            let file = name.map_or(String::new(), |name| format!("{name}, "));
            let times = match finding.count {
                1 => String::new(),
                count => format!(" ({count} times)"),
            };
            println!(
                "{file}line {}{times}: {}\n    {}",
                finding.line,
                printable(message),
                printable(&finding.statement)
            );
        }
        match found.iter().map(|(_, finding)| finding.count).sum() {
            0 => {
                println!("{} statements: no problem was found.", self.statements);
                Ok(())
            }
            count => {
                println!("{} statements, {count} that will not work.", self.statements);
                Err(Error::Incompatible(count))
            }
        }
    }
}
