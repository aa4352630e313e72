//! An empty store with the machine's own defaults starts small. Alone in its file: it measures the process.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::fs;

const RESIDENT_MIB_MAX: usize = 100;

fn resident_mib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

#[test]
fn starts_small() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::default()).unwrap();
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    txn.commit(Durability::Sync).unwrap();
    let resident = resident_mib();
    assert!(resident < RESIDENT_MIB_MAX, "{resident} MiB");
    for (name, value) in store.stats() {
        assert!(value.is_finite(), "{name}");
    }
}
