//! Ranges as a whole: how large they are, where to split them for parallel scans, and removing them for good.

use crate::backoff::Until;
use crate::cluster::Cluster;
use crate::pd::client::RegionInfo;
use crate::pd::members::unary;
use crate::proto::kvrpcpb::{Context, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse};
use crate::scan::GO_ON;
use kv::{Error, Interrupt, KeyRange, ReadAt, Result};
use prost::Message;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What is read to judge the size of what is smaller than a region.
const SAMPLE_BYTES: usize = 8 << 20;
const SAMPLE_KEYS: usize = 64 << 10;

/// A region's size where nothing better is known: the stores split them at 1.5 times that.
const REGION_BYTES: u64 = 96 << 20;

/// Less than that is not worth a second thread.
const PART_KEYS_MIN: usize = 256;

/// Asked of PD at a time.
const REGIONS_MAX: i32 = 4_096;

impl Cluster {
    /// The regions that a range (with its prefix, so it has an end) touches, as PD knows them, in order.
    pub fn regions_of(&self, whole: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<RegionInfo>> {
        let until = self.backoff(interrupt).until();
        let mut regions = Vec::new();
        let mut start = whole.start.clone();
        loop {
            let found = self.pd.regions(&start, &whole.end, REGIONS_MAX, until)?;
            let end = found.last().map(|last| last.region.end_key.to_vec());
            regions.extend(found);
            match end {
                Some(end) if !end.is_empty() && end < whole.end && end > start => start = end,
                _ => return Ok(regions),
            }
        }
    }

    /// Where regions begin within a range, without prefix, in order.
    fn boundaries(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Vec<u8>>> {
        let whole = self.keyspace.range(range);
        let regions = self.regions_of(&whole, interrupt)?;
        let starts = regions.iter().map(|info| &info.region.start_key);
        Ok(starts
            .filter(|key| **key > whole.start && **key < whole.end)
            .filter_map(|key| Some(self.keyspace.strip(key)?.to_vec()))
            .collect())
    }

    /// At most `parts` parts of about equal size: whole regions, or if there are too few, by a sample of the keys.
    pub fn split_range(&self, range: &KeyRange, parts: usize, at: ReadAt) -> Result<Vec<KeyRange>> {
        let mut points = self.boundaries(range, at.interrupt)?;
        // Regions are about equal where there are many; else it takes a look at the keys, to a limit.
        let sample_keys = if points.len() + 1 < parts * 2 {
            SAMPLE_KEYS
        } else {
            SAMPLE_KEYS / 8
        };
        if let Some(keys) = self.all_keys(range, at, sample_keys)? {
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
    fn all_keys(&self, range: &KeyRange, at: ReadAt, limit: usize) -> Result<Option<Vec<Vec<u8>>>> {
        let mut keys = Vec::new();
        self.scan_keys(range, at, &mut |key, _| {
            keys.push(key.to_vec());
            if keys.len() < limit {
                GO_ON
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok((keys.len() < limit).then_some(keys))
    }

    /// Exact for what is small; regions are taken for average ones.
    pub fn approximate_bytes(&self, range: &KeyRange, at: ReadAt) -> Result<u64> {
        let boundaries = u64::try_from(self.boundaries(range, at.interrupt)?.len()).unwrap_or(u64::MAX);
        let mut bytes = 0;
        let mut is_all = true;
        self.scan(range, at, false, &mut |key, value| {
            bytes += key.len() + value.len();
            is_all = bytes < SAMPLE_BYTES;
            if is_all { GO_ON } else { ControlFlow::Break(()) }
        })?;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if is_all {
            return Ok(bytes);
        }
        // Two of the regions are ours in part only.
        Ok(bytes.max(boundaries.max(1).saturating_mul(REGION_BYTES)))
    }

    /// Every store removes the range from its files, at once and without a transaction.
    pub fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        const TIMEOUT: Duration = Duration::from_secs(120);
        let whole = self.keyspace.range(range);
        let deadline = Instant::now() + self.options.operation_timeout;
        for store in self.pd.stores(deadline)? {
            let request = UnsafeDestroyRangeRequest {
                context: Some(Context {
                    api_version: self.keyspace.api_version,
                    keyspace_id: self.keyspace.id,
                    ..Default::default()
                }),
                start_key: whole.start.clone(),
                end_key: whole.end.clone(),
            };
            let path = "/tikvpb.Tikv/UnsafeDestroyRange";
            let answer: UnsafeDestroyRangeResponse =
                self.call_store(&store.address, path, request, (Instant::now() + TIMEOUT).into())?;
            if !answer.error.is_empty() {
                return Err(failed(&store.address, &answer.error));
            }
        }
        Ok(())
    }

    /// A call that the stream of commands has no place for: seldom, and on a connection of its own.
    pub fn call_store<Q, A>(&self, address: &str, path: &'static str, request: Q, until: Until) -> Result<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let endpoint = self.connector.endpoint(address)?;
        let address = address.to_owned();
        self.io.run(until, path, async move {
            let channel = endpoint
                .connect()
                .await
                .map_err(|error| failed(&address, &error.to_string()))?;
            unary(channel, path, request)
                .await
                .map_err(|what| failed(&address, &what))
        })
    }
}

fn failed(address: &str, what: &str) -> Error {
    Error::Unavailable(format!("store {address}: {what}"))
}
