//! Optimistic transactions take no locks before the commit, and the first committer wins.

use crate::Factory;
use crate::support::*;
use kv::{Error, Transaction};

fn assert_conflict(txn: Transaction) {
    let start_ts = txn.start_ts();
    match commit(txn) {
        Err(Error::WriteConflict {
            start_ts: named,
            conflict_ts,
        }) => {
            assert_eq!(named, start_ts);
            assert!(conflict_ts > start_ts);
        }
        other => panic!("no conflict: {other:?}"),
    }
}

pub fn first_committer_wins(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0"))]);
    let mut first = begin_optimistic(&store);
    let mut second = begin_optimistic(&store);
    first.put(b"a".to_vec(), b"first".to_vec()).unwrap();
    second.put(b"a".to_vec(), b"second".to_vec()).unwrap();
    second.put(b"b".to_vec(), b"second".to_vec()).unwrap();
    commit(first).unwrap();
    assert_conflict(second);
    assert_eq!(scan_all(&store.latest()), ["a=first"]);
    assert_eq!(store.lock_stats().held, 0);
    let mut third = begin_optimistic(&store);
    third.put(b"a".to_vec(), b"third".to_vec()).unwrap();
    commit(third).unwrap();
}

pub fn blind_inserts_conflict(new_subject: Factory) {
    let store = open(new_subject);
    let mut first = begin_optimistic(&store);
    let mut second = begin_optimistic(&store);
    first.put(b"new".to_vec(), b"1".to_vec()).unwrap();
    second.put(b"new".to_vec(), b"2".to_vec()).unwrap();
    commit(second).unwrap();
    assert_conflict(first);
    assert_eq!(scan_all(&store.latest()), ["new=2"]);
}

pub fn deletions_conflict(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0"))]);
    let mut deleter = begin_optimistic(&store);
    let mut writer = begin_optimistic(&store);
    deleter.delete(b"a".to_vec()).unwrap();
    writer.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    commit(deleter).unwrap();
    assert_conflict(writer);
    assert!(scan_all(&store.latest()).is_empty());
}

/// In every engine such a deletion is a write like any other.
pub fn deletions_of_missing_keys_conflict(new_subject: Factory) {
    let store = open(new_subject);
    let mut inserter = begin_optimistic(&store);
    let mut deleter = begin(&store);
    inserter.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    deleter.delete(b"a".to_vec()).unwrap();
    commit(deleter).unwrap();
    assert_conflict(inserter);
    assert!(scan_all(&store.latest()).is_empty());
}

pub fn reads_do_not_conflict(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0"))]);
    let mut txn = begin_optimistic(&store);
    assert_eq!(get(&txn, "a").as_deref(), Some("0"));
    txn.put(b"b".to_vec(), b"1".to_vec()).unwrap();
    write(&store, &[("a", Some("1"))]);
    commit(txn).unwrap();
    assert_eq!(scan_all(&store.latest()), ["a=1", "b=1"]);
}

pub fn refreshing_does_not_hide_a_conflict(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0"))]);
    let mut txn = begin_optimistic(&store);
    txn.put(b"a".to_vec(), b"lost".to_vec()).unwrap();
    write(&store, &[("a", Some("1"))]);
    txn.refresh_snapshot().unwrap();
    assert_conflict(txn);
    assert_eq!(scan_all(&store.latest()), ["a=1"]);
}
