//! The region cache: regions by range and by id. Entries never expire; the errors that a stale entry causes
//! correct it.

use crate::keys;
use crate::pd::client::RegionInfo;
use crate::proto::kvrpcpb::Context;
use crate::proto::metapb::{self, Peer, ROLE_LEARNER, RegionEpoch};
use kv::Result;
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// A region, as it was at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub id: u64,
    pub epoch: RegionEpoch,
    pub start: Vec<u8>,
    /// Empty: no bound.
    pub end: Vec<u8>,
    pub peers: Vec<Peer>,
    /// The peer assumed to be the leader.
    pub leader: Peer,
}

impl Region {
    /// `None` if no peer can lead.
    pub fn new(info: RegionInfo) -> Option<Self> {
        let RegionInfo { region, leader } = info;
        let leads = |peer: &&Peer| peer.role != ROLE_LEARNER && !peer.is_witness;
        let leader = leader.or_else(|| region.peers.iter().find(leads).copied())?;
        Some(Self {
            id: region.id,
            epoch: region.region_epoch.unwrap_or_default(),
            start: region.start_key.to_vec(),
            end: region.end_key.to_vec(),
            peers: region.peers,
            leader,
        })
    }

    /// Describes a part that this region was split into. Each peer of this region has made a peer of the
    /// part on the same store.
    pub fn part(&self, mut part: metapb::Region) -> Result<RegionInfo> {
        keys::decode_bounds(&mut part)?;
        let leads = |peer: &&Peer| peer.store_id == self.leader.store_id;
        let leader = part.peers.iter().find(leads).copied();
        Ok(RegionInfo { region: part, leader })
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && (self.end.is_empty() || key < self.end.as_slice())
    }

    /// Addresses a request to this region.
    pub fn fill(&self, context: &mut Context) {
        context.region_id = self.id;
        context.region_epoch = Some(self.epoch);
        context.peer = Some(self.leader);
    }

    /// The next peer that may lead, after the one assumed to.
    fn next_leader(&self) -> Peer {
        let candidates: Vec<&Peer> = self
            .peers
            .iter()
            .filter(|peer| peer.role != ROLE_LEARNER && !peer.is_witness)
            .collect();
        let current = candidates.iter().position(|peer| peer.id == self.leader.id);
        let next = current.map_or(0, |position| position + 1) % candidates.len().max(1);
        candidates.get(next).map_or(self.leader, |peer| **peer)
    }
}

#[derive(Default)]
struct Map {
    by_start: BTreeMap<Vec<u8>, Arc<Region>>,
    starts: HashMap<u64, Vec<u8>>,
}

impl Map {
    fn remove(&mut self, start: &[u8]) {
        if let Some(region) = self.by_start.remove(start)
            && self.starts.get(&region.id).is_some_and(|known| known == start)
        {
            self.starts.remove(&region.id);
        }
    }

    fn by_id(&self, id: u64) -> Option<&Arc<Region>> {
        self.by_start.get(self.starts.get(&id)?)
    }

    fn insert(&mut self, region: Arc<Region>) {
        if let Some(start) = self.starts.get(&region.id).cloned() {
            self.remove(&start);
        }
        // Overlapping entries are older.
        let mut stale: Vec<Vec<u8>> = Vec::new();
        if let Some((start, before)) = self
            .by_start
            .range::<[u8], _>((Bound::Unbounded, Bound::Excluded(region.start.as_slice())))
            .next_back()
            && before.contains(&region.start)
        {
            stale.push(start.clone());
        }
        let end = if region.end.is_empty() {
            Bound::Unbounded
        } else {
            Bound::Excluded(region.end.as_slice())
        };
        // A region is never empty, but a damaged response may describe one, and BTreeMap panics on a
        // reversed range.
        if region.end.is_empty() || region.start < region.end {
            let inside = self
                .by_start
                .range::<[u8], _>((Bound::Included(region.start.as_slice()), end));
            stale.extend(inside.map(|(start, _)| start.clone()));
        }
        for start in stale {
            self.remove(&start);
        }
        self.starts.insert(region.id, region.start.clone());
        self.by_start.insert(region.start.clone(), region);
    }
}

/// See the module.
#[derive(Default)]
pub struct RegionCache {
    map: RwLock<Map>,
}

impl RegionCache {
    /// The region that contains the key.
    pub fn find(&self, key: &[u8]) -> Option<Arc<Region>> {
        let map = self.map.read();
        let (_, region) = map
            .by_start
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()?;
        region.contains(key).then(|| Arc::clone(region))
    }

    /// The region that contains the greatest key below `end`.
    pub fn find_below(&self, end: &[u8]) -> Option<Arc<Region>> {
        let map = self.map.read();
        let (_, region) = map
            .by_start
            .range::<[u8], _>((Bound::Unbounded, Bound::Excluded(end)))
            .next_back()?;
        (region.end.is_empty() || region.end.as_slice() >= end).then(|| Arc::clone(region))
    }

    /// Inserts a region, unless the cache has a newer state of it. Returns the state that is in the cache
    /// now.
    pub fn insert(&self, region: Region) -> Arc<Region> {
        let mut map = self.map.write();
        if let Some(known) = map.by_id(region.id)
            && (known.epoch.version, known.epoch.conf_ver) > (region.epoch.version, region.epoch.conf_ver)
        {
            return Arc::clone(known);
        }
        let region = Arc::new(region);
        map.insert(Arc::clone(&region));
        region
    }

    /// Removes an entry that an error has shown to be stale, if it is still in the cache.
    pub fn forget(&self, stale: &Region) {
        let mut map = self.map.write();
        if map
            .by_id(stale.id)
            .is_some_and(|known| known.epoch == stale.epoch)
        {
            map.remove(&stale.start);
        }
    }

    /// Another peer leads.
    pub fn set_leader(&self, stale: &Region, leader: Peer) {
        self.change_leader(stale, |_| leader);
    }

    /// The leader does not respond. The next peer may have become the leader.
    pub fn try_next_leader(&self, stale: &Region) {
        self.change_leader(stale, Region::next_leader);
    }

    fn change_leader(&self, stale: &Region, choose: impl FnOnce(&Region) -> Peer) {
        let mut map = self.map.write();
        let Some(known) = map.by_id(stale.id) else { return };
        // Another thread may have changed it first.
        if known.epoch != stale.epoch || known.leader != stale.leader {
            return;
        }
        let changed = Region {
            leader: choose(known),
            ..(**known).clone()
        };
        map.insert(Arc::new(changed));
    }

    pub fn len(&self) -> usize {
        self.map.read().by_start.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(id: u64, start: &str, end: &str, version: u64) -> Region {
        let peers: Vec<Peer> = (1..=3)
            .map(|store_id| Peer {
                id: id * 10 + store_id,
                store_id,
                ..Peer::default()
            })
            .collect();
        Region {
            id,
            epoch: RegionEpoch { conf_ver: 1, version },
            start: start.into(),
            end: end.into(),
            leader: peers[0],
            peers,
        }
    }

    fn found(cache: &RegionCache, key: &str) -> Option<u64> {
        cache.find(key.as_bytes()).map(|region| region.id)
    }

    #[test]
    fn a_split_replaces_what_was_there() {
        let cache = RegionCache::default();
        cache.insert(region(1, "", "", 1));
        assert_eq!(found(&cache, "m"), Some(1));
        cache.insert(region(2, "", "m", 2));
        cache.insert(region(1, "m", "", 2));
        assert_eq!((found(&cache, "a"), found(&cache, "m")), (Some(2), Some(1)));
        cache.insert(region(1, "", "", 1));
        assert_eq!(found(&cache, "a"), Some(2), "an older state changes nothing");
        assert_eq!(cache.len(), 2);
        cache.insert(region(3, "c", "p", 3));
        assert_eq!(
            (found(&cache, "a"), found(&cache, "d"), found(&cache, "z")),
            (None, Some(3), None)
        );
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn the_last_region_below_a_bound() {
        let cache = RegionCache::default();
        cache.insert(region(1, "", "m", 1));
        cache.insert(region(2, "m", "", 1));
        let below = |end: &str| cache.find_below(end.as_bytes()).map(|region| region.id);
        assert_eq!(
            (below("m"), below("ma"), below("zz"), below("a")),
            (Some(1), Some(2), Some(2), Some(1))
        );
        assert_eq!(below(""), None);
    }

    #[test]
    fn leaders_change_once_for_all_who_notice() {
        let cache = RegionCache::default();
        let first = cache.insert(region(1, "", "", 1));
        cache.try_next_leader(&first);
        cache.try_next_leader(&first);
        let second = cache.find(b"k").unwrap();
        assert_eq!(second.leader.store_id, 2);
        cache.set_leader(&second, second.peers[0]);
        assert_eq!(cache.find(b"k").unwrap().leader.store_id, 1);
        cache.forget(&first);
        assert!(cache.find(b"k").is_none());
    }
}
