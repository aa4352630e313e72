//! What is looked at before RocksDB opens a store, and what is done about it.
//!
//! RocksDB reads its logs up to the first record that is not whole and takes that for the end (`WALRecoveryMode::PointInTime`).
//! So it should be after a crash, which tears what was being written; but damage in the middle of a log looks the same, a
//! block of zeros is passed over, and a log that is missing is not missed. What has been acknowledged would be gone without a
//! word. So the logs are read before, and the store is opened only if nothing can be missing that had been synced:
//!
//! 1. All files that the manifest names are there and as long as it says ([`directory`], [`manifest`]).
//! 2. The first log that is needed is there, and from it on sequence numbers follow each other through all logs ([`chain`]).
//! 3. They reach the entry up to which the log had been synced, which a file beside it says ([`sync_mark`]).
//! 4. Behind their end is nothing of these logs. If there is, each batch there says how far the log had been synced when it was
//!    written ([`log_format::synced_before`]): if that is beyond the end, what had been synced is damaged. If it is not, the
//!    machine stopped before all of what was being written had reached the disk, in whatever order it got there: nobody had
//!    been promised that it would last, and the logs are cut off before it ([`Finding::Unpromised`]). If the last one does not
//!    say, an earlier program wrote it, and it counts as lost. Fragments without a beginning are of the one batch that was
//!    being written.
//!
//! After a crash of the process alone, 3 is exact. After one of the machine, damage to nothing but the last batch that had
//! been synced cannot be told from one that was torn, and is not.
//!
//! Logs below those that the manifest needs, and what is left in a log of the one it is written over, are looked at by nobody.
//! What a store closed in order has behind its log's end is not read.

mod chain;
mod check;
mod checksum;
mod directory;
pub mod log_format;
pub mod log_reader;
pub mod manifest;
mod repair;
mod sync_mark;

#[cfg(test)]
mod tests;

pub use check::{Checked, check};
pub use repair::{Repaired, repair};

pub(crate) use directory::Lock;
pub(crate) use sync_mark::SyncMark;

use chain::{Behind, Chain};
use directory::{Directory, Manifested};
use kv::{Error, Result};
use log_format::End;
use manifest::Manifest;
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use sync_mark::Mark;

/// What a directory holds.
pub(crate) struct Examination {
    directory: Directory,
    manifest: Manifest,
    mark: Option<Mark>,
    chain: Chain,
    finding: Finding,
}

/// What that comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Finding {
    /// No store yet.
    New,
    /// All that was acknowledged is there.
    Sound,
    /// The same, and behind the log's end is something that was being written when the machine stopped.
    Unpromised,
    LogLoss(Loss),
    /// Of the manifest, or of table files.
    Damaged(Vec<String>),
}

/// What a damaged log has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Loss {
    log: u64,
    /// Where in it; `None`: it is missing.
    offset: Option<u64>,
    /// What is wrong there.
    what: String,
    /// The first entry that is lost, and the one behind the last one that is known of.
    first_sequence: u64,
    next_sequence: u64,
    /// Valid batches behind the damage.
    batches_behind: u64,
    last_commit_ts: Option<u64>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            log,
            what,
            first_sequence,
            next_sequence,
            batches_behind,
            ..
        } = self;
        match self.offset {
            Some(offset) => write!(f, "the log {log:06}.log is damaged at byte {offset}: {what}. ")?,
            None => write!(f, "the log {log:06}.log is missing. ")?,
        }
        let entries = next_sequence.saturating_sub(*first_sequence);
        let last = next_sequence.saturating_sub(1);
        write!(
            f,
            "Committed transactions are in the part that cannot be used: {entries} changes of rows and index entries or more, \
             from sequence number {first_sequence} to {last}"
        )?;
        if *batches_behind > 0 {
            write!(f, "; {batches_behind} records behind the damage are whole")?;
        }
        if let Some(ts) = self.last_commit_ts {
            let at = utc(kv::timestamp_to_ms(ts));
            write!(
                f,
                ". The last transaction before the damage was committed at {at}"
            )?;
        }
        Ok(())
    }
}

/// A moment as text.
fn utc(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    // Years that begin with March, in eras of 400 of them, since the first of March of the year 0.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..=9 => (era * 400 + year, month + 3),
        _ => (era * 400 + year + 1, month - 9),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:03} UTC",
        ms % 1000
    )
}

impl Examination {
    /// Looks at the directory, which nobody else has open. `is_thorough`: also at what a store closed in order does not need.
    fn of(dir: &Path, is_thorough: bool) -> io::Result<Self> {
        let directory = Directory::list(dir)?;
        let mark = Mark::read(dir)?;
        let mut examination = Self {
            manifest: Manifest::default(),
            directory,
            mark,
            chain: Chain::default(),
            finding: Finding::Sound,
        };
        match examination.directory.manifest()? {
            Manifested::New if examination.mark.is_some_and(|mark| mark.synced > 0) => {
                let what = "there is no manifest, and a store was here".to_owned();
                examination.finding = Finding::Damaged(vec![what]);
            }
            Manifested::New => examination.finding = Finding::New,
            Manifested::Damaged(what) => examination.finding = Finding::Damaged(vec![what]),
            Manifested::Store(manifest) => {
                examination.manifest = manifest;
                let of_logs = examination.examine_logs(is_thorough)?;
                let mut damage = examination.directory.missing_tables(&examination.manifest)?;
                damage.extend(examination.manifest_ends_early());
                examination.finding = if damage.is_empty() {
                    of_logs
                } else {
                    Finding::Damaged(damage)
                };
            }
        }
        Ok(examination)
    }

    fn examine_logs(&mut self, is_thorough: bool) -> io::Result<Finding> {
        let logs = self.directory.logs_from(self.manifest.first_log_number());
        self.chain = Chain::read(logs.clone())?;
        if let Some(missing) = self.missing_log() {
            self.chain = Chain {
                rest: logs,
                ..Chain::default()
            };
            let behind = self.chain.behind(0)?;
            return Ok(Finding::LogLoss(self.loss(&behind, Some(missing))));
        }
        let synced = self.synced();
        let next = self.next_sequence();
        let is_closed = self.mark.is_some_and(|mark| mark.is_closed)
            && self
                .chain
                .next_sequence
                .is_none_or(|next| next == synced.saturating_add(1));
        if is_closed && synced < next && self.chain.rest.is_empty() && !is_thorough {
            return Ok(Finding::Sound);
        }
        let behind = self.chain.behind(next)?;
        let is_lost = synced >= next
            || behind.synced.is_some_and(|synced| synced >= next)
            || (behind.batches > 0 && behind.is_last_silent)
            || self.chain.overlaps;
        Ok(if is_lost {
            Finding::LogLoss(self.loss(&behind, None))
        } else if behind.first.is_some() || !self.chain.rest.is_empty() {
            Finding::Unpromised
        } else {
            Finding::Sound
        })
    }

    /// Each flush and each start that wrote tables is in the manifest, with the last entry of the tables. Behind it may be the
    /// commit's timestamp, whose entry replaces an earlier one in place.
    fn manifest_ends_early(&self) -> Option<String> {
        let flushed = self.mark?.flushed;
        let known = self.manifest.last_sequence;
        (flushed > known.saturating_add(1)).then(|| {
            format!(
                "the manifest has been cut off: it knows entries up to sequence number {known}, and tables held those up to {flushed}"
            )
        })
    }

    fn synced(&self) -> u64 {
        self.mark.map_or(0, |mark| mark.synced)
    }

    /// What follows all that tables and logs hold. Where logs hold nothing, it follows what the tables do; the entry behind
    /// their last one, which says when it was committed, may be there under the number of an earlier one.
    fn next_sequence(&self) -> u64 {
        self.chain.next_sequence.unwrap_or_else(|| {
            let flushed = self.mark.map_or(0, |mark| mark.flushed);
            flushed
                .saturating_add(1)
                .max(self.manifest.largest_sequence().saturating_add(2))
        })
    }

    /// The first log that is needed, if it is not there.
    fn missing_log(&self) -> Option<u64> {
        let first = self.manifest.first_log_number();
        let is_there = |number| self.directory.logs.contains_key(&number);
        match self.mark {
            // No log has become the first since the store was opened.
            Some(mark) if mark.first_log >= first => (!is_there(mark.first_log)).then_some(mark.first_log),
            _ if is_there(first) => None,
            _ if self.directory.logs_from(first).is_empty() => {
                let has_been_used = !self.manifest.is_first() || self.synced() > 0;
                has_been_used.then_some(first)
            }
            _ => {
                // Or one less, as above.
                let last = self.manifest.first_log_sequence();
                let follows = |sequence: u64| (1..=2).contains(&sequence.wrapping_sub(last));
                (!self.chain.first_sequence.is_none_or(follows)).then_some(first)
            }
        }
    }

    fn loss(&self, behind: &Behind, missing: Option<u64>) -> Loss {
        let broken = self.chain.broken();
        let what = broken.map_or("", |log| match log.end {
            End::Broken(what) => what,
            End::OfFile | End::Zeros | End::OlderLog => "it ends too early",
        });
        let first_sequence = self.next_sequence();
        Loss {
            log: missing.or(broken.map(|log| log.number)).unwrap_or(0),
            offset: match missing {
                Some(_) => None,
                None => broken.map(|log| log.valid_bytes),
            },
            what: what.to_owned(),
            first_sequence,
            next_sequence: behind
                .next_sequence
                .max(self.synced().saturating_add(1))
                .max(behind.synced.unwrap_or(0).saturating_add(1)),
            batches_behind: behind.batches,
            last_commit_ts: self.chain.last_commit_ts(),
        }
    }

    /// Cuts the logs off where their sequence numbers end.
    fn cut(&self) -> io::Result<()> {
        let last = self.chain.last().map_or(0, |log| log.number);
        let ends = self.chain.logs.iter().filter(|log| log.number >= last);
        let ends = ends.map(|log| (&log.path, log.valid_bytes));
        for (path, bytes) in ends.chain(self.chain.rest.iter().map(|(_, path)| (path, 0))) {
            let file = OpenOptions::new().write(true).open(path)?;
            file.set_len(bytes)?;
            file.sync_all()?;
        }
        Ok(())
    }
}

/// Looks at a store that is about to be opened by the holder of its [`Lock`].
///
/// # Errors
/// [`Error::Corrupt`]: something that was acknowledged is missing or damaged; what, and how to go on.
pub(crate) fn before_open(dir: &Path) -> Result<()> {
    let started = std::time::Instant::now();
    let examination = Examination::of(dir, false).map_err(|error| cannot_read(dir, &error))?;
    let place = dir.display();
    match &examination.finding {
        Finding::New | Finding::Sound => {}
        Finding::Unpromised => {
            examination.cut().map_err(|error| cannot_read(dir, &error))?;
            tracing::info!(
                dir = %place,
                "the log was cut off behind its last whole record: the machine stopped while more was being written"
            );
        }
        Finding::LogLoss(loss) => {
            return Err(Error::Corrupt(format!(
                "{place}: {loss}. The store is not opened, and nothing has been changed. Restore a backup; or, to go on without \
                 these transactions, run `stemdb repair {place}`, which says what it is going to do"
            )));
        }
        Finding::Damaged(what) => {
            return Err(Error::Corrupt(format!(
                "{place}: {}. The store is not opened, and nothing has been changed. Restore the files, or a backup; `stemdb \
                 check {place}` looks at all others",
                what.join("; ")
            )));
        }
    }
    tracing::debug!(dir = %place, elapsed = ?started.elapsed(), "the logs are whole");
    Ok(())
}

fn cannot_read(dir: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("cannot read the files of {}: {error}", dir.display()))
}

/// The number of the log that is written to.
pub(crate) fn newest_log(dir: &Path) -> io::Result<u64> {
    let directory = Directory::list(dir)?;
    Ok(directory.logs.keys().next_back().copied().unwrap_or(0))
}
