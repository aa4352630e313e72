//! The records that commits write: of one transaction, and of a group.

use super::family_of;
use super::records::{PutHead, PutSpan, Records};
use crate::layout::{
    LAST_COMMIT_KEY, LATEST, META, TS_BYTES, Version, push_unstamped_version, version_bytes,
};
use crate::superseded::{History, SupersededVersion};
use kv::{Result, Timestamp, WriteBuffer};
use rocksdb::{DB, WriteBatch};

/// The first bytes of a put, for each column family.
#[derive(Debug)]
pub(crate) struct PutHeads {
    meta: PutHead,
    latest: PutHead,
}

impl PutHeads {
    pub fn of(db: &DB) -> Result<Self> {
        let head = |name| Ok(PutHead::of(family_of(db, name)?));
        Ok(Self {
            meta: head(META)?,
            latest: head(LATEST)?,
        })
    }
}

/// One transaction's writes, complete except the commit's timestamp.
pub struct Prepared {
    records: Records,
    /// Where the puts of `latest` are in `records`.
    newest: Vec<PutSpan>,
    /// The versions that they replace, encoded for the history.
    superseded: Vec<u8>,
}

impl Prepared {
    /// With room for the writes, and for the versions they replace if those are of the same size.
    pub(crate) fn with_room_for(writes: &WriteBuffer) -> Self {
        let keys = writes.len();
        let bytes: usize = writes
            .iter()
            .map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len))
            .sum();
        // And for the records that `Group` adds.
        let records = keys + 2;
        Self {
            records: Records::with_capacity(records, bytes + records * version_bytes(None)),
            newest: Vec::with_capacity(keys),
            superseded: Vec::with_capacity(bytes + keys * SupersededVersion::bytes_of(&[], None)),
        }
    }

    /// Adds a write. `before` is the key's newest version so far.
    pub(crate) fn push(
        &mut self,
        heads: &PutHeads,
        history: &History,
        (key, value): (&[u8], Option<&[u8]>),
        before: Option<Version>,
    ) {
        self.newest.push(self.records.put(
            &heads.latest,
            (key.len(), |out| out.extend_from_slice(key)),
            (version_bytes(value), |out| push_unstamped_version(out, value)),
        ));
        // A value that replaces nothing supersedes nothing: older entries tell a reader that there was
        // nothing. A deletion has to be removed from `latest` some day, whatever it replaces.
        if value.is_none() || before.is_some_and(|before| before.value.is_some()) {
            let before = before.unwrap_or(Version { ts: 0, value: None });
            history.encode(&mut self.superseded, key, before, value.is_none());
        }
    }

    /// Whether it adds to the history.
    pub fn supersedes(&self) -> bool {
        !self.superseded.is_empty()
    }

    /// Keys and stored versions that it puts into `latest`.
    pub(super) fn newest(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let bytes = self.records.bytes();
        self.newest
            .iter()
            .filter_map(|put| Some((bytes.get(put.key.clone())?, bytes.get(put.value.clone())?)))
    }

    fn stamp(&mut self, commit_ts: Timestamp) {
        let bytes = self.records.bytes_mut();
        for put in &self.newest {
            let at = put.value.start;
            if let Some(ts) = bytes.get_mut(at..at + TS_BYTES) {
                ts.copy_from_slice(&commit_ts.to_be_bytes());
            }
        }
    }
}

/// Transactions that are written together, and the batch made of their records.
pub(crate) struct Group {
    /// The batch's records: those of the first transaction, with the others' appended.
    pub(super) members: Vec<Prepared>,
    pub(super) batch: WriteBatch,
}

impl Group {
    /// Makes one batch of all members, committed at one timestamp. `None`: there is nothing to write.
    pub fn new(heads: &PutHeads, mut members: Vec<Prepared>, commit_ts: Timestamp) -> Option<Self> {
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
            &heads.meta,
            (LAST_COMMIT_KEY.len(), |out| {
                out.extend_from_slice(LAST_COMMIT_KEY)
            }),
            (stamp.len(), |out| out.extend_from_slice(&stamp)),
        );
        let batch = first.records.batch();
        Some(Self { members, batch })
    }

    /// The batch's size.
    pub fn bytes(&self) -> usize {
        self.batch.size_in_bytes()
    }

    /// The versions that the group supersedes, encoded for the history.
    pub fn superseded(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| member.superseded.as_slice())
    }
}
