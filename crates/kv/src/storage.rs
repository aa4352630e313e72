//! What is left for an embedded engine to do once locks, timestamps and group commit are taken care of: keep versions.
//!
//! [`crate::EmbeddedEngine`] makes an [`crate::Engine`] of it.

use crate::buffer::WriteBuffer;
use crate::engine::{Damage, ScanRequest};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::pending_commit::PendingCommit;
use crate::reader::{KeyRange, Visit};
use crate::small_map::SmallMap;
use crate::timestamp::Timestamp;
use std::sync::Arc;

/// Why a group of commits failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyError {
    /// Definitely not there, now or after a restart, and the store is as good as before.
    NotApplied(Error),
    /// It may be on disk or not; the log cannot be trusted with anything further.
    Unknown(Error),
}

/// How a group is applied: as its most demanding member asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApplyHow {
    /// It is on disk at the end, together with everything applied before.
    pub sync: bool,
    /// It may use the space that is kept free ([`crate::Transaction::use_reserve`]).
    pub use_reserve: bool,
}

/// What a read of one key met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether there was a value.
    pub found: bool,
    /// When what was seen (a value, or a deletion) was committed; 0 if there was nothing.
    pub commit_ts: Timestamp,
}

/// Called for each key of a batch, once, in any order: its index, when what was found was committed (0: nothing was),
/// and the value if there is one.
pub type VisitVersions<'a> = dyn FnMut(usize, Timestamp, Option<&[u8]>) + 'a;

enum KnownVersion {
    /// When it was committed, and its value.
    Read(Timestamp, Option<Arc<[u8]>>),
    /// What a commit on its way leaves behind.
    Pending(Arc<PendingCommit>),
}

/// The newest versions of keys that a transaction has locked for itself alone and read. They stand still until it ends, so
/// whoever has to know what a write replaces need not read them again.
#[derive(Default)]
pub struct KnownVersions {
    versions: SmallMap<Arc<[u8]>, KnownVersion>,
    bytes: usize,
}

impl KnownVersions {
    /// Larger values are cheaper to read again than to keep.
    const VALUE_BYTES_MAX: usize = 4 << 10;
    const BYTES_MAX: usize = 1 << 20;

    /// Remembers a version, unless that would take too much memory.
    pub fn insert(&mut self, key: &Arc<[u8]>, commit_ts: Timestamp, value: Option<Arc<[u8]>>) {
        let bytes = key.len() + value.as_deref().map_or(0, <[u8]>::len);
        if bytes > Self::VALUE_BYTES_MAX || self.bytes + bytes > Self::BYTES_MAX {
            return;
        }
        self.insert_any(Arc::clone(key), commit_ts, value);
    }

    /// Remembers a version of any size.
    pub(crate) fn insert_any(&mut self, key: Arc<[u8]>, commit_ts: Timestamp, value: Option<Arc<[u8]>>) {
        self.bytes += key.len() + value.as_deref().map_or(0, <[u8]>::len);
        self.versions.insert(key, KnownVersion::Read(commit_ts, value));
    }

    /// The version will be what `commit` leaves behind; it is known from when that is applied.
    pub(crate) fn insert_pending(&mut self, key: &Arc<[u8]>, commit: &Arc<PendingCommit>) {
        let version = KnownVersion::Pending(Arc::clone(commit));
        self.versions.insert(Arc::clone(key), version);
    }

    /// Whether it is known, now or once the commits before this one are applied.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.versions.get(key).is_some()
    }

    /// When the newest version of `key` was committed (0: there is none), and its value; `None` if not known.
    pub fn get(&self, key: &[u8]) -> Option<(Timestamp, Option<&[u8]>)> {
        match self.versions.get(key)? {
            KnownVersion::Read(commit_ts, value) => Some((*commit_ts, value.as_deref())),
            KnownVersion::Pending(commit) => commit.version_of(key),
        }
    }

    pub fn clear(&mut self) {
        self.versions.clear();
        self.bytes = 0;
    }
}

/// Lets garbage collection touch the newest version of a key, which only the holder of its lock may do.
pub trait KeyGuard {
    /// False if someone holds the key; it is left for the next round.
    fn try_lock(&mut self, key: &[u8]) -> bool;

    /// Gives back everything locked since the last call.
    fn unlock_all(&mut self);
}

/// How much memory superseded versions take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    Low,
    /// More than they should; to be collected soon.
    High,
    /// Collection did not keep up: a commit that adds more waits for it, before it queues.
    TooHigh,
}

/// Versioned keys on disk or in memory.
///
/// Reads at a timestamp are only asked for while it is pinned: collection keeps what they see. Reads at
/// [`crate::LATEST`] are only asked for of keys whose locks the reader holds: they stand still.
pub trait Storage: Send + Sync + 'static {
    /// One transaction's writes, made ready.
    type Prepared: Send;

    fn name(&self) -> &'static str;

    /// The newest commit found when the store was opened; 0 in an empty one.
    fn newest_commit_ts(&self) -> Timestamp;

    /// Lends the version visible at `ts`.
    fn get_with(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen>;

    /// Lends the newest version if it was committed at or before `ts`, which need not be pinned; `None` if it is newer.
    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>>;

    /// When the newest version of a locked key was committed, be it a deletion that has not been collected yet; 0: there
    /// is none.
    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp>;

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()>;

    /// Never asked for at [`crate::LATEST`].
    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()>;

    /// Makes a transaction's writes ready, while it holds the locks of all their keys until they are applied. Reads only what is
    /// neither fresh nor `known`: where all is, this may run on the thread that commits for everybody.
    fn prepare(&self, writes: &WriteBuffer, known: &KnownVersions) -> Result<Self::Prepared>;

    /// Whether it adds to what makes the [`Storage::pressure`].
    fn supersedes(&self, _prepared: &Self::Prepared) -> bool {
        true
    }

    /// Applies a group of transactions at one timestamp, atomically. One call at a time. Visible only once it is as
    /// durable as asked. All other commits wait meanwhile: it reads nothing and makes no room.
    fn apply(
        &self,
        group: Vec<Self::Prepared>,
        commit_ts: Timestamp,
        how: ApplyHow,
    ) -> Result<(), ApplyError>;

    /// Brings everything applied so far to disk.
    fn sync_log(&self) -> Result<()>;

    /// Removes what no snapshot at or above `safe_point` can see; in steps short enough not to hold up writers.
    /// `thorough` asks for all of it now. Returns how many versions it removed.
    fn collect(&self, safe_point: Timestamp, thorough: bool, guard: &mut dyn KeyGuard) -> Result<u64>;

    /// How urgent collection is.
    fn pressure(&self) -> Pressure {
        Pressure::Low
    }

    /// The safe point that would end the pressure; 0: there is none.
    fn wanted_safe_point(&self) -> Timestamp {
        0
    }

    fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>>;

    fn approximate_bytes(&self, range: &KeyRange) -> Result<u64>;

    fn destroy_range(&self, range: &KeyRange) -> Result<()>;

    /// [`crate::Engine::verify_cached`], as readers of `ts` see it, which is pinned.
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
