//! `stemdb check`: reads all files of a store that no process has open, and changes none.

use super::checksum::verify_table;
use super::directory::{Directory, DirectoryLock};
use super::{Examination, Finding, cannot_read};
use crate::latest::Latest;
use crate::layout::{FORMAT, Version};
use crate::options::RocksOptions;
use crate::storage::RocksStorage;
use kv::load::BEFORE_ALL;
use kv::{Error, KeyRange, Result, Storage};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};
use tempfile::TempDir;

/// The findings, as lines of text for a terminal.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Checked {
    pub facts: Vec<String>,
    /// Empty: nothing is damaged.
    pub damage: Vec<String>,
}

/// Checks the store in `dir`: the manifest, each record of its logs, each block of its table files, and, if
/// those are undamaged, that all entries can be read and have a format that this program knows.
///
/// # Errors
/// [`Error::Unavailable`] if there is no store, another process is using it, or a file cannot be read.
pub fn check(dir: &Path) -> Result<Checked> {
    let _lock = DirectoryLock::take(dir)?;
    let examination = Examination::of(dir, true).map_err(|error| cannot_read(dir, &error))?;
    if examination.finding == Finding::New {
        return Err(Error::Unavailable(format!("{} holds no store", dir.display())));
    }
    let mut checked = Checked::default();
    checked.of_logs(&examination);
    match &examination.finding {
        Finding::Damaged(what) => checked.damage.extend(what.iter().cloned()),
        Finding::LogLoss(loss) => checked.damage.push(loss.to_string()),
        Finding::Unsynced => checked.facts.push(
            "log: after its end is a part of what was being written when the machine stopped; the next start removes it"
                .to_owned(),
        ),
        Finding::New | Finding::Sound => {}
    }
    checked.of_tables(&examination);
    if checked.damage.is_empty() {
        if examination.finding == Finding::Sound {
            checked.of_entries(&examination)?;
        } else {
            checked
                .facts
                .push("entries: not read, because the next start changes the log".to_owned());
        }
    }
    Ok(checked)
}

impl Checked {
    fn of_logs(&mut self, examination: &Examination) {
        let chain = &examination.chain;
        let (mut bytes, mut records) = (0, 0);
        for log in &chain.logs {
            bytes += log.valid_bytes;
            records += log.batches;
        }
        let mut fact = format!(
            "logs: {} needed, {records} records in {bytes} bytes",
            chain.logs.len() + chain.rest.len()
        );
        if let (Some(first), Some(next)) = (chain.first_sequence, chain.next_sequence) {
            fact += &format!(", sequence numbers {first} to {}", next.saturating_sub(1));
        }
        self.facts.push(fact);
        self.facts.push(match examination.mark {
            Some(mark) if mark.is_closed => {
                format!("closed in order, synced up to sequence number {}", mark.synced)
            }
            Some(mark) => format!(
                "not closed in order, synced up to sequence number {} or more",
                mark.synced
            ),
            None => "how far the log had been synced is not known: the file SYNCED is missing or damaged"
                .to_owned(),
        });
    }

    fn of_tables(&mut self, examination: &Examination) {
        let (manifest, directory) = (&examination.manifest, &examination.directory);
        let (mut files, mut bytes) = (0_u64, 0_u64);
        for (number, table) in manifest.tables() {
            let Some(path) = directory.tables.get(&number) else {
                continue;
            };
            files += 1;
            bytes += table.bytes;
            if let Err(what) = verify_table(path) {
                self.damage
                    .push(format!("the table file {number:06}.sst is damaged: {what}"));
            }
        }
        let mut fact = format!("tables: {files} files, {bytes} bytes, every block read");
        let unused = unused_tables(directory, examination);
        if unused > 0 {
            fact += &format!("; {unused} more are not in use; the next start removes them");
        }
        self.facts.push(fact);
    }

    /// Opens the store as a start would, with copies of the logs and links to the tables, and reads all
    /// entries.
    fn of_entries(&mut self, examination: &Examination) -> Result<()> {
        let dir = examination.copy_with_links().map_err(|error| {
            Error::Unavailable(format!(
                "cannot copy the logs to {}: {error}",
                std::env::temp_dir().display()
            ))
        })?;
        let store = match RocksStorage::open(dir.path(), &RocksOptions::default(), &Arc::default()) {
            Ok(store) => store,
            Err(error) => {
                self.damage.push(format!("the store cannot be opened: {error}"));
                return Ok(());
            }
        };
        // Compactions would rewrite what is about to be read.
        let latest = &store.versions.latest;
        latest.stop_background_work();
        self.facts.push(format!("format: {FORMAT}"));
        self.of_versions(latest, store.newest_commit_ts())
    }

    fn of_versions(&mut self, latest: &Latest, last_commit_ts: u64) -> Result<()> {
        let mut iterator = latest.iterate_once(&KeyRange::all())?;
        iterator.seek_to_first();
        let (mut entries, mut deletions) = (0_u64, 0_u64);
        while let Some((key, stored)) = iterator.item() {
            match Version::parse(stored) {
                Ok(version) if version.ts > last_commit_ts.max(BEFORE_ALL) => self.damage.push(format!(
                    "the entry {} is of a later commit than the last one",
                    key.escape_ascii()
                )),
                Ok(Version { value: None, .. }) => deletions += 1,
                Ok(_) => entries += 1,
                Err(error) => self
                    .damage
                    .push(format!("the entry {}: {error}", key.escape_ascii())),
            }
            if self.damage.len() > DAMAGE_MAX {
                self.damage.push("and so on".to_owned());
                return Ok(());
            }
            iterator.next();
        }
        match iterator.status() {
            Ok(()) => self
                .facts
                .push(format!("entries: {entries}, and {deletions} deletions")),
            Err(error) => self.damage.push(format!("entries cannot be read: {error}")),
        }
        Ok(())
    }
}

impl Examination {
    fn copy_with_links(&self) -> io::Result<TempDir> {
        let copy = tempfile::Builder::new().prefix("stemdb-check-").tempdir()?;
        let dir = self.directory.path.canonicalize()?;
        let logs = self.directory.logs_from(self.manifest.first_log_number());
        let logs = logs.iter().map(|(_, path)| path);
        for path in logs.chain(&self.directory.current_files()?) {
            let name = path.file_name().unwrap_or_default();
            fs::copy(path, copy.path().join(name))?;
        }
        for path in self.directory.tables.values() {
            let name = path.file_name().unwrap_or_default();
            symlink(dir.join(name), copy.path().join(name))?;
        }
        Ok(copy)
    }
}

/// No more findings than this are listed.
const DAMAGE_MAX: usize = 100;

fn unused_tables(directory: &Directory, examination: &Examination) -> usize {
    let is_used = |number: &u64| {
        let families = examination.manifest.families.values();
        families.clone().any(|family| family.tables.contains_key(number))
    };
    directory.tables.keys().filter(|number| !is_used(number)).count()
}
