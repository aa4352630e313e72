//! The newest versions of what a transaction has locked.

use crate::error::{Error, Result};
use crate::pending_commit::{Dependencies, PendingCommit};
use crate::small_map::{self, SmallMap};
use crate::timestamp::Timestamp;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;

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

impl Dependencies {
    /// Removes all, and returns the commits that have not been applied. `locked` gets what they write.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: one of them has failed.
    pub fn take_unapplied(&mut self, locked: &mut LockedVersions) -> Result<Vec<Arc<PendingCommit>>> {
        let mut unapplied = Vec::new();
        for (key, commit) in self.iter() {
            if commit.has_failed() {
                return Err(Error::Deadlock);
            }
            if !commit.is_applied() {
                locked.insert_pending(key, commit);
                unapplied.push(Arc::clone(commit));
            }
        }
        self.clear();
        Ok(unapplied)
    }
}
