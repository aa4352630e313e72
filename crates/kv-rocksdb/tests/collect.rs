//! Collecting deletions: under their keys' locks, in order, and without delaying transactions that hold those
//! locks.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, LockMode, LockOptions, LockWait, Reader, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::path::Path;
use std::thread;
use std::time::Duration;

fn open(dir: &Path) -> Store {
    let store = kv_rocksdb::open(dir, RocksOptions::small()).unwrap();
    store.set_gc_age(Duration::ZERO);
    store
}

fn write(store: &Store, key: &str, value: Option<&str>) {
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    match value {
        Some(value) => txn.put(key.into(), value.into()).unwrap(),
        None => txn.delete(key.into()).unwrap(),
    }
    txn.commit(Durability::Os).unwrap();
}

fn pending(store: &Store) -> f64 {
    let stats = store.stats();
    stats
        .iter()
        .find(|(name, _)| *name == "deletions_pending")
        .unwrap()
        .1
}

#[test]
fn a_locked_key_is_left_for_the_next_round() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for key in ["a", "b", "c"] {
        write(&store, key, Some("1"));
        write(&store, key, None);
    }
    let mut holder = store.begin(TxnOptions::default()).unwrap();
    holder
        .lock(&[b"b".to_vec()], &LockOptions::exclusive(Duration::ZERO))
        .unwrap();
    let start_ts = holder.start_ts();
    // Two deletions, and the three values that were superseded.
    assert_eq!(store.run_gc().unwrap().removed, Some(2 + 3));
    assert!(start_ts >= store.safe_point());
    holder.put(b"b".to_vec(), b"2".to_vec()).unwrap();
    holder.commit(Durability::Os).unwrap();
    assert_eq!(store.latest().get(b"b").unwrap(), Some(b"2".to_vec()));
    store.run_gc().unwrap();
    assert_eq!(store.latest().get(b"b").unwrap(), Some(b"2".to_vec()));
}

/// Deleted keys are inserted again while they are collected: every insert must stay.
#[test]
fn values_written_meanwhile_stay() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..1_500 {
                        let key = format!("w{writer}-{}", n % 3);
                        write(store, &key, None);
                        write(store, &key, Some("there"));
                        assert!(
                            store.latest().get(key.as_bytes()).unwrap().is_some(),
                            "{key} in round {n}"
                        );
                    }
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            store.run_gc().unwrap();
        }
    });
}

/// NOWAIT refers to other transactions: it must not fail because a deleted key is being collected.
#[test]
fn nowait_does_not_see_the_collector() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let options = LockOptions {
        mode: LockMode::Exclusive,
        wait: LockWait::NoWait,
        interrupt: kv::Interrupt::new(),
    };
    thread::scope(|scope| {
        let store = &store;
        let locker = scope.spawn(move || {
            for n in 0..1_500 {
                let key = format!("k{}", n % 3).into_bytes();
                let mut txn = store.begin(TxnOptions::default()).unwrap();
                txn.lock(std::slice::from_ref(&key), &options).unwrap();
                if n % 2 == 0 {
                    txn.put(key, b"1".to_vec()).unwrap();
                } else {
                    txn.delete(key).unwrap();
                }
                txn.commit(Durability::Os).unwrap();
            }
        });
        while !locker.is_finished() {
            store.run_gc().unwrap();
        }
    });
}

#[test]
fn deletions_are_listed_once_and_only_as_long_as_needed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for round in 0..3 {
        for n in 0..600 {
            write(&store, &format!("k{n}"), Some("1"));
        }
        let snapshot = store.snapshot_now().unwrap();
        for n in 0..600 {
            write(&store, &format!("k{n}"), None);
        }
        assert!(pending(&store) >= 600.0);
        store.run_gc().unwrap();
        let held_back = snapshot.scan_page(&kv::KeyRange::all(), 1_000, false).unwrap();
        assert_eq!(held_back.len(), 600, "round {round}");
        drop(snapshot);
        assert_eq!(store.run_gc().unwrap().removed, Some(1_200), "round {round}");
        store.flush().unwrap();
    }
    drop(store);
    assert_eq!(open(dir.path()).run_gc().unwrap().removed, Some(0));
}

/// The history that lists deletions does not survive the process.
#[test]
fn deletions_from_before_a_restart_are_queued_by_the_scan_that_passes_over_them() {
    for row_cache_bytes in [0, 1 << 20] {
        deletions_of_before_a_restart(row_cache_bytes);
    }
}

fn deletions_of_before_a_restart(row_cache_bytes: u64) {
    let dir = tempfile::tempdir().unwrap();
    let open = |dir: &Path| {
        let options = RocksOptions {
            row_cache_bytes,
            ..RocksOptions::small()
        };
        let store = kv_rocksdb::open(dir, options).unwrap();
        store.set_gc_age(Duration::ZERO);
        store
    };
    let store = open(dir.path());
    for n in 0..600 {
        write(&store, &format!("k{n}"), Some("1"));
        write(&store, &format!("k{n}"), None);
    }
    drop(store);
    let store = open(dir.path());
    assert!(pending(&store) < 1.0);
    let scan = || {
        let snapshot = store.snapshot_now().unwrap();
        snapshot.scan_page(&kv::KeyRange::all(), 1_000, false).unwrap()
    };
    assert!(scan().is_empty());
    assert_eq!(store.run_gc().unwrap().removed, Some(600));
    assert!(scan().is_empty());
    assert_eq!(store.run_gc().unwrap().removed, Some(0));
}

#[test]
fn snapshots_of_before_a_restart_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    write(&store, "a", Some("1"));
    let before = store.snapshot_now().unwrap().ts();
    write(&store, "a", Some("2"));
    assert!(store.snapshot(before).is_ok());
    drop(store);
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    assert!(matches!(
        store.snapshot(before).map(|_| ()),
        Err(kv::Error::SnapshotTooOld { .. })
    ));
    assert_eq!(store.latest().get(b"a").unwrap(), Some(b"2".to_vec()));
}
