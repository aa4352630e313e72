//! All that changes `latest`, and how its cache hears of it.

use super::records::{Head, Place, Records};
use super::{Latest, family_of};
use crate::failure::from_rocksdb;
use crate::history::{Entry, Expired, History};
use crate::layout::{
    LAST_COMMIT_KEY, LATEST, META, TS_BYTES, Version, push_unstamped_version, version_bytes,
};
use crate::recovery::log_format::{SYNCED_BYTES, synced_note};
use kv::{KeyRange, Result, Timestamp, WriteBuffer};
use rocksdb::{DB, WriteBatch};

/// How puts of each column family begin.
#[derive(Debug)]
pub(super) struct Heads {
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
    pub(crate) fn with_room_for(writes: &WriteBuffer) -> Self {
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

/// Transactions that are written together, and the batch that their records have become.
pub(crate) struct Group {
    members: Vec<Prepared>,
    batch: WriteBatch,
}

impl Group {
    /// Of the batch.
    pub fn bytes(&self) -> usize {
        self.batch.size_in_bytes()
    }

    /// What it supersedes, as entries of the history.
    pub fn superseded(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| member.superseded.as_slice())
    }
}

impl Latest {
    /// Adds a write to a transaction's. `before` is the key's newest version so far.
    pub fn push(
        &self,
        prepared: &mut Prepared,
        history: &History,
        (key, value): (&[u8], Option<&[u8]>),
        before: Option<Version>,
    ) {
        prepared.newest.push(prepared.records.put(
            &self.heads.latest,
            (key.len(), |out| out.extend_from_slice(key)),
            (version_bytes(value), |out| push_unstamped_version(out, value)),
        ));
        // That there was nothing before a value follows from older entries. A deletion is to be collected some day, whatever
        // it replaces.
        if value.is_none() || before.is_some_and(|before| before.value.is_some()) {
            let before = before.unwrap_or(Version { ts: 0, value: None });
            history.push(&mut prepared.superseded, key, before, value.is_none());
        }
    }

    /// Makes one batch of all, committed at one timestamp; the first one's records become it. `None`: there is nothing to write.
    pub fn group(&self, mut members: Vec<Prepared>, commit_ts: Timestamp) -> Option<Group> {
        for prepared in &mut members {
            prepared.stamp(commit_ts);
        }
        let (first, others) = members.split_first_mut()?;
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
        let batch = first.records.batch();
        Some(Group { members, batch })
    }

    /// Commits a group, of which readers must not know yet: RocksDB has it before the cache does. One call at a time. After an
    /// error RocksDB may have it or not, now or after a restart.
    pub fn commit(&self, group: Group, sync: bool) -> Result<()> {
        if let Err(error) = self.write(group.batch, sync) {
            self.cache.forget(&KeyRange::all());
            return Err(error);
        }
        self.cache.update(group.members.iter().flat_map(Prepared::newest));
        Ok(())
    }

    /// Removes newest versions that are deletions, which no snapshot has to know of any more, and whose keys are locked; those
    /// that are others by now stay. For the cache such a deletion and nothing are the same.
    pub fn remove_deletions<'a>(&self, deletions: impl Iterator<Item = &'a Expired>) -> Result<u64> {
        let latest = self.family()?;
        let mut batch = WriteBatch::default();
        for (deleted_ts, key) in deletions {
            let stored = self.get(key)?;
            let newest = stored.as_deref().map(Version::parse).transpose()?;
            if newest.is_some_and(|newest| newest.value.is_none() && newest.ts == *deleted_ts) {
                batch.delete_cf(latest, key);
            }
        }
        let removed = batch.len();
        if removed > 0 {
            self.write(batch, false)?;
        }
        Ok(u64::try_from(removed).unwrap_or(u64::MAX))
    }

    /// Removes all of a range, which has an end: drops whole files first, which frees their space at once, then covers the rest
    /// with a range deletion, which frees it as files are compacted. `stored` are the first and the last key in it.
    pub fn destroy(&self, range: &KeyRange, stored: Option<&(Vec<u8>, Vec<u8>)>) -> Result<()> {
        let destroyed = self.destroy_stored(range, stored);
        // Some of it may be gone even if that failed.
        self.cache.forget(range);
        destroyed
    }

    fn destroy_stored(&self, range: &KeyRange, stored: Option<&(Vec<u8>, Vec<u8>)>) -> Result<()> {
        let family = self.family()?;
        // RocksDB takes the end of a range of files as part of it, so this ends at the last key inside.
        if let Some((first, last)) = stored {
            self.db
                .delete_file_in_range_cf(family, first, last)
                .map_err(|error| from_rocksdb(&error))?;
        }
        let mut batch = WriteBatch::default();
        batch.delete_range_cf(family, &range.start, &range.end);
        self.write(batch, true)
    }

    /// The one way to write what has to last: to the log, and to memory.
    fn write(&self, mut batch: WriteBatch, sync: bool) -> Result<()> {
        let options = if sync {
            &self.write_synced
        } else {
            &self.write_unsynced
        };
        let bytes = batch.size_in_bytes() + SYNCED_BYTES;
        let write = || {
            batch.put_log_data(synced_note(self.synced.begin_write()));
            self.db.write_opt(batch, options)?;
            if sync {
                self.synced.note_synced(self.db.latest_sequence_number());
            }
            Ok(())
        };
        self.log.write(bytes, write).map_err(|error| from_rocksdb(&error))
    }
}
