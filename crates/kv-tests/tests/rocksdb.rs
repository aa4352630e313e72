//! The whole suite on RocksDB.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

use kv::{Limits, Store};
use kv_rocksdb::RocksOptions;
use kv_tests::Subject;
use tempfile::TempDir;

struct Rocks(TempDir);

impl Subject for Rocks {
    fn open(&self, limits: Limits) -> Store {
        let mut options = RocksOptions::small();
        options.embedded.limits = limits;
        kv_rocksdb::open(self.0.path(), options).unwrap()
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

fn new_subject() -> Box<dyn Subject> {
    Box::new(Rocks(tempfile::tempdir().unwrap()))
}

kv_tests::conformance!(new_subject);
