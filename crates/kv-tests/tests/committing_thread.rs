//! No transaction delays the committing thread: not by what it has to read, not by the space it has to wait
//! for, and not by a panic.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

use kv::{
    Durability, EmbeddedEngine, EmbeddedOptions, Error, Interrupt, KeyRange, Result, Storage, Store,
    Timestamp, Transaction, TxnOptions,
};
use kv_rocksdb::{RocksOptions, RocksStorage};
use kv_tests::support::*;
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use testkit::{Fault, Faults, FaultyStorage};

/// How many bytes of old versions the storages of these tests preserve.
const HISTORY_BYTES: u32 = 64 << 10;

fn over<S: Storage>(
    storage: S,
    safe_point: Arc<std::sync::atomic::AtomicU64>,
    test: &dyn Fn(&Store, &Faults),
) {
    let faults = Faults::new();
    let storage = FaultyStorage::new(storage, &faults);
    let options = EmbeddedOptions::default();
    let store = Store::new(Arc::new(EmbeddedEngine::new(storage, safe_point, options)));
    test(&store, &faults);
}

fn on_rocksdb(test: &dyn Fn(&Store, &Faults)) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = RocksOptions::small();
    options.history_bytes = u64::from(HISTORY_BYTES);
    let safe_point = Arc::default();
    let storage = RocksStorage::open(dir.path(), &options, &safe_point).unwrap();
    over(storage, safe_point, test);
}

fn on_each_storage(test: &dyn Fn(&Store, &Faults)) {
    over(kv::memory::MemoryStorage::new(), Arc::default(), test);
    on_rocksdb(test);
}

type PendingOutcome = Receiver<Result<Timestamp>>;

/// Commits, and sends the outcome.
fn commit_then(txn: Transaction, durability: Durability) -> PendingOutcome {
    let (sender, outcome) = channel();
    txn.commit_then(
        durability,
        None,
        Box::new(move |result| sender.send(result).unwrap()),
    );
    outcome
}

/// The same, from another thread.
fn commit_elsewhere(txn: Transaction) -> PendingOutcome {
    let (sender, outcome) = channel();
    thread::spawn(move || {
        txn.commit_then(
            Durability::Sync,
            None,
            Box::new(move |result| sender.send(result).unwrap()),
        );
    });
    outcome
}

fn outcome_of(pending: &PendingOutcome) -> Result<Timestamp> {
    pending.recv_timeout(LONG).unwrap()
}

fn put(txn: &mut Transaction, key: &str, value: &str) {
    txn.put(key.into(), value.into()).unwrap();
}

/// Locks `key`, and writes it.
fn writing(store: &Store, key: &str, value: &str) -> Transaction {
    let mut txn = begin(store);
    lock(&mut txn, key, &exclusive()).unwrap();
    put(&mut txn, key, value);
    txn
}

/// Keeps the committing thread busy until it is dropped, so that all commits queue.
struct Busy {
    _finish: Sender<()>,
}

impl Busy {
    fn new(store: &Store) -> Self {
        // The first thread commits its own transaction.
        let (first, finish_first, has_begun) = occupied(store, "first");
        let first = thread::spawn(first);
        has_begun.recv_timeout(LONG).unwrap();
        let (second, finish, has_begun) = occupied(store, "second");
        second();
        drop(finish_first);
        first.join().unwrap();
        has_begun.recv_timeout(LONG).unwrap();
        Self { _finish: finish }
    }
}

/// A commit whose callback reports that it runs, and returns once the sender is dropped.
fn occupied(store: &Store, key: &str) -> (impl FnOnce() + Send + use<>, Sender<()>, Receiver<()>) {
    let txn = writing(store, key, "x");
    let (finish, wait) = channel::<()>();
    let (begun, has_begun) = channel();
    let done = move |_| {
        begun.send(()).unwrap();
        let _ = wait.recv();
    };
    let commit = move || txn.commit_then(Durability::Os, None, Box::new(done));
    (commit, finish, has_begun)
}

#[test]
fn reads_of_a_dependent_commit_delay_no_other() {
    on_each_storage(&|store, faults| {
        write(
            store,
            &[("cold", Some("old")), ("k", Some("0")), ("other", Some("0"))],
        );
        let before = store.snapshot_now().unwrap();
        let bystander = writing(store, "other", "1");
        let busy = Busy::new(store);
        let first = commit_then(writing(store, "k", "1"), Durability::Sync);
        let mut dependent = begin(store);
        assert_eq!(
            lock(&mut dependent, "k", &exclusive()).unwrap().as_deref(),
            Some("1")
        );
        put(&mut dependent, "k", "2");
        // The key has not been read before.
        put(&mut dependent, "cold", "new");
        let gate = faults.hold_reads();
        let dependent = commit_elsewhere(dependent);
        gate.wait_for(1);
        drop(busy);
        outcome_of(&first).unwrap();
        outcome_of(&commit_then(bystander, Durability::Sync)).unwrap();
        assert_eq!(gate.waiting(), 1);
        assert!(dependent.try_recv().is_err());
        drop(gate);
        let ts = outcome_of(&dependent).unwrap();
        let at = |ts| {
            let snapshot = store.snapshot(ts).unwrap();
            (get(&snapshot, "k"), get(&snapshot, "cold"))
        };
        assert_eq!(at(ts), (Some("2".into()), Some("new".into())));
        assert_eq!(at(ts - 1), (Some("1".into()), Some("old".into())));
        assert_eq!(get(&before, "k").as_deref(), Some("0"));
        assert_eq!(get(&before, "cold").as_deref(), Some("old"));
        assert_eq!(store.lock_stats().held, 0);
    });
}

/// Values that were read ahead are held until the commit, up to a limit.
#[test]
fn a_dependent_commit_that_replaces_much_waits_for_earlier_ones() {
    on_each_storage(&|store, _| {
        let large = "x".repeat(400 << 10);
        let keys = ["large1", "large2", "large3"];
        for key in keys {
            write(store, &[(key, Some(&large))]);
        }
        write(store, &[("k", Some("0"))]);
        let before = store.snapshot_now().unwrap();
        let busy = Busy::new(store);
        let first = commit_then(writing(store, "k", "1"), Durability::Sync);
        let mut dependent = writing(store, "k", "2");
        keys.iter().for_each(|key| put(&mut dependent, key, "small"));
        let dependent = commit_elsewhere(dependent);
        thread::sleep(SHORT);
        assert!(dependent.try_recv().is_err());
        drop(busy);
        assert!(outcome_of(&first).unwrap() < outcome_of(&dependent).unwrap());
        for key in keys {
            assert_eq!(get(&before, key).as_deref(), Some(large.as_str()));
            assert_eq!(get(&store.latest(), key).as_deref(), Some("small"));
        }
        assert_eq!(store.lock_stats().held, 0);
    });
}

/// A transaction that replaces a thirtieth of what may be preserved.
fn replacing(store: &Store, n: u32) -> Transaction {
    writing(
        store,
        &format!("row{}", n % 4),
        &"x".repeat(HISTORY_BYTES as usize / 30),
    )
}

fn history_bytes(store: &Store) -> f64 {
    let stats = store.stats();
    stats.iter().find(|(name, _)| *name == "history_bytes").unwrap().1
}

#[test]
fn a_long_collection_delays_only_writes_that_add_to_it() {
    on_rocksdb(&|store, faults| {
        let early = store.snapshot_now().unwrap();
        let gate = faults.hold_collections();
        let replaces_much = {
            let store = store.clone();
            thread::spawn(move || {
                for n in 0..200 {
                    replacing(&store, n).commit(Durability::Os).unwrap();
                }
            })
        };
        wait_until("the limit", || {
            history_bytes(store) > 2.0 * f64::from(HISTORY_BYTES)
        });
        gate.wait_for(1);
        // Other transactions read, and add writes that replace nothing.
        for n in 0..20 {
            let outcome = commit_elsewhere(writing(store, &format!("new{n}"), "1"));
            outcome_of(&outcome).unwrap();
        }
        assert_eq!(get(&store.latest(), "new19").as_deref(), Some("1"));
        assert!(scan_all(&early).is_empty());
        // A transaction that would add more waits, and can be interrupted.
        let interrupt = Interrupt::new();
        let mut txn = store
            .begin(TxnOptions {
                interrupt: Some(Arc::clone(&interrupt)),
                ..TxnOptions::default()
            })
            .unwrap();
        put(&mut txn, "new0", "2");
        let waits = commit_elsewhere(txn);
        thread::sleep(SHORT);
        assert!(waits.try_recv().is_err(), "it did not wait");
        interrupt.raise();
        assert_eq!(outcome_of(&waits), Err(Error::Interrupted));
        // Two transactions that got this far together may have exceeded the limit.
        assert!(history_bytes(store) < 2.2 * f64::from(HISTORY_BYTES));
        assert!(!replaces_much.is_finished());
        drop(gate);
        replaces_much.join().unwrap();
        store.run_gc().unwrap();
        assert!(history_bytes(store) <= f64::from(HISTORY_BYTES));
        assert!(scan_all(&early).is_empty());
        assert_eq!(
            scan(&store.latest(), &KeyRange::new("row", "rox"), false).len(),
            4
        );
    });
}

struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        panic!("once more");
    }
}

#[test]
fn a_panicking_callback_affects_no_other_commit() {
    on_each_storage(&|store, _| {
        let busy = Busy::new(store);
        for key in ["a", "b"] {
            writing(store, key, "1").commit_then(
                Durability::Sync,
                None,
                Box::new(|_| panic_any(PanicsAgain)),
            );
        }
        let outcome = commit_then(writing(store, "c", "1"), Durability::Sync);
        drop(busy);
        outcome_of(&outcome).unwrap();
        assert_eq!(get(&store.latest(), "a").as_deref(), Some("1"));
        // Later transactions are not affected either.
        for _ in 0..3 {
            write(store, &[("a", Some("2"))]);
        }
        assert_eq!(store.lock_stats().held, 0);
    });
}

#[test]
fn a_panic_in_a_commit_ends_all_writes_and_all_waits() {
    on_each_storage(&|store, faults| {
        write(store, &[("k", Some("0"))]);
        let busy = Busy::new(store);
        let first = commit_then(writing(store, "k", "1"), Durability::Sync);
        let dependent = commit_then(writing(store, "k", "2"), Durability::Sync);
        let waits = {
            let mut txn = writing(store, "k", "3");
            thread::spawn(move || txn.refresh_snapshot())
        };
        faults.next_commit(Fault::Panic);
        drop(busy);
        for outcome in [first, dependent] {
            let outcome = outcome_of(&outcome);
            assert!(matches!(outcome, Err(Error::Undetermined(_))), "{outcome:?}");
        }
        assert_eq!(waits.join().unwrap(), Err(Error::Deadlock));
        let refused = writing(store, "k", "4").commit(Durability::Sync);
        assert!(matches!(refused, Err(Error::StoreReadOnly(_))), "{refused:?}");
        assert_eq!(store.lock_stats().held, 0);
        assert!(get(&store.latest(), "k").is_some(), "reads go on");
        assert!(store.stats().contains(&("store_read_only", 1.0)));
    });
}

/// The sync that commits without one of their own depend on.
#[test]
fn a_panic_in_the_background_sync_ends_all_writes() {
    on_each_storage(&|store, faults| {
        faults.panic_in_syncs(true);
        write(store, &[("a", Some("1"))]);
        let mut refused = Ok(0);
        wait_until("writes are refused", || {
            refused = writing(store, "b", "1").commit(Durability::Lazy);
            refused.is_err()
        });
        assert!(matches!(refused, Err(Error::StoreReadOnly(_))), "{refused:?}");
    });
}

#[test]
fn a_panic_in_a_collection_does_not_end_collecting() {
    on_rocksdb(&|store, faults| {
        faults.panic_in_collections(true);
        write(store, &[("k", Some("0"))]);
        // More than is collected in idle time, so that the collecting thread starts, and less than makes
        // commits wait.
        for n in 0..50 {
            replacing(store, n).commit(Durability::Os).unwrap();
        }
        thread::sleep(Duration::from_millis(1_500));
        faults.panic_in_collections(false);
        wait_until("it goes on", || history_bytes(store) <= f64::from(HISTORY_BYTES));
        write(store, &[("k", Some("1"))]);
    });
}
