//! Temporary tables: those of one session. They hide permanent tables of the same name, and no other session,
//! no other node and no store has them (manual 13.1.20.2).
//!
//! Their ids are in a range that no stored table reaches, so their keys differ from those of stored tables.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// All table ids from here on are those of temporary tables.
const FIRST_ID: i64 = 1 << 62;

/// An id that no other table of this process has.
pub fn new_id() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(FIRST_ID);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Whether a table's id is that of a temporary table.
pub fn is_id(id: i64) -> bool {
    id >= FIRST_ID
}

/// The keys of all rows and index entries of temporary tables.
pub fn keys() -> Range<Vec<u8>> {
    codec::key::table_prefix(FIRST_ID)..codec::key::table_prefix(i64::MAX)
}

/// What a temporary table has besides its definition: the counters of its ids. One statement at a time uses
/// them.
#[derive(Debug, Default)]
pub struct TemporaryIds {
    /// The next AUTO_INCREMENT value; 0: none has been used.
    pub auto_increment: AtomicU64,
    /// How many hidden row ids are used.
    pub row_ids: AtomicU64,
}

impl PartialEq for TemporaryIds {
    /// Two tables never share counters.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
