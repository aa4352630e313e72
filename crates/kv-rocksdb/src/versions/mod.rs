//! All versions of all keys: what a reader of any timestamp sees.
//!
//! A read looks at `latest` first, in the row cache or in RocksDB, and at superseded versions only if the
//! newest one is too new. The two looks need not happen at one moment: a commit adds the old version to the
//! history before it puts the new one into `latest`, so a reader that saw the new one finds the old one.
//! Collection takes nothing away that a pinned timestamp sees.
//!
//! Single keys are read here. Ranges: [`scan`]. What a commit replaces: [`prepare`]. Whether the row cache
//! agrees with RocksDB: [`compare`].

mod compare;
mod prepare;
mod scan;

pub(crate) use compare::Comparison;
pub(crate) use prepare::Preparation;
pub(crate) use scan::Scan;

use crate::latest::cache::{Lookup, Page, Reads};
use crate::latest::{Latest, load_page_around};
use crate::layout::Version;
use crate::superseded::Superseded;
use kv::{LATEST, Result, Seen, Timestamp, VisitVersions};
use std::sync::Arc;

/// The newest versions, and those that they have superseded.
pub(crate) struct Versions {
    pub latest: Latest,
    pub superseded: Superseded,
    /// Whether each read that the row cache answers is compared with RocksDB, for tests.
    pub compares: bool,
}

/// The keys of a batch whose pages are looked for together: what their searches read fits into the
/// processor's second cache.
const KEYS_AT_ONCE: usize = 32;

const NOTHING: Seen = Seen {
    found: false,
    commit_ts: 0,
};

impl Versions {
    /// Lends the version of `key` that a reader of `ts` sees.
    pub fn get(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        self.with_newest(key, ts, ts != LATEST, |newest| match newest {
            None => Ok(NOTHING),
            Some(version) if version.ts > ts => {
                let seen = self.superseded.read(key, ts, |version| lend(version, found))?;
                Ok(seen.unwrap_or(NOTHING))
            }
            Some(version) => Ok(lend(version, found)),
        })
    }

    /// Lends the newest version of `key` if it was committed at or before `ts`, which need not be pinned.
    /// `None`: it is newer.
    pub fn get_if_settled(
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

    /// Calls `then` with the newest version of a key. A deletion at or before `ts` may be left out.
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
                Comparison::new(self, ts).of_read(key, is_pinned, newest)?;
            }
            return then(newest);
        }
        let stored = self.latest.get(key)?;
        then(stored.as_deref().map(Version::parse).transpose()?)
    }

    /// The page of a key, if it is in the row cache or worth loading.
    fn page(&self, key: &[u8], ts: Timestamp) -> Result<Option<Arc<Page>>> {
        Ok(match self.latest.cache().page(key, ts) {
            Lookup::Found(page) => Some(page),
            Lookup::Missing if self.latest.cache().admits(Reads::OneKey) => {
                load_page_around(&self.latest, key, ts)?.map(|loaded| loaded.page)
            }
            Lookup::Missing | Lookup::TooOld => None,
        })
    }

    /// When the newest version of a key was committed, which may be a deletion; 0: there is none.
    pub fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp> {
        let stored = self.latest.get(key)?;
        let newest = stored.as_deref().map(Version::parse).transpose()?;
        Ok(newest.map_or(0, |version| version.ts))
    }

    /// Lends the version of each key that a reader of `ts` sees. Looks for the pages of several keys at a
    /// time, and reads the keys that are in no page by one call into RocksDB.
    pub fn batch_get(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()> {
        let mut missing = Vec::new();
        for (first, some) in (0..).step_by(KEYS_AT_ONCE).zip(keys.chunks(KEYS_AT_ONCE)) {
            let borrowed: Vec<&[u8]> = some.iter().map(Vec::as_slice).collect();
            let pages = self.latest.cache().pages(&borrowed, ts);
            for ((index, key), page) in (first..).zip(some).zip(pages) {
                let page = match page {
                    None => self.page(key, ts)?,
                    found => found,
                };
                let Some(page) = page else {
                    missing.push((index, key));
                    continue;
                };
                let newest = page.get(key).map(Version::parse).transpose()?;
                if self.compares {
                    Comparison::new(self, ts).of_read(key, ts != LATEST, newest)?;
                }
                self.visit_version(index, key, newest, ts, visit)?;
            }
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
                let superseded = self
                    .superseded
                    .read(key, ts, |version| visit(index, version.ts, version.value))?;
                if superseded.is_none() {
                    visit(index, 0, None);
                }
            }
        }
        Ok(())
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
