//! Tables that are closed because a schema version of another node asks for it.
//!
//! Nothing here waits: the thread that follows the versions also renews the lease, so it tries again later.

use std::sync::Arc;

use super::MetadataLocks;
use super::table_lock::TableLock;

/// A table that no transaction can enter and no other schema change can have. Dropping it opens the table.
pub(crate) struct ClosedTable {
    table: Arc<TableLock>,
}

impl MetadataLocks {
    /// Closes a table; `None` while a session has it by LOCK TABLES ... WRITE, or a schema change has it.
    pub(crate) fn try_close(&self, id: i64) -> Option<ClosedTable> {
        let table = self.table(id);
        if !table.try_begin_change() {
            return None;
        }
        table.close();
        Some(ClosedTable { table })
    }
}

impl ClosedTable {
    /// Whether all transactions that were inside have ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

impl Drop for ClosedTable {
    fn drop(&mut self) {
        self.table.open();
        self.table.end_change();
    }
}
