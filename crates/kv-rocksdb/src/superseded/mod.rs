//! Versions that a later commit has superseded. Only readers of older timestamps see them.
//!
//! A commit adds the versions it supersedes to the [`History`], in memory, before it changes `latest`.
//! Versions that a live snapshot needs while the history is over its memory budget move to disk ([`Spill`]).
//! Neither survives a restart, and neither has to: no snapshot does.
//!
//! Not here: the newest versions ([`crate::latest`]), and which versions a reader sees ([`crate::versions`]).

mod history;
mod spill;

pub(crate) use history::{History, SupersededVersion};
pub(crate) use spill::Spill;

use crate::latest::deletions::ExpiredDeletions;
use crate::layout::Version;
use crate::space::FreeSpace;
use kv::{Pressure, Result, Timestamp};

/// The superseded versions of a store: in memory, and on disk where memory is short.
pub(crate) struct Superseded {
    pub history: History,
    pub spill: Spill,
}

impl Superseded {
    /// Calls `found` with the version of `key` that was the newest at `ts`, if a later one has superseded it
    /// since. `None`: there was none.
    pub fn read<T>(&self, key: &[u8], ts: Timestamp, found: impl FnOnce(Version) -> T) -> Result<Option<T>> {
        // Copied, because `found` runs without the lock.
        let in_memory = self.history.with(key, ts, |version| {
            let value = version.value.map(Vec::from);
            (version.commit_ts, value)
        });
        if let Some((ts, value)) = in_memory {
            let value = value.as_deref();
            return Ok(Some(found(Version { ts, value })));
        }
        // The disk is read after memory, because versions move from memory to disk.
        if self.history.spilled_ts() <= ts {
            return Ok(None);
        }
        let on_disk = self.spill.with(key, ts, |commit_ts, version| {
            let value = version.value;
            // Otherwise a deletion that has been collected since superseded it at or before `ts`: there was
            // no version at `ts`.
            (version.ts > ts).then(|| found(Version { ts: commit_ts, value }))
        })?;
        Ok(on_disk.flatten())
    }

    /// How far the history is over its budget.
    pub fn pressure(&self) -> Pressure {
        if !self.history.exceeds_budget(1) {
            Pressure::Low
        } else if !self.history.exceeds_budget(2) {
            Pressure::High
        } else {
            Pressure::TooHigh
        }
    }

    /// Drops versions that no reader at or above `safe_point` sees, and returns how many. Deletions among the
    /// versions that superseded them are queued in `expired`.
    pub fn collect(&self, safe_point: Timestamp, expired: &ExpiredDeletions) -> u64 {
        self.history.collect(safe_point, expired)
    }

    /// Moves the oldest versions to disk until the rest is within its memory budget.
    ///
    /// # Errors
    /// [`kv::Error::DiskFull`] if that would use the space that is kept free, and RocksDB's errors.
    pub fn spill(&self, space: &FreeSpace, expired: &ExpiredDeletions) -> Result<()> {
        while self.history.exceeds_budget(1) {
            let Some(newest_ts) = self.history.seal_oldest() else {
                break;
            };
            let mut next = 0;
            loop {
                let from = next;
                let mut batch = spill::Batch::default();
                next = self
                    .history
                    .visit_oldest(from, spill::Batch::LIMITS, |version| batch.add(&version));
                if next == from {
                    break;
                }
                space.check_now(batch.bytes())?;
                self.spill.write(batch)?;
            }
            expired.note_unlisted(newest_ts);
            self.history.drop_spilled(newest_ts);
        }
        Ok(())
    }

    /// Drops spilled versions that no reader at or above `safe_point` needs: all of them if none is needed;
    /// otherwise, if `thorough`, by looking at each. Returns how many.
    pub fn collect_spilled(&self, safe_point: Timestamp, thorough: bool) -> Result<u64> {
        if self.history.spilled_ts() <= safe_point {
            let count = self.spill.remove_all();
            self.history.note_nothing_spilled();
            return Ok(count);
        }
        if thorough { self.spill.compact() } else { Ok(0) }
    }
}
