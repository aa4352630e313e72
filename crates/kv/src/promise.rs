//! Promises about writes: what a caller guarantees so that a commit need not check it.
//!
//! A *guarded* key belongs to another one, its guard, as an index entry belongs to its row. A commit neither
//! checks it for conflicts nor, on a cluster, locks it. A *fresh* key replaces nothing, which is not looked
//! up. Both rest on promises:
//!
//! 1. A transaction that writes a guarded key holds the exclusive lock of its guard until the commit, or
//!    writes the guard too, whose lock the commit takes.
//! 2. No transaction locks a guarded key itself.
//! 3. A fresh key has no value in any transaction that has been committed, nor in one that this transaction
//!    depends on.
//!
//! The types prevent most mistakes. A [`Guard`] comes from the write of a guard or from its lock, and is
//! valid for its own transaction only. A [`Fresh`] comes from the guard's newest version. Neither has a cost
//! at run time. An engine that checks promises ([`crate::Engine::checks_promises`], which tests use) checks
//! them at each commit, and fails it if one is broken.

use crate::buffer::WriteBuffer;
use crate::error::{Error, Result};
use crate::timestamp::Timestamp;
use std::collections::HashMap;

/// Evidence that a transaction writes a key, or holds its exclusive lock: it may write what the key guards.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    pub(crate) start_ts: Timestamp,
    /// The key's index in [`Promises`].
    pub(crate) index: usize,
}

/// Evidence that a guarded key has no value yet: the newest version of its guard, which is locked, or written
/// by a transaction whose commit fails if it has changed.
#[derive(Debug, Clone, Copy)]
pub struct Fresh(());

impl Fresh {
    /// If the guard does not exist, nothing that it guards exists. `newest`: its newest value.
    pub fn under_new(newest: Option<&[u8]>) -> Option<Self> {
        newest.is_none().then_some(Self(()))
    }

    /// The guard's newest version guards the key `old`, which is to become `new`.
    pub fn in_place_of(old: &[u8], new: &[u8]) -> Option<Self> {
        (old != new).then_some(Self(()))
    }
}

/// A transaction's promises, for an engine that checks them.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    guards: Vec<Vec<u8>>,
    /// Guarded keys, and the indexes of their guards.
    guarded: HashMap<Vec<u8>, usize>,
}

fn broken(what: &str, key: &[u8]) -> Error {
    let text = format!("{what}: {}", key.escape_ascii());
    tracing::error!(
        text,
        "a promise about a write was broken, which is a defect of this program"
    );
    Error::Internal(text)
}

impl Promises {
    pub fn add_guard(&mut self, key: &[u8]) -> usize {
        self.guards.push(key.to_vec());
        self.guards.len() - 1
    }

    pub fn add_guarded(&mut self, key: &[u8], guard: Guard) {
        self.guarded.insert(key.to_vec(), guard.index);
    }

    /// # Errors
    /// The key is a guarded one.
    pub fn check_lock(&self, key: &[u8]) -> Result<()> {
        match self.guarded.contains_key(key) {
            true => Err(broken("a guarded key is locked", key)),
            false => Ok(()),
        }
    }

    /// `is_locked`: whether the transaction holds the exclusive lock of a key.
    ///
    /// # Errors
    /// A guarded key is to be committed, and its guard is neither locked nor written.
    pub fn check_guards(&self, writes: &WriteBuffer, is_locked: impl Fn(&[u8]) -> bool) -> Result<()> {
        for (key, _) in writes.writes().filter(|(_, write)| write.is_guarded) {
            let guard = self.guarded.get(key).and_then(|index| self.guards.get(*index));
            if !guard.is_some_and(|guard| writes.get(guard).is_some() || is_locked(guard)) {
                return Err(broken("a guarded key is written without its guard", key));
            }
        }
        Ok(())
    }
}

/// The error for a fresh key that has a value.
pub fn not_fresh(key: &[u8]) -> Error {
    broken("a key that was to be fresh has a value", key)
}
