//! A row of the child needs its row of the parent, which is locked so that it stays.

use std::ops::ControlFlow;

use kv::{LockMode, Locked, Reader, Transaction};
use planner::foreign_key::ParentKey;
use schema::foreign_key::no_referenced_row;
use types::{Error, Result, Value};

use super::layout::{Finder, no_such_table, picked};
use super::state::ForeignKeys;
use crate::dml::image::Row;
use crate::memory::KEY_ENTRY_BYTES;

/// The values by which a new row refers to its parent; `None` if it does not, or as it did before.
fn new_reference(key: &ParentKey, old: Option<&Row>, new: &Row) -> Option<Vec<Value>> {
    let values = picked(new, &key.columns)?;
    match old.and_then(|old| picked(old, &key.columns)) {
        Some(before) if before == values => None,
        _ => Some(values),
    }
}

impl<'p> ForeignKeys<'p> {
    /// Locks the parents that a unique key finds. The others are found one by one.
    pub(super) fn lock_parents_of<'r>(
        &mut self,
        table: usize,
        rows: impl Iterator<Item = (Option<&'r Row>, &'r Row)>,
        txn: &mut Transaction,
    ) -> Result<()> {
        let (plan, layout) = (self.plan, self.layout);
        let keyed = plan.tables.get(table).ok_or_else(no_such_table)?;
        if keyed.parents.is_empty() {
            return Ok(());
        }
        let finders = &layout.table(table)?.parents;
        let mut keys = Vec::new();
        for (old, new) in rows {
            for (key, finder) in keyed.parents.iter().zip(finders) {
                let (Some(parent), Some(finder)) = (&key.parent, finder) else {
                    continue;
                };
                let Some(values) = new_reference(key, old, new).filter(|_| parent.is_unique) else {
                    continue;
                };
                let prefix = finder.prefix(&values, self.zone())?;
                // What this transaction has written is locked.
                if !self.locked.contains_key(&prefix) && txn.writes().get(&prefix).is_none() {
                    keys.push(prefix);
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        self.lock_keys(keys, txn)
    }

    fn lock_keys(&mut self, keys: Vec<Vec<u8>>, txn: &mut Transaction) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let bytes = keys.iter().map(|key| key.len() + KEY_ENTRY_BYTES);
        self.memory.grow(bytes.sum())?;
        let locked = txn.lock(&keys, &self.options(LockMode::Shared))?;
        let found = locked.into_iter().map(|value| value.into_value().is_some());
        self.locked.extend(keys.into_iter().zip(found));
        Ok(())
    }

    /// `except`: the key whose cascade changes the row, so that its parent is known to exist.
    ///
    /// # Errors
    /// 1452.
    pub(super) fn check_parents_of(
        &mut self,
        table: usize,
        (old, new): (Option<&Row>, &Row),
        except: Option<usize>,
        txn: &mut Transaction,
    ) -> Result<()> {
        let (plan, layout) = (self.plan, self.layout);
        let keyed = plan.tables.get(table).ok_or_else(no_such_table)?;
        if keyed.parents.is_empty() {
            return Ok(());
        }
        let finders = &layout.table(table)?.parents;
        for (key, finder) in keyed.parents.iter().zip(finders) {
            if except == Some(key.key) {
                continue;
            }
            let Some(values) = new_reference(key, old, new) else {
                continue;
            };
            let exists = match (&key.parent, finder) {
                (Some(parent), Some(finder)) => {
                    let refers_to_itself = parent.table.id == keyed.table.id
                        && finder.prefix_of(new, self.zone())?.as_deref()
                            == Some(finder.prefix(&values, self.zone())?.as_slice());
                    refers_to_itself || self.has_parent(finder, values, parent.is_unique, txn)?
                }
                _ => false,
            };
            if !exists {
                let violated = keyed.table.foreign_keys.get(key.key);
                return Err(match violated {
                    Some(violated) => no_referenced_row(&keyed.table, violated),
                    None => Error::internal("a foreign key that the table does not have"),
                });
            }
        }
        Ok(())
    }

    fn has_parent(
        &mut self,
        finder: &Finder,
        values: Vec<Value>,
        is_unique: bool,
        txn: &mut Transaction,
    ) -> Result<bool> {
        let prefix = finder.prefix(&values, self.zone())?;
        if !is_unique {
            return self.has_parent_among(finder, &prefix, values, txn);
        }
        if let Some(written) = txn.writes().get(&prefix) {
            return Ok(written.is_some());
        }
        if !self.locked.contains_key(&prefix) {
            self.lock_keys(vec![prefix.clone()], txn)?;
        }
        Ok(self.locked.get(&prefix).copied().unwrap_or(false))
    }

    /// Finds and locks one of the rows with the values.
    fn has_parent_among(
        &self,
        finder: &Finder,
        prefix: &[u8],
        values: Vec<Value>,
        txn: &mut Transaction,
    ) -> Result<bool> {
        let mut range = finder.range(values, self.zone())?;
        let options = self.options(LockMode::Shared);
        loop {
            let mut found = None;
            txn.current().scan(&range, false, &mut |key, value| {
                found = Some((key.to_vec(), value.to_vec()));
                ControlFlow::Break(())
            })?;
            let Some((key, value)) = found else {
                return Ok(false);
            };
            let row_key = finder.row_key(&key, &value)?;
            let locked = txn.lock(std::slice::from_ref(&row_key), &options)?;
            // The row may have been removed or changed before it was locked.
            if let Some(stored) = locked.into_iter().next().and_then(Locked::into_value) {
                let row = finder.decode(&row_key, &stored, self.zone())?;
                if finder.prefix_of(&row, self.zone())?.as_deref() == Some(prefix) {
                    return Ok(true);
                }
            }
            range.start = key;
            range.start.push(0);
        }
    }
}
