//! Writes that rest on what their caller knows: who may make them, and what is checked of it.
//!
//! A *guarded* key belongs to another one, its guard, as an index entry does to its row. A commit neither looks for its conflicts
//! nor, on a cluster, locks it. A *fresh* key is taken to replace nothing, which is not looked up. Both rest on promises:
//!
//! 1. Who writes a guarded key holds the exclusive lock of its guard until the commit, or writes the guard too, whose lock the
//!    commit takes.
//! 2. Nobody locks a guarded key itself.
//! 3. A fresh key has no value in any transaction that has been committed, nor in one that this one depends on.
//!
//! The types keep a caller from promising by mistake. A [`Guard`] is had from the write of a guard or from its lock, and is good
//! for its own transaction only. A [`Fresh`] is had from what the guard's newest version says. Neither costs anything. An
//! engine that is opened to check promises ([`crate::Engine::checks_promises`]: tests do so) looks, for each commit, whether
//! they have been kept, and fails it if not.

use crate::buffer::WriteBuffer;
use crate::error::{Error, Result};
use crate::timestamp::Timestamp;
use std::collections::HashMap;

/// That a transaction writes a key, or holds its exclusive lock: it may write what the key guards.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    pub(crate) start_ts: Timestamp,
    /// Where [`Promises`] has the key.
    pub(crate) place: usize,
}

/// That a guarded key has no value yet. The evidence is the newest version of its guard, which is locked, or written by who will
/// hear of it should it have changed.
#[derive(Debug, Clone, Copy)]
pub struct Fresh(());

impl Fresh {
    /// Where the guard is not there, nothing that it guards is. `newest`: its newest value.
    pub fn under_new(newest: Option<&[u8]>) -> Option<Self> {
        newest.is_none().then_some(Self(()))
    }

    /// What the guard's newest version guards is `old`, where it will be `new`.
    pub fn in_place_of(old: &[u8], new: &[u8]) -> Option<Self> {
        (old != new).then_some(Self(()))
    }
}

/// What a transaction has promised, for an engine that checks it.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    guards: Vec<Vec<u8>>,
    /// Guarded keys, and where their guards are.
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
        self.guarded.insert(key.to_vec(), guard.place);
    }

    /// # Errors
    /// A key to be locked is a guarded one.
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
            let guard = self.guarded.get(key).and_then(|place| self.guards.get(*place));
            if !guard.is_some_and(|guard| writes.get(guard).is_some() || is_locked(guard)) {
                return Err(broken("a guarded key is written without its guard", key));
            }
        }
        Ok(())
    }
}

/// For an engine that checks promises: what it says of a fresh key that has a value.
pub fn not_fresh(key: &[u8]) -> Error {
    broken("a key that was to be fresh has a value", key)
}
