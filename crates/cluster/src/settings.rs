//! Values that SET GLOBAL has given system variables, for all nodes that share the store; and values that SET PERSIST
//! has stored for the next start.
//!
//! Not here: which variables there are and what their values mean (`session`).

use kv::{Durability, Store};
use types::Result;

use crate::meta::record::SettingRecord;
use crate::meta::{Meta, keys, read_all};

/// A variable's name and its value, as SHOW VARIABLES prints it; `None` is NULL.
pub type GlobalValue = (String, Option<String>);

pub use crate::meta::record::PersistedRecord as Persisted;

/// The stored values.
pub struct Settings {
    store: Store,
}

impl Settings {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Stores values for all nodes. If two nodes store the same variable at the same time, the later commit
    /// wins.
    ///
    /// # Errors
    /// Those of the store: then the values may be stored or not.
    pub fn store(&self, values: &[GlobalValue]) -> Result<()> {
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        for (name, value) in values {
            let record = SettingRecord {
                name: name.clone(),
                value: value.clone(),
            };
            meta.put(keys::global_variable(name), &record)?;
        }
        meta.put_new_version(keys::global_variables_version())?;
        txn.commit(Durability::Sync)?;
        Ok(())
    }

    /// All stored values, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(&self) -> Result<Vec<GlobalValue>> {
        let range = keys::global_variables();
        let records: Vec<SettingRecord> = read_all(&self.store.latest(), &range, "global variable")?;
        Ok(records.into_iter().map(|r| (r.name, r.value)).collect())
    }

    /// Stores a value for the next start of every node.
    ///
    /// # Errors
    /// Those of the store: then the value may be stored or not.
    pub fn persist(&self, record: &Persisted) -> Result<()> {
        let mut txn = Meta::begin(&self.store)?;
        Meta::new(&mut txn).put(keys::persisted_variable(&record.name), record)?;
        txn.commit(Durability::Sync)?;
        Ok(())
    }

    /// The values for the next start, in the order in which they were stored.
    ///
    /// # Errors
    /// Those of the store.
    pub fn persisted(&self) -> Result<Vec<Persisted>> {
        let range = keys::persisted_variables();
        let mut records: Vec<Persisted> = read_all(&self.store.latest(), &range, "persisted variable")?;
        records.sort_by_key(|record| record.at_us);
        Ok(records)
    }

    /// Removes values for the next start.
    ///
    /// # Errors
    /// Those of the store: then they may be removed or not.
    pub fn forget<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        for name in names {
            meta.delete(keys::persisted_variable(name))?;
        }
        txn.commit(Durability::Sync)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kv::Store;
    use parking_lot::Mutex;

    use super::{GlobalValue, Persisted, Settings};
    use crate::Cluster;
    use crate::node::NodeOptions;

    #[test]
    fn nodes_are_notified_of_what_others_set() {
        let store = Store::memory();
        let join = || Cluster::join(store.clone(), Vec::new(), NodeOptions::default()).unwrap();
        let (one, two) = (join(), join());
        let seen = Arc::new(Mutex::new(Vec::<Vec<GlobalValue>>::new()));
        let (log, reader) = (Arc::clone(&seen), Arc::clone(&two));
        two.watch_settings(move || {
            log.lock().push(reader.settings().read()?);
            Ok(())
        });
        two.tick().unwrap();
        let value = ("wait_timeout".to_owned(), Some("5".to_owned()));
        one.settings().store(std::slice::from_ref(&value)).unwrap();
        two.tick().unwrap();
        two.tick().unwrap();
        assert_eq!(*seen.lock(), [vec![], vec![value]]);
    }

    #[test]
    fn persisted_values_come_in_the_order_of_their_statements() {
        let settings = Settings::new(Store::memory());
        let record = |name: &str, at_us| Persisted {
            name: name.to_owned(),
            value: Some("5".to_owned()),
            at_us,
            user: "root".to_owned(),
            host: "localhost".to_owned(),
        };
        for (name, at_us) in [("a", 3), ("b", 1), ("c", 2), ("b", 4)] {
            settings.persist(&record(name, at_us)).unwrap();
        }
        let expected = [record("c", 2), record("a", 3), record("b", 4)];
        assert_eq!(settings.persisted().unwrap(), expected);
        settings.forget(["a", "c", "d"]).unwrap();
        assert_eq!(settings.persisted().unwrap(), [record("b", 4)]);
        assert_eq!(settings.read().unwrap(), []);
    }

    #[test]
    fn values_are_stored_by_name() {
        let settings = Settings::new(Store::memory());
        let some = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(settings.read().unwrap(), []);
        settings
            .store(&[some("wait_timeout", "5"), ("a".to_owned(), None)])
            .unwrap();
        settings.store(&[some("wait_timeout", "6")]).unwrap();
        assert_eq!(
            settings.read().unwrap(),
            [("a".to_owned(), None), some("wait_timeout", "6")]
        );
    }
}
