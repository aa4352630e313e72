//! Reading keys: one, or many of one moment.

use crate::cluster::{Cluster, Outcome};
use crate::command::Command;
use crate::failure;
use crate::fan_out::{Batch, Group, Item};
use crate::proto::kvrpcpb::*;
use crate::resolve::Passed;
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

impl Cluster {
    /// The version visible at `ts`. At [`LATEST`]: one request and no timestamp.
    pub fn get(&self, key: &[u8], at: ReadAt) -> Result<Option<Bytes>> {
        let ts = at.ts;
        let mut backoff = self.backoff(at.interrupt);
        let mut command = GetRequest {
            key: self.keyspace.key(key),
            version: ts,
            ..Default::default()
        };
        let key = command.key.clone();
        let mut passed = Passed::default();
        loop {
            let answer = self.call(&key, &command, &mut backoff)?;
            let Some(error) = answer.error else {
                return Ok((!answer.not_found).then_some(answer.value));
            };
            let Some(lock) = error.locked else {
                return Err(failure::of_key(&error, ts));
            };
            self.resolve_for_read(&[lock], ts, &mut passed, &mut backoff)?;
            passed.fill(command.context_mut());
        }
    }

    /// Every key's version visible at `ts`; all of one moment, even at [`LATEST`].
    pub fn batch_get(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
        if let [key] = keys {
            let value = self.get(key, at)?;
            visit(0, value.as_deref());
            return Ok(());
        }
        if at.ts != LATEST {
            return self.batch_get_at(keys, at, visit);
        }
        if self.batch_get_of_one_region(keys, at.interrupt, visit)? {
            return Ok(());
        }
        let ts = self.timestamp(at.interrupt)?;
        self.batch_get_at(keys, ReadAt { ts, ..at }, visit)
    }

    fn wanted(&self, keys: &[Vec<u8>]) -> Vec<Wanted> {
        let wanted = |(index, key): (usize, &Vec<u8>)| Wanted {
            index,
            key: self.keyspace.key(key),
        };
        keys.iter().enumerate().map(wanted).collect()
    }

    /// One request to one region sees one moment, without a timestamp. False if it was not that simple.
    fn batch_get_of_one_region(
        &self,
        keys: &[Vec<u8>],
        interrupt: Option<&Interrupt>,
        visit: &mut VisitBatch,
    ) -> Result<bool> {
        let mut backoff = self.backoff(interrupt);
        let mut groups = self.group(self.wanted(keys), READ_BATCH, &mut backoff)?;
        let (Some(Group { region, items }), true) = (groups.pop(), groups.is_empty()) else {
            return Ok(keys.is_empty());
        };
        let until = backoff.request(self.options.request_timeout);
        let outcome = self
            .send(region, request(&items, LATEST, &Passed::default()), until)?
            .wait(interrupt)?;
        let Outcome::Answered(answer) = outcome else {
            return Ok(false);
        };
        if answer.error.is_some() || answer.pairs.iter().any(|pair| pair.error.is_some()) {
            return Ok(false);
        }
        let found = by_key(&answer.pairs);
        for item in &items {
            visit(item.index, found.get(item.key.as_slice()).copied());
        }
        Ok(true)
    }

    fn batch_get_at(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
        let ts = at.ts;
        let passed = std::cell::RefCell::new(Passed::default());
        let mut backoff = self.backoff(at.interrupt);
        self.fan_out(
            self.wanted(keys),
            READ_BATCH,
            &mut backoff,
            |items| request(items, ts, &passed.borrow()),
            |items, answer: BatchGetResponse, backoff| {
                let errors = answer
                    .pairs
                    .iter()
                    .filter_map(|pair| pair.error.as_ref())
                    .chain(answer.error.as_ref());
                let mut locks = Vec::new();
                for error in errors {
                    match &error.locked {
                        Some(lock) => locks.push(lock.clone()),
                        None => return Err(failure::of_key(error, ts)),
                    }
                }
                let found = by_key(&answer.pairs);
                let mut again = Vec::new();
                for item in items {
                    let is_locked = locks.iter().any(|lock| lock.key == item.key);
                    if answer.error.is_some() || is_locked {
                        again.push(item);
                    } else {
                        visit(item.index, found.get(item.key.as_slice()).copied());
                    }
                }
                if !locks.is_empty() {
                    self.resolve_for_read(&locks, ts, &mut passed.borrow_mut(), backoff)?;
                }
                Ok(again)
            },
        )
    }
}

fn request(items: &[Wanted], ts: Timestamp, passed: &Passed) -> BatchGetRequest {
    let mut context = Context::default();
    passed.fill(&mut context);
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
