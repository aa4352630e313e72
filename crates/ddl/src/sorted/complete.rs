//! The last step of a sorted build: the files become part of the store, and what writers have changed meanwhile is
//! put on top of them.

use kv::{Durability, KeyRange, Load, Merge, Reader, Snapshot, Sorter, Store, Transaction, TxnOptions};
use schema::layout::IndexLayout;
use schema::model::Table;
use types::{Error, Result};

use super::entries::{EntryMaker, duplicate_of};
use crate::page_work::Backfilled;

/// Changes of one transaction.
const BATCH: usize = 512;

/// Bytes of changes in memory; more go to a file.
const MEMORY: usize = 8 << 20;

/// The first byte of a kept change: the entry was removed, or written.
const REMOVED: u8 = 0;
const WRITTEN: u8 = 1;

/// The entries of an index under one physical id, in files.
pub(super) struct LoadedIndex {
    pub(super) index: usize,
    pub(super) range: KeyRange,
    pub(super) load: Load,
}

/// A build whose entries are all in files.
pub(crate) struct Built<'a> {
    pub(super) table: &'a Table,
    pub(super) store: &'a Store,
    pub(super) snapshot: Snapshot,
    pub(super) loads: Vec<LoadedIndex>,
    pub(super) rows: u64,
}

impl Built<'_> {
    /// Completes the indexes. The caller keeps all other statements from the table.
    ///
    /// # Errors
    /// 1062 for a duplicate that came with a row changed meanwhile, 1317, those of the store. The indexes are empty
    /// then: the job is undone, or begins again.
    pub(crate) fn complete(self) -> Result<Backfilled> {
        let (store, table) = (self.store, self.table);
        let ranges: Vec<KeyRange> = self.loads.iter().map(|loaded| loaded.range.clone()).collect();
        self.load_all().inspect_err(|_| {
            // Statements use the table before the job is undone. They must find no entries of rows as they were at
            // the snapshot: in a unique index, those would be duplicates.
            for range in &ranges {
                if let Err(error) = store.destroy_range(range) {
                    tracing::warn!(%error, table = table.name, "entries of an index that was not built are left");
                }
            }
        })
    }

    fn load_all(self) -> Result<Backfilled> {
        let Self {
            table,
            store,
            snapshot,
            loads,
            rows,
        } = self;
        for LoadedIndex { index, range, load } in loads {
            let mut changes = Sorter::new(store, MEMORY);
            store.scan_newer(&range, &snapshot, &mut |key, value| match value {
                Some(value) => changes.push(key, &[&[WRITTEN], value].concat()),
                None => changes.push(key, &[REMOVED]),
            })?;
            load.finish()?;
            Changes::new(table, index, store)?.apply(&range, changes.finish().merge(&|| Ok(()))?)?;
        }
        let warnings = Vec::new();
        Ok(Backfilled { rows, warnings })
    }
}

/// An entry as the newest writer left it.
struct Change {
    key: Vec<u8>,
    /// `None`: it was removed.
    value: Option<Vec<u8>>,
}

struct Changes<'a> {
    store: &'a Store,
    table: &'a Table,
    index: usize,
    layout: IndexLayout,
    maker: EntryMaker,
}

impl<'a> Changes<'a> {
    fn new(table: &'a Table, index: usize, store: &'a Store) -> Result<Self> {
        Ok(Self {
            store,
            table,
            index,
            layout: IndexLayout::new(table, index, &[])?,
            maker: EntryMaker::new(table, &[index])?,
        })
    }

    fn apply(&self, range: &KeyRange, mut changes: Merge) -> Result<()> {
        let mut batch = Vec::new();
        while let Some((key, change)) = changes.next()? {
            debug_assert!(range.contains(key));
            let value = match change.split_first() {
                Some((&WRITTEN, value)) => Some(value.to_vec()),
                _ => None,
            };
            let key = key.to_vec();
            batch.push(Change { key, value });
            if batch.len() == BATCH {
                self.apply_batch(std::mem::take(&mut batch))?;
            }
        }
        self.apply_batch(batch)
    }

    fn apply_batch(&self, batch: Vec<Change>) -> Result<()> {
        let newest = self.store.snapshot_now()?;
        let keys: Vec<_> = batch.iter().map(|change| change.key.clone()).collect();
        let stored = newest.batch_get(&keys)?;
        let mut txn = self.store.begin(TxnOptions::default())?;
        for (change, stored) in batch.into_iter().zip(stored) {
            // What is under the key has come with the files, unless it is the change itself.
            if change.value == stored {
                continue;
            }
            let keeps = match &stored {
                Some(stored) => self.keeps(&newest, &change, stored)?,
                None => false,
            };
            if !keeps {
                put(&mut txn, change)?;
            }
        }
        match txn.is_dirty() {
            true => drop(txn.commit(Durability::Os)?),
            false => txn.rollback(),
        }
        Ok(())
    }

    /// Whether the entry that came with the files stays, because its row still has it. Only of a unique index can
    /// another row have had the same entry meanwhile.
    ///
    /// # Errors
    /// 1062: another row has it now.
    fn keeps(&self, newest: &dyn Reader, change: &Change, stored: &[u8]) -> Result<bool> {
        let owner = self.layout.row_key(&change.key, stored)?;
        let other = match &change.value {
            Some(value) => Some(self.layout.row_key(&change.key, value)?),
            None => None,
        };
        if other.as_ref() == Some(&owner) {
            return Ok(false);
        }
        let Some(row) = newest.get(&owner)? else {
            return Ok(false);
        };
        let mut has = false;
        self.maker
            .entries(&owner, &row, |_, entry| has |= entry.key == change.key)?;
        match (has, other) {
            (true, Some(_)) => Err(self.duplicate(newest, &owner)),
            (has, _) => Ok(has),
        }
    }

    fn duplicate(&self, newest: &dyn Reader, owner: &[u8]) -> Error {
        duplicate_of(self.table, self.index, newest, owner).unwrap_or_else(|error| error)
    }
}

fn put(txn: &mut Transaction, Change { key, value }: Change) -> Result<()> {
    match value {
        Some(value) => txn.put(key, value)?,
        None => txn.delete(key)?,
    }
    Ok(())
}
