//! Temporary tables: those of one session. They hide permanent tables of the same name, and no other session, no
//! other node and no store knows of them (manual 13.1.20.2).
//!
//! Their ids are of a range that no stored table reaches, so their keys are told from stored ones by the keys alone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::model::Table;

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

/// What a temporary table has besides its definition: the counters of its ids. One statement at a time uses them.
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

/// The temporary tables of a session, by database and name.
#[derive(Debug, Default)]
pub struct TemporaryTables(BTreeMap<String, BTreeMap<String, Arc<Table>>>);

/// Of a statement that sees none.
pub static NO_TEMPORARY_TABLES: TemporaryTables = TemporaryTables(BTreeMap::new());

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn find(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.0.get(database)?.get(name)
    }

    pub fn by_id(&self, id: i64) -> Option<&Arc<Table>> {
        self.0
            .values()
            .flat_map(BTreeMap::values)
            .find(|table| table.id == id)
    }

    /// Adds a table under its name, in place of one that has the name.
    pub fn insert(&mut self, table: Arc<Table>) {
        let database = self.0.entry(table.database.clone()).or_default();
        database.insert(table.name.clone(), table);
    }

    pub fn remove(&mut self, database: &str, name: &str) -> Option<Arc<Table>> {
        let tables = self.0.get_mut(database)?;
        let removed = tables.remove(name);
        if tables.is_empty() {
            self.0.remove(database);
        }
        removed
    }
}
