//! Reads single keys, and many keys of one snapshot.

use crate::cluster::{Cluster, Outcome};
use crate::command::Command;
use crate::failure;
use crate::fan_out::{Batch, Group, Item, fan_out, group};
use crate::proto::kvrpcpb::*;
use crate::resolve::{self, BypassedLocks};
use bytes::Bytes;
use kv::{Interrupt, LATEST, ReadAt, Result, Timestamp, VisitBatch};
use std::collections::HashMap;

const READ_BATCH: Batch = Batch {
    items_max: 4_096,
    bytes_max: 256 << 10,
    interruptible: true,
};

/// One key of a batch.
struct Wanted {
    index: usize,
    key: Vec<u8>,
}

impl Item for Wanted {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

/// The version visible at `at.ts`. A read at [`LATEST`] takes one request and no timestamp.
pub fn get(cluster: &Cluster, key: &[u8], at: ReadAt) -> Result<Option<Bytes>> {
    let ts = at.ts;
    let mut backoff = cluster.backoff(at.interrupt);
    let mut command = GetRequest {
        key: cluster.keyspace.key(key),
        version: ts,
        ..Default::default()
    };
    let key = command.key.clone();
    let mut bypassed = BypassedLocks::default();
    loop {
        let response = cluster.call(&key, &command, &mut backoff)?;
        let Some(error) = response.error else {
            return Ok((!response.not_found).then_some(response.value));
        };
        let Some(lock) = error.locked else {
            return Err(failure::of_key(&error, ts));
        };
        resolve::for_read(cluster, &[lock], ts, &mut bypassed, &mut backoff)?;
        bypassed.fill(command.context_mut());
    }
}

/// The version of every key visible at `at.ts`. All are of one snapshot, also at [`LATEST`].
pub fn batch_get(cluster: &Cluster, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
    if let [key] = keys {
        let value = get(cluster, key, at)?;
        visit(0, value.as_deref());
        return Ok(());
    }
    if at.ts != LATEST {
        return batch_get_at(cluster, keys, at, visit);
    }
    if batch_get_of_one_region(cluster, keys, at.interrupt, visit)? {
        return Ok(());
    }
    let ts = cluster.timestamp(at.interrupt)?;
    batch_get_at(cluster, keys, ReadAt { ts, ..at }, visit)
}

fn wanted(cluster: &Cluster, keys: &[Vec<u8>]) -> Vec<Wanted> {
    let wanted = |(index, key): (usize, &Vec<u8>)| Wanted {
        index,
        key: cluster.keyspace.key(key),
    };
    keys.iter().enumerate().map(wanted).collect()
}

/// Reads at the newest state without a timestamp: one request to one region sees one snapshot. False if
/// the keys lie in several regions, or a lock is in the way.
fn batch_get_of_one_region(
    cluster: &Cluster,
    keys: &[Vec<u8>],
    interrupt: Option<&Interrupt>,
    visit: &mut VisitBatch,
) -> Result<bool> {
    let mut backoff = cluster.backoff(interrupt);
    let mut groups = group(cluster, wanted(cluster, keys), READ_BATCH, &mut backoff)?;
    let (Some(Group { region, items }), true) = (groups.pop(), groups.is_empty()) else {
        return Ok(keys.is_empty());
    };
    let until = backoff.request(cluster.options.request_timeout);
    let outcome = cluster
        .send(region, request(&items, LATEST, &BypassedLocks::default()), until)?
        .wait(interrupt)?;
    let Outcome::Answered(response) = outcome else {
        return Ok(false);
    };
    if response.error.is_some() || response.pairs.iter().any(|pair| pair.error.is_some()) {
        return Ok(false);
    }
    let found = by_key(&response.pairs);
    for item in &items {
        visit(item.index, found.get(item.key.as_slice()).copied());
    }
    Ok(true)
}

fn batch_get_at(cluster: &Cluster, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
    let ts = at.ts;
    let bypassed = std::cell::RefCell::new(BypassedLocks::default());
    let mut backoff = cluster.backoff(at.interrupt);
    fan_out(
        cluster,
        wanted(cluster, keys),
        READ_BATCH,
        &mut backoff,
        |items| request(items, ts, &bypassed.borrow()),
        |items, response: BatchGetResponse, backoff| {
            let errors = response
                .pairs
                .iter()
                .filter_map(|pair| pair.error.as_ref())
                .chain(response.error.as_ref());
            let mut locks = Vec::new();
            for error in errors {
                match &error.locked {
                    Some(lock) => locks.push(lock.clone()),
                    None => return Err(failure::of_key(error, ts)),
                }
            }
            let found = by_key(&response.pairs);
            let mut again = Vec::new();
            for item in items {
                let is_locked = locks.iter().any(|lock| lock.key == item.key);
                if response.error.is_some() || is_locked {
                    again.push(item);
                } else {
                    visit(item.index, found.get(item.key.as_slice()).copied());
                }
            }
            if !locks.is_empty() {
                resolve::for_read(cluster, &locks, ts, &mut bypassed.borrow_mut(), backoff)?;
            }
            Ok(again)
        },
    )
}

fn request(items: &[Wanted], ts: Timestamp, bypassed: &BypassedLocks) -> BatchGetRequest {
    let mut context = Context::default();
    bypassed.fill(&mut context);
    BatchGetRequest {
        context: Some(context),
        keys: items.iter().map(|item| item.key.clone()).collect(),
        version: ts,
    }
}

fn by_key(pairs: &[KvPair]) -> HashMap<&[u8], &[u8]> {
    pairs
        .iter()
        .filter(|pair| pair.error.is_none())
        .map(|pair| (&pair.key[..], &pair.value[..]))
        .collect()
}
