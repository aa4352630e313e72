//! Reading single keys, at any timestamp.
//!
//! `latest` is looked at first, and `history` only if what lies there is too new. That two looks are not one moment
//! does no harm: a commit moves the old version to `history` in the same batch that puts the new one into `latest`, so
//! whoever saw the new one finds the old one; and while its timestamp is pinned, `history` only grows.

use crate::failure::from_rocksdb;
use crate::layout::{HISTORY, LATEST, TS_BYTES, Version, push_history_key};
use crate::storage::RocksStorage;
use kv::{Result, Seen, Timestamp, VisitVersions};
use rocksdb::{DB, DBRawIteratorWithThreadMode};

impl RocksStorage {
    pub(crate) fn read_one(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        let latest = self.family(LATEST)?;
        let stored = self
            .db
            .get_pinned_cf_opt(latest, key, &self.read_options)
            .map_err(|error| from_rocksdb(&error))?;
        let Some(stored) = stored else {
            return Ok(Seen {
                found: false,
                commit_ts: 0,
            });
        };
        let version = Version::parse(&stored)?;
        if version.ts > ts {
            return self.history().read(key, ts, found);
        }
        if let Some(value) = version.value {
            found(value);
        }
        Ok(Seen {
            found: version.value.is_some(),
            commit_ts: version.ts,
        })
    }

    /// One call into RocksDB, which reads all keys at one sequence number: one moment, even for the newest versions.
    pub(crate) fn read_batch(
        &self,
        keys: &[Vec<u8>],
        ts: Timestamp,
        visit: &mut VisitVersions,
    ) -> Result<()> {
        if let [key] = keys {
            let mut found = None;
            let seen = self.read_one(key, ts, &mut |value| found = Some(value.to_vec()))?;
            visit(0, seen.commit_ts, found.as_deref());
            return Ok(());
        }
        let latest = self.family(LATEST)?;
        let all = self
            .db
            .batched_multi_get_cf_opt(latest, keys, false, &self.read_options);
        let mut history = self.history();
        for (index, (key, stored)) in keys.iter().zip(all).enumerate() {
            let Some(stored) = stored.map_err(|error| from_rocksdb(&error))? else {
                visit(index, 0, None);
                continue;
            };
            let version = Version::parse(&stored)?;
            if version.ts <= ts {
                visit(index, version.ts, version.value);
                continue;
            }
            let mut found = None;
            let seen = history.read(key, ts, &mut |value| found = Some(value.to_vec()))?;
            visit(index, seen.commit_ts, found.as_deref());
        }
        Ok(())
    }

    pub(crate) fn history(&self) -> History<'_> {
        History {
            storage: self,
            iterator: None,
            target: Vec::new(),
        }
    }
}

/// Reads superseded versions. Its iterator is made with the first read and used for all further ones; older than the
/// iterator over `latest` it never is, so it holds whatever that one found superseded.
pub(crate) struct History<'a> {
    storage: &'a RocksStorage,
    iterator: Option<DBRawIteratorWithThreadMode<'a, DB>>,
    target: Vec<u8>,
}

impl History<'_> {
    /// The version of `key` that was there at `ts`, which is before its newest one.
    pub fn read(&mut self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        let nothing = Seen {
            found: false,
            commit_ts: 0,
        };
        let iterator = match &mut self.iterator {
            Some(iterator) => iterator,
            slot => slot.insert(self.storage.db.raw_iterator_cf(self.storage.family(HISTORY)?)),
        };
        self.target.clear();
        push_history_key(&mut self.target, key, ts);
        iterator.seek(&self.target);
        let Some((stored_key, stored)) = iterator.item() else {
            iterator.status().map_err(|error| from_rocksdb(&error))?;
            return Ok(nothing);
        };
        let Some((escaped, complement)) = stored_key.split_last_chunk::<TS_BYTES>() else {
            return Err(crate::layout::damaged("a key of history", stored_key));
        };
        if Some(escaped) != self.target.get(..self.target.len() - TS_BYTES) {
            return Ok(nothing);
        }
        let commit_ts = !Timestamp::from_be_bytes(*complement);
        let version = Version::parse(stored)?;
        // Superseded at or before `ts` by a deletion that has been collected since: nothing was there.
        if version.ts <= ts {
            return Ok(nothing);
        }
        if let Some(value) = version.value {
            found(value);
        }
        Ok(Seen {
            found: version.value.is_some(),
            commit_ts,
        })
    }
}
