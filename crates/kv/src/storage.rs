//! What an embedded engine is built on: a storage that keeps versions of keys.
//!
//! [`crate::EmbeddedEngine`] adds locks, timestamps and group commit, and so makes a [`Storage`] an
//! [`crate::Engine`].

use crate::buffer::WriteBuffer;
use crate::engine::{Damage, ScanRequest, VisitNewer};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::locked_versions::LockedVersions;
use crate::reader::{KeyRange, Visit};
use crate::sorted_pairs::{SortedFile, SortedPairs};
use crate::timestamp::Timestamp;
use crate::watch::Watch;

/// Why a group of commits failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyError {
    /// The group is not in the store, now or after a restart, and the store is unharmed.
    NotApplied(Error),
    /// The group may be on disk or not. Nothing more may be written to the log.
    Unknown(Error),
}

/// How a group is applied: as the most demanding of its members asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApplyHow {
    /// It is on disk when `apply` returns, together with everything applied before.
    pub sync: bool,
    /// It may use the disk space that is kept free ([`crate::Transaction::use_reserve`]).
    pub use_reserve: bool,
}

/// What a read of one key found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether there was a value.
    pub found: bool,
    /// When the value, or the deletion, was committed; 0 if there was no version.
    pub commit_ts: Timestamp,
}

/// Called once for each key of a batch, in any order: its index, when the version that was found was
/// committed (0: there is none), and the value if there is one.
pub type VisitVersions<'a> = dyn FnMut(usize, Timestamp, Option<&[u8]>) + 'a;

/// Locks keys for garbage collection: only the holder of a key's lock may remove its newest version.
pub trait KeyGuard {
    /// False if the key is locked: it is left for the next round.
    fn try_lock(&mut self, key: &[u8]) -> bool;

    /// Releases everything locked since the last call.
    fn unlock_all(&mut self);
}

/// How much memory superseded versions take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    Low,
    /// More than they should; to be collected soon.
    High,
    /// Collection did not keep up. A commit that adds more waits for it before it queues.
    TooHigh,
}

/// Versioned keys on disk or in memory.
///
/// A read at a timestamp only happens while the timestamp is pinned: collection keeps what it sees. A read at
/// [`crate::LATEST`] only happens for keys whose locks the reader holds: their newest versions do not change.
pub trait Storage: Send + Sync + 'static {
    /// One transaction's writes, prepared.
    type Prepared: Send;

    fn name(&self) -> &'static str;

    /// The newest commit found when the store was opened; 0 in an empty one.
    fn newest_commit_ts(&self) -> Timestamp;

    /// Lends the version visible at `ts`.
    fn get_with(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen>;

    /// Lends the newest version if it was committed at or before `ts`, which need not be pinned; `None` if it
    /// is newer.
    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>>;

    /// When the newest version of a locked key was committed, which may be a deletion that has not been
    /// collected yet; 0: there is none.
    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp>;

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()>;

    /// Never at [`crate::LATEST`].
    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()>;

    /// See [`crate::Reader::will_read`].
    fn will_read(&self, _keys: &[&[u8]], _ts: Timestamp) {}

    /// Prepares a transaction's writes, whose keys it has locked until they are applied. Reads what they
    /// replace, except for keys that are fresh or in `locked`. If all are, this may run on the thread that
    /// commits groups.
    fn prepare(&self, writes: &WriteBuffer, locked: &LockedVersions) -> Result<Self::Prepared>;

    /// Whether it adds to the [`Storage::pressure`].
    fn supersedes(&self, _prepared: &Self::Prepared) -> bool {
        true
    }

    /// Applies transactions at one timestamp, atomically. One call at a time. They become visible only when
    /// they are as durable as asked. All other commits wait meanwhile, so this reads nothing and makes no
    /// room.
    fn apply(
        &self,
        group: Vec<Self::Prepared>,
        commit_ts: Timestamp,
        how: ApplyHow,
    ) -> Result<(), ApplyError>;

    /// Syncs everything applied so far.
    fn sync_log(&self) -> Result<()>;

    /// Removes what no snapshot at or above `safe_point` can see, in steps short enough not to delay writers.
    /// `thorough`: all of it, now. Returns how many versions it removed.
    fn collect(&self, safe_point: Timestamp, thorough: bool, guard: &mut dyn KeyGuard) -> Result<u64>;

    /// How urgent collection is.
    fn pressure(&self) -> Pressure {
        Pressure::Low
    }

    /// The safe point that would end the pressure; 0: there is no pressure.
    fn wanted_safe_point(&self) -> Timestamp {
        0
    }

    fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>>;

    fn approximate_bytes(&self, range: &KeyRange) -> Result<u64>;

    fn destroy_range(&self, range: &KeyRange) -> Result<()>;

    /// [`crate::Engine::loads_by_file`]
    fn loads_by_file(&self) -> bool {
        false
    }

    /// [`crate::Engine::check_space`]
    fn check_space(&self, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// [`crate::Engine::scratch_file`]
    fn scratch_file(&self) -> Result<std::fs::File> {
        Err(Error::Internal("this storage has no files".into()))
    }

    /// [`crate::Engine::scan_newer`]
    fn scan_newer(
        &self,
        _range: &KeyRange,
        _since: Timestamp,
        _interrupt: Option<&Interrupt>,
        _visit: &mut VisitNewer,
    ) -> Result<()> {
        Err(Error::Internal(
            "this storage does not find newer versions".into(),
        ))
    }

    /// [`crate::Engine::visit_newest`]
    fn visit_newest(&self, _keys: &[Vec<u8>], _visit: &mut VisitNewer) -> Result<()> {
        Err(Error::Internal(
            "this storage does not find newest versions".into(),
        ))
    }

    /// [`crate::Engine::watch`]
    fn watch(&self, _range: &KeyRange) -> Result<Watch> {
        Err(Error::Internal("this storage does not note changes".into()))
    }

    /// [`crate::Engine::is_blank`]
    fn is_blank(&self, _range: &KeyRange) -> Result<bool> {
        Ok(false)
    }

    /// [`crate::Engine::write_sorted_file`]
    fn write_sorted_file(&self, _pairs: &SortedPairs, _ts: Timestamp) -> Result<SortedFile> {
        Err(Error::Internal("this storage has no sorted files".into()))
    }

    /// [`crate::Engine::ingest`]
    fn ingest(&self, _range: &KeyRange, _files: Vec<SortedFile>) -> Result<(), ApplyError> {
        let error = Error::Internal("this storage has no sorted files".into());
        Err(ApplyError::NotApplied(error))
    }

    /// [`crate::Engine::verify_cached`] for readers of `ts`, which is pinned.
    fn verify_cached(
        &self,
        _range: &KeyRange,
        _ts: Timestamp,
        _interrupt: Option<&Interrupt>,
    ) -> Result<Vec<Damage>> {
        Ok(Vec::new())
    }

    fn flush(&self) -> Result<()>;

    fn stats(&self) -> Vec<(&'static str, f64)>;
}
