//! A transaction sees its own writes in gets and scans, over its snapshot and over the newest state. Other
//! transactions do not see them.

use crate::Factory;
use crate::support::*;
use kv::{Error, KeyRange, Reader, TxnOptions};

pub fn are_seen_by_get_and_batch(new_subject: Factory) {
    let store = open(new_subject);
    write(
        &store,
        &[("a", Some("old")), ("b", Some("old")), ("c", Some("old"))],
    );
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"new".to_vec()).unwrap();
    txn.delete(b"b".to_vec()).unwrap();
    txn.put(b"d".to_vec(), b"new".to_vec()).unwrap();
    assert_eq!(get(&txn, "a").as_deref(), Some("new"));
    assert_eq!(get(&txn, "b"), None);
    let answers = txn.batch_get(&keys(&["d", "c", "b", "a", "e"])).unwrap();
    let answers: Vec<_> = answers
        .into_iter()
        .map(|value| value.as_deref().map(text))
        .collect();
    assert_eq!(
        answers,
        [
            Some("new".into()),
            Some("old".into()),
            None,
            Some("new".into()),
            None
        ]
    );
}

pub fn are_seen_by_scans_both_ways(new_subject: Factory) {
    let store = open(new_subject);
    write(
        &store,
        &[
            ("b", Some("0")),
            ("d", Some("0")),
            ("f", Some("0")),
            ("h", Some("0")),
        ],
    );
    let mut txn = begin(&store);
    for (key, value) in [("a", "1"), ("d", "1"), ("e", "1"), ("i", "1"), ("j", "1")] {
        txn.put(key.into(), value.into()).unwrap();
    }
    for key in ["f", "g", "j"] {
        txn.delete(key.into()).unwrap();
    }
    let expected = ["a=1", "b=0", "d=1", "e=1", "h=0", "i=1"];
    assert_eq!(scan_all(&txn), expected);
    let mut backwards = scan(&txn, &KeyRange::all(), true);
    backwards.reverse();
    assert_eq!(backwards, expected);
    assert_eq!(scan(&txn, &KeyRange::new("c", "f"), false), ["d=1", "e=1"]);
    assert_eq!(scan(&txn, &KeyRange::new("c", "f"), true), ["e=1", "d=1"]);
    assert_eq!(scan(&txn, &KeyRange::new("i", ""), false), ["i=1"]);
    for limit in 1..=6 {
        let forwards: Vec<_> = txn.scan_page(&KeyRange::all(), limit, false).unwrap();
        let expected: Vec<_> = expected
            .iter()
            .take(limit)
            .map(|pair| pair.as_bytes()[..1].to_vec())
            .collect();
        assert_eq!(
            forwards.into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
            expected
        );
    }
    let last_three: Vec<_> = txn.scan_page(&KeyRange::all(), 3, true).unwrap();
    assert_eq!(
        last_three
            .into_iter()
            .map(|(key, _)| text(&key))
            .collect::<String>(),
        "ihe"
    );
}

pub fn are_not_seen_by_others(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    let other = begin(&store);
    assert_eq!(get(&other, "a"), None);
    assert_eq!(get(&store.latest(), "a"), None);
    commit(txn).unwrap();
    assert_eq!(get(&other, "a"), None, "a snapshot stands still");
    assert_eq!(get(&other.current(), "a").as_deref(), Some("1"));
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("1"));
}

pub fn show_in_current_reads(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0")), ("b", Some("0"))]);
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"own".to_vec()).unwrap();
    write(&store, &[("b", Some("1")), ("c", Some("1"))]);
    assert_eq!(scan_all(&txn), ["a=own", "b=0"]);
    assert_eq!(scan_all(&txn.current()), ["a=own", "b=1", "c=1"]);
    assert_eq!(
        scan(&txn.current(), &KeyRange::all(), true),
        ["c=1", "b=1", "a=own"]
    );
    let answers = txn.current().batch_get(&keys(&["a", "b"])).unwrap();
    assert_eq!(answers, [Some(b"own".to_vec()), Some(b"1".to_vec())]);
}

pub fn a_view_keeps_its_snapshot(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0")), ("b", Some("0"))]);
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"own".to_vec()).unwrap();
    let view = txn.view();
    txn.put(b"a".to_vec(), b"later".to_vec()).unwrap();
    txn.delete(b"b".to_vec()).unwrap();
    assert_eq!(scan_all(&txn), ["a=later"]);
    let in_thread = view.clone();
    let seen = std::thread::spawn(move || scan_all(&in_thread)).join().unwrap();
    assert_eq!(seen, ["a=own", "b=0"]);
    commit(txn).unwrap();
    assert_eq!(scan_all(&view), ["a=own", "b=0"]);
}

pub fn savepoints_undo_and_nest(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("0")), ("b", Some("0"))]);
    let mut txn = begin(&store);
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    let outer = txn.savepoint();
    txn.delete(b"b".to_vec()).unwrap();
    let inner = txn.savepoint();
    txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
    txn.put(b"c".to_vec(), b"2".to_vec()).unwrap();
    txn.rollback_to(inner);
    assert_eq!(scan_all(&txn), ["a=1"]);
    txn.put(b"d".to_vec(), b"3".to_vec()).unwrap();
    txn.release(inner);
    assert_eq!(scan_all(&txn), ["a=1", "d=3"]);
    txn.rollback_to(outer);
    assert_eq!(scan_all(&txn), ["a=1", "b=0"]);
    txn.put(b"e".to_vec(), b"4".to_vec()).unwrap();
    txn.rollback_to(outer);
    txn.release(outer);
    commit(txn).unwrap();
    assert_eq!(scan_all(&store.latest()), ["a=1", "b=0"]);
}

pub fn read_committed_refreshes(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1"))]);
    let mut txn = begin(&store);
    txn.put(b"own".to_vec(), b"1".to_vec()).unwrap();
    let committed = write(&store, &[("a", Some("2"))]);
    assert_eq!(get(&txn, "a").as_deref(), Some("1"));
    let (start_ts, first_ts) = (txn.start_ts(), txn.snapshot_ts());
    txn.refresh_snapshot().unwrap();
    assert_eq!(get(&txn, "a").as_deref(), Some("2"));
    assert_eq!(get(&txn, "own").as_deref(), Some("1"));
    assert_eq!((txn.start_ts(), start_ts), (start_ts, first_ts));
    assert!(txn.snapshot_ts() > committed);
}

pub fn read_only_transactions_refuse_writes(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1"))]);
    let mut txn = store
        .begin(TxnOptions {
            read_only: true,
            ..TxnOptions::default()
        })
        .unwrap();
    assert_eq!(txn.put(b"a".to_vec(), b"2".to_vec()), Err(Error::ReadOnly));
    assert_eq!(txn.delete(b"a".to_vec()), Err(Error::ReadOnly));
    assert_eq!(get(&txn, "a").as_deref(), Some("1"));
    commit(txn).unwrap();
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("1"));
}

pub fn empty_commits_are_free(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    lock(&mut txn, "a", &exclusive()).unwrap();
    assert!(!txn.is_dirty());
    let ts = commit(txn).unwrap();
    assert!(ts < store.current_ts().unwrap());
    assert_eq!(store.lock_stats().held, 0);
    let mut txn = begin(&store);
    let savepoint = txn.savepoint();
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    assert!(txn.is_dirty() && txn.size_bytes() > 0);
    txn.rollback_to(savepoint);
    assert!(!txn.is_dirty());
    commit(txn).unwrap();
    assert!(scan_all(&store.latest()).is_empty());
}
