//! Transactions that are prepared, and that any node ends.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Detached, DetachedEnd, Error, LockMode, LockOptions, Store, TxnOptions};
use kv_tests::support::{
    begin, begin_optimistic, commit, exclusive, get, lock, scan_all, shared, wait_until, write,
};
use std::time::Duration;
use support::{StandIn, cluster, leave_locks, nowait};

const PRIMARY: &[u8] = b"xa-primary";

/// Writes `a` and `g`, deletes `d`, locks `e` to share it: over three regions.
fn prepare(store: &Store) -> (kv::Transaction, Detached) {
    write(
        store,
        &[
            ("a", Some("0")),
            ("d", Some("0")),
            ("e", Some("0")),
            ("g", Some("0")),
        ],
    );
    let mut txn = begin(store);
    lock(&mut txn, "a", &exclusive()).unwrap();
    lock(&mut txn, "e", &shared()).unwrap();
    for key in ["a", "g"] {
        txn.put(key.into(), b"1".to_vec()).unwrap();
    }
    txn.delete(b"d".to_vec()).unwrap();
    let detached = txn.prepare_detached(PRIMARY.to_vec()).unwrap();
    let stored = detached.encode().unwrap();
    assert_eq!(Detached::decode(&stored).unwrap(), detached);
    (txn, detached)
}

fn leave(store: &Store) -> Detached {
    let (txn, detached) = prepare(store);
    txn.detach(&detached).unwrap();
    detached
}

fn is_locked(store: &Store, key: &str) -> bool {
    matches!(
        lock(&mut begin(store), key, &nowait()),
        Err(Error::LockNotAvailable)
    )
}

const BEFORE: [&str; 4] = ["a=0", "d=0", "e=0", "g=0"];
const AFTER: [&str; 3] = ["a=1", "e=0", "g=1"];

/// The rows, without the primary.
fn rows(store: &Store) -> Vec<String> {
    let mut rows = scan_all(&store.latest());
    rows.retain(|row| !row.starts_with("xa-"));
    rows
}

fn no_locks(stand_in: &StandIn) -> bool {
    !stand_in.control("/locks").contains("start_ts")
}

#[test]
fn another_node_ends_it_whatever_time_has_passed() {
    for commits in [true, false] {
        let stand_in = cluster();
        let (first, second) = (stand_in.open(), stand_in.open());
        let detached = leave(&first);
        // The node that has prepared it is gone for years.
        drop(first);
        stand_in.control("/advance?ms=2000000000");
        second.current_ts().unwrap();
        assert_eq!(second.detached_end(&detached).unwrap(), None);
        for key in ["a", "d", "e", "g"] {
            assert!(is_locked(&second, key), "{key}");
        }
        // Readers do not wait: they read what is committed.
        assert_eq!(rows(&second), BEFORE);
        assert_eq!(get(&second.latest(), "a").as_deref(), Some("0"));
        let options = LockOptions {
            mode: LockMode::Exclusive,
            ..LockOptions::exclusive(Duration::from_millis(300))
        };
        assert_eq!(lock(&mut begin(&second), "g", &options), Err(Error::LockTimeout));
        let end = second.end_detached(&detached, commits).unwrap();
        assert_eq!(end.is_committed(), commits);
        // Who meets a lock finds out how it has ended.
        assert_eq!(rows(&second), if commits { &AFTER[..] } else { &BEFORE[..] });
        second.finish_detached(&detached, end).unwrap();
        assert!(no_locks(&stand_in), "{}", stand_in.control("/locks"));
        // The decision stands.
        for again in [true, false] {
            assert_eq!(second.end_detached(&detached, again).unwrap(), end);
        }
        second.finish_detached(&detached, end).unwrap();
        write(&second, &[("a", Some("2")), ("g", Some("2"))]);
    }
}

#[test]
fn of_two_nodes_that_end_it_one_decides() {
    for _ in 0..10 {
        let stand_in = cluster();
        let (first, second) = (stand_in.open(), stand_in.open());
        let detached = leave(&first);
        let ends: Vec<DetachedEnd> = std::thread::scope(|scope| {
            let ending = [(&first, true), (&second, false)].map(|(store, commits)| {
                let detached = &detached;
                scope.spawn(move || {
                    let end = store.end_detached(detached, commits).unwrap();
                    store.finish_detached(detached, end).unwrap();
                    end
                })
            });
            ending.into_iter().map(|end| end.join().unwrap()).collect()
        });
        assert_eq!(ends[0], ends[1]);
        let expected = match ends[0] {
            DetachedEnd::Committed(_) => &AFTER[..],
            DetachedEnd::RolledBack => &BEFORE[..],
        };
        assert_eq!(rows(&second), expected);
        assert!(no_locks(&stand_in));
    }
}

/// A row lock that waits meets locks with either primary while the rows are prewritten.
#[test]
fn those_that_wait_for_its_rows_do_not_take_them_from_it() {
    let stand_in = cluster();
    let (first, second) = (stand_in.open(), stand_in.open());
    let (txn, detached) = prepare(&first);
    let waiters: Vec<_> = ["a", "d", "g"]
        .into_iter()
        .map(|key| {
            let second = second.clone();
            std::thread::spawn(move || lock(&mut begin(&second), key, &exclusive()))
        })
        .collect();
    wait_until("they wait", || second.lock_stats().waiting == 3);
    stand_in.control("/delay-next?rpc=Prewrite&ms=300&count=3");
    txn.detach(&detached).unwrap();
    let end = first.end_detached(&detached, true).unwrap();
    first.finish_detached(&detached, end).unwrap();
    let seen: Vec<_> = waiters
        .into_iter()
        .map(|waiter| waiter.join().unwrap().unwrap())
        .collect();
    assert_eq!(seen, [Some("1".into()), None, Some("1".into())]);
}

#[test]
fn a_prewrite_that_arrives_after_the_rollback_leaves_nothing() {
    let stand_in = cluster();
    let (first, second) = (stand_in.open(), stand_in.open());
    let (txn, detached) = prepare(&first);
    assert_eq!(
        second.end_detached(&detached, false).unwrap(),
        DetachedEnd::RolledBack
    );
    second
        .finish_detached(&detached, DetachedEnd::RolledBack)
        .unwrap();
    assert!(txn.detach(&detached).unwrap_err().is_retryable());
    assert_eq!(rows(&second), BEFORE);
    assert!(no_locks(&stand_in), "{}", stand_in.control("/locks"));
}

#[test]
fn a_transaction_that_has_lost_a_lock_is_not_prepared() {
    let stand_in = cluster();
    let (first, second) = (stand_in.open(), stand_in.open());
    let (txn, detached) = prepare(&first);
    stand_in.control("/lose-locks?key=g");
    write(&second, &[("g", Some("5"))]);
    assert!(txn.detach(&detached).unwrap_err().is_retryable());
    assert_eq!(rows(&second), ["a=0", "d=0", "e=0", "g=5"]);
    wait_until("nothing is left", || no_locks(&stand_in));
}

/// Another transaction's prewrite meets its lock, and is told that the lock has expired.
#[test]
fn nobody_takes_it_for_expired() {
    let stand_in = cluster();
    let (first, second) = (stand_in.open(), stand_in.open());
    write(&first, &[("a", Some("0")), ("g", Some("0"))]);
    let mut stalled = begin(&second);
    lock(&mut stalled, "a", &exclusive()).unwrap();
    let guard = stalled.put_guard(b"a".to_vec(), b"2".to_vec()).unwrap();
    stalled.put_guarded(guard, b"g".to_vec(), b"2".to_vec()).unwrap();
    stand_in.control("/lose-locks?key=a");
    let detached = leave(&first);
    assert!(commit(stalled).unwrap_err().is_retryable());
    assert_eq!(first.detached_end(&detached).unwrap(), None);
    let end = first.end_detached(&detached, true).unwrap();
    first.finish_detached(&detached, end).unwrap();
    assert_eq!(rows(&first), AFTER);
}

#[test]
fn it_holds_back_the_safe_point_and_nothing_else() {
    let stand_in = cluster();
    let (first, second) = (stand_in.open(), stand_in.open());
    let detached = leave(&first);
    drop(first);
    second.set_gc_age(Duration::ZERO);
    // What has expired beside it is resolved.
    leave_locks(&stand_in, stand_in.impatient(Duration::from_secs(1)), &["b", "h"]);
    stand_in.control("/advance?ms=600000");
    let collected = second.run_gc().unwrap().safe_point;
    assert_eq!(collected, detached.start_ts - 1);
    assert_eq!(second.detached_end(&detached).unwrap(), None);
    let end = second.end_detached(&detached, true).unwrap();
    // The collection ends the other keys, and what says that they are to be committed is still there.
    assert!(second.run_gc().unwrap().safe_point > detached.start_ts);
    assert_eq!(second.end_detached(&detached, false).unwrap(), end);
    assert_eq!(rows(&second), AFTER);
}

#[test]
fn one_without_writes_has_its_primary_alone() {
    let stand_in = cluster();
    let store = stand_in.open();
    let mut txn = begin(&store);
    let detached = txn.prepare_detached(PRIMARY.to_vec()).unwrap();
    assert!(detached.keys.is_empty());
    txn.detach(&detached).unwrap();
    assert_eq!(store.detached_end(&detached).unwrap(), None);
    assert!(store.end_detached(&detached, true).unwrap().is_committed());
    assert!(no_locks(&stand_in));
}

#[test]
fn some_cannot_be_prepared() {
    let stand_in = cluster();
    let store = stand_in.open();
    let mut optimistic = begin_optimistic(&store);
    assert_eq!(
        optimistic.prepare_detached(PRIMARY.to_vec()),
        Err(Error::NotPrepared)
    );
    let embedded = Store::memory();
    let mut txn = embedded.begin(TxnOptions::default()).unwrap();
    assert_eq!(txn.prepare_detached(PRIMARY.to_vec()), Err(Error::NotPrepared));
}
