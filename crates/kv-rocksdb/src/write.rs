//! Writing: a transaction's writes are made ready on its own thread; the leader of its commit group only stamps them
//! with the commit's timestamp and hands all of them to RocksDB as one batch.
//!
//! Where a transaction depends on another one of its group, the leader makes its writes ready as well. All that they replace is
//! known then ([`kv::KnownVersions`]), so that it copies bytes and reads nothing. Nor does it move history to disk: who adds
//! to it waits for that before it queues ([`kv::Pressure`]).

use crate::latest::Prepared;
use crate::latest::cache::{Lookup, Page};
use crate::layout::Version;
use crate::storage::RocksStorage;
use kv::{ApplyError, ApplyHow, KnownVersions, LATEST as LATEST_TS, Result, Timestamp, WriteBuffer};
use std::sync::Arc;

/// Keys looked up together. Bounds how many blocks one large transaction pins.
const LOOKUP_KEYS: usize = 256;

/// A transaction of no more writes has pages loaded as reads do: its like will come again. What a larger one writes is
/// looked up at once.
const PAGED_WRITES: usize = 64;

impl RocksStorage {
    pub(crate) fn prepare_writes(&self, writes: &WriteBuffer, known: &KnownVersions) -> Result<Prepared> {
        let mut prepared = Prepared::with_room_for(writes);
        let mut lookup = Vec::new();
        let is_short = writes.len() <= PAGED_WRITES;
        for (key, write) in writes.writes() {
            let value = write.value.as_deref();
            if write.is_fresh {
                self.push(&mut prepared, key, value, None);
                continue;
            }
            match known.get(key) {
                Some((0, _)) => self.push(&mut prepared, key, value, None),
                Some((ts, before)) => {
                    self.push(&mut prepared, key, value, Some(Version { ts, value: before }))
                }
                None => match self.page_of_write(key, is_short)? {
                    Some(page) => {
                        let before = page.get(key).map(Version::parse).transpose()?;
                        if self.compares {
                            self.compare_read(key, LATEST_TS, false, before)?;
                        }
                        self.push(&mut prepared, key, value, before);
                    }
                    None => {
                        lookup.push((key, value));
                        if lookup.len() == LOOKUP_KEYS {
                            self.look_up(&mut lookup, &mut prepared)?;
                        }
                    }
                },
            }
        }
        self.look_up(&mut lookup, &mut prepared)?;
        Ok(prepared)
    }

    fn push(&self, prepared: &mut Prepared, key: &[u8], value: Option<&[u8]>, before: Option<Version>) {
        self.latest.push(prepared, &self.history, (key, value), before);
    }

    fn page_of_write(&self, key: &[u8], may_load: bool) -> Result<Option<Arc<Page>>> {
        if may_load {
            return self.page(key, LATEST_TS);
        }
        Ok(match self.latest.cache().page(key, LATEST_TS) {
            Lookup::Found(page) => Some(page),
            Lookup::Missing | Lookup::TooOld => None,
        })
    }

    /// Reads what the writes replace, and pushes them. The keys are in order.
    fn look_up(&self, lookup: &mut Vec<(&[u8], Option<&[u8]>)>, prepared: &mut Prepared) -> Result<()> {
        if lookup.is_empty() {
            return Ok(());
        }
        let keys = lookup.iter().map(|(key, _)| *key);
        let all = self.latest.get_many(keys, true)?;
        for (&(key, value), stored) in lookup.iter().zip(all) {
            let stored = stored?;
            let before = stored.as_deref().map(Version::parse).transpose()?;
            self.push(prepared, key, value, before);
        }
        lookup.clear();
        Ok(())
    }

    pub(crate) fn apply_group(
        &self,
        group: Vec<Prepared>,
        commit_ts: Timestamp,
        how: ApplyHow,
    ) -> Result<(), ApplyError> {
        let Some(group) = self.latest.group(group, commit_ts) else {
            return Ok(());
        };
        self.space
            .check(group.bytes(), how.use_reserve)
            .map_err(ApplyError::NotApplied)?;
        // Before anybody can meet what supersedes it.
        self.history.add(group.superseded(), commit_ts);
        // RocksDB writes and syncs the log before it makes anything visible. If it fails, the record may have reached
        // the disk all the same, and an operating system that failed to sync once may claim success the next time:
        // neither this group's outcome is known nor can the log be trusted with another one.
        self.latest.commit(group, how.sync).map_err(|error| {
            tracing::error!(dir = %self.dir.display(), %error, "a write to the log failed");
            ApplyError::Unknown(error)
        })
    }
}
