//! A commit later than its fence is refused as a whole and definitely, whichever way it takes.

use crate::Factory;
use crate::support::*;
use kv::{Durability, Error, Fence, LockOptions, Store, Timestamp, Transaction};
use std::sync::Arc;
use std::thread;

/// In several regions, if the engine has regions.
const SPREAD: [&str; 4] = ["a", "k3", "table1", "z"];

/// A fence that every later commit exceeds.
fn now(store: &Store) -> Arc<Fence> {
    let fence = Fence::new(store.current_ts().unwrap());
    write(store, &[("clock", Some("moves on"))]);
    Arc::new(fence)
}

fn put(txn: &mut Transaction, keys: &[&str], value: &str) {
    for key in keys {
        txn.put(key.as_bytes().to_vec(), value.as_bytes().to_vec())
            .unwrap();
    }
}

fn assert_too_late(outcome: kv::Result<Timestamp>, fence: &Fence) {
    match outcome {
        Err(Error::CommitTooLate { commit_ts, last }) => {
            assert!(commit_ts > last);
            assert_eq!(last, fence.last());
        }
        other => panic!("not refused: {other:?}"),
    }
}

pub fn refuse_later_commits(new_subject: Factory) {
    let store = open(new_subject);
    for keys in [&SPREAD[..1], &SPREAD[..]] {
        for locks_first in [false, true] {
            let fence = now(&store);
            let mut txn = begin(&store);
            if locks_first {
                txn.lock(&self::keys(keys), &LockOptions::exclusive(LONG))
                    .unwrap();
            }
            put(&mut txn, keys, "late");
            assert_too_late(txn.commit_within(Durability::Sync, Some(&fence)), &fence);
            assert_eq!(scan_all(&store.latest()), ["clock=moves on"]);
            assert_eq!(scan_all(&store.snapshot_now().unwrap()), ["clock=moves on"]);
            assert_eq!(store.lock_stats().held, 0);
        }
    }
    // No lock is left behind.
    write(&store, &SPREAD.map(|key| (key, Some("mine"))));
    assert_eq!(get(&store.latest(), "z").as_deref(), Some("mine"));
}

pub fn refuse_optimistic_commits_too(new_subject: Factory) {
    let store = open(new_subject);
    let fence = now(&store);
    let mut txn = begin_optimistic(&store);
    put(&mut txn, &SPREAD, "late");
    assert_too_late(txn.commit_within(Durability::Sync, Some(&fence)), &fence);
    assert_eq!(scan_all(&store.latest()), ["clock=moves on"]);
}

pub fn allow_earlier_commits(new_subject: Factory) {
    let store = open(new_subject);
    let fence = now(&store);
    fence.extend(store.current_ts().unwrap() + kv::timestamp_from_ms(60_000));
    for keys in [&SPREAD[..1], &SPREAD[..]] {
        let mut txn = begin(&store);
        put(&mut txn, keys, "in time");
        let commit_ts = txn.commit_within(Durability::Sync, Some(&fence)).unwrap();
        assert!(commit_ts <= fence.last());
    }
    assert_eq!(scan_all(&store.latest()).len(), SPREAD.len() + 1);
    // The fence never moves back.
    let last = fence.last();
    fence.extend(1);
    assert_eq!(fence.last(), last);
}

/// Transactions that commit in one group have a fence each.
pub fn hold_for_each_commit_of_many(new_subject: Factory) {
    let store = open(new_subject);
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let store = Store::clone(&store);
            thread::spawn(move || {
                let mut done = Vec::new();
                for n in 0..30 {
                    let key = format!("thread{thread}/{n:02}");
                    // Every second transaction is too late.
                    let fence = Fence::new(store.current_ts().unwrap());
                    if n % 2 == 0 {
                        fence.extend(fence.last() + kv::timestamp_from_ms(60_000));
                    } else {
                        write(&store, &[("clock", Some("moves on"))]);
                    }
                    let mut txn = begin(&store);
                    put(&mut txn, &[&key], "1");
                    match txn.commit_within(Durability::Sync, Some(&fence)) {
                        Ok(commit_ts) => {
                            assert!(n % 2 == 0 && commit_ts <= fence.last());
                            done.push(format!("{key}=1"));
                        }
                        outcome => {
                            assert!(n % 2 == 1, "{key} was in time");
                            assert_too_late(outcome, &fence);
                        }
                    }
                }
                done
            })
        })
        .collect();
    let mut expected: Vec<String> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    expected.sort();
    let mut found = scan_all(&store.latest());
    found.retain(|pair| pair.starts_with("thread"));
    assert_eq!(found, expected);
}
