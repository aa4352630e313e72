//! The memory engine: the whole contract without a disk, for tests and for `--store memory:`.
//!
//! A sorted map of version chains under one lock. Scans copy a page at a time, so that visitors run without
//! the lock and may read from the same store.

use crate::buffer::WriteBuffer;
use crate::embedded::EmbeddedEngine;
use crate::embedded_state::EmbeddedOptions;
use crate::engine::ScanRequest;
use crate::error::Result;
use crate::locked_versions::LockedVersions;
use crate::reader::{KeyRange, Visit};
use crate::storage::{ApplyError, ApplyHow, KeyGuard, Seen, Storage, VisitVersions};
use crate::sync::RwLock;
use crate::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const PAGE_ROWS: usize = 256;
const COLLECT_KEYS: usize = 1024;

/// `None`: a deletion.
type Value = Option<Arc<[u8]>>;

/// A key's versions, oldest first.
type Chain = Vec<(Timestamp, Value)>;

/// Versions in memory.
#[derive(Default)]
pub struct MemoryStorage {
    chains: RwLock<BTreeMap<Vec<u8>, Chain>>,
}

impl MemoryStorage {
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest version of a key; a deletion at 0 if there is none.
    fn newest(&self, key: &[u8]) -> (Timestamp, Value) {
        let chains = self.chains.read();
        let newest = chains.get(key).and_then(|chain| chain.last());
        newest.cloned().unwrap_or_default()
    }
}

fn lend((commit_ts, value): (Timestamp, Value), found: &mut dyn FnMut(&[u8])) -> Seen {
    if let Some(value) = &value {
        found(value);
    }
    Seen {
        found: value.is_some(),
        commit_ts,
    }
}

/// The memory engine with default options.
pub fn engine() -> EmbeddedEngine<MemoryStorage> {
    engine_with(EmbeddedOptions::default())
}

pub fn engine_with(options: EmbeddedOptions) -> EmbeddedEngine<MemoryStorage> {
    EmbeddedEngine::new(MemoryStorage::new(), Arc::default(), options)
}

fn visible(chain: &Chain, ts: Timestamp) -> Option<&(Timestamp, Value)> {
    let newer = chain.partition_point(|(commit_ts, _)| *commit_ts <= ts);
    chain.get(newer.checked_sub(1)?)
}

fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = if range.end.is_empty() {
        Bound::Unbounded
    } else {
        Bound::Excluded(range.end.as_slice())
    };
    (Bound::Included(range.start.as_slice()), end)
}

impl Storage for MemoryStorage {
    type Prepared = Vec<(Vec<u8>, Value)>;

    fn name(&self) -> &'static str {
        "memory"
    }

    fn newest_commit_ts(&self) -> Timestamp {
        0
    }

    fn get_with(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        let version = {
            let chains = self.chains.read();
            chains.get(key).and_then(|chain| visible(chain, ts)).cloned()
        };
        Ok(lend(version.unwrap_or_default(), found))
    }

    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>> {
        let newest = self.newest(key);
        Ok((newest.0 <= ts).then(|| lend(newest, found)))
    }

    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp> {
        Ok(self.newest(key).0)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()> {
        let versions: Vec<_> = {
            let chains = self.chains.read();
            keys.iter()
                .map(|key| chains.get(key).and_then(|chain| visible(chain, ts)).cloned())
                .collect()
        };
        for (index, version) in versions.into_iter().enumerate() {
            let (commit_ts, value) = version.unwrap_or_default();
            visit(index, commit_ts, value.as_deref());
        }
        Ok(())
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        let mut rest = request.range.clone();
        while !rest.is_empty() {
            if let Some(interrupt) = request.interrupt {
                interrupt.check()?;
            }
            let mut page = Vec::with_capacity(PAGE_ROWS);
            {
                let chains = self.chains.read();
                let mut take = |(key, chain): (&Vec<u8>, &Chain)| {
                    page.push((
                        key.clone(),
                        visible(chain, request.ts).and_then(|(_, value)| value.clone()),
                    ));
                };
                let keys = chains.range::<[u8], _>(bounds(&rest));
                if request.reverse {
                    keys.rev().take(PAGE_ROWS).for_each(&mut take);
                } else {
                    keys.take(PAGE_ROWS).for_each(&mut take);
                }
            }
            for (key, value) in &page {
                if let Some(value) = value
                    && visit(key, value).is_break()
                {
                    return Ok(());
                }
            }
            let full = page.len() == PAGE_ROWS;
            match page.pop() {
                Some((last, _)) if full && request.reverse => {
                    // An empty end would mean no bound at all.
                    if last.is_empty() {
                        return Ok(());
                    }
                    rest.end = last;
                }
                Some((mut last, _)) if full => {
                    last.push(0);
                    rest.start = last;
                }
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn prepare(&self, writes: &WriteBuffer, _locked: &LockedVersions) -> Result<Self::Prepared> {
        Ok(writes
            .iter()
            .map(|(key, value)| (key.to_vec(), value.map(Arc::from)))
            .collect())
    }

    fn apply(&self, group: Vec<Self::Prepared>, commit_ts: Timestamp, _: ApplyHow) -> Result<(), ApplyError> {
        let mut chains = self.chains.write();
        for (key, value) in group.into_iter().flatten() {
            chains.entry(key).or_default().push((commit_ts, value));
        }
        Ok(())
    }

    fn sync_log(&self) -> Result<()> {
        Ok(())
    }

    fn collect(&self, safe_point: Timestamp, _thorough: bool, _guard: &mut dyn KeyGuard) -> Result<u64> {
        let mut removed = 0;
        let mut from = Bound::Unbounded;
        loop {
            let mut chains = self.chains.write();
            let mut last = None;
            let mut empty = Vec::new();
            for (key, chain) in chains
                .range_mut::<Vec<u8>, _>((from.as_ref(), Bound::Unbounded))
                .take(COLLECT_KEYS)
            {
                let mut garbage = chain
                    .partition_point(|(commit_ts, _)| *commit_ts <= safe_point)
                    .saturating_sub(1);
                // No reader needs what is older than this deletion, so the deletion itself can be removed.
                if let Some((commit_ts, None)) = chain.get(garbage)
                    && *commit_ts <= safe_point
                {
                    garbage += 1;
                }
                removed += u64::try_from(garbage).unwrap_or(u64::MAX);
                chain.drain(..garbage);
                if chain.is_empty() {
                    empty.push(key.clone());
                }
                last = Some(key.clone());
            }
            for key in empty {
                chains.remove(&key);
            }
            match last {
                Some(last) => from = Bound::Excluded(last),
                None => return Ok(removed),
            }
        }
    }

    fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        let chains = self.chains.read();
        let keys: Vec<_> = chains
            .range::<[u8], _>(bounds(range))
            .map(|(key, _)| key)
            .collect();
        let parts = parts.min(keys.len().max(1));
        let mut ranges = Vec::with_capacity(parts);
        let mut start = range.start.clone();
        for part in 1..parts {
            let Some(end) = keys.get(keys.len() * part / parts) else {
                continue;
            };
            ranges.push(KeyRange::new(
                std::mem::replace(&mut start, (*end).clone()),
                (*end).clone(),
            ));
        }
        ranges.push(KeyRange::new(start, range.end.clone()));
        ranges.retain(|part| !part.is_empty());
        Ok(ranges)
    }

    fn approximate_bytes(&self, range: &KeyRange) -> Result<u64> {
        if range.is_empty() {
            return Ok(0);
        }
        let chains = self.chains.read();
        let bytes: usize = chains
            .range::<[u8], _>(bounds(range))
            .map(|(key, chain)| {
                let value = chain.last().and_then(|(_, value)| value.as_ref());
                key.len() + value.map_or(0, |value| value.len())
            })
            .sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        let mut chains = self.chains.write();
        let mut tail = chains.split_off(&range.start);
        if !range.end.is_empty() {
            let mut kept = tail.split_off(&range.end);
            chains.append(&mut kept);
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("keys", self.chains.read().len() as f64)]
    }
}
