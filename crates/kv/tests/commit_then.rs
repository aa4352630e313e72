//! Commits that nobody waits for: each is told its outcome once, whatever becomes of the engine meanwhile.

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

/// Keeps the thread that commits for others busy until it is dropped, so that all who commit queue.
struct Busy {
    _let_go: Sender<()>,
}

impl Busy {
    fn new(store: &Store) -> Self {
        // Who comes first commits by itself.
        let first = put(store, "first");
        let (let_go_first, wait) = channel();
        let (begun, has_begun) = channel();
        let first = thread::spawn(move || commit_then(first, block(begun, wait)));
        has_begun.recv_timeout(LONG).unwrap();
        let (let_go, wait) = channel();
        let (begun, has_begun) = channel();
        commit_then(put(store, "second"), block(begun, wait));
        drop(let_go_first);
        first.join().unwrap();
        has_begun.recv_timeout(LONG).unwrap();
        Self { _let_go: let_go }
    }
}

/// Says when it is told, and returns when the other end is dropped.
fn block(begun: Sender<()>, wait: Receiver<()>) -> impl FnOnce(Result<Timestamp>) + Send {
    move |_| {
        begun.send(()).unwrap();
        let _ = wait.recv();
    }
}

/// Queues a commit of each key.
fn queue(store: &Store, keys: &[&str]) -> Receiver<Result<Timestamp>> {
    let (tell, told) = channel();
    for key in keys {
        let tell = tell.clone();
        commit_then(put(store, key), move |outcome| tell.send(outcome).unwrap());
    }
    assert!(told.try_recv().is_err(), "they do not queue");
    told
}

#[test]
fn those_who_queue_are_told_by_another_thread() {
    let store = Store::memory();
    let busy = Busy::new(&store);
    let told = queue(&store, &["a", "b", "c"]);
    assert_eq!(store.latest().get(b"a").unwrap(), None);
    drop(busy);
    let times: Vec<_> = (0..3)
        .map(|_| told.recv_timeout(LONG).unwrap().unwrap())
        .collect();
    assert!(times.iter().all(|ts| *ts == times[0]), "one group: {times:?}");
    assert!(told.recv().is_err(), "told twice");
    assert!(store.latest().get(b"c").unwrap().is_some());
}

#[test]
fn who_queues_while_the_engine_ends_is_told() {
    let store = Store::memory();
    let busy = Busy::new(&store);
    let told = queue(&store, &["a", "b", "c"]);
    let end = thread::spawn(move || drop(store));
    // Time to ask the thread to stop, and nothing is wrong where it does not suffice.
    thread::sleep(Duration::from_millis(50));
    drop(busy);
    for _ in 0..3 {
        told.recv_timeout(LONG).unwrap().unwrap();
    }
    end.join().unwrap();
}

#[test]
fn who_is_told_may_be_the_last_to_know_the_engine() {
    let store = Store::memory();
    let busy = Busy::new(&store);
    let (tell, told) = channel();
    let txn = put(&store, "a");
    let before = queue(&store, &["b"]);
    let last = put(&store, "c");
    commit_then(txn, {
        let tell = tell.clone();
        move |outcome| {
            drop(store);
            tell.send(outcome).unwrap();
        }
    });
    commit_then(last, move |outcome| tell.send(outcome).unwrap());
    drop(busy);
    before.recv_timeout(LONG).unwrap().unwrap();
    for _ in 0..2 {
        told.recv_timeout(LONG).unwrap().unwrap();
    }
}

#[test]
fn who_panics_when_told_keeps_it_from_nobody() {
    let store = Store::memory();
    for _ in 0..2 {
        let busy = Busy::new(&store);
        commit_then(put(&store, "a"), |_| panic!("on purpose"));
        let told = queue(&store, &["b", "c"]);
        drop(busy);
        for _ in 0..2 {
            told.recv_timeout(LONG).unwrap().unwrap();
        }
    }
    // Nor from those who come later.
    put(&store, "a").commit(Durability::Sync).unwrap();
}

#[test]
fn who_cannot_commit_is_told_at_once() {
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
    let (tell, told) = channel();
    commit_then(txn, move |outcome| tell.send(outcome).unwrap());
    assert_eq!(told.try_recv().unwrap(), Err(Error::LockTimeout));
    // And has given back what it had.
    put(&store, "0").commit(Durability::Os).unwrap();
    assert_eq!(store.lock_stats().held, 1);
}
