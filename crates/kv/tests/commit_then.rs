//! Commits that no thread waits for: each is completed once, whatever happens to the engine meanwhile.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by panicking")]

use kv::{Durability, Error, LockOptions, Reader, Result, Store, Timestamp, Transaction, TxnOptions};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

fn put(store: &Store, key: &str) -> Transaction {
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    txn.put(key.into(), b"x".to_vec()).unwrap();
    txn
}

fn commit_then(txn: Transaction, done: impl FnOnce(Result<Timestamp>) + Send + 'static) {
    txn.commit_then(Durability::Os, None, Box::new(done));
}

/// Keeps the thread that commits groups busy until it is dropped, so that all commits queue.
struct Busy {
    _release: Sender<()>,
}

impl Busy {
    fn new(store: &Store) -> Self {
        // The first caller commits its own transaction.
        let first = put(store, "first");
        let (release_first, wait) = channel();
        let (begun, has_begun) = channel();
        let first = thread::spawn(move || commit_then(first, block(begun, wait)));
        has_begun.recv_timeout(LONG).unwrap();
        let (release, wait) = channel();
        let (begun, has_begun) = channel();
        commit_then(put(store, "second"), block(begun, wait));
        drop(release_first);
        first.join().unwrap();
        has_begun.recv_timeout(LONG).unwrap();
        Self { _release: release }
    }
}

/// A completion that reports when it is called, and returns when the other end is dropped.
fn block(begun: Sender<()>, wait: Receiver<()>) -> impl FnOnce(Result<Timestamp>) + Send {
    move |_| {
        begun.send(()).unwrap();
        let _ = wait.recv();
    }
}

/// Queues a commit of each key.
fn queue(store: &Store, keys: &[&str]) -> Receiver<Result<Timestamp>> {
    let (sender, outcomes) = channel();
    for key in keys {
        let sender = sender.clone();
        commit_then(put(store, key), move |outcome| sender.send(outcome).unwrap());
    }
    assert!(outcomes.try_recv().is_err(), "they do not queue");
    outcomes
}

#[test]
fn queued_commits_are_completed_by_another_thread() {
    let store = Store::memory();
    let busy = Busy::new(&store);
    let outcomes = queue(&store, &["a", "b", "c"]);
    assert_eq!(store.latest().get(b"a").unwrap(), None);
    drop(busy);
    let times: Vec<_> = (0..3)
        .map(|_| outcomes.recv_timeout(LONG).unwrap().unwrap())
        .collect();
    assert!(times.iter().all(|ts| *ts == times[0]), "one group: {times:?}");
    assert!(outcomes.recv().is_err(), "outcomes twice");
    assert!(store.latest().get(b"c").unwrap().is_some());
}

#[test]
fn commits_that_queue_while_the_engine_ends_are_completed() {
    let store = Store::memory();
    let busy = Busy::new(&store);
    let outcomes = queue(&store, &["a", "b", "c"]);
    let end = thread::spawn(move || drop(store));
    // Usually enough for the thread to be asked to stop. If it is not, the test still passes.
    thread::sleep(Duration::from_millis(50));
    drop(busy);
    for _ in 0..3 {
        outcomes.recv_timeout(LONG).unwrap().unwrap();
    }
    end.join().unwrap();
}

#[test]
fn a_completion_may_drop_the_engine() {
    let store = Store::memory();
    let busy = Busy::new(&store);
    let (sender, outcomes) = channel();
    let txn = put(&store, "a");
    let before = queue(&store, &["b"]);
    let last = put(&store, "c");
    commit_then(txn, {
        let sender = sender.clone();
        move |outcome| {
            drop(store);
            sender.send(outcome).unwrap();
        }
    });
    commit_then(last, move |outcome| sender.send(outcome).unwrap());
    drop(busy);
    before.recv_timeout(LONG).unwrap().unwrap();
    for _ in 0..2 {
        outcomes.recv_timeout(LONG).unwrap().unwrap();
    }
}

#[test]
fn a_completion_that_panics_concerns_no_other_commit() {
    let store = Store::memory();
    for _ in 0..2 {
        let busy = Busy::new(&store);
        commit_then(put(&store, "a"), |_| panic!("on purpose"));
        let outcomes = queue(&store, &["b", "c"]);
        drop(busy);
        for _ in 0..2 {
            outcomes.recv_timeout(LONG).unwrap().unwrap();
        }
    }
    // Nor a later one.
    put(&store, "a").commit(Durability::Sync).unwrap();
}

#[test]
fn a_commit_that_fails_before_it_queues_is_completed_at_once() {
    let store = Store::memory();
    let mut other = store.begin(TxnOptions::default()).unwrap();
    other
        .lock(&[b"a".to_vec()], &LockOptions::exclusive(LONG))
        .unwrap();
    let mut txn = store
        .begin(TxnOptions {
            commit_lock_wait: Duration::from_millis(1),
            ..TxnOptions::default()
        })
        .unwrap();
    for key in ["0", "a"] {
        txn.put(key.into(), b"x".to_vec()).unwrap();
    }
    let (sender, outcomes) = channel();
    commit_then(txn, move |outcome| sender.send(outcome).unwrap());
    assert_eq!(outcomes.try_recv().unwrap(), Err(Error::LockTimeout));
    // It has released the lock that it had.
    put(&store, "0").commit(Durability::Os).unwrap();
    assert_eq!(store.lock_stats().held, 1);
}

#[test]
fn locks_are_released_before_the_completion() {
    let store = Store::memory();
    for is_queued in [false, true] {
        let busy = is_queued.then(|| Busy::new(&store));
        let mut txn = put(&store, "a");
        txn.lock(&[b"b".to_vec()], &LockOptions::exclusive(LONG)).unwrap();
        let (sender, outcomes) = channel();
        let locks = store.clone();
        commit_then(txn, move |outcome| {
            sender.send((outcome, locks.lock_stats().held)).unwrap();
        });
        drop(busy);
        let (outcome, held) = outcomes.recv_timeout(LONG).unwrap();
        assert!(outcome.is_ok());
        assert_eq!(held, 0, "queued: {is_queued}");
    }
}
