//! Keys that must not exist when they are written. Engines check that at the commit, or by locking the keys
//! first; the result is the same.

use crate::Factory;
use crate::support::*;
use kv::{Error, Result, Store, Transaction, TxnOptions};
use std::thread;
use std::time::Duration;

fn begin_insert(store: &Store, wait: Duration) -> Transaction {
    store
        .begin(TxnOptions {
            single_statement: true,
            defer_duplicate_checks: true,
            commit_lock_wait: wait,
            ..TxnOptions::default()
        })
        .unwrap()
}

/// Declares keys absent. If the engine does not check that at the commit, locks the keys and reads them.
fn expect_absent(txn: &mut Transaction, names: &[&str], wait: Duration) -> Result<()> {
    if txn.expect_absent(&keys(names)) {
        return Ok(());
    }
    for name in names {
        if lock(txn, name, &kv::LockOptions::exclusive(wait))?.is_some() {
            return Err(Error::KeyExists);
        }
    }
    Ok(())
}

fn insert_waiting(store: &Store, names: &[&str], wait: Duration) -> Result<()> {
    let mut txn = begin_insert(store, wait);
    expect_absent(&mut txn, names, wait)?;
    for name in names {
        txn.put(name.as_bytes().to_vec(), b"new".to_vec())?;
    }
    commit(txn).map(drop)
}

fn insert(store: &Store, names: &[&str]) -> Result<()> {
    insert_waiting(store, names, LONG)
}

pub fn an_insert_over_a_row_fails_whole(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("k", Some("old")), ("z", Some("old"))]);
    assert_eq!(insert(&store, &["a", "k"]), Err(Error::KeyExists));
    assert_eq!(insert(&store, &["k", "w"]), Err(Error::KeyExists));
    assert_eq!(scan_all(&store.latest()), ["k=old", "z=old"]);
    assert_eq!(insert(&store, &["a", "w"]), Ok(()));
    write(&store, &[("k", None)]);
    assert_eq!(insert(&store, &["k"]), Ok(()));
    assert_eq!(scan_all(&store.latest()), ["a=new", "k=new", "w=new", "z=old"]);
    assert_eq!(store.lock_stats().held, 0);
}

pub fn of_many_inserts_one_wins(new_subject: Factory) {
    const THREADS: usize = 6;
    let store = open(new_subject);
    let store: &Store = &store;
    for round in 0..5 {
        let name = format!("k{round}");
        let outcomes: Vec<Result<()>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| scope.spawn(|| insert(store, &[&name])))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let refused = outcomes
            .iter()
            .filter(|outcome| **outcome == Err(Error::KeyExists))
            .count();
        assert_eq!((won, refused), (1, THREADS - 1), "{outcomes:?}");
    }
}

pub fn a_locked_key_is_waited_for(new_subject: Factory) {
    let store = open(new_subject);
    let store: &Store = &store;
    for (commits, expected) in [(false, Ok(())), (true, Err(Error::KeyExists))] {
        let name = if commits { "b" } else { "a" };
        let mut holder = begin(store);
        lock(&mut holder, name, &exclusive()).unwrap();
        assert_eq!(insert_waiting(store, &[name], SHORT), Err(Error::LockTimeout));
        let inserted = thread::scope(|scope| {
            let waiter = scope.spawn(|| insert(store, &[name]));
            thread::sleep(SHORT);
            assert!(!waiter.is_finished());
            holder.put(name.as_bytes().to_vec(), b"held".to_vec()).unwrap();
            match commits {
                true => commit(holder).map(drop).unwrap(),
                false => holder.rollback(),
            }
            waiter.join().unwrap()
        });
        assert_eq!(inserted, expected);
    }
    assert_eq!(scan_all(&store.latest()), ["a=new", "b=held"]);
}

pub fn locks_taken_later_do_not_hide_it(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("k", Some("old"))]);
    let attempt = |name: &str| -> Result<()> {
        let mut txn = begin_insert(&store, LONG);
        expect_absent(&mut txn, &[name], LONG)?;
        txn.put(name.as_bytes().to_vec(), b"new".to_vec())?;
        lock(&mut txn, "other", &exclusive())?;
        txn.put(b"other".to_vec(), b"new".to_vec())?;
        commit(txn).map(drop)
    };
    assert_eq!(attempt("k"), Err(Error::KeyExists));
    assert_eq!(scan_all(&store.latest()), ["k=old"]);
    assert_eq!(attempt("l"), Ok(()));
    assert_eq!(scan_all(&store.latest()), ["k=old", "l=new", "other=new"]);
    // A key that the transaction has written itself is no longer absent.
    let mut txn = begin_insert(&store, LONG);
    txn.put(b"own".to_vec(), b"1".to_vec()).unwrap();
    assert!(!txn.expect_absent(&keys(&["own"])));
}
