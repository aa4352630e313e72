//! The rows that refer to given rows of a parent, found at the newest version and locked.

use std::ops::ControlFlow;

use kv::{KeyRange, LockMode, Reader, Transaction};
use types::{Result, Value};

use super::layout::Finder;
use super::state::ForeignKeys;
use crate::dml::image::Row;
use crate::env::check_interrupted;

/// So many rows are locked with one call.
const PAGE_ROWS: usize = 1024;

/// A row that refers to one of the parents that were asked about.
pub(super) struct Referring {
    pub key: Vec<u8>,
    pub row: Row,
    /// Position of the parent in the list.
    pub parent: usize,
}

/// A row that an entry leads to, before it is locked.
struct Candidate {
    key: Vec<u8>,
    /// What the entry of the row begins with, as long as it refers to the parent.
    prefix: Vec<u8>,
    parent: usize,
}

/// What is done with the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// One row is enough, and stays.
    Exist,
    /// They are removed or changed.
    Change,
}

impl ForeignKeys<'_> {
    /// Finds rows by the values of the parents that they refer to. The parents are locked, so no other
    /// transaction adds one.
    pub(super) fn find_referring(
        &self,
        finder: &Finder,
        parents: &[(usize, Vec<Value>)],
        purpose: Purpose,
        txn: &mut Transaction,
    ) -> Result<Vec<Referring>> {
        let mut found = Vec::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        for (parent, values) in parents {
            check_interrupted(self.ctx)?;
            let prefix = finder.prefix(values, self.zone())?;
            let mut range = finder.range(values.clone(), self.zone())?;
            loop {
                let page = page_of(&range, finder, txn)?;
                let is_last = page.len() < PAGE_ROWS;
                for (entry, row_key) in page {
                    range.start = entry;
                    range.start.push(0);
                    candidates.push(Candidate {
                        key: row_key,
                        prefix: prefix.clone(),
                        parent: *parent,
                    });
                }
                if candidates.len() >= PAGE_ROWS {
                    self.lock_candidates(finder, &mut candidates, purpose, &mut found, txn)?;
                }
                if is_last || (purpose == Purpose::Exist && !found.is_empty()) {
                    break;
                }
            }
            if purpose == Purpose::Exist {
                self.lock_candidates(finder, &mut candidates, purpose, &mut found, txn)?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
        }
        self.lock_candidates(finder, &mut candidates, purpose, &mut found, txn)?;
        Ok(found)
    }

    /// Locks rows, and keeps those that still refer to their parent.
    fn lock_candidates(
        &self,
        finder: &Finder,
        candidates: &mut Vec<Candidate>,
        purpose: Purpose,
        found: &mut Vec<Referring>,
        txn: &mut Transaction,
    ) -> Result<()> {
        if candidates.is_empty() {
            return Ok(());
        }
        // To see that one row stays, not all have to be locked.
        let count = match purpose {
            Purpose::Exist => 1,
            Purpose::Change => candidates.len(),
        };
        let options = self.options(match purpose {
            Purpose::Exist => LockMode::Shared,
            Purpose::Change => LockMode::Exclusive,
        });
        while !candidates.is_empty() {
            let taken: Vec<Candidate> = candidates.drain(..count.min(candidates.len())).collect();
            let keys: Vec<Vec<u8>> = taken.iter().map(|candidate| candidate.key.clone()).collect();
            let locked = txn.lock(&keys, &options)?;
            for (candidate, locked) in taken.into_iter().zip(locked) {
                let Some(stored) = locked.into_value() else {
                    continue;
                };
                let Candidate { key, prefix, parent } = candidate;
                let row = finder.decode(&key, &stored, self.zone())?;
                if finder.prefix_of(&row, self.zone())?.as_ref() == Some(&prefix) {
                    self.memory
                        .grow(size_of::<Referring>() + key.len() + row_bytes(&row))?;
                    found.push(Referring { key, row, parent });
                }
            }
            if purpose == Purpose::Exist && !found.is_empty() {
                candidates.clear();
            }
        }
        Ok(())
    }
}

fn row_bytes(row: &Row) -> usize {
    row.iter().map(Value::size_bytes).sum()
}

/// The next entries of a range, each with the key of its row.
fn page_of(range: &KeyRange, finder: &Finder, txn: &Transaction) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut page = Vec::new();
    let mut failed = None;
    txn.current().scan(range, false, &mut |key, value| {
        match finder.row_key(key, value) {
            Ok(row) => page.push((key.to_vec(), row)),
            Err(error) => failed = Some(error),
        }
        if page.len() < PAGE_ROWS && failed.is_none() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(page), Err)
}
