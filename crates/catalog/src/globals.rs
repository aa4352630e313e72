//! Values that SET GLOBAL has given system variables, for all nodes that share the store.
//!
//! What the variables are, and what their values mean, is `session`'s business.

use kv::Durability;
use types::Result;

use crate::Catalog;
use crate::meta::record::GlobalRecord;
use crate::meta::{Meta, keys, read_all};

/// A variable's name and its value, as SHOW VARIABLES prints it; `None` is NULL.
pub type GlobalValue = (String, Option<String>);

impl Catalog {
    /// Stores values for all nodes, whose [`Catalog::watch_global_variables`] tells them soon. Of values that nodes store at
    /// the same time, those stay that are committed last.
    ///
    /// # Errors
    /// Those of the store: then the values may be stored or not.
    pub fn store_global_variables(&self, values: &[GlobalValue]) -> Result<()> {
        let mut txn = Meta::begin(self.store())?;
        let mut meta = Meta::new(&mut txn);
        for (name, value) in values {
            meta.put_global(&GlobalRecord {
                name: name.clone(),
                value: value.clone(),
            })?;
        }
        meta.put_new_version(keys::global_variables_version())?;
        txn.commit(Durability::Sync)?;
        Ok(())
    }

    /// All values that are stored, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub fn stored_global_variables(&self) -> Result<Vec<GlobalValue>> {
        let range = keys::global_variables();
        let records: Vec<GlobalRecord> = read_all(&self.store().latest(), &range, "global variable")?;
        Ok(records.into_iter().map(|r| (r.name, r.value)).collect())
    }

    /// Has `changed` called when it begins, and whenever some node has stored values; again after an error.
    pub fn watch_global_variables(&self, changed: impl Fn() -> Result<()> + Send + Sync + 'static) {
        self.watch(keys::global_variables_version(), move |_, _| changed());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kv::Store;
    use parking_lot::Mutex;

    use super::GlobalValue;
    use crate::Catalog;
    use crate::nodes::NodeOptions;
    use crate::test_support::*;

    #[test]
    fn nodes_are_told_of_what_others_set() {
        let store = Store::memory();
        let join = || Catalog::join(store.clone(), NodeOptions::default()).unwrap();
        let (one, two) = (join(), join());
        let told = Arc::new(Mutex::new(Vec::<Vec<GlobalValue>>::new()));
        let (telling, reader) = (Arc::clone(&told), Arc::clone(&two));
        two.watch_global_variables(move || {
            telling.lock().push(reader.stored_global_variables()?);
            Ok(())
        });
        two.tick().unwrap();
        let value = ("wait_timeout".to_owned(), Some("5".to_owned()));
        one.store_global_variables(std::slice::from_ref(&value)).unwrap();
        two.tick().unwrap();
        two.tick().unwrap();
        assert_eq!(*told.lock(), [vec![], vec![value]]);
    }

    #[test]
    fn values_are_kept_by_name() {
        let catalog = catalog();
        let some = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(catalog.stored_global_variables().unwrap(), []);
        catalog
            .store_global_variables(&[some("wait_timeout", "5"), ("a".to_owned(), None)])
            .unwrap();
        catalog
            .store_global_variables(&[some("wait_timeout", "6")])
            .unwrap();
        assert_eq!(
            catalog.stored_global_variables().unwrap(),
            [("a".to_owned(), None), some("wait_timeout", "6")]
        );
    }
}
