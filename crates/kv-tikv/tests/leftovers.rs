//! Locks of other transactions: those of dead nodes are cleaned up, and those of running transactions are
//! bypassed where that is correct.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Error, Reader, TxnOptions};
use kv_tests::support::{begin, commit, exclusive, get, keys, lock, scan_all, wait_until, write};
use kv_tikv::TikvOptions;
use std::time::Duration;
use support::{cluster, nowait};

#[test]
fn locks_of_a_dead_node_are_cleaned_up() {
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
    stand_in.control("/advance?ms=600000");
    // A node does not ask PD whether a lock is young, so it has to see that PD's clock has jumped.
    living.current_ts().unwrap();
    assert_eq!(lock(&mut txn, "a", &nowait()), Ok(Some("0".into())));
    assert_eq!(lock(&mut txn, "d", &nowait()), Ok(Some("0".into())));
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    commit(txn).unwrap();
    let error = commit(abandoned).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(scan_all(&living.latest()), ["a=1", "d=0", "g=0"]);
    // A node dies between prewrite and commit.
    stand_in.control("/drop-next?rpc=Commit&when=before&count=1000");
    stand_in.control("/drop-next?rpc=BatchRollback&when=before&count=1000");
    let mut txn = begin(&dead);
    txn.put(b"a".to_vec(), b"never".to_vec()).unwrap();
    txn.put(b"g".to_vec(), b"never".to_vec()).unwrap();
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.control("/clear");
    stand_in.control("/advance?ms=600000");
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

/// Locks that others often wait for have a shorter time to live than row locks, in case their node dies.
#[test]
fn locks_last_for_as_long_as_their_transaction_asks_for() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.open(), stand_in.open());
    write(&living, &[("a", Some("0")), ("d", Some("0"))]);
    let [mut long, mut brief] = [600, 6].map(|seconds| dead.begin(lasting(seconds)).unwrap());
    lock(&mut long, "a", &exclusive()).unwrap();
    lock(&mut brief, "d", &exclusive()).unwrap();
    brief.put(b"d".to_vec(), b"never".to_vec()).unwrap();
    // From here on no heartbeat arrives: to the cluster the node looks stalled.
    stand_in.control("/drop-next?rpc=TxnHeartBeat&when=before&count=1000000");
    stand_in.control("/advance?ms=10000");
    let mut txn = begin(&living);
    assert_eq!(lock(&mut txn, "a", &nowait()), Err(Error::LockNotAvailable));
    assert_eq!(lock(&mut txn, "d", &nowait()), Ok(Some("0".into())));
    assert!(commit(brief).unwrap_err().is_retryable());
    drop(txn);
    stand_in.control("/clear");
    // A running transaction renews them in time.
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

/// Locks that a client may hold for days, as by GET_LOCK().
#[test]
fn a_transaction_for_locks_only_lasts_and_holds_nothing_back() {
    let stand_in = cluster();
    // An ordinary transaction would be given up at once.
    let store = kv_tikv::open(TikvOptions {
        gc_hold_max: Duration::ZERO,
        ..stand_in.options()
    })
    .unwrap();
    let other = stand_in.open();
    write(&store, &[("a", Some("0"))]);
    let options = TxnOptions {
        locks_only: true,
        ..lasting(6)
    };
    let mut txn = store.begin(options).unwrap();
    assert_eq!(lock(&mut txn, "a", &exclusive()), Ok(Some("0".into())));
    assert_eq!(txn.put(b"a".to_vec(), b"1".to_vec()), Err(Error::ReadOnly));
    let renewed = stand_in.count("TxnHeartBeat");
    wait_until("it is renewed", || stand_in.count("TxnHeartBeat") >= renewed + 2);
    store.set_gc_age(Duration::ZERO);
    assert!(store.run_gc().unwrap().safe_point > txn.start_ts());
    assert_eq!(
        lock(&mut begin(&other), "a", &nowait()),
        Err(Error::LockNotAvailable)
    );
    assert!(!txn.has_lost_locks());
    stand_in.control("/lose-locks?key=a");
    wait_until("the loss is noticed", || txn.has_lost_locks());
    drop(txn);
    assert_eq!(lock(&mut begin(&other), "a", &nowait()), Ok(Some("0".into())));
}

/// The read asks for no timestamp and does not wait: it precedes the transaction.
#[test]
fn a_point_read_passes_by_what_is_not_committed() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    write(&living, &[("a", Some("0")), ("d", Some("0"))]);
    stand_in.control("/drop-next?rpc=Commit&when=before&count=1000");
    let mut txn = dead.begin(lasting(600)).unwrap();
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    txn.put(b"d".to_vec(), b"1".to_vec()).unwrap();
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.control("/clear");
    assert!(!stand_in.control("/status").contains("\"locks\": 0"));
    stand_in.control("/counters?reset=1");
    for key in ["a", "d"] {
        assert_eq!(get(&living.latest(), key).as_deref(), Some("0"));
    }
    assert_eq!(stand_in.count("Timestamps"), 0);
    // The lock has not expired, so writers wait for it.
    assert_eq!(
        lock(&mut begin(&living), "d", &nowait()),
        Err(Error::LockNotAvailable)
    );
}

/// The response to a transaction's first lock request was lost, and the transaction has started again with
/// another primary. Its commit does not depend on the first key, although a lock that was left behind says
/// so.
#[test]
fn a_primary_that_was_given_up_is_none() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    write(&living, &[("a", Some("0")), ("b", Some("0")), ("g", Some("0"))]);
    let mut txn = begin(&dead);
    stand_in.control("/drop-next?rpc=PessimisticLock&when=after&count=1000");
    txn.lock_only(&keys(&["a", "b"]), &exclusive()).unwrap_err();
    stand_in.control("/clear");
    for key in ["g", "a"] {
        lock(&mut txn, key, &exclusive()).unwrap();
        txn.put(key.into(), b"1".to_vec()).unwrap();
    }
    stand_in.control("/drop-next?rpc=Commit&when=after&count=1000");
    stand_in.control("/drop-next?rpc=PessimisticRollback&when=before&count=1000");
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    drop(dead);
    stand_in.control("/clear");
    stand_in.control("/advance?ms=600000");
    assert_eq!(lock(&mut begin(&living), "b", &nowait()), Ok(Some("0".into())));
    for key in ["a", "g"] {
        assert_eq!(get(&living.latest(), key).as_deref(), Some("1"), "{key}");
    }
}

/// A commit is visible at once. Its own node turns the locks into versions, unless the node is dead.
#[test]
fn a_read_takes_the_lock_of_a_committed_transaction_for_a_version() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    stand_in.control("/drop-next?rpc=Commit&when=after&count=1000");
    let mut txn = dead.begin(lasting(600)).unwrap();
    for key in ["a", "d", "g"] {
        txn.put(key.into(), b"1".to_vec()).unwrap();
    }
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.control("/clear");
    stand_in.control("/counters?reset=1");
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
    stand_in.control("/advance?ms=1000000");
    let snapshot = living.snapshot_now().unwrap();
    snapshot.batch_get(&keys(&["d", "g"])).unwrap();
    assert_eq!(asked(), [1, 2]);
    assert!(stand_in.control("/status").contains("\"locks\": 0"));
}

/// A store reports one lock at a time, and makes every request wait for it.
#[test]
fn rows_that_a_dead_node_has_locked_are_released_together() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.open(), stand_in.open());
    let rows = keys(&["d1", "d2", "d3", "d4", "d5", "d6"]);
    let mut abandoned = begin(&dead);
    abandoned.lock_only(&keys(&["a"]), &exclusive()).unwrap();
    abandoned.lock_only(&rows, &exclusive()).unwrap();
    // From here on no heartbeat arrives.
    stand_in.control("/drop-next?rpc=TxnHeartBeat&when=before&count=1000000");
    stand_in.control("/advance?ms=600000");
    let mut txn = begin(&living);
    stand_in.control("/counters?reset=1");
    txn.lock_only(&rows, &exclusive()).unwrap();
    // Refused once; released by key and for the whole region; then granted.
    let asked = ["PessimisticLock", "PessimisticRollback"].map(|call| stand_in.count(call));
    assert_eq!(asked, [2, 2]);
}

/// The lock of a large transaction is cleaned up together with its neighbours.
#[test]
fn locks_of_one_transaction_are_cleaned_up_together() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    for count in [5_u64, 40] {
        let names: Vec<String> = (0..count).map(|n| format!("d{n:02}")).collect();
        let all: Vec<Vec<u8>> = names.iter().map(|name| name.clone().into_bytes()).collect();
        stand_in.control("/drop-next?rpc=Commit&when=before&count=1000");
        let mut txn = begin(&dead);
        txn.put(b"a".to_vec(), b"never".to_vec()).unwrap();
        for key in &all {
            txn.put(key.clone(), b"never".to_vec()).unwrap();
        }
        assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
        stand_in.control("/clear");
        stand_in.control("/advance?ms=600000");
        stand_in.control("/counters?reset=1");
        let snapshot = living.snapshot_now().unwrap();
        let found = snapshot.batch_get(&all).unwrap();
        assert!(found.iter().all(Option::is_none));
        let asked = ["CheckTxnStatus", "ResolveLock"].map(|call| stand_in.count(call));
        assert_eq!(asked, [1, 1], "{count} keys");
        assert_eq!(get(&living.latest(), "a"), None);
    }
}
