//! `stemdb repair`: gives up what a damaged log has lost, so that the store can be opened.

use super::directory::DirectoryLock;
use super::sync_mark::Mark;
use super::{Examination, Finding, cannot_read};
use kv::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What was found, and what was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repaired {
    /// All that was acknowledged is there.
    NothingToDo,
    /// Says what would be lost. Nothing was changed.
    Refused { loss: String },
    /// Says what is lost, and where copies of the damaged logs are.
    Done { loss: String, copies: PathBuf },
}

/// Cuts the logs of the store in `dir` off before their damage, if `accept_loss`. Copies of them stay in the
/// directory.
///
/// # Errors
/// [`Error::Unavailable`] if another process is using the directory or it cannot be read; [`Error::Corrupt`]
/// if more than the log is damaged, which cannot be repaired.
pub fn repair(dir: &Path, accept_loss: bool) -> Result<Repaired> {
    let _lock = DirectoryLock::take(dir)?;
    let cannot = |error: io::Error| cannot_read(dir, &error);
    let examination = Examination::of(dir, true).map_err(cannot)?;
    let loss = match &examination.finding {
        Finding::New | Finding::Sound | Finding::Unsynced => return Ok(Repaired::NothingToDo),
        Finding::Damaged(what) => {
            return Err(Error::Corrupt(format!(
                "{}; only a damaged log can be repaired: restore the files, or a backup",
                what.join("; ")
            )));
        }
        Finding::LogLoss(loss) => loss,
    };
    let ahead = examination.families_ahead_of(loss.log);
    if !ahead.is_empty() {
        return Err(Error::Corrupt(format!(
            "{loss}. Table files of {} hold later changes than the log would: restore a backup",
            ahead.join(", ")
        )));
    }
    let loss = loss.to_string();
    if !accept_loss {
        return Ok(Repaired::Refused { loss });
    }
    let copies = examination.copy_logs().map_err(cannot)?;
    examination.cut().map_err(cannot)?;
    examination.update_files().map_err(cannot)?;
    Ok(Repaired::Done { loss, copies })
}

impl Examination {
    /// Column families whose tables hold entries of later logs than this one.
    fn families_ahead_of(&self, log: u64) -> Vec<String> {
        let families = self.manifest.families.values();
        let ahead = families.filter(|family| family.log_number > log && !family.tables.is_empty());
        ahead.map(|family| family.name.clone()).collect()
    }

    /// Copies the logs to a new directory within the store's.
    fn copy_logs(&self) -> io::Result<PathBuf> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let copies = self
            .directory
            .path
            .join(format!("damaged-logs-{}", now.map_or(0, |now| now.as_millis())));
        fs::create_dir(&copies)?;
        let of_chain = self.chain.logs.iter().map(|log| &log.path);
        for path in of_chain.chain(self.chain.rest.iter().map(|(_, path)| path)) {
            let to = copies.join(path.file_name().unwrap_or_default());
            fs::copy(path, &to)?;
            File::open(to)?.sync_all()?;
        }
        File::open(&copies)?.sync_all()?;
        Ok(copies)
    }

    /// Makes the files say that only the remaining entries are needed.
    fn update_files(&self) -> io::Result<()> {
        let dir = &self.directory.path;
        let first = self.manifest.first_log_number();
        let logs = self.directory.logs_from(first);
        let first_log = match logs.first() {
            Some((number, _)) => *number,
            None => {
                File::create(dir.join(format!("{first:06}.log")))?.sync_all()?;
                first
            }
        };
        let synced = self.next_sequence().saturating_sub(1);
        let mark = Mark {
            first_log,
            flushed: match self.chain.next_sequence {
                Some(_) => self.mark.map_or(0, |mark| mark.flushed),
                None => synced.min(self.manifest.last_sequence),
            },
            synced,
            is_closed: false,
        };
        mark.write(dir)?;
        File::open(dir)?.sync_all()
    }
}
