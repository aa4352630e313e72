//! Writing: a transaction's writes are made ready on its own thread; the leader of its commit group only stamps them
//! with the commit's timestamp and hands all of them to RocksDB as one batch.
//!
//! Where a transaction depends on another one of its group, the leader makes its writes ready as well. All that they replace is
//! known then ([`kv::KnownVersions`]), so that it copies bytes and reads nothing. Nor does it move history to disk: who adds
//! to it waits for that before it queues ([`kv::Pressure`]).

use crate::cache::{Lookup, Page};
use crate::failure::from_rocksdb;
use crate::history::{Entry, History};
use crate::layout::{
    LAST_COMMIT_KEY, LATEST, META, TS_BYTES, Version, push_unstamped_version, version_bytes,
};
use crate::records::{Head, Place, Records};
use crate::storage::{RocksStorage, family_of};
use kv::{
    ApplyError, ApplyHow, KeyRange, KnownVersions, LATEST as LATEST_TS, Result, Timestamp, WriteBuffer,
};
use rocksdb::{DB, WriteBatch};
use std::sync::Arc;

/// Keys looked up together. Bounds how many blocks one large transaction pins.
const LOOKUP_KEYS: usize = 256;

/// A transaction of no more writes has pages loaded as reads do: its like will come again. What a larger one writes is
/// looked up at once.
const PAGED_WRITES: usize = 64;

/// How puts of each column family begin.
#[derive(Debug)]
pub(crate) struct Heads {
    meta: Head,
    latest: Head,
}

impl Heads {
    pub fn of(db: &DB) -> Result<Self> {
        let head = |name| Ok(Head::of(family_of(db, name)?));
        Ok(Self {
            meta: head(META)?,
            latest: head(LATEST)?,
        })
    }
}

/// One transaction's writes, complete but for the commit's timestamp.
pub struct Prepared {
    records: Records,
    /// What goes to `latest`.
    newest: Vec<Place>,
    /// The versions that they replace, as entries of the history.
    superseded: Vec<u8>,
}

impl Prepared {
    /// With room for the writes, and for the versions they replace where those are of the same size.
    fn with_room_for(writes: &WriteBuffer) -> Self {
        let keys = writes.len();
        let bytes: usize = writes
            .iter()
            .map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len))
            .sum();
        // And for what the leader of a group adds.
        let records = keys + 2;
        Self {
            records: Records::with_capacity(records, bytes + records * version_bytes(None)),
            newest: Vec::with_capacity(keys),
            superseded: Vec::with_capacity(bytes + keys * Entry::bytes_of(&[], None)),
        }
    }

    /// `before` is the key's newest version so far.
    fn push(
        &mut self,
        heads: &Heads,
        history: &History,
        key: &[u8],
        value: Option<&[u8]>,
        before: Option<Version>,
    ) {
        self.newest.push(self.records.put(
            &heads.latest,
            (key.len(), |out| out.extend_from_slice(key)),
            (version_bytes(value), |out| push_unstamped_version(out, value)),
        ));
        // That there was nothing before a value follows from older entries. A deletion is to be collected some day, whatever
        // it replaces.
        if value.is_none() || before.is_some_and(|before| before.value.is_some()) {
            let before = before.unwrap_or(Version { ts: 0, value: None });
            history.push(&mut self.superseded, key, before, value.is_none());
        }
    }

    /// Whether it adds to the history.
    pub fn supersedes(&self) -> bool {
        !self.superseded.is_empty()
    }

    fn stamp(&mut self, commit_ts: Timestamp) {
        let bytes = self.records.bytes_mut();
        for place in &self.newest {
            let at = place.value.start;
            if let Some(slot) = bytes.get_mut(at..at + TS_BYTES) {
                slot.copy_from_slice(&commit_ts.to_be_bytes());
            }
        }
    }

    /// What goes to `latest`.
    fn newest(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let bytes = self.records.bytes();
        self.newest
            .iter()
            .filter_map(|place| Some((bytes.get(place.key.clone())?, bytes.get(place.value.clone())?)))
    }
}

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
        prepared.push(&self.heads, &self.history, key, value, before);
    }

    fn page_of_write(&self, key: &[u8], may_load: bool) -> Result<Option<Arc<Page>>> {
        if may_load {
            return self.page(key, LATEST_TS);
        }
        Ok(match self.cache.page(key, LATEST_TS) {
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
        let all = self
            .db
            .batched_multi_get_cf_opt(self.family(LATEST)?, keys, true, &self.read_options);
        for ((key, value), stored) in lookup.drain(..).zip(all) {
            let stored = stored.map_err(|error| from_rocksdb(&error))?;
            let before = stored.as_deref().map(Version::parse).transpose()?;
            self.push(prepared, key, value, before);
        }
        Ok(())
    }

    pub(crate) fn apply_group(
        &self,
        mut group: Vec<Prepared>,
        commit_ts: Timestamp,
        how: ApplyHow,
    ) -> Result<(), ApplyError> {
        for prepared in &mut group {
            prepared.stamp(commit_ts);
        }
        let Some(batch) = self.batch_of(&mut group, commit_ts) else {
            return Ok(());
        };
        self.space
            .check(batch.size_in_bytes(), how.use_reserve)
            .map_err(ApplyError::NotApplied)?;
        // Before anybody can meet what supersedes it.
        let superseded = group.iter().map(|prepared| prepared.superseded.as_slice());
        self.history.add(superseded, commit_ts);
        // RocksDB writes and syncs the log before it makes anything visible. If it fails, the record may have reached
        // the disk all the same, and an operating system that failed to sync once may claim success the next time:
        // neither this group's outcome is known nor can the log be trusted with another one.
        if let Err(error) = self.write(batch, how.sync) {
            tracing::error!(dir = %self.dir.display(), %error, "a write to the log failed");
            self.cache.forget(&KeyRange::all());
            return Err(ApplyError::Unknown(error));
        }
        self.cache.update(group.iter().flat_map(Prepared::newest));
        Ok(())
    }

    /// One batch of all, which the first one's records become. `None`: there is nothing to write.
    fn batch_of(&self, group: &mut [Prepared], commit_ts: Timestamp) -> Option<WriteBatch> {
        let (first, others) = group.split_first_mut()?;
        for other in others {
            first.records.append(&other.records);
        }
        if first.records.is_empty() {
            return None;
        }
        // Timestamps stay above this one after a restart, even if the clock has gone back.
        let stamp = commit_ts.to_be_bytes();
        first.records.put(
            &self.heads.meta,
            (LAST_COMMIT_KEY.len(), |out| {
                out.extend_from_slice(LAST_COMMIT_KEY)
            }),
            (stamp.len(), |out| out.extend_from_slice(&stamp)),
        );
        Some(first.records.batch())
    }
}
