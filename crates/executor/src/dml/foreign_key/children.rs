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

/// A search for the rows that refer to rows of a parent.
pub(super) struct Search<'s, 'p> {
    keys: &'s ForeignKeys<'p>,
    finder: &'s Finder,
    purpose: Purpose,
    /// Rows that have not been locked.
    candidates: Vec<Candidate>,
    found: Vec<Referring>,
}

impl<'s, 'p> Search<'s, 'p> {
    pub fn new(keys: &'s ForeignKeys<'p>, finder: &'s Finder, purpose: Purpose) -> Self {
        Self {
            keys,
            finder,
            purpose,
            candidates: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Finds rows by the values of the parents that they refer to. The parents are locked, so no other
    /// transaction adds one.
    pub fn rows_of(
        mut self,
        parents: &[(usize, Vec<Value>)],
        txn: &mut Transaction,
    ) -> Result<Vec<Referring>> {
        for (parent, values) in parents {
            check_interrupted(self.keys.ctx)?;
            let prefix = self.finder.prefix(values, self.keys.zone())?;
            let mut range = self.finder.range(values.clone(), self.keys.zone())?;
            loop {
                let page = page_of(&range, self.finder, txn)?;
                let is_last = page.len() < PAGE_ROWS;
                for (entry, row_key) in page {
                    range.start = entry;
                    range.start.push(0);
                    self.candidates.push(Candidate {
                        key: row_key,
                        prefix: prefix.clone(),
                        parent: *parent,
                    });
                }
                if self.candidates.len() >= PAGE_ROWS {
                    self.lock_candidates(txn)?;
                }
                if is_last || self.is_enough() {
                    break;
                }
            }
            if self.purpose == Purpose::Exist {
                self.lock_candidates(txn)?;
            }
            if self.is_enough() {
                return Ok(self.found);
            }
        }
        self.lock_candidates(txn)?;
        Ok(self.found)
    }

    /// To see that a row exists, one is enough.
    fn is_enough(&self) -> bool {
        self.purpose == Purpose::Exist && !self.found.is_empty()
    }

    /// Locks rows, and keeps those that still refer to their parent.
    fn lock_candidates(&mut self, txn: &mut Transaction) -> Result<()> {
        let options = self.keys.options(match self.purpose {
            Purpose::Exist => LockMode::Shared,
            Purpose::Change => LockMode::Exclusive,
        });
        while !self.candidates.is_empty() {
            // To see that one row stays, not all have to be locked.
            let count = match self.purpose {
                Purpose::Exist => 1,
                Purpose::Change => self.candidates.len(),
            };
            let taken: Vec<Candidate> = self.candidates.drain(..count).collect();
            let keys: Vec<Vec<u8>> = taken.iter().map(|candidate| candidate.key.clone()).collect();
            let locked = txn.lock(&keys, &options)?;
            for (candidate, locked) in taken.into_iter().zip(locked) {
                let Some(stored) = locked.into_value() else {
                    continue;
                };
                let Candidate { key, prefix, parent } = candidate;
                let row = self.finder.decode(&key, &stored, self.keys.zone())?;
                if self.finder.prefix_of(&row, self.keys.zone())?.as_ref() == Some(&prefix) {
                    let bytes = size_of::<Referring>() + key.len() + row_bytes(&row);
                    self.keys.memory.grow(bytes)?;
                    self.found.push(Referring { key, row, parent });
                }
            }
            if self.is_enough() {
                self.candidates.clear();
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
