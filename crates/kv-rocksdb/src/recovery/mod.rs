//! What a start checks before RocksDB opens a store, and what it does about damage.
//!
//! RocksDB reads its logs up to the first record that is not complete and takes that for the end
//! (`WALRecoveryMode::PointInTime`). That is right after a crash, which tears what was being written. But
//! damage in the middle of a log looks the same, a block of zeros is passed over, and a missing log is not
//! noticed: acknowledged transactions would be lost silently. So the logs are read before, and the store is
//! opened only if nothing that had been synced can be missing:
//!
//! 1. All files that the manifest names exist and have the length that it says ([`directory`], [`manifest`]).
//! 2. The first log that is needed exists, and from it on sequence numbers follow each other through all logs
//!    ([`chain`]).
//! 3. They reach the entry up to which the log had been synced, which a file beside it says ([`sync_mark`]).
//! 4. After their end there is nothing of these logs. If there is, each batch there says how far the log had
//!    been synced when it was written ([`log_format::synced_before`]). If that is after the end, something
//!    that had been synced is damaged. If it is not, the machine stopped before all of what was being written
//!    had reached the disk, in whatever order it got there. No client had been promised that it would last,
//!    and the logs are cut off before it ([`Finding::Unsynced`]). If the last batch does not say, an earlier
//!    program wrote it, and it counts as lost. Fragments without a start or without an end belong to the one
//!    batch that was being written.
//!
//! After a crash of the process alone, 3 is exact. After a crash of the machine, damage to nothing but the
//! last batch that had been synced cannot be distinguished from a torn batch, and is not.
//!
//! Logs below those that the manifest needs, and the rest of an overwritten log after its records, are not
//! read. What a store that was closed in order has after its log's end is not read either.

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

pub(crate) use directory::DirectoryLock;
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

/// The conclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Finding {
    /// No store yet.
    New,
    /// All that was acknowledged is there.
    Sound,
    /// The same, and after the log's end is something that was being written when the machine stopped.
    Unsynced,
    LogLoss(Loss),
    /// Damage to the manifest, or to table files.
    Damaged(Vec<String>),
}

/// What a damaged log has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Loss {
    log: u64,
    /// The offset in it; `None`: the log is missing.
    offset: Option<u64>,
    /// What is wrong there.
    what: String,
    /// The sequence number of the first entry that is lost, and the one after the last lost entry that is
    /// known.
    first_sequence: u64,
    next_sequence: u64,
    /// Valid batches after the damage.
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
            write!(f, "; {batches_behind} records after the damage are undamaged")?;
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

/// A time as text.
fn utc(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    // Years that start in March, in eras of 400 years, since 1 March of the year 0.
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
    /// Examines the directory, which no other process has open. `is_thorough`: also what a store closed in
    /// order does not need.
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
            Finding::Unsynced
        } else {
            Finding::Sound
        })
    }

    /// Each flush, and each start that wrote tables, records the last entry of the tables in the manifest.
    /// After it may be the commit's timestamp, whose entry replaces an earlier one in place.
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

    /// The sequence number after all that tables and logs hold. Where logs hold nothing, it follows that of
    /// the tables. The entry after their last one, the commit's timestamp, may have the sequence number of an
    /// earlier one.
    fn next_sequence(&self) -> u64 {
        self.chain.next_sequence.unwrap_or_else(|| {
            let flushed = self.mark.map_or(0, |mark| mark.flushed);
            flushed
                .saturating_add(1)
                .max(self.manifest.largest_sequence().saturating_add(2))
        })
    }

    /// The first log that is needed, if it is missing.
    fn missing_log(&self) -> Option<u64> {
        let first = self.manifest.first_log_number();
        let is_there = |number| self.directory.logs.contains_key(&number);
        match self.mark {
            // No other log has become the first since the store was opened.
            Some(mark) if mark.first_log >= first => (!is_there(mark.first_log)).then_some(mark.first_log),
            _ if is_there(first) => None,
            _ if self.directory.logs_from(first).is_empty() => {
                let has_been_used = !self.manifest.is_first() || self.synced() > 0;
                has_been_used.then_some(first)
            }
            _ => {
                // Or one less: see `next_sequence`.
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

/// Examines a store that is about to be opened by the holder of its [`DirectoryLock`].
///
/// # Errors
/// [`Error::Corrupt`]: something that was acknowledged is missing or damaged. Says what, and what to do.
pub(crate) fn before_open(dir: &Path) -> Result<()> {
    let started = std::time::Instant::now();
    let examination = Examination::of(dir, false).map_err(|error| cannot_read(dir, &error))?;
    let place = dir.display();
    match &examination.finding {
        Finding::New | Finding::Sound => {}
        Finding::Unsynced => {
            examination.cut().map_err(|error| cannot_read(dir, &error))?;
            tracing::info!(
                dir = %place,
                "the log was cut off after its last complete record: the machine stopped while more was being written"
            );
        }
        Finding::LogLoss(loss) => {
            return Err(Error::Corrupt(format!(
                "{place}: {loss}. The store is not opened, and nothing has been changed. Restore a backup; or, to go on without \
                 these transactions, run `stemdb repair {place}`, which first says what it would do"
            )));
        }
        Finding::Damaged(what) => {
            return Err(Error::Corrupt(format!(
                "{place}: {}. The store is not opened, and nothing has been changed. Restore the files, or a backup; `stemdb \
                 check {place}` checks all others",
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

/// The number of the current log.
pub(crate) fn newest_log(dir: &Path) -> io::Result<u64> {
    let directory = Directory::list(dir)?;
    Ok(directory.logs.keys().next_back().copied().unwrap_or(0))
}

/// What the file `SYNCED` says.
#[cfg(test)]
pub(crate) fn read_sync_mark(dir: &Path) -> Option<Mark> {
    Mark::read(dir).ok().flatten()
}
