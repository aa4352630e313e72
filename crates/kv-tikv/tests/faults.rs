//! Faults in a cluster: regions split and move, stores stop, responses get lost, nodes die. Acknowledged
//! commits are not lost, commits are seen whole, and an unknown outcome is reported as unknown.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use kv::{Durability, Error, LockMode, LockOptions, LockWait, Reader, Store, TxnOptions};
use kv_tests::support::{Random, begin, commit, exclusive, get, keys, lock, scan_all, wait_until, write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{cluster, nowait};

#[test]
fn transfers_survive_splits_moves_and_restarts() {
    const ACCOUNTS: u64 = 8;
    let account = |n: u64| format!("{}-account", char::from(b'a' + u8::try_from(n).unwrap()));
    let stand_in = cluster();
    let stores = [stand_in.open(), stand_in.open()];
    for n in 0..ACCOUNTS {
        write(&stores[0], &[(&account(n), Some("1000"))]);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let total = |reader: &dyn Reader| -> i64 {
        scan_all(reader)
            .iter()
            .map(|pair| pair.split_once('=').unwrap().1.parse::<i64>().unwrap())
            .sum()
    };
    let threads: Vec<_> = (0..4_u64)
        .map(|seed| {
            let (store, stop, done) = (
                stores[usize::try_from(seed % 2).unwrap()].clone(),
                Arc::clone(&stop),
                Arc::clone(&done),
            );
            thread::spawn(move || {
                let mut random = Random::new(seed + 1);
                while !stop.load(Ordering::Relaxed) {
                    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
                    if from == to {
                        continue;
                    }
                    let transfer = || -> kv::Result<()> {
                        let mut txn = begin(&store);
                        let number = |value: Option<String>| value.unwrap().parse::<i64>().unwrap();
                        let a = number(lock(&mut txn, &account(from), &exclusive())?);
                        let b = number(lock(&mut txn, &account(to), &exclusive())?);
                        txn.put(account(from).into(), (a - 1).to_string().into())?;
                        txn.put(account(to).into(), (b + 1).to_string().into())?;
                        commit(txn).map(|_| ())
                    };
                    match transfer() {
                        Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
                        Err(Error::Deadlock) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    // Some transfers run between two faults, however slow the machine is.
    for round in 0..20_u64 {
        let at = char::from(b'a' + u8::try_from(round * 3 % 8).unwrap());
        let store = 1 + round % 3;
        match round % 5 {
            0 => drop(stand_in.control(&format!("/split?key={at}-{round}"))),
            1 | 2 => drop(stand_in.control(&format!("/leader?key={at}&store={store}"))),
            3 => {
                stand_in.control(&format!("/stop?store={store}"));
                thread::sleep(Duration::from_millis(50));
                stand_in.control(&format!("/start?store={store}"));
            }
            _ => drop(stand_in.control("/region-error-next?rpc=Prewrite&error=server-is-busy")),
        }
        assert_eq!(total(&stores[0].snapshot_now().unwrap()), 8_000);
        assert_eq!(total(&stores[1].latest()), 8_000);
        let before = done.load(Ordering::Relaxed);
        wait_until("transfers go on", || done.load(Ordering::Relaxed) >= before + 2);
    }
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(total(&stores[1].snapshot_now().unwrap()), 8_000);
    assert_eq!(stores[0].lock_stats().held, 0);
}

#[test]
fn a_store_that_is_down_is_waited_for() {
    let stand_in = cluster();
    let store = stand_in.open();
    write(&store, &[("a", Some("1")), ("d", Some("1")), ("g", Some("1"))]);
    for id in 1..=3 {
        stand_in.control(&format!("/stop?store={id}&leaders=stay"));
    }
    let reader = {
        let store = store.clone();
        thread::spawn(move || scan_all(&store.latest()))
    };
    let writer = {
        let store = store.clone();
        thread::spawn(move || write(&store, &[("b", Some("2")), ("e", Some("2"))]))
    };
    thread::sleep(Duration::from_millis(300));
    assert!(!reader.is_finished() && !writer.is_finished());
    for id in 1..=3 {
        stand_in.control(&format!("/start?store={id}"));
    }
    writer.join().unwrap();
    assert!(reader.join().unwrap().len() >= 3);
    assert_eq!(scan_all(&store.latest()), ["a=1", "b=2", "d=1", "e=2", "g=1"]);
    // If the store does not come back, the error comes in time.
    let impatient = stand_in.impatient(Duration::from_secs(1));
    get(&impatient.latest(), "a");
    for id in 1..=3 {
        stand_in.control(&format!("/stop?store={id}&leaders=stay"));
    }
    let start = Instant::now();
    assert!(matches!(
        impatient.latest().get(b"a"),
        Err(Error::ClusterTimeout { .. })
    ));
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn pd_that_is_down_is_waited_for() {
    let stand_in = cluster();
    let store = stand_in.open();
    write(&store, &[("a", Some("1"))]);
    get(&store.latest(), "a");
    stand_in.control("/pd/stop");
    assert_eq!(
        get(&store.latest(), "a").as_deref(),
        Some("1"),
        "what is known needs no PD"
    );
    let writer = {
        let store = store.clone();
        thread::spawn(move || write(&store, &[("a", Some("2"))]))
    };
    thread::sleep(Duration::from_millis(300));
    assert!(!writer.is_finished());
    stand_in.control("/pd/start");
    writer.join().unwrap();
    assert_eq!(get(&store.snapshot_now().unwrap(), "a").as_deref(), Some("2"));
}

#[test]
fn a_lost_answer_to_a_commit_is_looked_into() {
    let stand_in = cluster();
    let store = stand_in.open();
    for (rpc, when, writes) in [
        ("Prewrite", "after", &[("a", Some("1"))][..]),
        ("Prewrite", "before", &[("a", Some("2"))]),
        ("Prewrite", "after", &[("a", Some("3")), ("d", Some("3"))]),
        ("Commit", "after", &[("a", Some("4")), ("d", Some("4"))]),
        ("Commit", "before", &[("a", Some("5")), ("d", Some("5"))]),
    ] {
        stand_in.control(&format!("/drop-next?rpc={rpc}&when={when}"));
        write(&store, writes);
        for (key, value) in writes {
            assert_eq!(get(&store.latest(), key).as_deref(), *value, "{rpc} lost {when}");
            assert_eq!(get(&store.snapshot_now().unwrap(), key).as_deref(), *value);
        }
        // The same for lock requests.
        stand_in.control(&format!("/drop-next?rpc={rpc}&when={when}"));
        let mut txn = begin(&store);
        for (key, _) in writes {
            lock(&mut txn, key, &exclusive()).unwrap();
            txn.put(key.as_bytes().to_vec(), b"locked".to_vec()).unwrap();
        }
        // The check of a one-phase commit that never arrived may have rolled it back.
        match commit(txn) {
            Ok(_) => assert_eq!(get(&store.latest(), writes[0].0).as_deref(), Some("locked")),
            Err(error) => {
                assert!(
                    error.is_retryable() && rpc == "Prewrite" && when == "before",
                    "{error}"
                );
                assert_eq!(get(&store.latest(), writes[0].0).as_deref(), writes[0].1);
            }
        }
        stand_in.control("/clear");
    }
    assert_eq!(store.lock_stats().held, 0);
}

#[test]
fn an_outcome_that_stays_unknown_is_said_to_be() {
    let stand_in = cluster();
    let store = stand_in.impatient(Duration::from_secs(1));
    for key in ["a", "d"] {
        get(&store.latest(), key);
    }
    stand_in.control("/drop-next?rpc=Commit&when=after&count=1000");
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    txn.put(b"d".to_vec(), b"1".to_vec()).unwrap();
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.control("/clear");
    // It was committed; a reader of the other key finds that out.
    let other = stand_in.open();
    assert_eq!(scan_all(&other.latest()), ["a=1", "d=1"]);
    // The same for a one-phase commit.
    get(&store.latest(), "a");
    stand_in.control("/drop-next?rpc=Prewrite&when=after&count=1000");
    stand_in.control("/drop-next?rpc=CheckTxnStatus&when=before&count=1000");
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    stand_in.control("/clear");
    assert_eq!(get(&other.latest(), "a").as_deref(), Some("2"));
}

#[test]
fn nodes_see_each_others_locks() {
    let stand_in = cluster();
    let (one, two) = (stand_in.open(), stand_in.open());
    write(&one, &[("a", Some("1")), ("d", Some("1"))]);
    let mut first = begin(&one);
    lock(&mut first, "a", &exclusive()).unwrap();
    let mut second = begin(&two);
    let with = |mode, wait| LockOptions {
        mode,
        wait,
        ..exclusive()
    };
    for mode in [LockMode::Shared, LockMode::Exclusive] {
        assert_eq!(
            lock(&mut second, "a", &with(mode, LockWait::NoWait)),
            Err(Error::LockNotAvailable)
        );
        let short = LockWait::Timeout(Duration::from_millis(50));
        assert_eq!(
            lock(&mut second, "a", &with(mode, short)),
            Err(Error::LockTimeout)
        );
        let skipped = second.lock_only(&keys(&["a", "d"]), &with(mode, LockWait::SkipLocked));
        assert_eq!(skipped, Ok(vec![false, true]));
    }
    assert_eq!(second.lock_count(), 1);
    let waiter = thread::spawn(move || {
        let outcome = lock(&mut second, "a", &exclusive());
        (outcome, second)
    });
    wait_until("a wait in the cluster", || two.lock_stats().waiting == 1);
    first.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    commit(first).unwrap();
    let (outcome, second) = waiter.join().unwrap();
    assert_eq!(outcome, Ok(Some("2".into())));
    drop(second);
    // Shared locks on one node keep the other node from writing.
    let mut sharers = [begin(&one), begin(&one)];
    for sharer in &mut sharers {
        lock(sharer, "a", &with(LockMode::Shared, LockWait::NoWait)).unwrap();
    }
    let mut writer = begin(&two);
    for sharer in sharers {
        assert_eq!(lock(&mut writer, "a", &nowait()), Err(Error::LockNotAvailable));
        sharer.rollback();
    }
    assert_eq!(lock(&mut writer, "a", &nowait()), Ok(Some("2".into())));
    drop(writer);
    assert!(
        stand_in.control("/status").contains("\"locks\": 0"),
        "{}",
        stand_in.control("/locks")
    );
}

#[test]
fn a_circle_over_two_nodes_is_found() {
    let stand_in = cluster();
    let stores = [stand_in.open(), stand_in.open()];
    for _ in 0..5 {
        let start = Instant::now();
        let outcomes = lock_in_a_circle(&[(&stores[0], "a", "d"), (&stores[1], "d", "a")]);
        assert_eq!(victims(&outcomes), 1, "{outcomes:?}");
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "found by time-out only"
        );
    }
}

/// Each transaction locks one key, and then another transaction's. Returns the outcomes of the second locks.
fn lock_in_a_circle(
    transactions: &[(&Store, &'static str, &'static str)],
) -> Vec<kv::Result<Option<String>>> {
    let barrier = Arc::new(std::sync::Barrier::new(transactions.len()));
    let lock_both = |(store, mine, other): &(&Store, &'static str, &'static str)| {
        let (store, barrier) = (Store::clone(store), Arc::clone(&barrier));
        let (mine, other) = (*mine, *other);
        thread::spawn(move || {
            let mut txn = begin(&store);
            lock(&mut txn, mine, &exclusive()).unwrap();
            barrier.wait();
            let outcome = lock(&mut txn, other, &exclusive());
            txn.rollback();
            outcome
        })
    };
    let threads: Vec<_> = transactions.iter().map(lock_both).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn victims(outcomes: &[kv::Result<Option<String>>]) -> usize {
    let is_victim = |outcome: &&kv::Result<Option<String>>| **outcome == Err(Error::Deadlock);
    outcomes.iter().filter(is_victim).count()
}

/// Of three transactions, two wait in the cluster and one within its node, which the stores cannot see.
#[test]
fn a_circle_through_the_cluster_and_a_node_is_found() {
    let stand_in = cluster();
    let (one, two) = (stand_in.open(), stand_in.open());
    let start = Instant::now();
    let outcomes = lock_in_a_circle(&[(&one, "a", "d"), (&two, "d", "g"), (&two, "g", "a")]);
    let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!((victims(&outcomes), served), (1, 2), "{outcomes:?}");
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "found by time-out only"
    );
    assert!(
        stand_in.control("/status").contains("\"locks\": 0"),
        "{}",
        stand_in.control("/locks")
    );
}

#[test]
fn another_nodes_commit_is_a_conflict_for_optimistic_ones_only() {
    let stand_in = cluster();
    let (one, two) = (stand_in.open(), stand_in.open());
    let optimistic = TxnOptions {
        optimistic: true,
        ..TxnOptions::default()
    };
    for keys in [&["a"][..], &["a", "d"]] {
        let mut txn = one.begin(optimistic.clone()).unwrap();
        let mut blind = begin(&one);
        for key in keys {
            txn.put(key.as_bytes().to_vec(), b"optimistic".to_vec()).unwrap();
            blind.put(key.as_bytes().to_vec(), b"blind".to_vec()).unwrap();
        }
        let committed = write(&two, &[("a", Some("other"))]);
        match txn.commit(Durability::Sync) {
            Err(Error::WriteConflict { conflict_ts, .. }) => assert_eq!(conflict_ts, committed),
            other => panic!("{other:?}"),
        }
        assert!(commit(blind).unwrap() > committed);
        assert_eq!(get(&two.latest(), "a").as_deref(), Some("blind"));
    }
}
