//! What writers have changed beside a sorted build, brought from the delta to the index.
//!
//! The delta of an index has the entries that writers have written since it was published, and the deletions of those
//! that they have removed. So what the newest version of a key in it says is what the index has to have, once the
//! files are part of the store. Two things need a look at other data, and only in a unique index:
//!
//! - A row of the files may have lost its entry to nobody: another row had the same values for a time, and has written
//!   and removed the entry. Whether it still has them, the row says.
//! - If it has, and another row has written the entry: a duplicate.
//!
//! Passes bring what has changed since the pass before. All but the last run beside writers, and each has less to do.
//! What is much goes to files, too; the rest is written by ordinary transactions. The first pass looks at each key of the
//! delta. The others know from a [`Watch`] which keys have changed, so the last one does not take longer because much
//! has been written during the build.

use kv::{Durability, KeyRange, LoadWriter, Merge, Reader, Snapshot, Sorter, Store, TxnOptions, Watch};
use schema::layout::IndexLayout;
use schema::model::Table;
use types::{Error, Result};

use super::entries::{EntryMaker, duplicate_of};
use super::pace::{ENTRIES_PER_LOOK, Pace};

/// More changes go to files. These lie above the index's other files, where each makes reads a little slower until it
/// is merged, so few are not worth one.
const MANY_CHANGES: usize = if cfg!(test) { 12 } else { 20_000 };

/// Changes that are looked at together, and that one transaction writes.
const BATCH: usize = 512;

/// Bytes of changes in memory; more go to a file.
const MEMORY: usize = 8 << 20;

/// The first byte of a change that is sorted: the entry was removed, or written.
const REMOVED: u8 = 0;
const WRITTEN: u8 = 1;

/// The delta of an index under one physical id.
pub(super) struct Delta {
    /// Position in the table's indexes.
    pub(super) index: usize,
    /// Where writers have the entries.
    pub(super) written: KeyRange,
    /// The index itself.
    pub(super) range: KeyRange,
    /// From the first pass on.
    pub(super) watch: Option<Watch>,
    /// Keys of the delta whose newest versions the last pass may not have seen yet.
    pub(super) pending: Vec<Vec<u8>>,
}

impl Delta {
    /// The key of the index for a key of the delta.
    fn key(&self, written: &[u8]) -> Vec<u8> {
        with_prefix(written, &self.written.start, &self.range.start)
    }

    fn written_key(&self, key: &[u8]) -> Vec<u8> {
        with_prefix(key, &self.range.start, &self.written.start)
    }
}

fn with_prefix(key: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    [to, key.get(from.len()..).unwrap_or_default()].concat()
}

/// An entry as the newest writer has left it.
struct Change {
    key: Vec<u8>,
    /// `None`: it was removed.
    value: Option<Vec<u8>>,
}

/// Brings changes of one delta to its index.
pub(super) struct DeltaPass<'a> {
    store: &'a Store,
    /// Has the index under its own id.
    table: &'a Table,
    delta: &'a mut Delta,
    layout: IndexLayout,
    maker: EntryMaker,
    is_unique: bool,
    pace: &'a Pace<'a>,
}

impl<'a> DeltaPass<'a> {
    pub(super) fn new(
        store: &'a Store,
        table: &'a Table,
        delta: &'a mut Delta,
        pace: &'a Pace<'a>,
    ) -> Result<Self> {
        Ok(Self {
            store,
            table,
            layout: IndexLayout::new(table, delta.index, &[])?,
            maker: EntryMaker::new(table, &[delta.index], None)?,
            is_unique: table.indexes[delta.index].unique || table.indexes[delta.index].primary,
            delta,
            pace,
        })
    }

    /// Brings what has changed since `since`, and returns how many entries that were. `until`: a snapshot made before.
    ///
    /// # Errors
    /// 1062, 1317, 8214, those of the store.
    pub(super) fn run(mut self, since: &Snapshot, until: &Snapshot) -> Result<usize> {
        let mut sorter = Sorter::new(self.store, MEMORY);
        let changed = self.changes(since, until, &mut sorter)?;
        let interrupt = self.pace.interrupt();
        let changes = sorter.finish()?.merge(&|| interrupt.check())?;
        if changed <= MANY_CHANGES {
            self.bring(changes, &mut |batch| self.write(batch))?;
        } else {
            let load = self.store.begin_load(&self.delta.range, Some(interrupt));
            let mut writer = load.writer(self.delta.range.clone());
            self.bring(changes, &mut |batch| write_to_file(&mut writer, batch))?;
            writer.close()?;
            load.finish()?;
        }
        Ok(changed)
    }

    /// Collects the changes, and returns how many they are.
    fn changes(&mut self, since: &Snapshot, until: &Snapshot, sorter: &mut Sorter) -> Result<usize> {
        let noted = match &self.delta.watch {
            Some(watch) => watch.take(),
            None => {
                self.delta.watch = Some(self.store.watch(&self.delta.written)?);
                None
            }
        };
        let mut pending = std::mem::take(&mut self.delta.pending);
        let (mut changed, mut looked) = (0_usize, Ok(()));
        let delta = &mut *self.delta;
        let (mut unseen, pace) = (Vec::new(), self.pace);
        let mut visit = |written: &[u8], ts, value: Option<&[u8]>| {
            changed += 1;
            if changed.is_multiple_of(ENTRIES_PER_LOOK as usize) {
                looked = pace.look(false);
                if looked.is_err() {
                    return Err(kv::Error::Interrupted);
                }
            }
            if ts > until.ts() {
                unseen.push(written.to_vec());
            }
            let key = delta.key(written);
            match value {
                Some(value) => sorter.push(&key, &[&[WRITTEN], value].concat()),
                None => sorter.push(&key, &[REMOVED]),
            }
        };
        let visited = match noted {
            Some(noted) => {
                pending.extend(noted);
                pending.sort_unstable();
                pending.dedup();
                let mut batches = pending.chunks(BATCH);
                batches.try_for_each(|keys| self.store.visit_newest(keys, &mut visit))
            }
            None => self.store.scan_newer(&delta.written, since, &mut visit),
        };
        looked?;
        visited?;
        delta.pending = unseen;
        Ok(changed)
    }

    fn bring(&self, mut changes: Merge, write: &mut dyn FnMut(Vec<Change>) -> Result<()>) -> Result<()> {
        let mut batch = Vec::new();
        loop {
            let change = changes.next()?.map(|(key, change)| Change {
                key: key.to_vec(),
                value: match change.split_first() {
                    Some((&WRITTEN, value)) => Some(value.to_vec()),
                    _ => None,
                },
            });
            let is_last = change.is_none();
            batch.extend(change);
            if batch.len() == BATCH || is_last {
                self.pace.look(false)?;
                let batch = std::mem::take(&mut batch);
                write(match self.is_unique {
                    true => self.decide(batch)?,
                    false => batch,
                })?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// What a unique index has to have under keys that have changed, as of one moment after the change. If they have
    /// changed since, or the moment is before a change that snapshots did not see yet, the next pass has them again.
    fn decide(&self, batch: Vec<Change>) -> Result<Vec<Change>> {
        let newest = self.store.snapshot_now()?;
        let keys: Vec<_> = batch.into_iter().map(|change| change.key).collect();
        let written: Vec<_> = keys.iter().map(|key| self.delta.written_key(key)).collect();
        let (stored, written) = (newest.batch_get(&keys)?, newest.batch_get(&written)?);
        let mut decided = Vec::new();
        for ((key, stored), value) in keys.into_iter().zip(stored).zip(written) {
            let change = Change { key, value };
            if change.value == stored {
                continue;
            }
            let keeps = match &stored {
                Some(stored) => self.keeps(&newest, &change, stored)?,
                None => false,
            };
            if !keeps {
                decided.push(change);
            }
        }
        Ok(decided)
    }

    /// Whether the index keeps the entry that it has, because its row still has it.
    ///
    /// # Errors
    /// 1062: another row has it, too.
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
        duplicate_of(self.table, self.delta.index, newest, owner).unwrap_or_else(|error| error)
    }

    fn write(&self, batch: Vec<Change>) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut txn = self.store.begin(TxnOptions::default())?;
        for Change { key, value } in batch {
            match value {
                Some(value) => txn.put(key, value)?,
                None => txn.delete(key)?,
            }
        }
        txn.commit(Durability::Os)?;
        Ok(())
    }
}

fn write_to_file(writer: &mut LoadWriter<'_>, batch: Vec<Change>) -> Result<()> {
    for Change { key, value } in batch {
        match value {
            Some(value) => writer.put(&key, &value)?,
            None => writer.remove(&key)?,
        }
    }
    Ok(())
}
