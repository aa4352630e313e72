//! Writing: a transaction's writes are made ready on its own thread; the leader of its commit group only stamps them
//! with the commit's timestamp and hands all of them to RocksDB as one batch.

use crate::cache::Lookup;
use crate::failure::from_rocksdb;
use crate::layout::{
    DELETIONS, HISTORY, LAST_COMMIT_KEY, LATEST, TS_BYTES, Version, push_history_key, push_unstamped_version,
};
use crate::storage::RocksStorage;
use kv::{
    ApplyError, ApplyHow, KeyRange, KnownVersions, LATEST as LATEST_TS, Result, Timestamp, WriteBuffer,
};
use rocksdb::WriteBatch;
use std::ops::Range;

/// Keys looked up together. Bounds how many blocks one large transaction pins.
const LOOKUP_KEYS: usize = 256;

/// What RocksDB adds to a key and a value in a batch, at most.
const RECORD_OVERHEAD_BYTES: usize = 16;

/// What a version adds to its key and value, as a rule: timestamps, a flag, and the escaping of a short key.
const WRITE_OVERHEAD_BYTES: usize = 3 * TS_BYTES;

#[derive(Clone, Copy)]
enum Family {
    Latest,
    History,
    Deletions,
}

struct Put {
    family: Family,
    key: Range<usize>,
    value: Range<usize>,
}

/// One transaction's writes, complete but for the commit's timestamp.
#[derive(Default)]
pub struct Prepared {
    /// All keys and values, one after the other.
    bytes: Vec<u8>,
    puts: Vec<Put>,
    /// Where the timestamp goes.
    stamps: Vec<usize>,
}

impl Prepared {
    /// With room for the writes, and for the versions they replace where those are of the same size.
    fn with_room_for(writes: &WriteBuffer) -> Self {
        let keys = writes.iter().len();
        let bytes: usize = writes
            .iter()
            .map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len))
            .sum();
        Self {
            bytes: Vec::with_capacity(2 * (bytes + keys * WRITE_OVERHEAD_BYTES)),
            puts: Vec::with_capacity(2 * keys),
            stamps: Vec::with_capacity(2 * keys),
        }
    }

    /// `before` is the key's newest version so far.
    fn push(&mut self, key: &[u8], value: Option<&[u8]>, before: Option<Version>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.stamps.push(key_end);
        push_unstamped_version(&mut self.bytes, value);
        self.put(Family::Latest, start, key_end);
        if let Some(before) = before {
            let start = self.bytes.len();
            push_history_key(&mut self.bytes, key, before.ts);
            let key_end = self.bytes.len();
            self.stamps.push(key_end);
            push_unstamped_version(&mut self.bytes, before.value);
            self.put(Family::History, start, key_end);
        }
        if value.is_none() {
            let start = self.bytes.len();
            self.stamps.push(start);
            self.bytes.extend_from_slice(&[0; TS_BYTES]);
            self.bytes.extend_from_slice(key);
            self.put(Family::Deletions, start, self.bytes.len());
        }
    }

    fn put(&mut self, family: Family, start: usize, key_end: usize) {
        self.puts.push(Put {
            family,
            key: start..key_end,
            value: key_end..self.bytes.len(),
        });
    }

    fn stamp(&mut self, commit_ts: Timestamp) {
        for at in &self.stamps {
            if let Some(slot) = self.bytes.get_mut(*at..*at + TS_BYTES) {
                slot.copy_from_slice(&commit_ts.to_be_bytes());
            }
        }
    }

    /// A put's key and value.
    fn bytes_of(&self, put: &Put) -> Option<(&[u8], &[u8])> {
        let key = self.bytes.get(put.key.clone())?;
        Some((key, self.bytes.get(put.value.clone())?))
    }

    /// What goes to `latest`.
    fn newest(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let puts = self.puts.iter();
        puts.filter(|put| matches!(put.family, Family::Latest))
            .filter_map(|put| self.bytes_of(put))
    }

    fn batch_bytes(&self) -> usize {
        self.bytes.len() + self.puts.len() * RECORD_OVERHEAD_BYTES
    }
}

impl RocksStorage {
    pub(crate) fn prepare_writes(&self, writes: &WriteBuffer, known: &KnownVersions) -> Result<Prepared> {
        let mut prepared = Prepared::with_room_for(writes);
        let mut lookup = Vec::new();
        for (key, value) in writes.iter() {
            match known.get(key) {
                Some((0, _)) => prepared.push(key, value, None),
                Some((ts, before)) => prepared.push(key, value, Some(Version { ts, value: before })),
                None => match self.cache.page(key, LATEST_TS) {
                    Lookup::Found(page) => {
                        prepared.push(key, value, page.get(key).map(Version::parse).transpose()?);
                    }
                    Lookup::Missing | Lookup::TooOld => {
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
            prepared.push(key, value, before);
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
        let batch = self.batch_of(&group, commit_ts).map_err(ApplyError::NotApplied)?;
        if batch.is_empty() {
            return Ok(());
        }
        self.space
            .check(batch.size_in_bytes(), how.use_reserve)
            .map_err(ApplyError::NotApplied)?;
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

    fn batch_of(&self, group: &[Prepared], commit_ts: Timestamp) -> Result<WriteBatch> {
        let (latest, history, deletions) = (
            self.family(LATEST)?,
            self.family(HISTORY)?,
            self.family(DELETIONS)?,
        );
        let bytes = group.iter().map(Prepared::batch_bytes).sum::<usize>();
        let mut batch = WriteBatch::with_capacity_bytes(bytes + 64);
        for prepared in group {
            for put in &prepared.puts {
                let Some((key, value)) = prepared.bytes_of(put) else {
                    return Err(kv::Error::Internal(
                        "a prepared write lies outside of its bytes".into(),
                    ));
                };
                let family = match put.family {
                    Family::Latest => latest,
                    Family::History => history,
                    Family::Deletions => deletions,
                };
                batch.put_cf(family, key, value);
            }
        }
        if !batch.is_empty() {
            // Timestamps stay above this one after a restart, even if the clock has gone back.
            batch.put(LAST_COMMIT_KEY, commit_ts.to_be_bytes());
        }
        Ok(batch)
    }
}
