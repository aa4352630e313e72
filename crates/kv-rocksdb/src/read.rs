//! Reading single keys, at any timestamp.
//!
//! `latest` is looked at first, in memory ([`crate::latest::cache`]) or in RocksDB, and superseded versions only if what lies there
//! is too new. That two looks are not one moment does no harm: a commit adds the old version to those ([`crate::history`])
//! before it puts the new one into `latest`, so whoever saw the new one finds the old one; and none is taken away that a
//! pinned timestamp sees.

use crate::latest::cache::{Lookup, Page, Reads};
use crate::layout::Version;
use crate::storage::RocksStorage;
use kv::{LATEST, Result, Seen, Timestamp, VisitVersions};
use std::sync::Arc;

const NOTHING: Seen = Seen {
    found: false,
    commit_ts: 0,
};

impl RocksStorage {
    pub(crate) fn read_one(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        self.with_newest(key, ts, ts != LATEST, |newest| match newest {
            None => Ok(NOTHING),
            Some(version) if version.ts > ts => self.read_superseded(key, ts, found),
            Some(version) => Ok(lend(version, found)),
        })
    }

    /// `None`: there is a version newer than `ts`.
    pub(crate) fn read_settled(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>> {
        self.with_newest(key, ts, false, |newest| {
            Ok(match newest {
                None => Some(NOTHING),
                Some(version) if version.ts > ts => None,
                Some(version) => Some(lend(version, found)),
            })
        })
    }

    /// The newest version of a key; of deletions, those that matter to readers of `ts`.
    fn with_newest<T>(
        &self,
        key: &[u8],
        ts: Timestamp,
        is_pinned: bool,
        then: impl FnOnce(Option<Version>) -> Result<T>,
    ) -> Result<T> {
        if let Some(page) = self.page(key, ts)? {
            let newest = page.get(key).map(Version::parse).transpose()?;
            if self.compares {
                self.compare_read(key, ts, is_pinned, newest)?;
            }
            return then(newest);
        }
        let stored = self.latest.get(key)?;
        then(stored.as_deref().map(Version::parse).transpose()?)
    }

    /// The page of a key, if it is there or worth loading.
    pub(crate) fn page(&self, key: &[u8], ts: Timestamp) -> Result<Option<Arc<Page>>> {
        Ok(match self.latest.cache().page(key, ts) {
            Lookup::Found(page) => Some(page),
            Lookup::Missing if self.latest.cache().admits(Reads::OneKey) => {
                self.load_around(key, ts)?.map(|part| part.page)
            }
            Lookup::Missing | Lookup::TooOld => None,
        })
    }

    /// When the newest version of a key was committed, be it a deletion; 0: there is none.
    pub(crate) fn read_commit_ts(&self, key: &[u8]) -> Result<Timestamp> {
        let stored = self.latest.get(key)?;
        let newest = stored.as_deref().map(Version::parse).transpose()?;
        Ok(newest.map_or(0, |version| version.ts))
    }

    /// What no page has is read by one call into RocksDB.
    pub(crate) fn read_batch(
        &self,
        keys: &[Vec<u8>],
        ts: Timestamp,
        visit: &mut VisitVersions,
    ) -> Result<()> {
        let mut missing = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            let Some(page) = self.page(key, ts)? else {
                missing.push((index, key));
                continue;
            };
            let newest = page.get(key).map(Version::parse).transpose()?;
            if self.compares {
                self.compare_read(key, ts, ts != LATEST, newest)?;
            }
            self.visit_version(index, key, newest, ts, visit)?;
        }
        if missing.is_empty() {
            return Ok(());
        }
        let missing_keys = missing.iter().map(|(_, key)| *key);
        let all = self.latest.get_many(missing_keys, false)?;
        for (&(index, key), stored) in missing.iter().zip(all) {
            let stored = stored?;
            let newest = stored.as_deref().map(Version::parse).transpose()?;
            self.visit_version(index, key, newest, ts, visit)?;
        }
        Ok(())
    }

    fn visit_version(
        &self,
        index: usize,
        key: &[u8],
        newest: Option<Version>,
        ts: Timestamp,
        visit: &mut VisitVersions,
    ) -> Result<()> {
        match newest {
            None => visit(index, 0, None),
            Some(version) if version.ts <= ts => visit(index, version.ts, version.value),
            Some(_) => {
                let mut found = None;
                let seen = self.read_superseded(key, ts, &mut |value| found = Some(value.to_vec()))?;
                visit(index, seen.commit_ts, found.as_deref());
            }
        }
        Ok(())
    }

    /// Lends the version of `key` that was there at `ts`, which is before its newest one.
    pub(crate) fn read_superseded(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Seen> {
        // Copied, since values are lent without a lock.
        let in_memory = self.history.with(key, ts, |entry| {
            let value = entry.value.map(Vec::from);
            (entry.commit_ts, value)
        });
        if let Some((commit_ts, value)) = in_memory {
            let value = value.as_deref();
            return Ok(lend(Version { ts: commit_ts, value }, found));
        }
        // Looked at after memory, from where versions go there.
        if self.history.spilled_ts() <= ts {
            return Ok(NOTHING);
        }
        let on_disk = self.spill.with(key, ts, |commit_ts, version| {
            let value = version.value;
            // Superseded at or before `ts` by a deletion that has been collected since: nothing was there.
            (version.ts > ts).then(|| lend(Version { ts: commit_ts, value }, found))
        })?;
        Ok(on_disk.flatten().unwrap_or(NOTHING))
    }
}

fn lend(version: Version, found: &mut dyn FnMut(&[u8])) -> Seen {
    if let Some(value) = version.value {
        found(value);
    }
    Seen {
        found: version.value.is_some(),
        commit_ts: version.ts,
    }
}
