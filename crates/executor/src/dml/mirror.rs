//! Keeps the shadow row of each row that is written up to date ([`super::shadow`]).

use schema::layout::{IndexEntry, RowHandle, ShadowLayout, ShadowRow};
use types::{Result, SqlMode, Value};

use super::duplicate;
use super::image::UniqueKey;
use super::writer::Writer;

impl Writer<'_, '_> {
    /// Replaces the shadow row of the table's row with this key. `value`: what the row has from now on;
    /// `None` if it is removed.
    ///
    /// # Errors
    /// Those of the conversion, and 1062 if the new definition finds a duplicate.
    pub(super) fn mirror(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let Some(shadow) = self.maker.shadow() else {
            return Ok(());
        };
        let layout = &shadow.layout;
        if !layout.has_shadow(key)? {
            return Ok(());
        }
        let handle = self.shadow_handle(layout, key)?;
        let new = match value.filter(|_| shadow.writes_rows) {
            Some(value) => Some(self.convert(layout, key, value, handle.as_ref())?),
            None => None,
        };
        let old_key = match &handle {
            Some(handle) => self.shadow_key(layout, key, handle)?,
            None => None,
        };
        let stored = match &old_key {
            Some(old_key) => self.get(old_key)?.map(<[u8]>::to_vec),
            None => None,
        };
        let old_entries = match (&old_key, stored) {
            (Some(key), Some(stored)) => layout.stored_entries(key, &stored)?,
            _ => Vec::new(),
        };
        if let Some((values, row)) = &new {
            self.check_shadow(layout, values, row, old_key.as_deref(), &old_entries)?;
        }
        self.remove_shadow(layout, key, old_key, old_entries)?;
        if let Some((_, row)) = new {
            self.put_shadow(layout, key, row)?;
        }
        Ok(())
    }

    /// The handle of the shadow row that a table's row has.
    fn shadow_handle(&mut self, layout: &ShadowLayout, key: &[u8]) -> Result<Option<RowHandle>> {
        let Some(entry) = layout.handle_entry_key(key)? else {
            return layout.handle(&[], key);
        };
        let stored = self.get(&entry)?;
        stored.map(|value| layout.handle_of_entry(value)).transpose()
    }

    /// The values and the shadow row that a table's row has from now on. `handle`: that of the shadow row before.
    fn convert(
        &self,
        layout: &ShadowLayout,
        key: &[u8],
        value: &[u8],
        handle: Option<&RowHandle>,
    ) -> Result<(Vec<Value>, ShadowRow)> {
        let values = layout.convert(key, value, 1)?;
        // The warnings of a conversion are those of the ALTER TABLE.
        layout.take_warnings();
        let row = match (layout.handle(&values, key)?, handle) {
            (Some(handle), _) => layout.row(&values, &handle)?,
            // A hidden id stays as long as the row.
            (None, Some(handle)) => layout.row(&values, handle)?,
            (None, None) => {
                let table = layout.table();
                let sequence = self.ids.allocate_row_ids(table, 1)?;
                let id = table.row_id_layout().id(self.txn.start_ts(), sequence);
                layout.row(&values, &RowHandle::Int(id as i64))?
            }
        };
        Ok((values, row))
    }

    /// The key of the shadow row that a table's row has.
    fn shadow_key(
        &mut self,
        layout: &ShadowLayout,
        key: &[u8],
        handle: &RowHandle,
    ) -> Result<Option<Vec<u8>>> {
        // The row as it is before this write: in which partition its shadow row lies.
        let stored = match layout.is_partitioned() {
            true => self.get(key)?,
            false => None,
        };
        layout.row_key(handle, key, stored)
    }

    /// Locks the keys that the new shadow row alone can have.
    ///
    /// # Errors
    /// 1062 if another row has one.
    fn check_shadow(
        &mut self,
        layout: &ShadowLayout,
        values: &[Value],
        row: &ShadowRow,
        old_key: Option<&[u8]>,
        old_entries: &[(usize, IndexEntry)],
    ) -> Result<()> {
        let taken = |key| duplicate::error(layout.table(), key, values, &SqlMode::default());
        if old_key != Some(&row.key) && self.get(&row.key)?.is_some() {
            return Err(taken(UniqueKey::Primary));
        }
        for (index, entry) in row.entries.iter().filter(|(_, entry)| entry.distinct) {
            let is_own = old_entries.iter().any(|(_, old)| old.key == entry.key);
            if !is_own && self.get(&entry.key)?.is_some() {
                return Err(taken(UniqueKey::Index(*index)));
            }
        }
        Ok(())
    }

    fn remove_shadow(
        &mut self,
        layout: &ShadowLayout,
        key: &[u8],
        row: Option<Vec<u8>>,
        entries: Vec<(usize, IndexEntry)>,
    ) -> Result<()> {
        // Also if there is none, so that an optimistic transaction conflicts with the ALTER TABLE that has
        // copied the row meanwhile.
        if let Some(row) = row {
            self.txn.delete(row)?;
        }
        for (_, entry) in entries {
            self.txn.delete(entry.key)?;
        }
        match layout.handle_entry_key(key)? {
            Some(entry) => Ok(self.txn.delete(entry)?),
            None => Ok(()),
        }
    }

    fn put_shadow(&mut self, layout: &ShadowLayout, key: &[u8], row: ShadowRow) -> Result<()> {
        if let Some(entry) = layout.handle_entry_key(key)? {
            let handle = layout.handle_of_row_key(&row.key)?;
            self.txn.put(entry, layout.handle_entry_value(&handle)?)?;
        }
        let guard = self.txn.put_guard(row.key, row.value)?;
        for (_, entry) in row.entries {
            match entry.distinct {
                true => self.txn.put(entry.key, entry.value)?,
                false => self.txn.put_guarded(guard, entry.key, entry.value)?,
            }
        }
        Ok(())
    }
}
