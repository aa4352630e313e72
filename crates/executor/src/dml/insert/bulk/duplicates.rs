//! Which rows of a bulk load an INSERT in the order of the file refuses: those that have a unique key of a row that
//! it has taken, or of one that the table has had before ([`EXISTING`]).
//!
//! Only rows that share a key with others are looked at. They are sorted by their numbers, so memory is bounded but
//! for a bit for each row up to the last one that is refused, and for each shared key.

use std::collections::HashMap;

use kv::{Interrupt, Runs, Sorter, Store};
use types::{Error, Result};

use crate::memory::Memory;

/// As many warnings are listed at most.
pub(super) const WARNINGS_LISTED: usize = 1024;

/// The number of all keys that rows of the table have.
pub(super) const EXISTING: u64 = 0;

/// Rows that share a key with others.
pub(super) struct Conflicts {
    sorter: Sorter,
    is_empty: bool,
}

impl Conflicts {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            sorter: Sorter::new(store, 0),
            is_empty: true,
        }
    }

    /// `order`: of the key, as the keys of a row are checked. `group`: the number of the shared key among those.
    pub(super) fn push(&mut self, row: u64, order: u32, group: u64) -> Result<()> {
        self.is_empty = false;
        let mut key = [0; 20];
        key[..8].copy_from_slice(&row.to_be_bytes());
        key[8..12].copy_from_slice(&order.to_be_bytes());
        key[12..].copy_from_slice(&group.to_be_bytes());
        Ok(self.sorter.push(&key, &[])?)
    }

    /// `None`: there are none.
    pub(super) fn finish(self) -> Result<Option<Runs>> {
        Ok(match self.is_empty {
            true => None,
            false => Some(self.sorter.finish()?),
        })
    }
}

fn parse(key: &[u8]) -> Option<(u64, u32, u64)> {
    let (row, rest) = key.split_first_chunk()?;
    let (order, rest) = rest.split_first_chunk()?;
    let (group, _) = rest.split_first_chunk()?;
    Some((
        u64::from_be_bytes(*row),
        u32::from_be_bytes(*order),
        u64::from_be_bytes(*group),
    ))
}

/// A set of numbers.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn add(&mut self, number: u64, memory: &Memory<'_>) -> Result<()> {
        let word = (number / 64) as usize;
        if word >= self.0.len() {
            // Twice as many, so that they are moved rarely.
            let words = (word + 1).max(self.0.len() * 2);
            memory.grow((words - self.0.len()) * size_of::<u64>())?;
            self.0.resize(words, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (number % 64);
        }
        Ok(())
    }

    fn has(&self, number: u64) -> bool {
        let bits = self.0.get((number / 64) as usize);
        bits.is_some_and(|bits| bits >> (number % 64) & 1 == 1)
    }
}

/// The rows that are refused.
#[derive(Default)]
pub(super) struct Losers(Bits);

impl Losers {
    pub(super) fn has(&self, row: u64) -> bool {
        self.0.has(row)
    }
}

#[derive(Default)]
pub(super) struct Resolved {
    pub(super) losers: Losers,
    pub(super) count: u64,
    /// The first of them, with the order of the key that is refused.
    pub(super) first: Vec<(u64, u32)>,
    /// The keys that have a row, by their order.
    taken: HashMap<u32, Bits>,
}

/// Inserts the rows in their order. `most`: how many that are refused are enough.
pub(super) fn resolve(
    conflicts: Runs,
    most: Option<u64>,
    memory: &Memory<'_>,
    interrupt: &Interrupt,
) -> Result<Resolved> {
    let mut resolved = Resolved::default();
    let mut keys = Vec::new();
    let mut current = None;
    let mut conflicts = conflicts.merge(&|| interrupt.check())?;
    while let Some((key, _)) = conflicts.next()? {
        let (row, order, group) =
            parse(key).ok_or_else(|| Error::internal("a conflict of a bulk load is damaged"))?;
        if let Some(before) = current.replace(row).filter(|before| *before != row) {
            resolved.insert(before, &keys, memory)?;
            keys.clear();
            if most.is_some_and(|most| resolved.count >= most) {
                return Ok(resolved);
            }
        }
        keys.push((order, group));
    }
    if let Some(last) = current {
        resolved.insert(last, &keys, memory)?;
    }
    Ok(resolved)
}

impl Resolved {
    /// `keys`: those that the row shares with others, in their order.
    fn insert(&mut self, row: u64, keys: &[(u32, u64)], memory: &Memory<'_>) -> Result<()> {
        let is_taken = |(order, group): &&(u32, u64)| {
            let taken = self.taken.get(order);
            *group == EXISTING || taken.is_some_and(|taken| taken.has(*group))
        };
        if let Some((order, _)) = keys.iter().find(is_taken) {
            self.losers.0.add(row, memory)?;
            self.count += 1;
            if self.first.len() < WARNINGS_LISTED {
                self.first.push((row, *order));
            }
            return Ok(());
        }
        for (order, group) in keys {
            self.taken.entry(*order).or_default().add(*group, memory)?;
        }
        Ok(())
    }
}
