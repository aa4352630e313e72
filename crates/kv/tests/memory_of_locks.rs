//! Row locks take memory, which their transaction counts.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by panicking")]

use kv::{Error, LockOptions, Store, Transaction, TxnOptions};
use memory::{Broker, Plan, Process};
use std::time::Duration;

/// Locks so many keys, with a call for each thousand.
fn lock(txn: &mut Transaction, keys: u32) -> kv::Result<()> {
    for page in 0..keys / 1000 {
        let keys = (0..1000).map(|key| format!("{page:05}/{key:05}").into_bytes());
        txn.lock(
            &keys.collect::<Vec<_>>(),
            &LockOptions::exclusive(Duration::from_secs(1)),
        )?;
    }
    Ok(())
}

/// Locks so many keys, each with a call of its own.
fn lock_singly(txn: &mut Transaction, keys: u32) -> kv::Result<()> {
    let options = LockOptions::exclusive(Duration::from_secs(1));
    (0..keys).try_for_each(|key| txn.lock_one(&key.to_be_bytes(), &options).map(drop))
}

#[test]
fn a_transaction_may_not_take_all_memory_for_locks() {
    let broker = Broker::start(&Plan {
        limit: 256 << 20,
        parts: Vec::new(),
        connections: 10,
        wait_max: Duration::from_secs(1),
        process: Process {
            resident_bytes: || None,
            purge: || (),
        },
    });
    let store = Store::memory().within(broker.unwrap());
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    lock(&mut txn, 50_000).unwrap();
    let mut greedy = store.begin(TxnOptions::default()).unwrap();
    drop(txn);
    assert!(matches!(lock(&mut greedy, 2_000_000), Err(Error::OutOfMemory)));
    assert!(greedy.lock_count() < 1_200_000);
    drop(greedy);
    let mut greedy = store.begin(TxnOptions::default()).unwrap();
    assert!(matches!(
        lock_singly(&mut greedy, 2_000_000),
        Err(Error::OutOfMemory)
    ));
    assert!(greedy.lock_count() < 1_200_000);
    // It gets none beyond that.
    assert!(
        greedy
            .lock_one(b"another", &LockOptions::exclusive(Duration::ZERO))
            .is_err()
    );
    drop(greedy);
    // What it held is there again.
    let mut next = store.begin(TxnOptions::default()).unwrap();
    lock(&mut next, 50_000).unwrap();
    next.put(b"key".to_vec(), b"value".to_vec()).unwrap();
}
