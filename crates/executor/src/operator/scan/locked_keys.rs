//! Locking reads of rows whose keys a statement names: by primary keys, or by one key of a unique index.
//!
//! A key is locked whether or not it has a row, so nothing has to be searched for, and no later change can
//! add a row. The lock returns the newest version of the row. A unique key leads to a row; if that row no
//! longer has the key by the time it is locked, the key is looked up again. An optimistic transaction looks keys up
//! in its snapshot, and a row that has changed since fails with 9007.

use std::collections::VecDeque;

use arrow::record_batch::RecordBatch;
use functions::RowPlace;
use kv::Locked;
use planner::plan::Locking;
use types::Result;

use super::access::NamedKeys;
use super::locked::lock_options;
use super::rows::Rows;
use crate::batch::{BATCH_ROWS, batch_bytes, keep};
use crate::env::Env;
use crate::operator::Operator;
use crate::operator::filter::split;

/// How often a unique key is looked up again if its row changes during the wait for the lock.
const LOOKUPS: usize = 16;

pub(super) struct LockedKeys<'p> {
    keys: NamedKeys,
    rows: Rows<'p>,
    locking: Locking,
    place: RowPlace,
    /// Rows that are locked and have not been returned yet. All wanted rows are locked before the statement
    /// writes.
    ready: VecDeque<RecordBatch>,
    has_ended: bool,
}

impl<'p> LockedKeys<'p> {
    pub fn new(keys: NamedKeys, rows: Rows<'p>, locking: Locking, place: RowPlace) -> Self {
        Self {
            keys,
            rows,
            locking,
            place,
            ready: VecDeque::new(),
            has_ended: false,
        }
    }

    /// Locks the next `wanted` rows, or all that remain.
    fn take(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<()> {
        let mut rows = 0;
        while rows < wanted && !self.has_ended {
            env.check_interrupted()?;
            let batch = match &mut self.keys {
                NamedKeys::Primary(keys) => {
                    let row_keys: Vec<_> = keys.take((wanted - rows).min(BATCH_ROWS)).collect();
                    self.has_ended = keys.len() == 0;
                    self.lock(&row_keys, env)?
                }
                NamedKeys::Unique(..) => {
                    self.has_ended = true;
                    self.follow(env)?
                }
            };
            let batch = keep(&batch, &self.rows.filter(&batch, env.eval())?)?;
            if batch.num_rows() > 0 {
                env.memory.grow(batch_bytes(&batch))?;
                rows += batch.num_rows();
                self.ready.push_back(batch);
            }
        }
        Ok(())
    }

    fn lock(&mut self, keys: &[Vec<u8>], env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        env.eval().reads.read_keys(keys.len());
        env.eval().reads.read_at(|| self.place, keys.len());
        let options = lock_options(self.locking, env.ctx);
        let locked = env.source.transaction()?.lock_and_read(keys, &options)?;
        for (key, locked) in keys.iter().zip(locked) {
            if let Locked::Value(Some(value)) = locked {
                self.rows.push(key, &value)?;
            }
        }
        self.rows.take()
    }

    /// Locks the row that has the unique key.
    fn follow(&mut self, env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        let options = lock_options(self.locking, env.ctx);
        let NamedKeys::Unique(lookup, key) = &mut self.keys else {
            return self.rows.take();
        };
        env.eval().reads.read_keys(1);
        env.eval().reads.read_at(|| self.place, 1);
        let entry = key.take().into_iter().collect::<Vec<_>>();
        for _ in 0..=LOOKUPS {
            let txn = env.source.transaction()?;
            let found = match txn.is_optimistic() {
                true => lookup.find(&*txn, &entry)?,
                false => lookup.find(&txn.current(), &entry)?,
            };
            let Some(row_key) = found.into_iter().next().flatten() else {
                break;
            };
            let keys = [row_key];
            let locked = txn.lock_and_read(&keys, &options)?.pop();
            match (&keys, locked) {
                ([key], Some(Locked::Value(Some(value)))) if self.rows.belongs(key, &value)? => {
                    self.rows.push(key, &value)?;
                    break;
                }
                (_, Some(Locked::Value(_))) => {}
                _ => break,
            }
        }
        self.rows.take()
    }
}

impl Operator for LockedKeys<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.ready.is_empty() {
            self.take(env, wanted)?;
        }
        let Some(batch) = self.ready.pop_front() else {
            return Ok(None);
        };
        let bytes = batch_bytes(&batch);
        let (now, later) = split(batch, wanted);
        env.memory
            .shrink(bytes - later.as_ref().map_or(0, batch_bytes).min(bytes));
        if let Some(later) = later {
            self.ready.push_front(later);
        }
        Ok(Some(now))
    }
}
