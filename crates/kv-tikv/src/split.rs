//! Regions as such: splitting them where someone asks for it, having PD spread them over the stores, and telling of them.
//!
//! Sizes and load PD tells by HTTP only, which is not spoken here.

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::connection::CallError;
use crate::fan_out::{Batch, Group};
use crate::pd::client::RegionInfo;
use crate::proto::kvrpcpb::{Context, SplitRegionRequest, SplitRegionResponse};
use crate::region::Region;
use bytes::Bytes;
use kv::{Error, Interrupt, KeyRange, Result, SplitReport};
use std::time::{Duration, Instant};

/// Of one region at a time.
const BATCH: Batch = Batch {
    items_max: 256,
    bytes_max: 256 << 10,
    interruptible: true,
};

const SPLIT_TIMEOUT: Duration = Duration::from_secs(10);

/// PD's answer to a request to scatter; a region that it refuses stays where it is.
const SCATTER_TIMEOUT: Duration = Duration::from_secs(1);

/// How PD calls what it does to scatter a region.
const SCATTER: &[u8] = b"scatter-region";

/// How often PD is asked whether it is done.
const SCATTER_POLL: Duration = Duration::from_millis(100);

impl Cluster {
    /// See [`kv::Store::split_at`].
    pub fn split_at(
        &self,
        keys: &[Vec<u8>],
        patience: Duration,
        interrupt: Option<&Interrupt>,
    ) -> Result<SplitReport> {
        let mut todo: Vec<Vec<u8>> = keys.iter().map(|key| self.keyspace.key(key)).collect();
        todo.sort();
        todo.dedup();
        let mut backoff = self.backoff(interrupt);
        let mut made = Vec::new();
        while !todo.is_empty() {
            interrupt.map_or(Ok(()), Interrupt::check)?;
            for Group { region, mut items } in self.group(std::mem::take(&mut todo), BATCH, &mut backoff)? {
                // It begins there already.
                items.retain(|key| *key != region.start);
                if items.is_empty() {
                    continue;
                }
                if !self.split_region(&region, &items, &mut made, &mut backoff)? {
                    todo.append(&mut items);
                }
            }
        }
        let scattering: Vec<u64> = made.iter().filter_map(|part| self.scatter(part)).collect();
        let moving = self.wait_for_scatter(&scattering, patience, interrupt)?;
        Ok(SplitReport {
            split: made.len(),
            scattered: scattering.len() - moving,
        })
    }

    /// Splits one region, and adds the new ones to `made`. False: it has to be tried again.
    fn split_region(
        &self,
        region: &Region,
        keys: &[Vec<u8>],
        made: &mut Vec<RegionInfo>,
        backoff: &mut Backoff,
    ) -> Result<bool> {
        let until = backoff.request(SPLIT_TIMEOUT);
        let Some(address) = self.store_address(region.leader.store_id, until)? else {
            let error = CallError::Unsent(format!("no store {}", region.leader.store_id));
            self.failed(region, &error, backoff)?;
            return Ok(false);
        };
        let mut context = Context::default();
        self.fill(&mut context, region);
        let request = SplitRegionRequest {
            context: Some(context),
            split_keys: keys.to_vec(),
        };
        let path = "/tikvpb.Tikv/SplitRegion";
        let answer: SplitRegionResponse = match self.call_store(&address, path, request, until) {
            Ok(answer) => answer,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => {
                self.failed(region, &CallError::Unsent(error.to_string()), backoff)?;
                return Ok(false);
            }
        };
        if let Some(error) = answer.region_error {
            self.refused(region, &error, backoff)?;
            return Ok(false);
        }
        // The region as it was is no more, whatever the answer says.
        self.regions.forget(region);
        for part in answer.regions {
            let info = region.part(part)?;
            if info.region.id != region.id {
                made.push(info.clone());
            }
            if let Some(part) = Region::new(info) {
                self.regions.insert(part);
            }
        }
        Ok(true)
    }

    /// Asks PD to find a place for a new region; its id, unless PD will not.
    fn scatter(&self, part: &RegionInfo) -> Option<u64> {
        let deadline = Instant::now() + SCATTER_TIMEOUT;
        match self.pd.scatter(part, deadline) {
            Ok(()) => Some(part.region.id),
            Err(error) => {
                tracing::debug!(region = part.region.id, %error, "a new region stays where it is");
                None
            }
        }
    }

    /// How many regions are still on their way when the patience is over.
    fn wait_for_scatter(
        &self,
        regions: &[u64],
        patience: Duration,
        interrupt: Option<&Interrupt>,
    ) -> Result<usize> {
        let end = Instant::now() + patience;
        let mut moving = regions.to_vec();
        loop {
            interrupt.map_or(Ok(()), Interrupt::check)?;
            let mut still = self.are_scattering(&moving, interrupt)?.into_iter();
            moving.retain(|_| still.next().unwrap_or(false));
            if moving.is_empty() || Instant::now() + SCATTER_POLL >= end {
                return Ok(moving.len());
            }
            std::thread::sleep(SCATTER_POLL);
        }
    }

    /// Of each region.
    fn are_scattering(&self, regions: &[u64], interrupt: Option<&Interrupt>) -> Result<Vec<bool>> {
        let until = self.backoff(interrupt).until();
        let operators = self.pd.running_operators(regions, until)?;
        let is_scatter = |operator: Option<Bytes>| operator.as_deref() == Some(SCATTER);
        Ok(operators.into_iter().map(is_scatter).collect())
    }

    /// See [`kv::Store::regions`].
    pub fn describe_regions(
        &self,
        range: &KeyRange,
        interrupt: Option<&Interrupt>,
    ) -> Result<Vec<kv::Region>> {
        let found = self.regions_of(&self.keyspace.range(range), interrupt)?;
        let ids: Vec<u64> = found.iter().map(|info| info.region.id).collect();
        let moving = self.are_scattering(&ids, interrupt)?;
        let described = found.into_iter().zip(moving);
        Ok(described
            .map(|(info, is_moving)| self.describe(&info, is_moving))
            .collect())
    }

    fn describe(&self, info: &RegionInfo, is_moving: bool) -> kv::Region {
        let bound = |key: &[u8]| self.keyspace.strip(key).unwrap_or_default().to_vec();
        let leader = info.leader.unwrap_or_default();
        kv::Region {
            id: info.region.id,
            start: bound(&info.region.start_key),
            end: bound(&info.region.end_key),
            leader: leader.id,
            leader_store: leader.store_id,
            replicas: info.region.peers.iter().map(|peer| peer.id).collect(),
            is_moving,
            approximate_bytes: None,
        }
    }
}
