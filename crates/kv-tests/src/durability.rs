//! Committed data is there after the store has been reopened. Engines without persistence skip these cases.

use crate::Factory;
use crate::support::*;
use kv::{Durability, Error, Limits};

pub fn commits_survive_reopening(new_subject: Factory) {
    let subject = new_subject();
    if !subject.is_persistent() {
        return;
    }
    let mut expected = Vec::new();
    for (round, durability) in [Durability::Sync, Durability::Os, Durability::Lazy]
        .into_iter()
        .enumerate()
    {
        let store = subject.open(Limits::default());
        assert_eq!(scan_all(&store.latest()), expected);
        let mut txn = begin(&store);
        txn.put(format!("k{round}").into(), b"1".to_vec()).unwrap();
        txn.put(b"last".to_vec(), round.to_string().into()).unwrap();
        txn.commit(durability).unwrap();
        if round == 1 {
            store.flush().unwrap();
        }
        expected = scan_all(&store.latest());
        assert_eq!(expected.len(), round + 2);
    }
    let store = subject.open(Limits::default());
    assert_eq!(scan_all(&store.latest()), expected);
}

pub fn rolled_back_writes_do_not(new_subject: Factory) {
    let subject = new_subject();
    if !subject.is_persistent() {
        return;
    }
    let store = subject.open(Limits::default());
    write(&store, &[("a", Some("1"))]);
    let mut txn = begin(&store);
    txn.put(b"b".to_vec(), b"never".to_vec()).unwrap();
    txn.rollback();
    let mut txn = begin(&store);
    txn.put(b"c".to_vec(), b"abandoned".to_vec()).unwrap();
    drop(txn);
    drop(store);
    let store = subject.open(Limits::default());
    assert_eq!(scan_all(&store.latest()), ["a=1"]);
    assert_eq!(store.lock_stats().held, 0);
}

pub fn timestamps_stay_above_after_reopening(new_subject: Factory) {
    let subject = new_subject();
    if !subject.is_persistent() {
        return;
    }
    let mut last = 0;
    for round in 0..5 {
        let store = subject.open(Limits::default());
        assert!(store.current_ts().unwrap() > last);
        // Several commits within one millisecond run ahead of the clock.
        for n in 0..20 {
            let ts = write(&store, &[("a", Some(&n.to_string()))]);
            assert!(ts > last);
            last = ts;
            // So that some data has been flushed, and some is in the log only.
            if round % 2 == 1 && n == 10 {
                store.flush().unwrap();
            }
        }
    }
}

/// An engine may preserve old versions only while it runs. It then refuses timestamps from before.
pub fn timestamps_before_reopening_are_right_or_refused(new_subject: Factory) {
    let subject = new_subject();
    if !subject.is_persistent() {
        return;
    }
    let store = subject.open(Limits::default());
    let first = write(&store, &[("a", Some("1")), ("b", Some("1"))]);
    let second = write(&store, &[("a", Some("2")), ("b", None)]);
    drop(store);
    let store = subject.open(Limits::default());
    let reopened = store.current_ts().unwrap();
    write(&store, &[("a", Some("3")), ("b", Some("3"))]);
    for (ts, expected) in [
        (first, &["a=1", "b=1"][..]),
        (second, &["a=2"]),
        (reopened, &["a=2"]),
    ] {
        match store.snapshot(ts) {
            Ok(snapshot) => assert_eq!(scan_all(&snapshot), expected),
            Err(error) => {
                assert!(matches!(error, Error::SnapshotTooOld { .. }), "{error}");
                assert!(ts < store.safe_point() && ts < reopened);
            }
        }
    }
    assert_eq!(scan_all(&store.latest()), ["a=3", "b=3"]);
}
