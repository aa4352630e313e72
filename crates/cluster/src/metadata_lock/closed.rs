//! Tables that are closed because a schema version asks for it.
//!
//! Nothing here waits: the thread that follows the versions also renews the lease, so it tries again later.

use std::sync::Arc;

use super::MetadataLocks;
use super::table_lock::TableLock;

/// Whom a closed table keeps out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClosedTo {
    /// Every transaction, and other schema changes.
    All,
    Writers,
    /// The same, for a schema change that will need the table for itself. A transaction that has read the table would
    /// wait for the change, as the change for it: it cannot wait to write.
    WritersUntilAlone,
}

/// A table that is closed. Dropping it opens the table.
pub(crate) struct ClosedTable {
    table: Arc<TableLock>,
    to: ClosedTo,
}

impl MetadataLocks {
    /// Closes a table; `None` while a schema change of this process has it.
    pub(crate) fn try_close(&self, id: i64, to: ClosedTo) -> Option<ClosedTable> {
        let table = self.table(id);
        match to {
            ClosedTo::All if !table.try_begin_change() => return None,
            ClosedTo::All => table.close(),
            ClosedTo::Writers => table.close_to_writers(),
            ClosedTo::WritersUntilAlone => {
                table.refuse_further_writers();
                table.close_to_writers();
            }
        }
        Some(ClosedTable { table, to })
    }
}

impl ClosedTable {
    /// Whether all transactions that it keeps out and that were inside have ended.
    pub(crate) fn is_left(&self) -> bool {
        match self.to {
            ClosedTo::All => self.table.is_empty(),
            ClosedTo::Writers | ClosedTo::WritersUntilAlone => self.table.has_no_writers(),
        }
    }
}

impl Drop for ClosedTable {
    fn drop(&mut self) {
        match self.to {
            ClosedTo::All => {
                self.table.open();
                self.table.end_change();
            }
            ClosedTo::Writers => self.table.open_to_writers(),
            ClosedTo::WritersUntilAlone => {
                self.table.admit_further_writers();
                self.table.open_to_writers();
            }
        }
    }
}
