//! Deadlocks are detected at once, have exactly one victim, and are not reported if there is none.

use crate::Factory;
use crate::support::*;
use kv::{Error, LockOptions, Result, Store};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

/// Each member locks its own key, then its neighbour's, all at once. Returns the outcomes of the second
/// locks.
fn run_circle(store: &Store, members: usize) -> Vec<Result<Option<String>>> {
    let barrier = Arc::new(Barrier::new(members));
    let threads: Vec<_> = (0..members)
        .map(|member| {
            let (store, barrier) = (store.clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                let mut txn = begin(&store);
                lock(&mut txn, &format!("k{member}"), &exclusive()).unwrap();
                barrier.wait();
                let outcome = lock(&mut txn, &format!("k{}", (member + 1) % members), &exclusive());
                txn.rollback();
                outcome
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn assert_one_victim(outcomes: &[Result<Option<String>>]) {
    let victims = outcomes
        .iter()
        .filter(|outcome| **outcome == Err(Error::Deadlock))
        .count();
    let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!((victims, served), (1, outcomes.len() - 1), "{outcomes:?}");
}

pub fn of_two_find_one_victim(new_subject: Factory) {
    let store = open(new_subject);
    let start = Instant::now();
    for _ in 0..20 {
        assert_one_victim(&run_circle(&store, 2));
    }
    assert!(start.elapsed() < LONG / 2, "found by time-out only");
    assert_eq!(store.lock_stats().held, 0);
}

pub fn of_three_find_one_victim(new_subject: Factory) {
    let store = open(new_subject);
    let start = Instant::now();
    for members in [3, 3, 3, 5, 8] {
        assert_one_victim(&run_circle(&store, members));
    }
    assert!(start.elapsed() < LONG / 2, "found by time-out only");
    assert_eq!(store.lock_stats().held, 0);
}

pub fn of_two_upgrades_find_one_victim(new_subject: Factory) {
    let store = open(new_subject);
    let barrier = Arc::new(Barrier::new(2));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (store, barrier) = (store.clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                let mut txn = begin(&store);
                lock(&mut txn, "a", &shared()).unwrap();
                barrier.wait();
                let outcome = lock(&mut txn, "a", &exclusive());
                txn.rollback();
                outcome
            })
        })
        .collect();
    let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_one_victim(&outcomes);
}

/// Transactions lock in random order and retry after a deadlock. All of them finish.
pub fn repeated_deadlocks_still_make_progress(new_subject: Factory) {
    let store = open(new_subject);
    let start = Instant::now();
    let threads: Vec<_> = (0..8_u64)
        .map(|seed| {
            let store = store.clone();
            thread::spawn(move || {
                let mut random = Random::new(seed + 1);
                let mut done = 0;
                while done < 25 {
                    let mut txn = begin(&store);
                    let outcome = (0..4).try_for_each(|_| {
                        let key = format!("k{}", random.below(6));
                        lock(&mut txn, &key, &exclusive())?;
                        txn.put(key.into_bytes(), b"x".to_vec())
                    });
                    match outcome.and_then(|()| commit(txn)) {
                        Ok(_) => done += 1,
                        Err(Error::Deadlock) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(start.elapsed() < LONG, "found by time-out only");
    assert_eq!(store.lock_stats().held, 0);
}

pub fn plain_waiting_is_no_deadlock(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &exclusive()).unwrap();
    lock(&mut holder, "b", &exclusive()).unwrap();
    let threads: Vec<_> = (0..10)
        .map(|n| {
            let store = store.clone();
            thread::spawn(move || {
                let mut txn = begin(&store);
                lock(&mut txn, &format!("own{n}"), &exclusive()).unwrap();
                lock(&mut txn, "a", &exclusive())?;
                lock(&mut txn, "b", &exclusive())
            })
        })
        .collect();
    wait_for_waiters(&store, 10);
    // The holder takes further free locks and waits for none.
    lock(&mut holder, "c", &LockOptions::exclusive(SHORT)).unwrap();
    holder.rollback();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Ok(None));
    }
    assert_eq!(store.lock_stats().deadlocks, 0);
}
