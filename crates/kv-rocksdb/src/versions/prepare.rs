//! Preparing a transaction's writes for its commit, on the transaction's own thread: finding what they
//! replace, and encoding the records.
//!
//! Where a transaction depends on another one of its group, the thread that commits the group prepares it.
//! All that its writes replace is in [`kv::LockedVersions`] by then, so this copies bytes and reads nothing.

use super::{Comparison, Versions};
use crate::latest::Prepared;
use crate::latest::cache::{Lookup, Page};
use crate::layout::Version;
use kv::{LATEST, LockedVersions, Result, WriteBuffer};
use std::sync::Arc;

/// Keys looked up together. Bounds how many blocks a large transaction pins.
const LOOKUP_KEYS: usize = 256;

/// A transaction of no more writes loads pages as reads do, since similar ones are likely to follow. A larger
/// one looks all its keys up in RocksDB.
const PAGED_WRITES: usize = 64;

/// One transaction's writes while they are prepared.
pub(crate) struct Preparation<'a> {
    versions: &'a Versions,
    prepared: Prepared,
    /// Writes that replace something which is not in memory: keys in order, and values.
    lookups: Vec<(&'a [u8], Option<&'a [u8]>)>,
    loads_pages: bool,
}

impl<'a> Preparation<'a> {
    /// `locked`: versions that the transaction has read under locks.
    pub fn of(versions: &'a Versions, writes: &'a WriteBuffer, locked: &LockedVersions) -> Result<Prepared> {
        let mut preparation = Self {
            versions,
            prepared: Prepared::with_room_for(writes),
            lookups: Vec::new(),
            loads_pages: writes.len() <= PAGED_WRITES,
        };
        let mut locked = locked.in_order();
        for (key, write) in writes.writes() {
            let value = write.value.as_deref();
            let before = if write.is_fresh {
                Some((0, None))
            } else {
                locked.get(key)
            };
            match before {
                Some((0, _)) => preparation.push(key, value, None),
                Some((ts, before)) => preparation.push(key, value, Some(Version { ts, value: before })),
                None => preparation.find_and_push(key, value)?,
            }
        }
        preparation.look_up()?;
        Ok(preparation.prepared)
    }

    fn push(&mut self, key: &[u8], value: Option<&[u8]>, before: Option<Version>) {
        let heads = self.versions.latest.put_heads();
        let history = &self.versions.superseded.history;
        self.prepared.push(heads, history, (key, value), before);
    }

    fn find_and_push(&mut self, key: &'a [u8], value: Option<&'a [u8]>) -> Result<()> {
        let Some(page) = self.page(key)? else {
            self.lookups.push((key, value));
            if self.lookups.len() == LOOKUP_KEYS {
                self.look_up()?;
            }
            return Ok(());
        };
        let before = page.get(key).map(Version::parse).transpose()?;
        if self.versions.compares {
            Comparison::new(self.versions, LATEST).of_read(key, false, before)?;
        }
        self.push(key, value, before);
        Ok(())
    }

    fn page(&self, key: &[u8]) -> Result<Option<Arc<Page>>> {
        if self.loads_pages {
            return self.versions.page(key, LATEST);
        }
        Ok(match self.versions.latest.cache().page(key, LATEST) {
            Lookup::Found(page) => Some(page),
            Lookup::Missing | Lookup::TooOld => None,
        })
    }

    /// Reads what the gathered writes replace, and pushes them.
    fn look_up(&mut self) -> Result<()> {
        if self.lookups.is_empty() {
            return Ok(());
        }
        let mut lookups = std::mem::take(&mut self.lookups);
        let keys = lookups.iter().map(|(key, _)| *key);
        let all = self.versions.latest.get_many(keys, true)?;
        for (&(key, value), stored) in lookups.iter().zip(all) {
            let stored = stored?;
            let before = stored.as_deref().map(Version::parse).transpose()?;
            self.push(key, value, before);
        }
        lookups.clear();
        self.lookups = lookups;
        Ok(())
    }
}
