//! Writes rows with their index entries, and finds duplicates.
//!
//! Keys are locked in batches. The result of the lock shows duplicates: it is the newest committed value, or
//! the statement's own write. Entries that only one row can have are not locked, since the lock of their row
//! protects them. Not here: what a statement does about a duplicate.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cluster::ids::IdAllocator;
use kv::{Fresh, Guard, LockMode, LockOptions, LockWait, Locked, Outdated, Reader, RowEntries, Transaction};
use types::Result;

use super::image::{Image, ImageMaker, IndexEntry, UniqueKey};
use super::locked_values::LockedValues;
use crate::context::ExecContext;

pub(super) struct Writer<'w, 'p> {
    pub txn: &'w mut Transaction,
    pub maker: &'w ImageMaker<'p>,
    /// Of new rows of a shadow table.
    pub(super) ids: &'w IdAllocator,
    options: LockOptions,
    /// The values under the keys that this statement has locked, at the time of the lock. Later writes are in
    /// the transaction's buffer.
    locked: LockedValues,
    /// What [`Writer::find_outdated`] has found about rows.
    outdated: BTreeMap<Vec<u8>, Option<Outdated>>,
}

/// A key that another row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    pub key: UniqueKey,
    /// Whether it is the last unique key, in the order in which they are checked.
    pub last: bool,
    /// Whether the index is still being built. Its duplicates cannot be resolved: the row that has the value
    /// may not have an entry yet.
    pub is_building: bool,
}

impl<'w, 'p> Writer<'w, 'p> {
    pub fn new(txn: &'w mut Transaction, maker: &'w ImageMaker<'p>, ctx: &'w ExecContext<'_>) -> Self {
        Self {
            ids: ctx.cluster.ids(),
            txn,
            maker,
            options: LockOptions {
                mode: LockMode::Exclusive,
                wait: LockWait::Timeout(ctx.lock_wait),
                interrupt: ctx.interrupt.clone(),
            },
            locked: LockedValues::default(),
            outdated: BTreeMap::new(),
        }
    }

    /// Locks keys in one call and caches their values. Keys that are cached already are skipped. An
    /// optimistic transaction only reads them from its snapshot; a conflict with a later change shows at the
    /// commit.
    pub fn lock(&mut self, keys: impl Iterator<Item = Vec<u8>>) -> Result<()> {
        let keys: Vec<Vec<u8>> = keys.filter(|key| self.locked.get(key).is_none()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        if self.txn.is_optimistic() {
            let values = self.txn.batch_get(&keys)?;
            self.locked.extend(keys.into_iter().zip(values));
        } else if let [key] = keys.as_slice() {
            let value = self.txn.lock_one(key, &self.options)?.map(|value| value.to_vec());
            self.locked.extend(keys.into_iter().zip([value]));
        } else {
            let locked = self.txn.lock(&keys, &self.options)?;
            let values = locked.into_iter().map(Locked::into_value);
            self.locked.extend(keys.into_iter().zip(values));
        }
        Ok(())
    }

    /// Assumes that the images' keys are new, if the store checks that at the commit. Otherwise locks the
    /// keys and caches their values.
    pub fn expect_new(&mut self, images: &[Image]) -> Result<()> {
        if self.txn.defers_duplicate_checks() {
            let keys: Vec<Vec<u8>> = images.iter().flat_map(unique_keys).map(<[u8]>::to_vec).collect();
            if self.txn.expect_absent(&keys) {
                self.locked.extend(keys.into_iter().map(|key| (key, None)));
                return Ok(());
            }
        }
        self.lock_images(images, false)
    }

    /// Drops the cached values (not the locks), so that a long statement does not hold all of them.
    pub fn forget(&mut self) {
        self.locked.clear();
    }

    /// The current value of a key, which is locked first if it is not yet.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        if self.locked.get(key).is_none() {
            self.lock(std::iter::once(key.to_vec()))?;
        }
        Ok(self.held(key))
    }

    /// The current value of a locked key.
    fn held(&self, key: &[u8]) -> Option<&[u8]> {
        match self.txn.writes().get(key) {
            Some(written) => written,
            None => self.locked.get(key)?,
        }
    }

    /// Locks a key that the statement reads only once. Its value is returned and not cached.
    pub fn get_once(&mut self, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        match self.txn.is_optimistic() {
            true => Ok(self.txn.get(key)?.map(Arc::from)),
            false => Ok(self.txn.lock_one(key, &self.options)?),
        }
    }

    /// Locks the keys that must belong to no other row, and the rows that have them. `with_rows`: those rows
    /// will be read (REPLACE, ON DUPLICATE KEY UPDATE).
    pub fn lock_images(&mut self, images: &[Image], with_rows: bool) -> Result<()> {
        self.lock(images.iter().flat_map(unique_keys).map(<[u8]>::to_vec))?;
        if !with_rows {
            return Ok(());
        }
        let mut rows = Vec::new();
        for entry in images.iter().flat_map(|image| &image.entries) {
            if let Some(value) = self.held(&entry.key).filter(|_| entry.distinct) {
                rows.push(self.maker.row_key_of_entry(entry.index, &entry.key, value)?);
            }
        }
        self.lock(rows.into_iter())
    }

    /// The first key of `image` that another row has. `old`: the row's current image, if the row exists.
    pub fn conflict(&mut self, image: &Image, old: Option<&Image>) -> Result<Option<Conflict>> {
        if old.is_none_or(|old| old.key != image.key) && self.get(&image.key)?.is_some() {
            let last = !image.entries.iter().any(|e| self.maker.is_unique(e.index));
            return Ok(Some(Conflict {
                key: UniqueKey::Primary,
                last,
                is_building: false,
            }));
        }
        for (i, entry) in image.entries.iter().enumerate() {
            if entry.distinct && self.maker.writes_entries(entry.index) && self.is_taken(entry, old)? {
                let rest = image.entries.get(i + 1..).unwrap_or_default();
                return Ok(Some(Conflict {
                    key: UniqueKey::Index(entry.index),
                    last: !rest.iter().any(|e| self.maker.is_unique(e.index)),
                    is_building: !self.maker.is_public(entry.index),
                }));
            }
        }
        Ok(None)
    }

    /// Whether another row has an entry of a unique index. `old`: the image of the row whose entry it will be.
    fn is_taken(&mut self, entry: &IndexEntry, old: Option<&Image>) -> Result<bool> {
        let own = old.and_then(|old| old.entries.iter().find(|own| own.key == entry.key));
        let Some(own) = own else {
            return Ok(self.get(&entry.key)?.is_some());
        };
        // While the index is being built, a row may be without its entry, and another one have it.
        if own.value == entry.value || self.maker.is_public(entry.index) {
            return Ok(false);
        }
        Ok(self.get(&entry.key)?.is_some_and(|stored| stored != own.value))
    }

    /// The key of the row that `image` conflicts with.
    pub fn conflicting_row_key(&mut self, image: &Image, conflict: Conflict) -> Result<Option<Vec<u8>>> {
        let UniqueKey::Index(index) = conflict.key else {
            return Ok(Some(image.key.clone()));
        };
        let maker = self.maker;
        // A row has several entries in a multi-valued index, and not each of them conflicts.
        for entry in image.entries.iter().filter(|e| e.index == index && e.distinct) {
            if let Some(value) = self.get(&entry.key)? {
                return maker.row_key_of_entry(index, &entry.key, value).map(Some);
            }
        }
        Ok(None)
    }

    /// Writes a new row, of which [`Writer::conflict`] has found no other row with its key.
    pub fn insert(&mut self, image: Image, value: Vec<u8>) -> Result<()> {
        self.correct_snapshot(&image.key)?;
        self.mirror(&image.key, Some(&value))?;
        let fresh = Fresh::under_new(None);
        let row = self.txn.put_guard(image.key, value)?;
        for entry in image.entries {
            if self.maker.writes_entries(entry.index) {
                self.put_entry(row, entry, fresh)?;
            }
        }
        Ok(())
    }

    /// Removes a row with its entries.
    pub fn delete(&mut self, image: Image) -> Result<()> {
        self.correct_snapshot(&image.key)?;
        self.mirror(&image.key, None)?;
        let row = self.txn.delete_guard(image.key)?;
        for entry in image.entries {
            self.remove_entry(row, entry)?;
        }
        Ok(())
    }

    /// Replaces a row. Entries that stay the same are not written. Both images have entries in the same
    /// indexes: one in each, unless one is multi-valued.
    pub fn update(&mut self, old: Image, new: Image, value: Vec<u8>) -> Result<()> {
        let is_moved = old.key != new.key;
        self.correct_snapshot(&old.key)?;
        if is_moved {
            self.correct_snapshot(&new.key)?;
            self.mirror(&old.key, None)?;
        }
        self.mirror(&new.key, Some(&value))?;
        let new_row = self.txn.put_guard(new.key, value)?;
        let old_row = match is_moved {
            true => self.txn.delete_guard(old.key)?,
            false => new_row,
        };
        if self.maker.has_multi_valued() {
            return self.update_entries((old_row, old.entries), (new_row, new.entries));
        }
        for (old, new) in old.entries.into_iter().zip(new.entries) {
            let fresh = Fresh::in_place_of(&old.key, &new.key);
            let is_written = self.maker.writes_entries(new.index);
            if fresh.is_none() && old.value == new.value {
                continue;
            }
            // An entry that would be replaced, but is not written in this state of the index, must be
            // deleted.
            if fresh.is_some() || !is_written {
                self.remove_entry(old_row, old)?;
            }
            if is_written {
                self.put_entry(new_row, new, fresh)?;
            }
        }
        Ok(())
    }

    /// Replaces the entries of a row of which there can be any number in an index.
    fn update_entries(
        &mut self,
        (old_row, old): (Guard, Vec<IndexEntry>),
        (new_row, new): (Guard, Vec<IndexEntry>),
    ) -> Result<()> {
        let mut replaced: HashMap<Vec<u8>, IndexEntry> =
            old.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        let mut written = Vec::with_capacity(new.len());
        for entry in new {
            if !self.maker.writes_entries(entry.index) {
                continue;
            }
            let same = replaced.remove(&entry.key);
            if same.is_none_or(|old| old.value != entry.value) {
                written.push(entry);
            }
        }
        for (_, entry) in replaced {
            self.remove_entry(old_row, entry)?;
        }
        written
            .into_iter()
            .try_for_each(|entry| self.put_entry(new_row, entry, None))
    }

    /// Replaces a row whose entries do not change.
    pub fn replace(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.correct_snapshot(&key)?;
        self.mirror(&key, Some(&value))?;
        Ok(self.txn.put(key, value)?)
    }

    /// Before rows are written: looks up in one call what [`Writer::correct_snapshot`] would look up for each of
    /// them.
    pub fn find_outdated<'k>(&mut self, rows: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        self.outdated.clear();
        if self.maker.secondary().is_empty() {
            return Ok(());
        }
        let rows = rows.filter(|row| self.txn.may_be_outdated(row));
        let rows: Vec<Vec<u8>> = rows.map(<[u8]>::to_vec).collect();
        if rows.len() > 1 {
            let outdated = self.txn.outdated(&rows)?;
            self.outdated.extend(rows.into_iter().zip(outdated));
        }
        Ok(())
    }

    /// Before a row is written: where the transaction's plain reads stay at a snapshot that has another
    /// version of the row, its entries there no longer lead to it.
    fn correct_snapshot(&mut self, key: &[u8]) -> Result<()> {
        if self.maker.secondary().is_empty() || !self.txn.may_be_outdated(key) {
            return Ok(());
        }
        let outdated = match self.outdated.remove(key) {
            Some(outdated) => outdated,
            None => self.txn.outdated(&[key.to_vec()])?.pop().flatten(),
        };
        let Some(outdated) = outdated else {
            return Ok(());
        };
        let seen = self.stored_entries(key, outdated.seen)?;
        let newest = self.stored_entries(key, outdated.newest)?;
        let entries = RowEntries {
            seen: seen.into_iter().map(|entry| entry.key).collect(),
            newest: newest.into_iter().map(|entry| (entry.key, entry.value)).collect(),
        };
        Ok(self.txn.correct(key.to_vec(), entries)?)
    }

    /// The index entries of a version of a row.
    fn stored_entries(&self, key: &[u8], value: Option<Vec<u8>>) -> Result<Vec<IndexEntry>> {
        let Some(value) = value else {
            return Ok(Vec::new());
        };
        let maker = self.maker;
        let (row, handle) = (maker.decode(key, &value)?, maker.handle(key)?);
        Ok(maker
            .image_beside(key, &row, Some(&handle), maker.secondary())?
            .entries)
    }

    /// `fresh`: the row had no entry with this key.
    fn put_entry(&mut self, row: Guard, entry: IndexEntry, fresh: Option<Fresh>) -> Result<()> {
        let IndexEntry { key, value, .. } = entry;
        // While the index is being built, the backfill may have written the entry.
        let fresh = fresh.filter(|_| self.maker.is_public(entry.index));
        Ok(match (entry.distinct, fresh) {
            (true, _) => self.txn.put(key, value),
            (false, Some(fresh)) => self.txn.put_fresh(row, fresh, key, value),
            (false, None) => self.txn.put_guarded(row, key, value),
        }?)
    }

    fn remove_entry(&mut self, row: Guard, entry: IndexEntry) -> Result<()> {
        // In a unique index that is being built, the entry may belong to another row. Where there is none, it
        // is removed all the same: a build by sorting, which may have read this row, finds out by that.
        if entry.distinct
            && !self.maker.is_public(entry.index)
            && self.get(&entry.key)?.is_some_and(|stored| stored != entry.value)
        {
            return Ok(());
        }
        match entry.distinct {
            true => Ok(self.txn.delete(entry.key)?),
            false => Ok(self.txn.delete_guarded(row, entry.key)?),
        }
    }
}

/// The keys of an image that belong to the row alone: its own, and those of its entries in unique indexes.
pub(super) fn unique_keys(image: &Image) -> impl Iterator<Item = &[u8]> {
    let entries = image.entries.iter().filter(|e| e.distinct);
    std::iter::once(image.key.as_slice()).chain(entries.map(|e: &IndexEntry| e.key.as_slice()))
}
