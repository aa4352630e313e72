//! The side of the schema versions that other nodes publish: tables closed for as long as a version asks for it.
//!
//! Nothing here waits. Who follows the versions has a lease to renew meanwhile, and looks again ([`crate::nodes`]).

use std::sync::Arc;

use super::MetadataLocks;
use super::table_lock::TableLock;

/// A table that no transaction gets into any more, and that no other change can have. Dropping it opens the table.
pub(crate) struct ClosedTable {
    table: Arc<TableLock>,
}

impl MetadataLocks {
    /// Closes a table; none while a session has it by LOCK TABLES ... WRITE.
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
    /// Whether the transactions that were inside have ended.
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
