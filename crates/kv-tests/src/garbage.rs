//! Garbage collection removes the versions that no snapshot sees, and nothing else.

use crate::Factory;
use crate::support::*;
use kv::{Error, Reader, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Collects everything that is not held back. Returns the number of removed versions, if the engine knows
/// it.
fn collect(store: &Store) -> Option<u64> {
    store.set_gc_age(Duration::ZERO);
    store.run_gc().unwrap().removed
}

pub fn removes_unseen_versions(new_subject: Factory) {
    let store = open(new_subject);
    for n in 0..10 {
        write(&store, &[("a", Some(&n.to_string())), ("b", Some("x"))]);
    }
    write(&store, &[("b", None)]);
    assert!(
        matches!(store.run_gc().unwrap().removed, None | Some(0)),
        "all of it is younger than ten minutes"
    );
    // 9 old versions of a, 10 of b, and b's deletion.
    assert!(matches!(collect(&store), None | Some(20)));
    assert!(matches!(collect(&store), None | Some(0)), "nothing is left");
    assert_eq!(scan_all(&store.latest()), ["a=9"]);
    assert_eq!(scan_all(&store.snapshot_now().unwrap()), ["a=9"]);
}

pub fn live_snapshots_hold_it_back(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("1")), ("c", Some("1"))]);
    let snapshot = store.snapshot_now().unwrap();
    let clone = snapshot.clone();
    write(&store, &[("a", Some("2")), ("b", None), ("c", None)]);
    write(&store, &[("a", Some("3")), ("c", Some("3"))]);
    collect(&store);
    assert!(store.safe_point() <= snapshot.ts());
    assert!(store.oldest_snapshot() <= snapshot.ts());
    assert_eq!(scan_all(&snapshot), ["a=1", "b=1", "c=1"]);
    drop(snapshot);
    collect(&store);
    assert_eq!(scan_all(&clone), ["a=1", "b=1", "c=1"], "a clone holds too");
    drop(clone);
    collect(&store);
    assert_eq!(scan_all(&store.latest()), ["a=3", "c=3"]);
}

pub fn old_timestamps_are_refused_afterwards(new_subject: Factory) {
    let store = open(new_subject);
    let ts = write(&store, &[("a", Some("1"))]);
    write(&store, &[("a", Some("2"))]);
    assert!(store.snapshot(ts).is_ok());
    collect(&store);
    let safe_point = store.safe_point();
    assert!(safe_point > ts);
    assert_eq!(
        store.snapshot(ts).map(|_| ()),
        Err(Error::SnapshotTooOld { ts, safe_point })
    );
    assert_eq!(
        get(&store.snapshot(safe_point).unwrap(), "a").as_deref(),
        Some("2")
    );
}

pub fn deleted_keys_can_come_back(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1"))]);
    write(&store, &[("a", None)]);
    let gone = store.snapshot_now().unwrap();
    collect(&store);
    assert_eq!(get(&gone, "a"), None);
    write(&store, &[("a", Some("2"))]);
    assert_eq!(get(&gone, "a"), None, "what was collected does not come back");
    assert!(scan_all(&gone).is_empty());
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("2"));
    drop(gone);
    collect(&store);
    assert_eq!(scan_all(&store.latest()), ["a=2"]);
}

/// A key that was written and deleted often must not reveal older versions, to readers or to a later
/// deletion.
pub fn short_lived_keys_do_not_reveal_older_versions(new_subject: Factory) {
    let store = open(new_subject);
    let keys: Vec<String> = (0..300).map(|n| format!("a{n}")).collect();
    let write_all = |values: &[Option<&str>]| {
        let mut txn = begin(&store);
        for key in &keys {
            lock(&mut txn, key, &exclusive()).unwrap();
            for value in values {
                match value {
                    Some(value) => txn.put(key.clone().into(), (*value).into()).unwrap(),
                    None => txn.delete(key.clone().into()).unwrap(),
                }
            }
        }
        commit(txn).unwrap();
    };
    write_all(&[Some("1")]);
    let old = store.snapshot_now().unwrap();
    write_all(&[None]);
    // Many deletions: engines that skip them by special means use those means here.
    for _ in 0..3 {
        assert!(scan_all(&store.snapshot_now().unwrap()).is_empty());
    }
    write_all(&[Some("2"), None]);
    assert!(keys.iter().all(|key| get(&old, key).as_deref() == Some("1")));
    assert_eq!(scan_all(&old).len(), keys.len());
    assert!(scan_all(&store.snapshot_now().unwrap()).is_empty());
}

pub fn runs_beside_writers_and_readers(new_subject: Factory) {
    let store = open(new_subject);
    store.set_gc_age(Duration::ZERO);
    let stop = Arc::new(AtomicBool::new(false));
    let collector = {
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                store.run_gc().unwrap();
            }
        })
    };
    let reader = {
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = store.snapshot_now().unwrap();
                let first = scan_all(&snapshot);
                thread::sleep(Duration::from_millis(2));
                assert_eq!(scan_all(&snapshot), first);
            }
        })
    };
    // Each writer has keys of its own, so it knows what it must find.
    let writers: Vec<_> = (0..3_u64)
        .map(|writer| {
            let store = store.clone();
            thread::spawn(move || {
                let mut random = Random::new(writer + 1);
                let mut expected = vec![None::<String>; 4];
                for n in 0..200 {
                    let number = usize::try_from(random.below(4)).unwrap();
                    let key = format!("w{writer}-{number}");
                    assert_eq!(get(&store.latest(), &key), expected[number]);
                    let value = (random.below(2) == 0).then(|| n.to_string());
                    write(&store, &[(&key, value.as_deref())]);
                    expected[number] = value;
                }
                for (number, value) in expected.iter().enumerate() {
                    assert_eq!(
                        get(&store.snapshot_now().unwrap(), &format!("w{writer}-{number}")),
                        *value
                    );
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    stop.store(true, Ordering::Relaxed);
    collector.join().unwrap();
    reader.join().unwrap();
}

pub fn transactions_hold_it_back(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1"))]);
    let txn = begin(&store);
    let view = txn.view();
    write(&store, &[("a", Some("2"))]);
    collect(&store);
    assert_eq!(get(&txn, "a").as_deref(), Some("1"));
    drop(txn);
    collect(&store);
    assert_eq!(get(&view, "a").as_deref(), Some("1"), "a view of it too");
    drop(view);
    let seen_ts = store.safe_point();
    assert!(collect(&store) != Some(0));
    assert!(store.safe_point() > seen_ts);
    assert!(store.snapshot_now().unwrap().get(b"a").is_ok());
}
