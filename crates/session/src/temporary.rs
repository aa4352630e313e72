//! The temporary tables of a session: where they are found, and how they come and go. Their definitions are the
//! session's, their rows are keys of its own ([`kv::PrivateKeys`]). So nothing of them reaches the store, and they end
//! with the session. The statements: `statement::temporary`.

use std::sync::Arc;

use kv::{KeyRange, PrivateKeys};
use schema::model::Table;
use schema::temporary;
use schema::temporary_tables::TemporaryTables;
use types::{Error, Result};

use crate::session::Session;

/// Error 1562.
pub(crate) fn with_partitions() -> Error {
    Error::new(1562, "Cannot create temporary table with partitions")
}

impl Session {
    /// Adds a temporary table, which gets an id, and no rows.
    ///
    /// # Errors
    /// 1562 for one with partitions.
    pub(crate) fn add_temporary(&mut self, table: Table) -> Result<Arc<Table>> {
        if table.partitioning.is_some() {
            return Err(with_partitions());
        }
        if self.transaction.private().is_none() {
            let keys = PrivateKeys::new(temporary::keys().into(), self.shared.engine.memory);
            keys.set_limit(self.settings.run.memory_limit_bytes);
            self.transaction.attach_private(Arc::new(keys));
        }
        let table = Arc::new(Table {
            id: temporary::new_id(),
            physical: None,
            readable_from_ts: 0,
            temporary: Some(Arc::default()),
            ..table
        });
        planner::expressions(&table)?;
        self.temporary.insert(Arc::clone(&table));
        Ok(table)
    }

    /// Removes a temporary table with its rows.
    pub(crate) fn remove_temporary(&mut self, table: &Table) {
        self.temporary.remove(&table.database, &table.name);
        self.remove_temporary_rows(table);
    }

    pub(crate) fn remove_temporary_rows(&mut self, table: &Table) {
        for range in table.data_ranges() {
            self.transaction.remove_private(&range.into());
        }
    }

    /// Removes all temporary tables.
    pub(crate) fn reset_temporary(&mut self) {
        self.temporary = TemporaryTables::default();
        self.transaction.remove_private(&temporary::keys().into());
    }

    /// About how many rows a temporary table has.
    pub(crate) fn temporary_rows(&self, table: i64) -> u64 {
        let table = self.temporary.by_id(table);
        let ranges = table.map(|table| table.row_ranges()).unwrap_or_default();
        ranges
            .into_iter()
            .map(|range| self.temporary_keys_in(&range.into()))
            .sum()
    }

    /// About how many keys of a temporary table there are in a range.
    pub(crate) fn temporary_keys_in(&self, range: &KeyRange) -> u64 {
        /// Larger tables are all planned alike.
        const MOST: usize = 10_000;
        let private = self.transaction.private();
        private.map_or(0, |private| private.count_in(range, MOST) as u64)
    }
}
