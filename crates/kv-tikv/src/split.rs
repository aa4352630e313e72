//! Work on regions: splitting them at given keys, letting PD scatter them over the stores, and describing
//! them.
//!
//! PD reports sizes and load of regions only by HTTP, which this crate does not use.

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::connection::CallError;
use crate::fan_out::{Batch, Group, group};
use crate::pd::client::RegionInfo;
use crate::proto::kvrpcpb::{Context, SplitRegionRequest, SplitRegionResponse};
use crate::ranges;
use crate::region::Region;
use bytes::Bytes;
use kv::{Error, Interrupt, KeyRange, Result, SplitReport};
use std::time::{Duration, Instant};

/// For one region at a time.
const BATCH: Batch = Batch {
    items_max: 256,
    bytes_max: 256 << 10,
    interruptible: true,
};

const SPLIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for PD's response to a request to scatter. If PD refuses, the region stays where it is.
const SCATTER_TIMEOUT: Duration = Duration::from_secs(1);

/// PD's name for the operation that scatters a region.
const SCATTER: &[u8] = b"scatter-region";

/// How often PD is asked whether it is done.
const SCATTER_POLL: Duration = Duration::from_millis(100);

/// See [`kv::Store::split_at`].
pub fn split_at(
    cluster: &Cluster,
    keys: &[Vec<u8>],
    patience: Duration,
    interrupt: Option<&Interrupt>,
) -> Result<SplitReport> {
    let mut todo: Vec<Vec<u8>> = keys.iter().map(|key| cluster.keyspace.key(key)).collect();
    todo.sort();
    todo.dedup();
    let mut backoff = cluster.backoff(interrupt);
    let mut made = Vec::new();
    while !todo.is_empty() {
        interrupt.map_or(Ok(()), Interrupt::check)?;
        for Group { region, mut items } in group(cluster, std::mem::take(&mut todo), BATCH, &mut backoff)? {
            // A region already begins at that key.
            items.retain(|key| *key != region.start);
            if items.is_empty() {
                continue;
            }
            if !split_region(cluster, &region, &items, &mut made, &mut backoff)? {
                todo.append(&mut items);
            }
        }
    }
    let scattering: Vec<u64> = made.iter().filter_map(|part| scatter(cluster, part)).collect();
    let moving = wait_for_scatter(cluster, &scattering, patience, interrupt)?;
    Ok(SplitReport {
        split: made.len(),
        scattered: scattering.len() - moving,
    })
}

/// Splits one region, and adds the new regions to `made`. False: the split has to be tried again.
fn split_region(
    cluster: &Cluster,
    region: &Region,
    keys: &[Vec<u8>],
    made: &mut Vec<RegionInfo>,
    backoff: &mut Backoff,
) -> Result<bool> {
    let until = backoff.request(SPLIT_TIMEOUT);
    let Some(address) = cluster.store_address(region.leader.store_id, until)? else {
        let error = CallError::Unsent(format!("no store {}", region.leader.store_id));
        cluster.failed(region, &error, backoff)?;
        return Ok(false);
    };
    let mut context = Context::default();
    cluster.fill(&mut context, region);
    let request = SplitRegionRequest {
        context: Some(context),
        split_keys: keys.to_vec(),
    };
    let path = "/tikvpb.Tikv/SplitRegion";
    let answer: SplitRegionResponse = match ranges::call_store(cluster, &address, path, request, until) {
        Ok(answer) => answer,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(error) => {
            cluster.failed(region, &CallError::Unsent(error.to_string()), backoff)?;
            return Ok(false);
        }
    };
    if let Some(error) = answer.region_error {
        cluster.refused(region, &error, backoff)?;
        return Ok(false);
    }
    // The region has changed, whatever the response says.
    cluster.regions.forget(region);
    for part in answer.regions {
        let info = region.part(part)?;
        if info.region.id != region.id {
            made.push(info.clone());
        }
        if let Some(part) = Region::new(info) {
            cluster.regions.insert(part);
        }
    }
    Ok(true)
}

/// Asks PD to place a new region. Returns its id, unless PD refuses.
fn scatter(cluster: &Cluster, part: &RegionInfo) -> Option<u64> {
    let deadline = Instant::now() + SCATTER_TIMEOUT;
    match cluster.pd.scatter(part, deadline) {
        Ok(()) => Some(part.region.id),
        Err(error) => {
            tracing::debug!(region = part.region.id, %error, "a new region stays where it is");
            None
        }
    }
}

/// Waits until PD has placed the regions. Returns how many are still moving when `patience` is over.
fn wait_for_scatter(
    cluster: &Cluster,
    regions: &[u64],
    patience: Duration,
    interrupt: Option<&Interrupt>,
) -> Result<usize> {
    let end = Instant::now() + patience;
    let mut moving = regions.to_vec();
    loop {
        interrupt.map_or(Ok(()), Interrupt::check)?;
        let mut still = are_scattering(cluster, &moving, interrupt)?.into_iter();
        moving.retain(|_| still.next().unwrap_or(false));
        if moving.is_empty() || Instant::now() + SCATTER_POLL >= end {
            return Ok(moving.len());
        }
        std::thread::sleep(SCATTER_POLL);
    }
}

/// For each region, whether PD is moving it.
fn are_scattering(cluster: &Cluster, regions: &[u64], interrupt: Option<&Interrupt>) -> Result<Vec<bool>> {
    let until = cluster.backoff(interrupt).until();
    let operators = cluster.pd.running_operators(regions, until)?;
    let is_scatter = |operator: Option<Bytes>| operator.as_deref() == Some(SCATTER);
    Ok(operators.into_iter().map(is_scatter).collect())
}

/// See [`kv::Store::regions`].
pub fn describe_all(
    cluster: &Cluster,
    range: &KeyRange,
    interrupt: Option<&Interrupt>,
) -> Result<Vec<kv::Region>> {
    let found = ranges::regions_of(cluster, &cluster.keyspace.range(range), interrupt)?;
    let ids: Vec<u64> = found.iter().map(|info| info.region.id).collect();
    let moving = are_scattering(cluster, &ids, interrupt)?;
    let described = found.into_iter().zip(moving);
    Ok(described
        .map(|(info, is_moving)| describe(cluster, &info, is_moving))
        .collect())
}

fn describe(cluster: &Cluster, info: &RegionInfo, is_moving: bool) -> kv::Region {
    let bound = |key: &[u8]| cluster.keyspace.strip(key).unwrap_or_default().to_vec();
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
