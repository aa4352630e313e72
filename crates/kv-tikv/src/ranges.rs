//! Work on whole ranges: estimating their size, splitting them for parallel scans, and deleting them
//! without a transaction.

use crate::backoff::Until;
use crate::cluster::Cluster;
use crate::pd::client::RegionInfo;
use crate::pd::members::unary;
use crate::proto::kvrpcpb::{Context, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse};
use crate::scan::{self, GO_ON};
use kv::{Error, Interrupt, KeyRange, ReadAt, Result};
use prost::Message;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How much is read to measure a range that is smaller than a region.
const SAMPLE_BYTES: usize = 8 << 20;
const SAMPLE_KEYS: usize = 64 << 10;

/// A region's assumed size. The stores split regions at 1.5 times that.
const REGION_BYTES: u64 = 96 << 20;

/// Fewer keys are not worth a second thread.
const PART_KEYS_MIN: usize = 256;

/// Regions per request to PD.
const REGIONS_MAX: i32 = 4_096;

/// The regions that a range overlaps, as PD lists them, in order. The range carries the prefix, so it
/// has an end.
pub fn regions_of(
    cluster: &Cluster,
    whole: &KeyRange,
    interrupt: Option<&Interrupt>,
) -> Result<Vec<RegionInfo>> {
    let until = cluster.backoff(interrupt).until();
    let mut regions = Vec::new();
    let mut start = whole.start.clone();
    loop {
        let found = cluster.pd.regions(&start, &whole.end, REGIONS_MAX, until)?;
        let end = found.last().map(|last| last.region.end_key.to_vec());
        regions.extend(found);
        match end {
            Some(end) if !end.is_empty() && end < whole.end && end > start => start = end,
            _ => return Ok(regions),
        }
    }
}

/// The region boundaries within a range, without the prefix, in order.
fn boundaries(cluster: &Cluster, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Vec<u8>>> {
    let whole = cluster.keyspace.range(range);
    let regions = regions_of(cluster, &whole, interrupt)?;
    let starts = regions.iter().map(|info| &info.region.start_key);
    Ok(starts
        .filter(|key| **key > whole.start && **key < whole.end)
        .filter_map(|key| Some(cluster.keyspace.strip(key)?.to_vec()))
        .collect())
}

/// At most `parts` parts of about equal size: whole regions, or, if there are too few of them, by a
/// sample of the keys.
pub fn split(cluster: &Cluster, range: &KeyRange, parts: usize, at: ReadAt) -> Result<Vec<KeyRange>> {
    let mut points = boundaries(cluster, range, at.interrupt)?;
    // Many regions are about equal in size. For few regions a larger sample of the keys is worth its
    // cost.
    let sample_keys = if points.len() + 1 < parts * 2 {
        SAMPLE_KEYS
    } else {
        SAMPLE_KEYS / 8
    };
    if let Some(keys) = all_keys(cluster, range, at, sample_keys)? {
        let parts = parts.min(keys.len() / PART_KEYS_MIN).max(1);
        points = (1..parts)
            .filter_map(|part| keys.get(keys.len() * part / parts).cloned())
            .collect();
    }
    points.dedup();
    let parts = parts.min(points.len() + 1);
    let mut split = Vec::with_capacity(parts);
    let mut start = range.start.clone();
    for part in 1..parts {
        let Some(point) = points.get((points.len() + 1) * part / parts - 1) else {
            break;
        };
        if *point > start {
            split.push(KeyRange::new(
                std::mem::replace(&mut start, point.clone()),
                point.clone(),
            ));
        }
    }
    split.push(KeyRange::new(start, range.end.clone()));
    Ok(split)
}

/// All keys of a range, if they are fewer than `limit`.
fn all_keys(cluster: &Cluster, range: &KeyRange, at: ReadAt, limit: usize) -> Result<Option<Vec<Vec<u8>>>> {
    let mut keys = Vec::new();
    scan::visit_keys(cluster, range, at, &mut |key, _| {
        keys.push(key.to_vec());
        if keys.len() < limit {
            GO_ON
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok((keys.len() < limit).then_some(keys))
}

/// Exact for a range smaller than [`SAMPLE_BYTES`]. For a larger one, the number of regions times an
/// average size.
pub fn approximate_bytes(cluster: &Cluster, range: &KeyRange, at: ReadAt) -> Result<u64> {
    let boundaries = u64::try_from(boundaries(cluster, range, at.interrupt)?.len()).unwrap_or(u64::MAX);
    let mut bytes = 0;
    let mut is_all = true;
    scan::visit(cluster, range, at, false, &mut |key, value| {
        bytes += key.len() + value.len();
        is_all = bytes < SAMPLE_BYTES;
        if is_all { GO_ON } else { ControlFlow::Break(()) }
    })?;
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    if is_all {
        return Ok(bytes);
    }
    // The first and the last region belong to the range only in part.
    Ok(bytes.max(boundaries.max(1).saturating_mul(REGION_BYTES)))
}

/// Every store deletes the range from its files, at once and without a transaction.
pub fn destroy(cluster: &Cluster, range: &KeyRange) -> Result<()> {
    const TIMEOUT: Duration = Duration::from_secs(120);
    let whole = cluster.keyspace.range(range);
    let deadline = Instant::now() + cluster.options.operation_timeout;
    for store in cluster.pd.stores(deadline)? {
        let request = UnsafeDestroyRangeRequest {
            context: Some(Context {
                api_version: cluster.keyspace.api_version,
                keyspace_id: cluster.keyspace.id,
                ..Default::default()
            }),
            start_key: whole.start.clone(),
            end_key: whole.end.clone(),
        };
        let path = "/tikvpb.Tikv/UnsafeDestroyRange";
        let response: UnsafeDestroyRangeResponse = call_store(
            cluster,
            &store.address,
            path,
            request,
            (Instant::now() + TIMEOUT).into(),
        )?;
        if !response.error.is_empty() {
            return Err(failed(&store.address, &response.error));
        }
    }
    Ok(())
}

/// A unary call to a store, for the rare requests that the command stream cannot carry. It opens a
/// connection of its own.
pub fn call_store<Q, A>(
    cluster: &Cluster,
    address: &str,
    path: &'static str,
    request: Q,
    until: Until,
) -> Result<A>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let endpoint = cluster.connector.endpoint(address)?;
    let address = address.to_owned();
    cluster.io.run(until, path, async move {
        let channel = endpoint
            .connect()
            .await
            .map_err(|error| failed(&address, &error.to_string()))?;
        unary(channel, path, request)
            .await
            .map_err(|what| failed(&address, &what))
    })
}

fn failed(address: &str, what: &str) -> Error {
    Error::Unavailable(format!("store {address}: {what}"))
}
