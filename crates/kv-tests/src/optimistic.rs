//! Optimistic transactions take no locks before the commit, and the first committer wins.

use crate::Factory;
use crate::support::*;
use kv::{Error, LockMode, LockOptions, Locked, Transaction};

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

/// Own writes are shown over what they were computed from.
pub fn a_snapshot_stays_once_there_are_writes(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0")), ("entry0", Some("a"))]);
    let mut txn = begin_optimistic(&store);
    write(&store, &[("b", Some("1"))]);
    txn.refresh_snapshot().unwrap();
    assert_eq!(get(&txn, "b").as_deref(), Some("1"), "nothing is written yet");
    let savepoint = txn.savepoint();
    txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    txn.delete(b"entry0".to_vec()).unwrap();
    txn.put(b"entry2".to_vec(), b"a".to_vec()).unwrap();
    write(
        &store,
        &[("a", Some("1")), ("entry0", None), ("entry1", Some("a"))],
    );
    txn.refresh_snapshot().unwrap();
    assert_eq!(scan_all(&txn), ["a=2", "b=1", "entry2=a"]);
    txn.rollback_to(savepoint);
    txn.refresh_snapshot().unwrap();
    assert_eq!(scan_all(&txn), ["a=1", "b=1", "entry1=a"]);
}

/// A lock taken before the commit keeps later changes away, and does not hide earlier ones.
pub fn locks_do_not_hide_a_conflict(new_subject: Factory) {
    let store = open(new_subject);
    for modes in [
        &[LockMode::Shared][..],
        &[LockMode::Exclusive],
        &[LockMode::Shared, LockMode::Exclusive],
    ] {
        write(&store, &[("a", Some("0")), ("b", Some("0"))]);
        let mut txn = begin_optimistic(&store);
        assert_eq!(get(&txn, "a").as_deref(), Some("0"));
        write(&store, &[("a", Some("1"))]);
        for mode in modes {
            let options = LockOptions {
                mode: *mode,
                ..exclusive()
            };
            for key in ["b", "a"] {
                lock(&mut txn, key, &options).unwrap();
            }
        }
        txn.put(b"b".to_vec(), b"2".to_vec()).unwrap();
        txn.put(b"a".to_vec(), b"lost".to_vec()).unwrap();
        assert_conflict(txn);
        assert_eq!(scan_all(&store.latest()), ["a=1", "b=0"], "{modes:?}");
    }
    assert_eq!(store.lock_stats().held, 0);
}

/// What has not changed when it is locked can be written.
pub fn locked_keys_can_be_written(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0"))]);
    for (options, value) in [(shared(), "1"), (exclusive(), "2")] {
        let mut txn = begin_optimistic(&store);
        let seen = txn.lock_and_read(&keys(&["a", "none"]), &options).unwrap();
        assert_eq!(seen.len(), 2);
        txn.put(b"a".to_vec(), value.into()).unwrap();
        commit(txn).unwrap();
        assert_eq!(get(&store.latest(), "a").as_deref(), Some(value));
    }
}

/// A locking read sees what the transaction computes its writes from, or fails.
pub fn locking_reads_see_the_snapshot(new_subject: Factory) {
    let store = open(new_subject);
    for options in [shared(), exclusive()] {
        write(&store, &[("a", Some("0")), ("b", Some("0")), ("new", None)]);
        let mut txn = begin_optimistic(&store);
        txn.put(b"b".to_vec(), b"own".to_vec()).unwrap();
        write(&store, &[("a", Some("1")), ("new", Some("1"))]);
        for key in ["a", "new"] {
            assert_eq!(
                txn.lock_and_read(&keys(&[key]), &options),
                Err(Error::LockedHasChanged),
                "{key}"
            );
        }
        let own = Locked::Value(Some(b"own".to_vec()));
        assert_eq!(txn.lock_and_read(&keys(&["b"]), &options), Ok(vec![own]));
        txn.rollback();
        // Others see the newest.
        let mut txn = begin(&store);
        let newest = Locked::Value(Some(b"1".to_vec()));
        assert_eq!(txn.lock_and_read(&keys(&["new"]), &options), Ok(vec![newest]));
    }
}
