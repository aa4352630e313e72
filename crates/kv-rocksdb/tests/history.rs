//! Superseded versions beyond their budget: on disk as long as a snapshot needs them, dropped otherwise.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, KeyRange, Reader, Snapshot, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::path::Path;

const KEYS: u32 = 400;

fn open(dir: &Path) -> Store {
    let mut options = RocksOptions::small();
    options.history_bytes = 64 << 10;
    kv_rocksdb::open(dir, options).unwrap()
}

/// One transaction for all keys, so that each snapshot must see the same round in all of them.
fn write_round(store: &Store, round: u32) {
    try_write_round(store, round).unwrap();
}

fn try_write_round(store: &Store, round: u32) -> kv::Result<()> {
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    for n in 0..KEYS {
        let key = format!("k{n:04}").into_bytes();
        // Some keys are absent in some rounds.
        if (n + round).is_multiple_of(7) {
            txn.delete(key).unwrap();
        } else {
            txn.put(key, format!("{round}-{}", "x".repeat(100)).into_bytes())
                .unwrap();
        }
    }
    txn.commit(Durability::Os).map(drop)
}

fn assert_sees(snapshot: &Snapshot, round: u32) {
    let rows = snapshot.scan_page(&KeyRange::all(), 10_000, false).unwrap();
    let mut rows = rows.iter();
    for n in 0..KEYS {
        let key = format!("k{n:04}").into_bytes();
        let value = snapshot.get(&key).unwrap();
        if (n + round).is_multiple_of(7) {
            assert_eq!(value, None, "key {n} of round {round}");
            continue;
        }
        let expected = format!("{round}-{}", "x".repeat(100)).into_bytes();
        assert_eq!(value.as_ref(), Some(&expected), "key {n} of round {round}");
        let (scanned_key, scanned) = rows.next().unwrap();
        assert_eq!((scanned_key, scanned), (&key, &expected));
    }
    assert!(rows.next().is_none());
}

fn figure(store: &Store, wanted: &str) -> f64 {
    store.stats().iter().find(|(name, _)| *name == wanted).unwrap().1
}

fn directories(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("history")).map_or(0, Iterator::count)
}

#[test]
fn snapshots_see_what_has_gone_to_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut snapshots = Vec::new();
    for round in 0..40 {
        write_round(&store, round);
        if round % 10 == 3 {
            snapshots.push((store.snapshot_now().unwrap(), round));
        }
        if round % 5 == 4 {
            store.run_gc().unwrap();
        }
    }
    assert!(figure(&store, "history_bytes") <= 64.0 * 1024.0);
    assert_eq!(directories(dir.path()), 1);
    for (snapshot, round) in &snapshots {
        assert_sees(snapshot, *round);
    }
    // Readers of the old directory still have it; a new one is somewhere else.
    let (last, round) = snapshots.pop().unwrap();
    drop(snapshots);
    store.run_gc().unwrap();
    assert_sees(&last, round);
    drop(last);
    store.set_gc_age(std::time::Duration::ZERO);
    store.run_gc().unwrap();
    assert_eq!(figure(&store, "superseded_versions"), 0.0);
    assert_eq!(directories(dir.path()), 0);
    let snapshot = store.snapshot_now().unwrap();
    write_round(&store, 40);
    write_round(&store, 41);
    store.run_gc().unwrap();
    assert_sees(&snapshot, 39);
    // The next process removes what one leaves.
    std::fs::create_dir_all(dir.path().join("history/99")).unwrap();
    drop((snapshot, store));
    let store = open(dir.path());
    assert_eq!(directories(dir.path()), 0);
    assert_sees(&store.snapshot_now().unwrap(), 41);
}

/// Without a snapshot that needs them they are dropped although they are young, and the safe point says so.
#[test]
fn memory_is_bounded_without_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    write_round(&store, 0);
    let early = store.snapshot_now().unwrap().ts();
    for round in 1..100 {
        write_round(&store, round);
        // Only a commit that finds too much of them collects.
        let of_one_round = f64::from(KEYS) * 200.0;
        assert!(figure(&store, "history_bytes") < 2.0 * 64.0 * 1024.0 + of_one_round);
    }
    assert!(matches!(
        store.snapshot(early).map(|_| ()),
        Err(kv::Error::SnapshotTooOld { .. })
    ));
    assert_eq!(directories(dir.path()), 0);
    assert_sees(&store.snapshot_now().unwrap(), 99);
}

/// What a snapshot needs is neither lost nor accumulated in memory: commits fail until it can be moved to
/// disk.
#[test]
fn commits_wait_for_a_place_for_what_snapshots_need() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    write_round(&store, 0);
    let snapshot = store.snapshot_now().unwrap();
    // A file where the directory would be.
    std::fs::write(dir.path().join("history"), "").unwrap();
    let mut round = 1;
    while try_write_round(&store, round).is_ok() {
        round += 1;
        assert!(round < 20, "nobody noticed");
    }
    let current = store.snapshot_now().unwrap();
    assert_sees(&snapshot, 0);
    assert_sees(&current, round - 1);
    std::fs::remove_file(dir.path().join("history")).unwrap();
    write_round(&store, round);
    assert_eq!(directories(dir.path()), 1);
    assert_sees(&snapshot, 0);
    assert_sees(&current, round - 1);
    assert_sees(&store.snapshot_now().unwrap(), round);
}
