//! Which requests a commit sends, and what it depends on: locks that a store may have lost, and keys
//! without locks of their own.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use kv::{Error, LockOptions, LockWait, Outdated, Reader, Store, Transaction, TxnOptions};
use kv_tests::guarded::{Way, change_rows, check_rows, set_up};
use kv_tests::support::{begin, commit, exclusive, get, keys, lock, shared, wait_until, write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use support::{StandIn, cluster};

/// Makes a store forget the lock of a key, as after a failover to a replica that did not have it yet.
fn lose_lock(stand_in: &StandIn, key: &str) {
    let answer = stand_in.control(&format!("/lose-locks?key={key}"));
    assert!(answer.contains("\"lost\": 1"), "{answer}");
}

/// Ends the threads, also when the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn assert_no_locks(stand_in: &StandIn) {
    wait_until("no lock is left", || {
        stand_in.control("/status").contains("\"locks\": 0")
    });
}

#[test]
fn cheap_paths_are_cheap() {
    let stand_in = cluster();
    let store = stand_in.open();
    write(&store, &[("a", Some("1")), ("d", Some("1")), ("g", Some("1"))]);
    get(&store.latest(), "a");
    stand_in.control("/counters?reset=1");
    get(&store.latest(), "a");
    assert_eq!((stand_in.count("Get"), stand_in.count("Timestamps")), (1, 0));
    store.latest().batch_get(&keys(&["a", "aa", "b"])).unwrap();
    assert_eq!((stand_in.count("BatchGet"), stand_in.count("Timestamps")), (1, 0));
    let snapshot = store.snapshot_now().unwrap();
    snapshot.batch_get(&keys(&["a", "d", "g", "h"])).unwrap();
    assert_eq!((stand_in.count("BatchGet"), stand_in.count("Timestamps")), (4, 1));
    stand_in.control("/counters?reset=1");
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    txn.put(b"b".to_vec(), b"2".to_vec()).unwrap();
    commit(txn).unwrap();
    let counted: Vec<u64> = ["Prewrite", "Commit", "PessimisticLock", "Timestamps"]
        .map(|call| stand_in.count(call))
        .to_vec();
    assert_eq!(counted, [1, 0, 0, 2], "one to begin, one to commit at");
    stand_in.control("/counters?reset=1");
    let mut txn = begin(&store);
    lock(&mut txn, "a", &exclusive()).unwrap();
    txn.put(b"a".to_vec(), b"3".to_vec()).unwrap();
    commit(txn).unwrap();
    let calls = [
        "Prewrite",
        "Commit",
        "PessimisticLock",
        "PessimisticRollback",
        "Timestamps",
    ];
    let counted: Vec<u64> = calls.map(|call| stand_in.count(call)).to_vec();
    assert_eq!(counted, [1, 0, 1, 0, 2]);
    // A transaction of one statement may take place at any time within it, so it needs no second timestamp.
    stand_in.control("/counters?reset=1");
    let single = TxnOptions {
        single_statement: true,
        ..TxnOptions::default()
    };
    let mut txn = store.begin(single.clone()).unwrap();
    lock(&mut txn, "a", &exclusive()).unwrap();
    txn.put(b"a".to_vec(), b"4".to_vec()).unwrap();
    commit(txn).unwrap();
    let counted: Vec<u64> = calls.map(|call| stand_in.count(call)).to_vec();
    assert_eq!(counted, [1, 0, 1, 0, 1]);
    stand_in.control("/counters?reset=1");
    let mut txn = store.begin(single).unwrap();
    txn.put(b"a".to_vec(), b"5".to_vec()).unwrap();
    commit(txn).unwrap();
    let counted: Vec<u64> = calls.map(|call| stand_in.count(call)).to_vec();
    // The last commit may have used the timestamp after its own, and then a new snapshot does not get that
    // one.
    assert!(
        counted == [1, 0, 0, 0, 1] || counted == [1, 0, 0, 0, 2],
        "{counted:?}"
    );
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("5"));
}

/// Like an index entry: its row is locked, so no other transaction writes the entry.
#[test]
fn a_guarded_key_costs_no_lock() {
    let stand_in = cluster();
    let store = stand_in.open();
    write(&store, &[("a", Some("1")), ("d", Some("1")), ("g", Some("1"))]);
    assert_no_locks(&stand_in);
    for (guarded, prewrites, commits) in [(["b", "bb"], 1, 0), (["d", "g"], 3, 1)] {
        stand_in.control("/counters?reset=1");
        let mut txn = begin(&store);
        lock(&mut txn, "a", &exclusive()).unwrap();
        let guard = txn.put_guard(b"a".to_vec(), b"2".to_vec()).unwrap();
        for key in guarded {
            txn.put_guarded(guard, key.as_bytes().to_vec(), b"2".to_vec())
                .unwrap();
        }
        commit(txn).unwrap();
        let counted = ["PessimisticLock", "Prewrite"].map(|call| stand_in.count(call));
        assert_eq!(counted, [1, prewrites]);
        // All keys but the primary are committed in the background.
        assert!(stand_in.count("Commit") >= commits);
        for key in guarded {
            assert_eq!(get(&store.latest(), key).as_deref(), Some("2"));
        }
        assert_no_locks(&stand_in);
    }
}

#[test]
fn locks_of_a_dead_node_on_a_guarded_key_are_cleaned_up() {
    let stand_in = cluster();
    let dead = stand_in.impatient(Duration::from_secs(1));
    let living = stand_in.open();
    write(&living, &[("a", Some("0")), ("d", Some("0"))]);
    // Both keys are prewritten, and stay so.
    stand_in.control("/drop-next?rpc=Commit&when=before&count=1000");
    stand_in.control("/drop-next?rpc=BatchRollback&when=before&count=1000");
    let mut abandoned = begin(&dead);
    lock(&mut abandoned, "a", &exclusive()).unwrap();
    let guard = abandoned.put_guard(b"a".to_vec(), b"never".to_vec()).unwrap();
    abandoned
        .put_guarded(guard, b"d".to_vec(), b"never".to_vec())
        .unwrap();
    assert!(matches!(commit(abandoned), Err(Error::Undetermined(_))));
    stand_in.control("/clear");
    stand_in.control("/advance?ms=600000");
    // Locking the guard cleans up its lock. The commit is the first to meet the guarded key's lock.
    let mut txn = begin(&living);
    assert_eq!(lock(&mut txn, "a", &exclusive()), Ok(Some("0".into())));
    assert!(stand_in.control("/locks").contains("\"key\": \"64\""));
    let guard = txn.put_guard(b"a".to_vec(), b"1".to_vec()).unwrap();
    txn.put_guarded(guard, b"d".to_vec(), b"1".to_vec()).unwrap();
    commit(txn).unwrap();
    assert_eq!(get(&living.latest(), "d").as_deref(), Some("1"));
    assert_no_locks(&stand_in);
}

/// A transaction that writes `g`, `a` and, guarded by `a`, `d`, and that has lost the lock of `a`.
fn without_guard(store: &Store, stand_in: &StandIn) -> Transaction {
    let mut loser = begin(store);
    for key in ["g", "a"] {
        lock(&mut loser, key, &exclusive()).unwrap();
        loser.put(key.as_bytes().to_vec(), b"never".to_vec()).unwrap();
    }
    let guard = loser.guard(b"a").unwrap();
    loser
        .put_guarded(guard, b"d".to_vec(), b"never".to_vec())
        .unwrap();
    lose_lock(stand_in, "a");
    loser
}

/// A transaction that has lost its guard's lock does not know it yet. It prewrites the guarded key, fails,
/// and rolls back.
#[test]
fn a_guarded_key_is_waited_for_while_a_loser_leaves() {
    let stand_in = cluster();
    let (one, two) = (stand_in.open(), stand_in.open());
    write(&one, &[("a", Some("0")), ("d", Some("0")), ("g", Some("0"))]);
    let loser = without_guard(&one, &stand_in);
    let mut winner = begin(&two);
    assert_eq!(lock(&mut winner, "a", &exclusive()), Ok(Some("0".into())));
    let guard = winner.put_guard(b"a".to_vec(), b"1".to_vec()).unwrap();
    winner.put_guarded(guard, b"d".to_vec(), b"1".to_vec()).unwrap();
    stand_in.control("/delay-next?rpc=BatchRollback&ms=500&count=3");
    let losing = thread::spawn(move || commit(loser));
    wait_until("the guarded key is prewritten", || {
        losing.is_finished() || stand_in.control("/locks").contains("\"key\": \"64\"")
    });
    commit(winner).unwrap();
    assert_eq!(losing.join().unwrap().unwrap_err(), Error::Deadlock);
    let values = ["a", "d", "g"].map(|key| get(&two.latest(), key));
    assert_eq!(values, [Some("1".into()), Some("1".into()), Some("0".into())]);
    assert_no_locks(&stand_in);
}

/// The other transaction is not waited for if it never rolls back.
#[test]
fn a_guarded_key_does_not_wait_for_a_transaction_that_lost_its_guard() {
    let stand_in = cluster();
    let (dead, living) = (stand_in.impatient(Duration::from_secs(1)), stand_in.open());
    write(&living, &[("a", Some("0")), ("d", Some("0")), ("g", Some("0"))]);
    let loser = without_guard(&dead, &stand_in);
    let mut winner = living
        .begin(TxnOptions {
            commit_lock_wait: Duration::ZERO,
            ..TxnOptions::default()
        })
        .unwrap();
    assert_eq!(lock(&mut winner, "a", &exclusive()), Ok(Some("0".into())));
    stand_in.control("/drop-next?rpc=BatchRollback&when=before&count=1000");
    assert_eq!(commit(loser).unwrap_err(), Error::Deadlock);
    stand_in.control("/clear");
    assert!(stand_in.control("/locks").contains("\"key\": \"64\""));
    let guard = winner.put_guard(b"a".to_vec(), b"1".to_vec()).unwrap();
    winner.put_guarded(guard, b"d".to_vec(), b"1".to_vec()).unwrap();
    commit(winner).unwrap();
    let values = ["a", "d", "g"].map(|key| get(&living.latest(), key));
    assert_eq!(values, [Some("1".into()), Some("1".into()), Some("0".into())]);
}

/// Rows and index entries lie in different regions, leaders move, and locks get lost.
#[test]
fn entries_follow_their_rows_on_two_nodes() {
    const ROUNDS: usize = 40;
    let stand_in = StandIn::start(&["-stores", "3", "-split", "a-row1,b,w1,w2"]);
    let stores = [stand_in.open(), stand_in.open()];
    set_up(&stores[0]);
    let (stop, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let _stopping = StopOnDrop(&stop);
        for seed in 0..4_u8 {
            let (store, stop, begun) = (&stores[usize::from(seed % 2)], &stop, &begun);
            let goes_on = move || {
                begun.fetch_add(1, Ordering::Relaxed);
                !stop.load(Ordering::Relaxed)
            };
            scope.spawn(move || change_rows(store, seed.into(), Way::Pessimistic, goes_on).unwrap());
        }
        for round in 0..ROUNDS {
            let key = ["a-row0", "a-row1", "a-row2", "w0", "w1", "w2"][round % 6];
            match round % 4 {
                0 => drop(stand_in.control(&format!("/leader?key={key}&store={}", 1 + round % 3))),
                1 => drop(stand_in.control("/region-error-next?rpc=Prewrite&error=server-is-busy")),
                _ => drop(stand_in.control(&format!("/lose-locks?key=a-row{}", round % 3))),
            }
            check_rows(&stores[round % 2].snapshot_now().unwrap());
            // Some transactions run between two faults, however slow the machine is.
            let before = begun.load(Ordering::Relaxed);
            wait_until("transactions go on", || {
                begun.load(Ordering::Relaxed) >= before + 6
            });
        }
    });
    check_rows(&stores[0].latest());
    assert_no_locks(&stand_in);
}

#[test]
fn a_lock_that_a_store_has_lost_fails_the_commit() {
    check_lost_lock(&exclusive());
}

/// Shared locks belong to another transaction in the cluster, so the commit checks them separately.
#[test]
fn a_shared_lock_that_a_store_has_lost_fails_the_commit() {
    check_lost_lock(&shared());
}

/// The write to `a` depends on `d`, which is locked and not written. Once `d` has changed, the write must
/// not be committed.
fn check_lost_lock(of_d: &LockOptions) {
    let stand_in = cluster();
    // A second node writes, since the first node's own connections would wait for `d`.
    let (store, other) = (stand_in.open(), stand_in.open());
    for has_own_locks in [true, false] {
        write(&store, &[("a", Some("1")), ("d", Some("1"))]);
        for changes in [true, false] {
            let mut txn = begin(&store);
            if has_own_locks {
                lock(&mut txn, "a", &exclusive()).unwrap();
            }
            lock(&mut txn, "d", of_d).unwrap();
            txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
            lose_lock(&stand_in, "d");
            if changes {
                write(&other, &[("d", Some("2"))]);
            }
            let committed = commit(txn);
            match changes {
                true => assert_eq!(committed.unwrap_err(), Error::Deadlock),
                false => assert!(committed.is_ok(), "{committed:?}"),
            }
            let expected = if changes { "1" } else { "2" };
            assert_eq!(get(&store.latest(), "a").as_deref(), Some(expected));
        }
    }
    assert_eq!(store.lock_stats().held, 0);
    assert_no_locks(&stand_in);
}

/// A lock that becomes an exclusive one is given back before. Where another node takes it in between, the transaction
/// must not go on as if it had its shared lock still, however it would have waited.
#[test]
fn a_shared_lock_that_another_node_takes_when_it_is_given_back_ends_the_transaction() {
    let stand_in = cluster();
    let (store, other) = (stand_in.open(), stand_in.open());
    write(&store, &[("d", Some("1"))]);
    let soon = LockWait::Timeout(Duration::from_millis(50));
    for wait in [LockWait::NoWait, LockWait::SkipLocked, soon] {
        let mut txn = begin(&store);
        lock(&mut txn, "d", &shared()).unwrap();
        lose_lock(&stand_in, "d");
        let mut holder = begin(&other);
        lock(&mut holder, "d", &exclusive()).unwrap();
        let options = LockOptions { wait, ..exclusive() };
        assert_eq!(
            txn.lock_only(&keys(&["d"]), &options),
            Err(Error::Deadlock),
            "{wait:?}"
        );
    }
    assert_eq!(store.lock_stats().held, 0);
    assert_no_locks(&stand_in);
}

/// KILL ends the statement that makes a shared lock an exclusive one with its own error. The shared lock is gone by
/// then, so the transaction cannot go on.
#[test]
fn an_interrupt_while_a_shared_lock_is_given_back_is_reported() {
    let stand_in = cluster();
    let (store, other) = (stand_in.open(), stand_in.open());
    write(&store, &[("a", Some("1")), ("d", Some("1"))]);
    let mut txn = begin(&store);
    lock(&mut txn, "d", &shared()).unwrap();
    txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    lose_lock(&stand_in, "d");
    let mut holder = begin(&other);
    lock(&mut holder, "d", &exclusive()).unwrap();
    let options = exclusive();
    let interrupt = Arc::clone(&options.interrupt);
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        interrupt.raise();
    });
    assert_eq!(txn.lock_only(&keys(&["d"]), &options), Err(Error::Interrupted));
    killer.join().unwrap();
    assert!(txn.has_lost_locks());
    assert_eq!(lock(&mut txn, "a", &exclusive()), Err(Error::Deadlock));
    assert_eq!(commit(txn).unwrap_err(), Error::Deadlock);
    holder.rollback();
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("1"));
    assert_eq!(store.lock_stats().held, 0);
}

/// A transaction that has met a newer version locks at a newer timestamp from then on, and cannot tell whether the
/// keys have changed since its snapshot. Their newest values came with the locks; the older ones are one read.
#[test]
fn versions_of_outdated_rows_are_read_at_once() {
    let stand_in = cluster();
    let (store, other) = (stand_in.open(), stand_in.open());
    write(&store, &[("a", Some("1")), ("aa", Some("1")), ("ab", Some("1"))]);
    let mut txn = begin(&store);
    txn.refresh_snapshot().unwrap();
    txn.keep_snapshot();
    write(&other, &[("aa", Some("2"))]);
    for key in ["a", "aa", "ab"] {
        txn.lock(&keys(&[key]), &exclusive()).unwrap();
    }
    assert!(!txn.may_be_outdated(b"a"), "it was locked before the conflict");
    assert!(txn.may_be_outdated(b"aa") && txn.may_be_outdated(b"ab"));
    stand_in.control("/counters?reset=1");
    let outdated = txn.outdated(&keys(&["aa", "ab"])).unwrap();
    let expected = Outdated {
        seen: Some(b"1".to_vec()),
        newest: Some(b"2".to_vec()),
    };
    assert_eq!(outdated, [Some(expected), None]);
    assert_eq!((stand_in.count("BatchGet"), stand_in.count("Get")), (1, 0));
}

/// When a shared lock is lost, each transaction that shares it gets an error, and no other joins it.
#[test]
fn a_shared_lock_that_is_lost_is_lost_for_all() {
    let stand_in = cluster();
    let (store, other) = (stand_in.open(), stand_in.open());
    write(&store, &[("a", Some("1")), ("d", Some("1"))]);
    let mut sharers = [begin(&store), begin(&store)];
    for sharer in &mut sharers {
        lock(sharer, "d", &shared()).unwrap();
    }
    let [mut first, mut second] = sharers;
    lose_lock(&stand_in, "d");
    // A lock of another transaction, which may be about to write, is enough.
    let mut holder = begin(&other);
    lock(&mut holder, "d", &exclusive()).unwrap();
    first.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    assert_eq!(commit(first).unwrap_err(), Error::Deadlock);
    holder.rollback();
    assert_eq!(lock(&mut begin(&store), "d", &shared()), Err(Error::Deadlock));
    second.put(b"a".to_vec(), b"3".to_vec()).unwrap();
    assert_eq!(commit(second).unwrap_err(), Error::Deadlock);
    let mut third = begin(&store);
    assert_eq!(lock(&mut third, "d", &shared()), Ok(Some("1".into())));
    third.put(b"a".to_vec(), b"4".to_vec()).unwrap();
    commit(third).unwrap();
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("4"));
    assert_eq!(store.lock_stats().held, 0);
    assert_no_locks(&stand_in);
}
