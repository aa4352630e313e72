//! Limits are explicit, and each limit has its own error.

use crate::Factory;
use crate::support::*;
use kv::{Error, KeyRange, Limits, Reader, TxnOptions};

pub fn each_has_its_own_error(new_subject: Factory) {
    let subject = new_subject();
    let store = subject.open(Limits {
        key_bytes: 100,
        value_bytes: 1_000,
        transaction_bytes: 5_000,
    });
    let mut txn = begin(&store);
    let too_long = vec![b'k'; 101];
    let key_error = Error::KeyTooLarge {
        size_bytes: 101,
        limit_bytes: 100,
    };
    assert_eq!(txn.put(too_long.clone(), Vec::new()), Err(key_error.clone()));
    assert_eq!(txn.delete(too_long.clone()), Err(key_error.clone()));
    assert_eq!(txn.lock(&[too_long], &exclusive()), Err(key_error));
    assert_eq!(
        txn.put(b"k".to_vec(), vec![0; 1_001]),
        Err(Error::ValueTooLarge {
            size_bytes: 1_001,
            limit_bytes: 1_000
        })
    );
    let refused = (0..100).find_map(|n| txn.put(format!("k{n}").into(), vec![0; 900]).err());
    assert!(
        matches!(
            refused,
            Some(Error::TransactionTooLarge {
                limit_bytes: 5_000,
                ..
            })
        ),
        "{refused:?}"
    );
    // The writes that were accepted are still valid.
    let accepted = txn.writes().len();
    assert!((3..=5).contains(&accepted));
    commit(txn).unwrap();
    assert_eq!(scan_all(&store.latest()).len(), accepted);
    let mut small = store
        .begin(TxnOptions {
            max_bytes: Some(200),
            ..TxnOptions::default()
        })
        .unwrap();
    assert!(matches!(
        small.put(b"k".to_vec(), vec![0; 300]),
        Err(Error::TransactionTooLarge { limit_bytes: 200, .. })
    ));
}

pub fn largest_sizes_work(new_subject: Factory) {
    let store = open(new_subject);
    let limits = store.limits();
    let key = vec![0xAB; limits.key_bytes];
    let value = vec![0xCD; 5 << 20];
    for round in 0..2 {
        let mut txn = begin(&store);
        let mut value = value.clone();
        value.push(round);
        txn.put(key.clone(), value).unwrap();
        txn.put(b"empty".to_vec(), Vec::new()).unwrap();
        txn.put(Vec::new(), b"under the empty key".to_vec()).unwrap();
        commit(txn).unwrap();
    }
    let snapshot = store.snapshot_now().unwrap();
    let found = snapshot.get(&key).unwrap().unwrap();
    assert_eq!((found.len(), found.last()), (value.len() + 1, Some(&1)));
    assert_eq!(
        snapshot.get(b"empty").unwrap(),
        Some(Vec::new()),
        "empty is not missing"
    );
    assert_eq!(snapshot.get(b"").unwrap(), Some(b"under the empty key".to_vec()));
    let keys: Vec<_> = snapshot
        .scan_page(&KeyRange::all(), 10, true)
        .unwrap()
        .into_iter()
        .map(|(key, _)| key.len())
        .collect();
    assert_eq!(keys, [limits.key_bytes, 5, 0]);
}

pub fn a_large_transaction_commits_whole(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("k00007", Some("before"))]);
    let before = store.snapshot_now().unwrap();
    let mut txn = begin(&store);
    for n in 0..20_000 {
        txn.put(format!("k{n:05}").into(), vec![b'v'; 100]).unwrap();
    }
    commit(txn).unwrap();
    assert_eq!(
        store
            .latest()
            .scan_page(&KeyRange::all(), 30_000, false)
            .unwrap()
            .len(),
        20_000
    );
    assert_eq!(scan_all(&before), ["k00007=before"]);
    assert_eq!(store.lock_stats().held, 0);
}
