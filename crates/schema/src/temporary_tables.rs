//! The temporary tables that a session has.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::Table;

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
