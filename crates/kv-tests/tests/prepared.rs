//! Prepared transactions survive a restart. Only on embedded engines.

// Helpers of tests, which clippy does not know to be tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, Error, LockMode, LockOptions, LockWait, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use kv_tests::support::*;
use std::path::Path;

fn open_at(path: &Path) -> Store {
    let mut options = RocksOptions::small();
    options.embedded.check_promises = true;
    kv_rocksdb::open(path, options).unwrap()
}

fn nowait(mode: LockMode) -> LockOptions {
    LockOptions {
        mode,
        wait: LockWait::NoWait,
        ..LockOptions::exclusive(SHORT)
    }
}

/// Stores the bytes in a transaction of its own, as callers do.
fn store_record(store: &Store, bytes: Vec<u8>) {
    let mut record = begin(store);
    record.put(b"record".to_vec(), bytes).unwrap();
    record.commit(Durability::Sync).unwrap();
}

fn is_locked(store: &Store, key: &str, mode: LockMode) -> bool {
    match lock(&mut begin(store), key, &nowait(mode)) {
        Ok(_) => false,
        Err(Error::LockNotAvailable) => true,
        Err(error) => panic!("{error}"),
    }
}

/// Prepares a transaction that has updated `a`, deleted `b`, inserted `c`, locked `d`, and locked `e` to
/// share it.
fn prepare(store: &Store) -> kv::Transaction {
    write(store, &[("a", Some("1")), ("b", Some("1")), ("d", Some("1"))]);
    let mut txn = begin(store);
    lock(&mut txn, "a", &exclusive()).unwrap();
    lock(&mut txn, "d", &exclusive()).unwrap();
    lock(&mut txn, "e", &shared()).unwrap();
    txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    txn.delete(b"b".to_vec()).unwrap();
    txn.put(b"c".to_vec(), b"2".to_vec()).unwrap();
    let bytes = txn.prepare().unwrap();
    store_record(store, bytes);
    txn
}

fn check_is_prepared(store: &Store) {
    for key in ["a", "b", "c", "d"] {
        assert!(is_locked(store, key, LockMode::Shared), "{key}");
    }
    assert!(is_locked(store, "e", LockMode::Exclusive) && !is_locked(store, "e", LockMode::Shared));
    let seen = scan(
        &store.snapshot_now().unwrap(),
        &kv::KeyRange::new("a", "f"),
        false,
    );
    assert_eq!(seen, ["a=1", "b=1", "d=1"], "its writes are not seen");
}

#[test]
fn it_is_committed_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_at(dir.path());
    let txn = prepare(&store);
    check_is_prepared(&store);
    drop(txn);
    drop(store);
    for _ in 0..2 {
        let store = open_at(dir.path());
        let record = store.latest();
        let bytes = kv::Reader::get(&record, b"record").unwrap().unwrap();
        let txn = store.reinstate(&bytes, TxnOptions::default()).unwrap();
        check_is_prepared(&store);
        drop(txn);
    }
    let store = open_at(dir.path());
    let bytes = kv::Reader::get(&store.latest(), b"record").unwrap().unwrap();
    let mut txn = store.reinstate(&bytes, TxnOptions::default()).unwrap();
    txn.delete(b"record".to_vec()).unwrap();
    txn.commit(Durability::Sync).unwrap();
    assert_eq!(scan_all(&store.snapshot_now().unwrap()), ["a=2", "c=2", "d=1"]);
    assert_eq!(store.lock_stats().held, 0);
}

#[test]
fn it_is_committed_where_it_was_prepared() {
    let store = Store::memory();
    let mut txn = prepare(&store);
    check_is_prepared(&store);
    txn.delete(b"record".to_vec()).unwrap();
    txn.commit(Durability::Sync).unwrap();
    assert_eq!(scan_all(&store.snapshot_now().unwrap()), ["a=2", "c=2", "d=1"]);
}

#[test]
fn it_does_not_keep_old_versions() {
    let store = Store::memory();
    let txn = prepare(&store);
    store.set_gc_age(std::time::Duration::ZERO);
    let ts = write(&store, &[("z", Some("1"))]);
    assert!(store.run_gc().unwrap().safe_point >= ts);
    drop(txn);
}

#[test]
fn what_a_pending_commit_depends_on_is_waited_for() {
    let store = Store::memory();
    write(&store, &[("a", Some("1"))]);
    for round in 0..50 {
        let mut first = begin(&store);
        lock(&mut first, "a", &exclusive()).unwrap();
        first.put(b"a".to_vec(), round.to_string().into_bytes()).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        first.commit_then(
            Durability::Sync,
            None,
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
        let mut second = begin(&store);
        lock(&mut second, "a", &exclusive()).unwrap();
        second.put(b"a".to_vec(), b"prepared".to_vec()).unwrap();
        second.prepare().unwrap();
        assert!(receiver.try_recv().is_ok(), "the first commit has not ended");
        second.rollback();
    }
}

#[test]
fn an_optimistic_one_cannot_be_prepared() {
    let store = Store::memory();
    let mut txn = begin_optimistic(&store);
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    assert_eq!(txn.prepare(), Err(Error::NotPrepared));
}
