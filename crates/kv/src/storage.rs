//! What an embedded engine is built on: a storage that keeps versions of keys.
//!
//! [`crate::EmbeddedEngine`] adds locks, timestamps and group commit, and so makes a [`Storage`] an
//! [`crate::Engine`].

use crate::buffer::WriteBuffer;
use crate::engine::{Damage, ScanRequest};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::pending_commit::PendingCommit;
use crate::reader::{KeyRange, Visit};
use crate::small_map::{self, SmallMap};
use crate::timestamp::Timestamp;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;

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

enum LockedVersion {
    /// When it was committed, and its value.
    Read(Timestamp, Option<Arc<[u8]>>),
    /// What a pending commit writes.
    Pending(Arc<PendingCommit>),
}

impl LockedVersion {
    fn get(&self, key: &[u8]) -> Option<(Timestamp, Option<&[u8]>)> {
        match self {
            Self::Read(commit_ts, value) => Some((*commit_ts, value.as_deref())),
            Self::Pending(commit) => commit.version_of(key),
        }
    }
}

/// The newest versions of keys that a transaction has locked exclusively and read. They do not change until
/// it ends, so what its writes replace need not be read again.
#[derive(Default)]
pub struct LockedVersions {
    versions: SmallMap<Arc<[u8]>, LockedVersion>,
    bytes: usize,
}

impl LockedVersions {
    /// Larger values are cheaper to read again than to keep.
    const VALUE_BYTES_MAX: usize = 4 << 10;
    const BYTES_MAX: usize = 1 << 20;

    /// Keeps a version, unless that would take too much memory.
    pub fn insert(&mut self, key: &Arc<[u8]>, commit_ts: Timestamp, value: Option<Arc<[u8]>>) {
        let bytes = key.len() + value.as_deref().map_or(0, <[u8]>::len);
        if bytes > Self::VALUE_BYTES_MAX || self.bytes + bytes > Self::BYTES_MAX {
            return;
        }
        self.insert_any(Arc::clone(key), commit_ts, value);
    }

    /// Keeps a version of any size.
    pub(crate) fn insert_any(&mut self, key: Arc<[u8]>, commit_ts: Timestamp, value: Option<Arc<[u8]>>) {
        self.bytes += key.len() + value.as_deref().map_or(0, <[u8]>::len);
        self.versions.insert(key, LockedVersion::Read(commit_ts, value));
    }

    /// The version will be what `commit` writes. [`LockedVersions::get`] finds it once that is applied.
    pub(crate) fn insert_pending(&mut self, key: &Arc<[u8]>, commit: &Arc<PendingCommit>) {
        let version = LockedVersion::Pending(Arc::clone(commit));
        self.versions.insert(Arc::clone(key), version);
    }

    /// Whether [`LockedVersions::get`] finds the key, now or once the pending commits are applied.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.versions.get(key).is_some()
    }

    /// When the newest version of `key` was committed (0: there is none), and its value. `None`: it has not
    /// been kept.
    pub fn get(&self, key: &[u8]) -> Option<(Timestamp, Option<&[u8]>)> {
        self.versions.get(key)?.get(key)
    }

    /// For lookups of keys in ascending order: cheaper than [`LockedVersions::get`] for each.
    pub fn in_order(&self) -> LockedInOrder<'_> {
        LockedInOrder {
            rest: self.versions.iter().peekable(),
        }
    }

    pub fn clear(&mut self) {
        self.versions.clear();
        self.bytes = 0;
    }
}

/// See [`LockedVersions::in_order`].
pub struct LockedInOrder<'a> {
    rest: Peekable<small_map::Iter<'a, Arc<[u8]>, LockedVersion>>,
}

impl<'a> LockedInOrder<'a> {
    /// [`LockedVersions::get`] of a key after all that have been looked up before.
    pub fn get(&mut self, key: &[u8]) -> Option<(Timestamp, Option<&'a [u8]>)> {
        while let Some((next, version)) = self.rest.peek() {
            match (***next).cmp(key) {
                Ordering::Less => {
                    self.rest.next();
                }
                Ordering::Equal => return version.get(key),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

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
