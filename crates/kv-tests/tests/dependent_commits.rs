//! Dependent commits: locks that are taken over from transactions whose commits are pending. Only on embedded
//! engines, which release row locks before the log is synced.

// Helpers of tests, which clippy does not know to be tests.
#![allow(clippy::unwrap_used)]

use kv::{
    Durability, EmbeddedOptions, Error, LockMode, LockOptions, LockWait, Outdated, Result, Store, Timestamp,
    Transaction, TxnOptions,
};
use kv_rocksdb::RocksOptions;
use kv_tests::support::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;
use testkit::{Fault, Faults, faulty_memory_store};

/// Each embedded engine, with a thread that commits.
fn on_each_engine(test: impl Fn(&Store)) {
    test(&Store::new(Arc::new(kv::memory::engine_with(EmbeddedOptions {
        check_promises: true,
        ..EmbeddedOptions::default()
    }))));
    let dir = tempfile::tempdir().unwrap();
    let mut options = RocksOptions::small();
    options.embedded.background = true;
    test(&kv_rocksdb::open(dir.path(), options).unwrap());
}

/// Keeps the thread that commits groups busy until it is dropped, so that all commits queue.
struct Busy {
    _release: Sender<()>,
}

impl Busy {
    fn new(store: &Store) -> Self {
        // The first caller commits its own transaction.
        let (first, release_first, has_begun) = occupied(store, "first");
        let first = thread::spawn(first);
        has_begun.recv_timeout(LONG).unwrap();
        let (second, release, has_begun) = occupied(store, "second");
        second();
        drop(release_first);
        first.join().unwrap();
        has_begun.recv_timeout(LONG).unwrap();
        Self { _release: release }
    }
}

/// A commit that reports when it is completed, and whose completion returns when the sender is dropped.
fn occupied(store: &Store, key: &str) -> (impl FnOnce() + Send + use<>, Sender<()>, Receiver<()>) {
    let mut txn = begin(store);
    txn.put(key.into(), b"x".to_vec()).unwrap();
    let (release, wait) = channel::<()>();
    let (begun, has_begun) = channel();
    let done = move |_| {
        begun.send(()).unwrap();
        let _ = wait.recv();
    };
    let commit = move || txn.commit_then(Durability::Os, None, Box::new(done));
    (commit, release, has_begun)
}

type Outcome = Receiver<Result<Timestamp>>;

fn queue(txn: Transaction) -> Outcome {
    let (sender, outcome) = channel();
    txn.commit_then(
        Durability::Sync,
        None,
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    assert!(
        matches!(outcome.try_recv(), Err(TryRecvError::Empty)),
        "it does not queue"
    );
    outcome
}

fn committed(outcome: &Outcome) -> Timestamp {
    outcome.recv_timeout(LONG).unwrap().unwrap()
}

fn put(txn: &mut Transaction, key: &str, value: &str) {
    txn.put(key.into(), value.into()).unwrap();
}

/// Locks `key`, writes it, and queues.
fn queued_write(store: &Store, key: &str, value: Option<&str>) -> Outcome {
    let mut txn = begin(store);
    lock(&mut txn, key, &exclusive()).unwrap();
    match value {
        Some(value) => put(&mut txn, key, value),
        None => txn.delete(key.into()).unwrap(),
    }
    queue(txn)
}

fn at(store: &Store, ts: Timestamp, key: &str) -> Option<String> {
    get(&store.snapshot(ts).unwrap(), key)
}

#[test]
fn a_transaction_continues_from_what_a_queued_commit_writes() {
    on_each_engine(|store| {
        write(store, &[("k", Some("0")), ("gone", Some("0"))]);
        let before = store.snapshot_now().unwrap();
        let busy = Busy::new(store);
        let first = queued_write(store, "k", Some("1"));
        let deletes = queued_write(store, "gone", None);

        let mut txn = begin(store);
        let answer = txn.lock_one(b"k", &exclusive()).unwrap();
        assert_eq!(answer.as_deref(), Some(&b"1"[..]));
        // Again, and together with other keys.
        let locked = txn.lock(&keys(&["gone", "k", "none"]), &exclusive()).unwrap();
        let values: Vec<_> = locked
            .into_iter()
            .map(|l| l.into_value().as_deref().map(text))
            .collect();
        assert_eq!(values, [None, Some("1".into()), None]);
        // No other reader sees it.
        assert_eq!(get(&store.latest(), "k").as_deref(), Some("0"));
        assert_eq!(get(&txn, "k").as_deref(), Some("0"));
        put(&mut txn, "k", "2");
        put(&mut txn, "gone", "again");
        let second = queue(txn);
        let third = queued_write(store, "k", None);
        let fourth = queued_write(store, "k", Some("4"));
        drop(busy);

        let times = [first, deletes, second, third, fourth].map(|outcome| committed(&outcome));
        assert!(times[0] <= times[1] && times[1] < times[2], "{times:?}");
        assert!(times[2] < times[3] && times[3] < times[4], "{times:?}");
        let k = |ts| at(store, ts, "k");
        let seen = [times[0], times[2], times[3], times[4]].map(k);
        assert_eq!(seen, [Some("1".into()), Some("2".into()), None, Some("4".into())]);
        assert_eq!(at(store, times[1], "gone"), None);
        assert_eq!(at(store, times[2], "gone").as_deref(), Some("again"));
        assert_eq!(get(&before, "k").as_deref(), Some("0"));
        assert_eq!(get(&before, "gone").as_deref(), Some("0"));
        assert_eq!(store.lock_stats().held, 0);
    });
}

#[test]
fn many_commits_of_one_row_share_a_sync() {
    on_each_engine(|store| {
        write(store, &[("k", Some("0"))]);
        let syncs = || {
            let stats = store.stats();
            stats
                .iter()
                .find(|(name, _)| *name == "log_syncs_total")
                .unwrap()
                .1
        };
        let busy = Busy::new(store);
        let before = syncs();
        let add_one = |n: u32| {
            let mut txn = begin(store);
            let value = lock(&mut txn, "k", &exclusive()).unwrap().unwrap();
            assert_eq!(value, (n - 1).to_string());
            put(&mut txn, "k", &n.to_string());
            put(&mut txn, &format!("own {n}"), "x");
            queue(txn)
        };
        let outcome: Vec<_> = (1..=100).map(add_one).collect();
        drop(busy);
        let times: Vec<_> = outcome.iter().map(committed).collect();
        assert!(times.is_sorted_by(|a, b| a < b));
        for (n, ts) in (1..=100).zip(times) {
            assert_eq!(at(store, ts, "k"), Some(n.to_string()));
        }
        // The second commit that kept the thread busy asked for no sync.
        assert!(syncs() - before <= 1.0);
    });
}

#[test]
fn a_waiting_transaction_gets_the_lock_when_the_commit_queues() {
    on_each_engine(|store| {
        write(store, &[("k", Some("0"))]);
        let busy = Busy::new(store);
        let mut first = begin(store);
        lock(&mut first, "k", &exclusive()).unwrap();
        put(&mut first, "k", "1");
        let waiting = {
            let mut txn = begin(store);
            thread::spawn(move || (lock(&mut txn, "k", &exclusive()).unwrap(), txn))
        };
        wait_for_waiters(store, 1);
        let first = queue(first);
        let (value, txn) = waiting.join().unwrap();
        assert_eq!(value.as_deref(), Some("1"));
        // It releases the lock without a write: the next one finds the same value.
        drop(txn);
        let mut next = begin(store);
        assert_eq!(lock(&mut next, "k", &exclusive()).unwrap().as_deref(), Some("1"));
        drop(next);
        drop(busy);
        committed(&first);
        assert_eq!(store.lock_stats().held, 0);
    });
}

/// Of a row that is written at its newest version, which a snapshot does not have, both versions are known without
/// a wait for the pending commit.
#[test]
fn the_versions_of_an_outdated_row_do_not_wait() {
    on_each_engine(|store| {
        write(store, &[("k", Some("0")), ("same", Some("0"))]);
        let busy = Busy::new(store);
        let mut txn = begin(store);
        assert_eq!(get(&txn, "k").as_deref(), Some("0"));
        txn.keep_snapshot();
        let first = queued_write(store, "k", Some("1"));
        for key in ["k", "same"] {
            lock(&mut txn, key, &exclusive()).unwrap();
        }
        assert!(txn.may_be_outdated(b"k"));
        assert!(!txn.may_be_outdated(b"same"));
        let outdated = txn.outdated(&keys(&["k", "same"])).unwrap();
        let expected = Outdated {
            seen: Some(b"0".to_vec()),
            newest: Some(b"1".to_vec()),
        };
        assert_eq!(outdated, [Some(expected), None]);
        put(&mut txn, "k", "2");
        assert!(!txn.may_be_outdated(b"k"), "only the first write counts");
        let second = queue(txn);
        drop(busy);
        assert!(committed(&first) < committed(&second));
        assert_eq!(get(&store.latest(), "k").as_deref(), Some("2"));
    });
}

/// A lock on a row that is not written may guard rows that are. The next holder has to see those.
#[test]
fn the_lock_of_a_key_that_is_not_written_is_not_released_early() {
    for waits_before in [false, true] {
        on_each_engine(|store| {
            write(store, &[("mutex", Some("0"))]);
            let busy = Busy::new(store);
            let mut first = begin(store);
            lock(&mut first, "mutex", &exclusive()).unwrap();
            put(&mut first, "guarded", "1");
            let second = |store: &Store| {
                let mut txn = begin(store);
                thread::spawn(move || {
                    lock(&mut txn, "mutex", &exclusive()).unwrap();
                    txn.refresh_snapshot().unwrap();
                    (get(&txn, "guarded"), get(&txn.current(), "guarded"))
                })
            };
            let waiting = waits_before.then(|| {
                let waiting = second(store);
                wait_for_waiters(store, 1);
                waiting
            });
            let first = queue(first);
            let waiting = waiting.unwrap_or_else(|| second(store));
            wait_for_waiters(store, 1);
            drop(busy);
            committed(&first);
            let one = || Some("1".to_owned());
            assert_eq!(waiting.join().unwrap(), (one(), one()));
        });
    }
}

/// A read beyond the locked key waits for the pending commit.
#[test]
fn reads_beyond_the_locked_key_wait() {
    let reads: [fn(Transaction) -> Option<String>; 4] = [
        |txn| get(&txn.current(), "other"),
        |txn| {
            let all = scan_all(&txn.current());
            let other = all.iter().find_map(|pair| pair.strip_prefix("other="));
            other.map(str::to_owned)
        },
        |mut txn| {
            txn.refresh_snapshot().unwrap();
            get(&txn, "other")
        },
        // It has nothing to commit, but its client sees what it has read.
        |txn| {
            let ts = txn.commit(Durability::Sync).unwrap();
            assert!(ts > 0);
            Some("1".into())
        },
    ];
    for read in reads {
        on_each_engine(|store| {
            let busy = Busy::new(store);
            let mut first = begin(store);
            put(&mut first, "k", "1");
            put(&mut first, "other", "1");
            let first = queue(first);
            let mut txn = begin(store);
            assert_eq!(lock(&mut txn, "k", &exclusive()).unwrap().as_deref(), Some("1"));
            let (sender, outcome) = channel();
            let reading = thread::spawn(move || sender.send(read(txn)).unwrap());
            assert!(outcome.recv_timeout(SHORT).is_err(), "it does not wait");
            drop(busy);
            committed(&first);
            assert_eq!(outcome.recv_timeout(LONG).unwrap().as_deref(), Some("1"));
            reading.join().unwrap();
        });
    }
}

#[test]
fn an_interrupt_ends_the_wait() {
    on_each_engine(|store| {
        let busy = Busy::new(store);
        let first = queued_write(store, "k", Some("1"));
        let interrupt = kv::Interrupt::new();
        let mut txn = store
            .begin(TxnOptions {
                interrupt: Some(Arc::clone(&interrupt)),
                ..TxnOptions::default()
            })
            .unwrap();
        lock(&mut txn, "k", &exclusive()).unwrap();
        interrupt.raise();
        assert_eq!(txn.settle(), Err(Error::Interrupted));
        drop(busy);
        committed(&first);
    });
}

#[test]
fn shared_locks_and_nowait() {
    on_each_engine(|store| {
        let busy = Busy::new(store);
        let first = queued_write(store, "k", Some("1"));
        let with = |mode, wait| LockOptions {
            wait,
            mode,
            ..exclusive()
        };
        let mut txn = begin(store);
        let shared = lock(&mut txn, "k", &with(LockMode::Shared, LockWait::NoWait));
        assert_eq!(shared, Err(Error::LockNotAvailable));
        let waiting = {
            let mut txn = begin(store);
            thread::spawn(move || lock(&mut txn, "k", &LockOptions::shared(LONG)).unwrap())
        };
        wait_for_waiters(store, 1);
        drop(busy);
        committed(&first);
        assert_eq!(waiting.join().unwrap().as_deref(), Some("1"));
        let busy = Busy::new(store);
        let first = queued_write(store, "k", Some("2"));
        let value = lock(&mut txn, "k", &with(LockMode::Exclusive, LockWait::NoWait));
        assert_eq!(value.unwrap().as_deref(), Some("2"));
        drop(busy);
        committed(&first);
    });
}

/// A commit that is too late fails, and those that depend on it. No other.
#[test]
fn a_dependent_commit_fails_with_the_commit_it_depends_on() {
    on_each_engine(|store| {
        write(store, &[("k", Some("0"))]);
        let busy = Busy::new(store);
        let too_late = kv::Fence::new(store.current_ts().unwrap());
        let mut first = begin(store);
        lock(&mut first, "k", &exclusive()).unwrap();
        put(&mut first, "k", "1");
        let (sender, outcome) = channel();
        first.commit_then(
            Durability::Sync,
            Some(&too_late),
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
        let mut second = begin(store);
        assert_eq!(
            lock(&mut second, "k", &exclusive()).unwrap().as_deref(),
            Some("1")
        );
        put(&mut second, "k", "2");
        let second = queue(second);
        let third = queued_write(store, "k", Some("3"));
        let bystander = queued_write(store, "other", Some("1"));
        let mut reader = begin(store);
        assert_eq!(
            lock(&mut reader, "k", &exclusive()).unwrap().as_deref(),
            Some("3")
        );
        drop(busy);
        let outcome = outcome.recv_timeout(LONG).unwrap();
        assert!(matches!(outcome, Err(Error::CommitTooLate { .. })), "{outcome:?}");
        for outcome in [second, third] {
            assert_eq!(outcome.recv_timeout(LONG).unwrap(), Err(Error::Deadlock));
        }
        committed(&bystander);
        assert_eq!(reader.settle(), Err(Error::Deadlock));
        assert_eq!(lock(&mut reader, "k", &exclusive()), Err(Error::Deadlock));
        assert_eq!(reader.commit(Durability::Os), Err(Error::Deadlock));
        assert_eq!(get(&store.latest(), "k").as_deref(), Some("0"));
        assert_eq!(store.lock_stats().held, 0);
        write(store, &[("k", Some("4"))]);
    });
}

/// A store in memory with faults, and with a thread that commits groups.
fn faulty() -> (Store, Arc<Faults>) {
    let faults = Faults::new();
    let store = faulty_memory_store(&faults, EmbeddedOptions::default());
    (store, faults)
}

#[test]
fn dependents_of_a_refused_run_fail() {
    let (store, faults) = faulty();
    let full = || Error::DiskFull("test".into());
    let busy = Busy::new(&store);
    let refused = [
        queued_write(&store, "k", Some("1")),
        queued_write(&store, "a", Some("1")),
    ];
    let follower = queued_write(&store, "k", Some("2"));
    let followed = queued_write(&store, "b", Some("1"));
    let last = queued_write(&store, "b", Some("2"));
    faults.next_commit(Fault::Refused(full()));
    drop(busy);
    for outcome in refused {
        assert_eq!(outcome.recv_timeout(LONG).unwrap(), Err(full()));
    }
    assert_eq!(follower.recv_timeout(LONG).unwrap(), Err(Error::Deadlock));
    assert!(committed(&followed) < committed(&last));
    assert_eq!(scan_all(&store.latest()), ["b=2", "first=x", "second=x"]);
    assert_eq!(store.lock_stats().held, 0);
}

#[test]
fn runs_before_a_refused_one_are_synced() {
    for sync_error in [None, Some(Error::Io("test".into()))] {
        let (store, faults) = faulty();
        let busy = Busy::new(&store);
        let first = queued_write(&store, "k", Some("1"));
        let second = queued_write(&store, "k", Some("2"));
        let full = Error::DiskFull("test".into());
        faults.next_commit(Fault::None);
        faults.next_commit(Fault::Refused(full.clone()));
        faults.fail_syncs(sync_error.clone());
        drop(busy);
        let outcome = first.recv_timeout(LONG).unwrap();
        match sync_error {
            None => assert!(outcome.is_ok(), "{outcome:?}"),
            Some(_) => assert!(matches!(outcome, Err(Error::Undetermined(_))), "{outcome:?}"),
        }
        assert_eq!(second.recv_timeout(LONG).unwrap(), Err(full));
        let mut txn = begin(&store);
        put(&mut txn, "later", "x");
        let later = txn.commit(Durability::Sync);
        assert_eq!(outcome.is_ok(), later.is_ok(), "{later:?}");
    }
}

#[test]
fn a_lost_run_ends_all_writes() {
    for lost in [Fault::Lost, Fault::Arrived] {
        let (store, faults) = faulty();
        let busy = Busy::new(&store);
        let outcome = [1, 2, 3].map(|n| queued_write(&store, "k", Some(&n.to_string())));
        faults.next_commit(Fault::None);
        faults.next_commit(lost(Error::Io("test".into())));
        drop(busy);
        let [first, second, third] = outcome.map(|outcome| outcome.recv_timeout(LONG).unwrap());
        for outcome in [first, second] {
            assert!(matches!(outcome, Err(Error::Undetermined(_))), "{outcome:?}");
        }
        assert!(matches!(third, Err(Error::StoreReadOnly(_))), "{third:?}");
        assert_eq!(store.lock_stats().held, 0);
        // Reads go on.
        assert!(get(&store.latest(), "k").is_some());
    }
}

/// Many threads move few rows, each of which has an index entry. Every snapshot has each row once, under the
/// entry that belongs to it, and does not change.
#[test]
fn index_entries_agree_with_rows_in_every_snapshot() {
    const ROWS: u64 = 3;
    const THREADS: u64 = 12;
    const MOVES: u64 = 150;
    on_each_engine(|store| {
        let row = |n: u64| format!("row{n}");
        let entry = |n: u64, value: &str| format!("entry{value}/{n}");
        for n in 0..ROWS {
            write(store, &[(&row(n), Some("0")), (&entry(n, "0"), Some(""))]);
        }
        store.set_gc_age(Duration::ZERO);
        let moves = AtomicU64::new(0);
        let stop = AtomicBool::new(false);
        let audit = |random: &mut Random| {
            let snapshot = store.snapshot_now().unwrap();
            let all = scan_all(&snapshot);
            for n in 0..ROWS {
                let value = get(&snapshot, &row(n)).unwrap();
                let of_row = |pair: &&String| pair.starts_with("entry") && pair.contains(&format!("/{n}="));
                let entries: Vec<_> = all.iter().filter(of_row).collect();
                assert_eq!(entries, [&format!("{}=", entry(n, &value))], "row {n} of {all:?}");
            }
            if random.below(4) == 0 {
                thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(scan_all(&snapshot), all, "a moment that changes");
            store.run_gc().unwrap();
        };
        thread::scope(|scope| {
            for seed in 0..2 {
                let (stop, audit) = (&stop, &audit);
                scope.spawn(move || {
                    let mut random = Random::new(seed + 100);
                    while !stop.load(Ordering::Relaxed) {
                        audit(&mut random);
                    }
                });
            }
            let movers: Vec<_> = (0..THREADS)
                .map(|seed| {
                    let moves = &moves;
                    scope.spawn(move || {
                        let mut random = Random::new(seed + 1);
                        for _ in 0..MOVES {
                            let n = random.below(ROWS);
                            let mut txn = begin(store);
                            let value = lock(&mut txn, &row(n), &exclusive()).unwrap().unwrap();
                            // A few values only, so that entries come back.
                            let next = ((value.parse::<u64>().unwrap() + 1) % 4).to_string();
                            let guard = txn.put_guard(row(n).into(), next.as_str().into()).unwrap();
                            let (old, new) = (entry(n, &value).into_bytes(), entry(n, &next).into_bytes());
                            let fresh = kv::Fresh::in_place_of(&old, &new).unwrap();
                            txn.delete_guarded(guard, old).unwrap();
                            txn.put_fresh(guard, fresh, new, Vec::new()).unwrap();
                            if random.below(10) == 0 {
                                continue;
                            }
                            txn.commit(Durability::Sync).unwrap();
                            moves.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            for mover in movers {
                mover.join().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        audit(&mut Random::new(7));
        let steps: u64 = (0..ROWS)
            .map(|n| get(&store.latest(), &row(n)).unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(steps % 4, moves.load(Ordering::Relaxed) % 4, "lost updates");
        assert_eq!(store.lock_stats().held, 0);
    });
}
