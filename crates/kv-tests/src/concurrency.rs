//! Many concurrent transactions: no update is lost, commits are seen whole, and money is conserved.

use crate::Factory;
use crate::support::*;
use kv::{Durability, Error, LockOptions, LockWait, Reader, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const ACCOUNTS: u64 = 8;
const BALANCE: i64 = 1_000;

fn account(n: u64) -> String {
    format!("account{n}")
}

fn balance(value: Option<String>) -> i64 {
    value.unwrap().parse().unwrap()
}

fn total(reader: &dyn Reader) -> i64 {
    scan_all(reader)
        .iter()
        .map(|pair| pair.split_once('=').unwrap().1.parse::<i64>().unwrap())
        .sum()
}

fn transfer(store: &Store, random: &mut Random) -> Result<(), Error> {
    let (from, to) = (account(random.below(ACCOUNTS)), account(random.below(ACCOUNTS)));
    if from == to {
        return Ok(());
    }
    let mut txn = begin(store);
    let amount = i64::try_from(random.below(50)).unwrap();
    let from_balance = balance(lock(&mut txn, &from, &exclusive())?);
    let to_balance = balance(lock(&mut txn, &to, &exclusive())?);
    txn.put(from.into(), (from_balance - amount).to_string().into())?;
    txn.put(to.into(), (to_balance + amount).to_string().into())?;
    let durability = if random.below(4) == 0 {
        Durability::Sync
    } else {
        Durability::Os
    };
    txn.commit(durability).map(|_| ())
}

pub fn transfers_keep_the_sum(new_subject: Factory) {
    let store = open(new_subject);
    for n in 0..ACCOUNTS {
        write(&store, &[(&account(n), Some(&BALANCE.to_string()))]);
    }
    let expected = BALANCE * i64::try_from(ACCOUNTS).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let auditor = {
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(total(&store.snapshot_now().unwrap()), expected);
                assert_eq!(total(&store.latest()), expected);
                let accounts: Vec<_> = (0..ACCOUNTS).map(|n| account(n).into_bytes()).collect();
                let batch = store.latest().batch_get(&accounts).unwrap();
                let sum: i64 = batch
                    .into_iter()
                    .map(|value| balance(value.as_deref().map(text)))
                    .sum();
                assert_eq!(sum, expected, "a batch is one moment");
            }
        })
    };
    let threads: Vec<_> = (0..6_u64)
        .map(|seed| {
            let store = store.clone();
            thread::spawn(move || {
                let mut random = Random::new(seed + 1);
                for _ in 0..100 {
                    match transfer(&store, &mut random) {
                        Ok(()) | Err(Error::Deadlock) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    stop.store(true, Ordering::Relaxed);
    auditor.join().unwrap();
    assert_eq!(total(&store.snapshot_now().unwrap()), expected);
}

pub fn no_update_is_lost(new_subject: Factory) {
    let store = open(new_subject);
    let (threads, rounds) = (6, 60);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || {
                for _ in 0..rounds {
                    let mut txn = begin(&store);
                    let before = lock(&mut txn, "counter", &exclusive()).unwrap();
                    let next = before.map_or(0, |value| value.parse::<u64>().unwrap()) + 1;
                    txn.put(b"counter".to_vec(), next.to_string().into()).unwrap();
                    commit(txn).unwrap();
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let expected = (threads * rounds).to_string();
    assert_eq!(get(&store.latest(), "counter"), Some(expected));
}

pub fn one_of_many_inserts_wins(new_subject: Factory) {
    let store = open(new_subject);
    for round in 0..20 {
        let winners = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..6_u64)
            .map(|n| {
                let (store, winners) = (store.clone(), Arc::clone(&winners));
                thread::spawn(move || {
                    let key = format!("unique{round}");
                    let mut txn = begin(&store);
                    if lock(&mut txn, &key, &exclusive()).unwrap().is_none() {
                        txn.put(key.into(), n.to_string().into()).unwrap();
                        txn.put(format!("row{round}-{n}").into(), b"x".to_vec()).unwrap();
                        commit(txn).unwrap();
                        winners.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(winners.load(Ordering::SeqCst), 1);
    }
    assert_eq!(scan_all(&store.latest()).len(), 40);
}

/// Groups of transactions are written together. Each transaction must still be seen as a whole or not at
/// all.
pub fn commits_are_seen_whole(new_subject: Factory) {
    let store = open(new_subject);
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot_now().unwrap();
                    for writer in 0..4 {
                        let row = |part| get(&snapshot, &format!("w{writer}-{part}"));
                        assert!(row(0) == row(1) && row(1) == row(2), "torn");
                    }
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let store = store.clone();
            thread::spawn(move || {
                for n in 0..60 {
                    let mut txn = begin(&store);
                    for part in 0..3 {
                        txn.put(format!("w{writer}-{part}").into(), n.to_string().into())
                            .unwrap();
                    }
                    txn.commit(Durability::Sync).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    stop.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

pub fn snapshots_do_not_change(new_subject: Factory) {
    let store = open(new_subject);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3_u64)
        .map(|seed| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                let mut random = Random::new(seed + 1);
                let mut n = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    let key = format!("k{:02}", random.below(30));
                    n += 1;
                    let value = (random.below(4) != 0).then(|| format!("{seed}-{n}"));
                    write(&store, &[(&key, value.as_deref())]);
                }
            })
        })
        .collect();
    for _ in 0..40 {
        let snapshot = store.snapshot_now().unwrap();
        let first = scan_all(&snapshot);
        for _ in 0..5 {
            assert_eq!(scan_all(&snapshot), first);
            let mut backwards = scan(&snapshot, &kv::KeyRange::all(), true);
            backwards.reverse();
            assert_eq!(backwards, first);
            for pair in &first {
                let (key, value) = pair.split_once('=').unwrap();
                assert_eq!(get(&snapshot, key).as_deref(), Some(value));
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

pub fn optimistic_counters_add_up(new_subject: Factory) {
    let store = open(new_subject);
    let conflicts = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (store, conflicts) = (store.clone(), Arc::clone(&conflicts));
            thread::spawn(move || {
                let mut done = 0;
                while done < 30 {
                    let mut txn = begin_optimistic(&store);
                    let next = get(&txn, "n").map_or(0, |value| value.parse::<u64>().unwrap()) + 1;
                    txn.put(b"n".to_vec(), next.to_string().into()).unwrap();
                    thread::yield_now();
                    match commit(txn) {
                        Ok(_) => done += 1,
                        Err(Error::WriteConflict { .. }) => {
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(get(&store.latest(), "n").as_deref(), Some("120"));
}

/// A commit's callback runs exactly once, after the commit is visible and its locks are free.
pub fn each_callback_runs_once(new_subject: Factory) {
    const WORKERS: usize = 8;
    const ROUNDS: usize = 50;
    let store = open(new_subject);
    let (sender, outcomes) = std::sync::mpsc::channel();
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (store, sender) = (store.clone(), sender.clone());
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    let key = format!("k{worker}-{round}");
                    let mut txn = begin(&store);
                    lock(&mut txn, &key, &exclusive()).unwrap();
                    let number = (worker * ROUNDS + round).to_string();
                    txn.put(key.clone().into(), number.clone().into()).unwrap();
                    let (store, sender) = (store.clone(), sender.clone());
                    let done = move |outcome: Result<u64, Error>| {
                        let mut next = begin(&store);
                        let at_once = LockOptions {
                            wait: LockWait::NoWait,
                            ..exclusive()
                        };
                        let found = lock(&mut next, &key, &at_once);
                        sender.send((number, outcome, found)).unwrap();
                    };
                    txn.commit_then(Durability::Sync, None, Box::new(done));
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    drop(sender);
    let mut numbers = Vec::new();
    while let Ok((number, outcome, found)) = outcomes.recv_timeout(LONG) {
        outcome.unwrap();
        assert_eq!(found.unwrap().as_ref(), Some(&number));
        numbers.push(number.parse::<usize>().unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..WORKERS * ROUNDS).collect::<Vec<_>>());
}
