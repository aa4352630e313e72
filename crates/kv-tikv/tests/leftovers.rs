//! Locks that are met: those of the dead are cleaned up by the living, those of the living are passed by where that is right.

// Helpers of tests, which clippy does not know to be tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Error, LockOptions, LockWait, Reader, TxnOptions};
use kv_tests::support::{begin, commit, exclusive, get, keys, lock, scan_all, wait_until, write};
use std::time::Duration;
use support::StandIn;

fn cluster() -> StandIn {
    StandIn::start(&["-stores", "3", "-split", "c,f"])
}

fn nowait() -> LockOptions {
    LockOptions {
        wait: LockWait::NoWait,
        ..exclusive()
    }
}

#[test]
fn locks_of_the_dead_are_cleaned_up_by_the_living() {
    let stand_in = cluster();
    let dead = stand_in.impatient(Duration::from_secs(1));
    let living = stand_in.open();
    write(&living, &[("a", Some("0")), ("d", Some("0")), ("g", Some("0"))]);
    let mut abandoned = begin(&dead);
    lock(&mut abandoned, "a", &exclusive()).unwrap();
    lock(&mut abandoned, "d", &exclusive()).unwrap();
    abandoned.put(b"a".to_vec(), b"never".to_vec()).unwrap();
    let mut txn = begin(&living);
    assert_eq!(lock(&mut txn, "a", &nowait()), Err(Error::LockNotAvailable));
    stand_in.tell("/advance?ms=600000");
    // Nobody asks PD for the time to find a lock young, so a clock that leaps has to be heard of.
    living.current_ts().unwrap();
    assert_eq!(lock(&mut txn, "a", &nowait()), Ok(Some("0".into())));
    assert_eq!(lock(&mut txn, "d", &nowait()), Ok(Some("0".into())));
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    commit(txn).unwrap();
    let error = commit(abandoned).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(scan_all(&living.latest()), ["a=1", "d=0", "g=0"]);
    // A node that dies between prewrite and commit.
    stand_in.tell("/drop-next?rpc=Commit&when=before&count=1000");
    stand_in.tell("/drop-next?rpc=BatchRollback&when=before&count=1000");
    let mut txn = begin(&dead);
    txn.put(b"a".to_vec(), b"never".to_vec()).unwrap();
    txn.put(b"g".to_vec(), b"never".to_vec()).unwrap();
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.tell("/clear");
    stand_in.tell("/advance?ms=600000");
    assert_eq!(scan_all(&living.latest()), ["a=1", "d=0", "g=0"]);
    write(&living, &[("a", Some("2")), ("g", Some("2"))]);
    assert_eq!(scan_all(&living.latest()), ["a=2", "d=0", "g=2"]);
}

fn lasting(seconds: u64) -> TxnOptions {
    TxnOptions {
        lock_ttl: Some(Duration::from_secs(seconds)),
        ..TxnOptions::default()
    }
}

/// What others wait for is locked for a shorter time than rows are, should its node die.
#[test]
fn locks_last_for_as_long_as_their_transaction_asks_for() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.open(), stand_in.open());
    write(&living, &[("a", Some("0")), ("d", Some("0"))]);
    let [mut long, mut brief] = [600, 6].map(|seconds| dead.begin(lasting(seconds)).unwrap());
    lock(&mut long, "a", &exclusive()).unwrap();
    lock(&mut brief, "d", &exclusive()).unwrap();
    brief.put(b"d".to_vec(), b"never".to_vec()).unwrap();
    // Nobody renews them from here on: to the cluster the node stands still for so long.
    stand_in.tell("/drop-next?rpc=TxnHeartBeat&when=before&count=1000000");
    stand_in.tell("/advance?ms=10000");
    let mut txn = begin(&living);
    assert_eq!(lock(&mut txn, "a", &nowait()), Err(Error::LockNotAvailable));
    assert_eq!(lock(&mut txn, "d", &nowait()), Ok(Some("0".into())));
    assert!(commit(brief).unwrap_err().is_retryable());
    drop(txn);
    stand_in.tell("/clear");
    // While it lives it renews them, in time.
    let mut brief = dead.begin(lasting(6)).unwrap();
    lock(&mut brief, "d", &exclusive()).unwrap();
    let renewed = stand_in.count("TxnHeartBeat");
    wait_until("they are renewed", || {
        stand_in.count("TxnHeartBeat") >= renewed + 2
    });
    brief.put(b"d".to_vec(), b"1".to_vec()).unwrap();
    commit(brief).unwrap();
    assert_eq!(scan_all(&living.latest()), ["a=0", "d=1"]);
}

/// The clock is not asked for, nor is the transaction waited for: the read came before it.
#[test]
fn a_point_read_passes_by_what_is_not_committed() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    write(&living, &[("a", Some("0")), ("d", Some("0"))]);
    stand_in.tell("/drop-next?rpc=Commit&when=before&count=1000");
    let mut txn = dead.begin(lasting(600)).unwrap();
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    txn.put(b"d".to_vec(), b"1".to_vec()).unwrap();
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.tell("/clear");
    assert!(!stand_in.tell("/status").contains("\"locks\": 0"));
    stand_in.tell("/counters?reset=1");
    for key in ["a", "d"] {
        assert_eq!(get(&living.latest(), key).as_deref(), Some("0"));
    }
    assert_eq!(stand_in.count("Timestamps"), 0);
    // Its time is not over: writers wait for it.
    assert_eq!(
        lock(&mut begin(&living), "d", &nowait()),
        Err(Error::LockNotAvailable)
    );
}

/// The answer to a transaction's first locks was lost, and it has begun again with another key for its primary. What it has
/// committed does not hang on the first one, although a forgotten lock says so.
#[test]
fn a_primary_that_was_given_up_is_none() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    write(&living, &[("a", Some("0")), ("b", Some("0")), ("g", Some("0"))]);
    let mut txn = begin(&dead);
    stand_in.tell("/drop-next?rpc=PessimisticLock&when=after&count=1000");
    txn.lock_only(&keys(&["a", "b"]), &exclusive()).unwrap_err();
    stand_in.tell("/clear");
    for key in ["g", "a"] {
        lock(&mut txn, key, &exclusive()).unwrap();
        txn.put(key.into(), b"1".to_vec()).unwrap();
    }
    stand_in.tell("/drop-next?rpc=Commit&when=after&count=1000");
    stand_in.tell("/drop-next?rpc=PessimisticRollback&when=before&count=1000");
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    drop(dead);
    stand_in.tell("/clear");
    stand_in.tell("/advance?ms=600000");
    assert_eq!(lock(&mut begin(&living), "b", &nowait()), Ok(Some("0".into())));
    for key in ["a", "g"] {
        assert_eq!(get(&living.latest(), key).as_deref(), Some("1"), "{key}");
    }
}

/// It is seen as soon as it is committed; making a version of it is its own node's work, unless that is gone.
#[test]
fn a_read_takes_the_lock_of_a_committed_transaction_for_a_version() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    stand_in.tell("/drop-next?rpc=Commit&when=after&count=1000");
    let mut txn = dead.begin(lasting(600)).unwrap();
    for key in ["a", "d", "g"] {
        txn.put(key.into(), b"1".to_vec()).unwrap();
    }
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.tell("/clear");
    stand_in.tell("/counters?reset=1");
    let asked = || ["CheckTxnStatus", "ResolveLock"].map(|call| stand_in.count(call));
    for _ in 0..2 {
        assert_eq!(get(&living.latest(), "d").as_deref(), Some("1"));
        let snapshot = living.snapshot_now().unwrap();
        assert_eq!(
            snapshot.batch_get(&keys(&["a", "d", "g"])).unwrap(),
            [Some(b"1".to_vec()), Some(b"1".to_vec()), Some(b"1".to_vec())]
        );
        assert_eq!(scan_all(&snapshot), ["a=1", "d=1", "g=1"]);
        assert_eq!(asked(), [1, 0]);
    }
    stand_in.tell("/advance?ms=1000000");
    let snapshot = living.snapshot_now().unwrap();
    snapshot.batch_get(&keys(&["d", "g"])).unwrap();
    assert_eq!(asked(), [1, 2]);
    assert!(stand_in.tell("/status").contains("\"locks\": 0"));
}

/// A store names one row's lock at a time, and lets everybody wait for it.
#[test]
fn rows_that_a_dead_node_has_locked_are_released_together() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.open(), stand_in.open());
    let rows = keys(&["d1", "d2", "d3", "d4", "d5", "d6"]);
    let mut abandoned = begin(&dead);
    abandoned.lock_only(&keys(&["a"]), &exclusive()).unwrap();
    abandoned.lock_only(&rows, &exclusive()).unwrap();
    // Nobody renews them from here on.
    stand_in.tell("/drop-next?rpc=TxnHeartBeat&when=before&count=1000000");
    stand_in.tell("/advance?ms=600000");
    let mut txn = begin(&living);
    stand_in.tell("/counters?reset=1");
    txn.lock_only(&rows, &exclusive()).unwrap();
    // Refused once; by name and region-wide; given.
    let asked = ["PessimisticLock", "PessimisticRollback"].map(|call| stand_in.count(call));
    assert_eq!(asked, [2, 2]);
}

/// One that a large transaction has left, and its neighbours with it.
#[test]
fn locks_of_one_transaction_are_cleaned_up_together() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    for count in [5_u64, 40] {
        let names: Vec<String> = (0..count).map(|n| format!("d{n:02}")).collect();
        let all: Vec<Vec<u8>> = names.iter().map(|name| name.clone().into_bytes()).collect();
        stand_in.tell("/drop-next?rpc=Commit&when=before&count=1000");
        let mut txn = begin(&dead);
        txn.put(b"a".to_vec(), b"never".to_vec()).unwrap();
        for key in &all {
            txn.put(key.clone(), b"never".to_vec()).unwrap();
        }
        assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
        stand_in.tell("/clear");
        stand_in.tell("/advance?ms=600000");
        stand_in.tell("/counters?reset=1");
        let snapshot = living.snapshot_now().unwrap();
        let found = snapshot.batch_get(&all).unwrap();
        assert!(found.iter().all(Option::is_none));
        let asked = ["CheckTxnStatus", "ResolveLock"].map(|call| stand_in.count(call));
        assert_eq!(asked, [1, 1], "{count} keys");
        assert_eq!(get(&living.latest(), "a"), None);
    }
}
