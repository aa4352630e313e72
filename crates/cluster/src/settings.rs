//! Values that SET GLOBAL has given system variables, for all nodes that share the store.
//!
//! Not here: which variables there are and what their values mean (`session`).

use kv::{Durability, Store};
use types::Result;

use crate::meta::record::SettingRecord;
use crate::meta::{Meta, keys, read_all};

/// A variable's name and its value, as SHOW VARIABLES prints it; `None` is NULL.
pub type GlobalValue = (String, Option<String>);

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
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kv::Store;
    use parking_lot::Mutex;

    use super::{GlobalValue, Settings};
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
