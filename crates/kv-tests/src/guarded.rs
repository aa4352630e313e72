//! Guarded keys: written under the lock of another key, without a lock of their own. Here they are used as
//! SQL uses them: rows, and the entries of an index on the rows' values.

use crate::Factory;
use crate::support::*;
use kv::{Error, Fresh, KeyRange, Reader, Result, Store, Transaction};
use std::thread;

/// The rows that threads compete for.
const ROWS: u64 = 3;

fn row(n: u64) -> String {
    format!("a-row{n}")
}

/// The index entry of a row with `value`. It lies far from the rows: on a cluster, in other regions.
fn entry(n: u64, value: &str) -> Vec<u8> {
    format!("w{n}-{value}").into_bytes()
}

/// Changes a row's value from `old`.
fn put_row(txn: &mut Transaction, n: u64, old: Option<&str>, value: &str) -> Result<()> {
    let guard = txn.put_guard(row(n).into_bytes(), value.as_bytes().to_vec())?;
    let key = entry(n, value);
    let fresh = match old {
        Some(old) => {
            let old = entry(n, old);
            let fresh = Fresh::in_place_of(&old, &key);
            txn.delete_guarded(guard, old)?;
            fresh
        }
        None => Fresh::under_new(None),
    };
    match fresh {
        Some(fresh) => txn.put_fresh(guard, fresh, key, Vec::new()),
        None => txn.put_guarded(guard, key, Vec::new()),
    }
}

/// Creates the rows.
pub fn set_up(store: &Store) {
    let mut txn = begin(store);
    for n in 0..ROWS {
        put_row(&mut txn, n, None, "0").unwrap();
    }
    commit(txn).unwrap();
}

/// How transactions take their locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Pessimistic,
    Optimistic,
}

/// Changes rows at random until `goes_on` returns false. Some of the transactions are rolled back, or undo
/// a part.
///
/// # Errors
/// Errors after which a transaction cannot be run again.
pub fn change_rows(store: &Store, seed: u64, way: Way, mut goes_on: impl FnMut() -> bool) -> Result<()> {
    let mut random = Random::new(seed + 1);
    let mut count = 0;
    while goes_on() {
        count += 1;
        let value = format!("{seed}.{count}");
        match change_row(store, random.below(ROWS), &value, way, random.below(5)) {
            Err(error) if !error.is_retryable() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn change_row(store: &Store, n: u64, value: &str, way: Way, chance: u64) -> Result<()> {
    let (mut txn, old);
    match way {
        Way::Optimistic => {
            txn = begin_optimistic(store);
            old = txn.get(row(n).as_bytes())?.as_deref().map(text);
        }
        Way::Pessimistic => {
            txn = begin(store);
            old = lock(&mut txn, &row(n), &exclusive())?;
        }
    }
    let savepoint = txn.savepoint();
    put_row(&mut txn, n, old.as_deref(), value)?;
    match chance {
        0 => {
            txn.rollback();
            return Ok(());
        }
        1 => {
            txn.rollback_to(savepoint);
            put_row(&mut txn, n, old.as_deref(), "again")?;
        }
        _ => {}
    }
    commit(txn).map(drop)
}

/// Fails unless there is exactly one entry per row, with the row's value.
pub fn check_rows(reader: &dyn Reader) {
    let rows = scan(reader, &KeyRange::new("a-row", "a-s"), false);
    assert_eq!(rows.len() as u64, ROWS, "{rows:?}");
    let mut expected: Vec<String> = (0..ROWS)
        .zip(&rows)
        .map(|(n, pair)| {
            let (key, value) = pair.split_once('=').unwrap();
            assert_eq!(key, row(n));
            format!("{}=", text(&entry(n, value)))
        })
        .collect();
    expected.sort();
    assert_eq!(scan(reader, &KeyRange::new("w", "x"), false), expected);
}

pub fn writes_are_part_of_the_transaction(new_subject: Factory) {
    let store = open(new_subject);
    set_up(&store);
    let mut txn = begin(&store);
    assert_eq!(lock(&mut txn, &row(1), &exclusive()), Ok(Some("0".into())));
    put_row(&mut txn, 1, Some("0"), "new").unwrap();
    check_rows(&txn);
    check_rows(&txn.current());
    check_rows(&store.latest());
    let savepoint = txn.savepoint();
    put_row(&mut txn, 1, Some("new"), "newer").unwrap();
    check_rows(&txn);
    txn.rollback_to(savepoint);
    check_rows(&txn);
    let committed = commit(txn).unwrap();
    let before = store.snapshot(committed - 1).unwrap();
    check_rows(&before);
    assert_eq!(get(&before, &row(1)).as_deref(), Some("0"));
    check_rows(&store.latest());
    assert_eq!(get(&store.latest(), &row(1)).as_deref(), Some("new"));
    assert_eq!(store.lock_stats().held, 0);
}

/// Optimistic transactions conflict on their rows.
pub fn a_conflict_shows_at_the_guard(new_subject: Factory) {
    let store = open(new_subject);
    set_up(&store);
    let mut first = begin_optimistic(&store);
    let mut second = begin_optimistic(&store);
    put_row(&mut first, 0, Some("0"), "first").unwrap();
    put_row(&mut second, 0, Some("0"), "second").unwrap();
    commit(first).unwrap();
    let refused = commit(second);
    assert!(matches!(refused, Err(Error::WriteConflict { .. })), "{refused:?}");
    check_rows(&store.latest());
    assert_eq!(get(&store.latest(), &row(0)).as_deref(), Some("first"));
}

/// A put of a fresh key does not look up what it replaces, a deletion or nothing. Snapshots must see each
/// state all the same.
pub fn fresh_entries_can_come_back(new_subject: Factory) {
    let store = open(new_subject);
    set_up(&store);
    let mut states = vec![(store.snapshot_now().unwrap(), "0")];
    for value in ["1", "0", "1", "1", "2", "0"] {
        let mut txn = begin(&store);
        let old = lock(&mut txn, &row(1), &exclusive()).unwrap();
        let savepoint = txn.savepoint();
        put_row(&mut txn, 1, old.as_deref(), "undone").unwrap();
        txn.rollback_to(savepoint);
        // With the old value, the same transaction deletes the row's entry and puts it again.
        put_row(&mut txn, 1, old.as_deref(), "by the way").unwrap();
        put_row(&mut txn, 1, Some("by the way"), value).unwrap();
        commit(txn).unwrap();
        states.push((store.snapshot_now().unwrap(), value));
        for (snapshot, value) in &states {
            let entries = snapshot
                .scan_page(&KeyRange::new("w1-", "w1."), 10, false)
                .unwrap();
            let keys: Vec<_> = entries.iter().map(|(key, _)| key.clone()).collect();
            assert_eq!(keys, [entry(1, value)]);
            assert!(snapshot.get(&entry(1, value)).unwrap().is_some());
        }
    }
}

/// Subjects are opened so that they check promises: a promise that the types cannot enforce, and that a
/// caller breaks, is found.
pub fn broken_promises_fail_the_commit(new_subject: Factory) {
    let store = open(new_subject);
    set_up(&store);
    let is_found = |outcome: Result<()>| {
        assert!(matches!(outcome, Err(Error::Internal(_))), "{outcome:?}");
    };
    // An existing row, declared new.
    let mut txn = begin(&store);
    lock(&mut txn, &row(0), &exclusive()).unwrap();
    let guard = txn.put_guard(row(0).into_bytes(), b"1".to_vec()).unwrap();
    let fresh = Fresh::under_new(None).unwrap();
    txn.put_fresh(guard, fresh, entry(0, "0"), Vec::new()).unwrap();
    is_found(commit(txn).map(drop));
    // The write of the guard was undone.
    let mut txn = begin(&store);
    let savepoint = txn.savepoint();
    let guard = txn.put_guard(row(1).into_bytes(), b"1".to_vec()).unwrap();
    txn.rollback_to(savepoint);
    txn.put_guarded(guard, entry(1, "1"), Vec::new()).unwrap();
    is_found(commit(txn).map(drop));
    assert_eq!(get(&store.latest(), &text(&entry(1, "1"))), None);
    // The guard is locked by another transaction, or by none.
    let mut txn = begin(&store);
    is_found(txn.put_guarded(guard, entry(1, "1"), Vec::new()));
    is_found(txn.guard(row(1).as_bytes()).map(drop));
    lock(&mut txn, &row(1), &shared()).unwrap();
    is_found(txn.guard(row(1).as_bytes()).map(drop));
    lock(&mut txn, &row(1), &exclusive()).unwrap();
    let guard = txn.guard(row(1).as_bytes()).unwrap();
    txn.put_guarded(guard, entry(1, "1"), Vec::new()).unwrap();
    // A guarded key has no lock of its own.
    is_found(txn.lock_one(&entry(1, "1"), &exclusive()).map(drop));
    commit(txn).unwrap();
    assert_eq!(get(&store.latest(), &text(&entry(1, "1"))).as_deref(), Some(""));
    assert_eq!(store.lock_stats().held, 0);
}

pub fn entries_follow_their_rows(new_subject: Factory) {
    let store = open(new_subject);
    let store: &Store = &store;
    set_up(store);
    thread::scope(|scope| {
        for (seed, way) in (0..).zip([
            Way::Pessimistic,
            Way::Pessimistic,
            Way::Pessimistic,
            Way::Optimistic,
        ]) {
            scope.spawn(move || {
                let mut rounds = 0..40;
                change_rows(store, seed, way, || rounds.next().is_some()).unwrap();
            });
        }
        for _ in 0..20 {
            check_rows(&store.snapshot_now().unwrap());
        }
    });
    check_rows(&store.latest());
    assert_eq!(store.lock_stats().held, 0);
}
