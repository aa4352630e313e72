//! Bulk loads: after the end all pairs are there, in order, and their neighbours are unchanged.

use crate::Factory;
use crate::support::*;
use kv::{Error, Interrupt, KeyRange, Limits, LoadWriter, Reader, Store};
use std::sync::Arc;
use std::time::Duration;

/// More than one transaction of an engine without files.
const PAIRS: u32 = 6_000;
const VALUE_BYTES: usize = 400;

fn key(n: u32) -> Vec<u8> {
    [b"load/".as_slice(), &n.to_be_bytes()].concat()
}

fn value(n: u32) -> Vec<u8> {
    n.to_be_bytes().repeat(VALUE_BYTES / 4)
}

fn range() -> KeyRange {
    KeyRange::prefix("load/")
}

fn fill(writer: &mut LoadWriter<'_>, pairs: std::ops::Range<u32>) {
    for n in pairs {
        writer.put(&key(n), &value(n)).unwrap();
    }
}

/// Loads with two writers, one for each half.
fn load(store: &Store) {
    let load = store.begin_load(&range(), None);
    let middle = key(PAIRS / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = load.writer(KeyRange::new(middle.clone(), range().end));
            fill(&mut writer, PAIRS / 2..PAIRS);
            writer.close().unwrap();
        });
        let mut writer = load.writer(KeyRange::new(range().start, middle.clone()));
        fill(&mut writer, 0..PAIRS / 2);
        writer.close().unwrap();
    });
    assert_eq!(load.finish().unwrap(), u64::from(PAIRS));
}

fn check(reader: &dyn Reader, reverse: bool) {
    let mut numbers: Vec<u32> = (0..PAIRS).collect();
    if reverse {
        numbers.reverse();
    }
    let mut expected = numbers.into_iter();
    reader
        .scan(&range(), reverse, &mut |found, bytes| {
            let n = expected.next().unwrap();
            assert!(found == key(n) && bytes == value(n), "pair {n}");
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(expected.next(), None);
}

pub fn are_whole_after_their_end(new_subject: Factory) {
    let subject = new_subject();
    let store = subject.open(Limits::default());
    write(&store, &[("load", Some("before")), ("loae", Some("after"))]);
    // In the row cache, if there is one.
    assert_eq!(scan_all(&store.latest()).len(), 2);
    let before = store.snapshot_now().unwrap();
    load(&store);
    let after = store.snapshot_now().unwrap();
    check(&after, false);
    check(&after, true);
    assert_eq!(after.get(&key(17)).unwrap(), Some(value(17)));
    for (n, found) in after
        .batch_get(&[key(3), key(PAIRS), key(4_000)])
        .unwrap()
        .iter()
        .enumerate()
    {
        assert_eq!(found.is_some(), n != 1);
    }
    assert_eq!(get(&before, "load").as_deref(), Some("before"));
    assert_eq!(get(&after, "loae").as_deref(), Some("after"));
    // Pairs are rows like others: snapshots from before a change see what was loaded.
    let mut txn = begin(&store);
    txn.put(key(1), b"changed".to_vec()).unwrap();
    txn.delete(key(2)).unwrap();
    commit(txn).unwrap();
    check(&after, false);
    assert_eq!(store.latest().get(&key(1)).unwrap(), Some(b"changed".to_vec()));
    assert_eq!(store.latest().get(&key(2)).unwrap(), None);
    drop((before, after));
    store.set_gc_age(Duration::ZERO);
    store.run_gc().unwrap();
    assert_eq!(store.latest().get(&key(2)).unwrap(), None);
    store.destroy_range(&range()).unwrap();
    assert_eq!(scan_all(&store.latest()), ["load=before", "loae=after"]);
    load(&store);
    check(&store.latest(), false);
    if !subject.is_persistent() {
        return;
    }
    drop(store);
    let store = subject.open(Limits::default());
    check(&store.latest(), false);
    assert!(write(&store, &[("load", Some("later"))]) > 1);
}

pub fn replace_what_was_there(new_subject: Factory) {
    let subject = new_subject();
    let store = subject.open(Limits::default());
    for round in 0..3 {
        let mut txn = begin(&store);
        txn.put(key(round), b"older".to_vec()).unwrap();
        txn.delete(key(100 + round)).unwrap();
        txn.put(key(PAIRS + round), b"stays".to_vec()).unwrap();
        commit(txn).unwrap();
        if round == 1 {
            store.flush().unwrap();
        }
    }
    load(&store);
    write(&store, &[("other", Some("1"))]);
    let pairs = |store: &Store| {
        let mut found = 0;
        let visit = &mut |key: &[u8], bytes: &[u8]| {
            found += 1;
            assert!(bytes != b"older", "{key:?}");
            std::ops::ControlFlow::Continue(())
        };
        store.latest().scan(&range(), false, visit).unwrap();
        found
    };
    assert_eq!(pairs(&store), PAIRS + 3);
    if subject.is_persistent() {
        drop(store);
        let store = subject.open(Limits::default());
        assert_eq!(pairs(&store), PAIRS + 3);
        assert_eq!(get(&store.latest(), "other").as_deref(), Some("1"));
    }
}

/// Of an earlier load, and such that are not there.
pub fn remove_keys(new_subject: Factory) {
    let subject = new_subject();
    let store = subject.open(Limits::default());
    load(&store);
    // In the row cache, if there is one.
    check(&store.latest(), false);
    let second = store.begin_load(&range(), None);
    let mut writer = second.writer(range());
    for n in (0..PAIRS).filter(|n| n % 3 != 0) {
        match n % 3 {
            1 => writer.remove(&key(n)).unwrap(),
            _ => writer.put(&key(n), b"second").unwrap(),
        }
        if n % 7 == 0 {
            writer.remove(&[&key(n)[..], b"absent"].concat()).unwrap();
        }
    }
    writer.close().unwrap();
    second.finish().unwrap();
    let check = |store: &Store| {
        let mut left = (0..PAIRS).filter(|n| n % 3 != 1);
        let visit = &mut |found: &[u8], bytes: &[u8]| {
            let n = left.next().unwrap();
            let expected = if n % 3 == 0 { value(n) } else { b"second".to_vec() };
            assert!(found == key(n) && bytes == expected, "pair {n}");
            std::ops::ControlFlow::Continue(())
        };
        store.latest().scan(&range(), false, visit).unwrap();
        assert_eq!(left.next(), None);
        assert_eq!(store.latest().get(&key(1)).unwrap(), None);
    };
    check(&store);
    if subject.is_persistent() {
        drop(store);
        let store = subject.open(Limits::default());
        check(&store);
        write(&store, &[("other", Some("1"))]);
    }
}

pub fn that_do_not_end_can_be_destroyed(new_subject: Factory) {
    let store = open(new_subject);
    let load = store.begin_load(&range(), None);
    let mut writer = load.writer(range());
    fill(&mut writer, 0..PAIRS);
    writer.close().unwrap();
    drop(load);
    if store.loads_by_file() {
        assert!(scan_all(&store.latest()).is_empty());
    }
    let interrupt = Arc::new(Interrupt::new());
    let load = store.begin_load(&range(), Some(&interrupt));
    let mut writer = load.writer(range());
    fill(&mut writer, 0..10);
    interrupt.raise();
    assert_eq!(writer.close(), Err(Error::Interrupted));
    assert!(load.finish().is_err());
    store.destroy_range(&range()).unwrap();
    assert!(scan_all(&store.latest()).is_empty());
}

pub fn refuse_what_is_out_of_order(new_subject: Factory) {
    let store = open(new_subject);
    let load = store.begin_load(&range(), None);
    let mut writer = load.writer(KeyRange::new(key(10), key(20)));
    writer.put(&key(12), b"").unwrap();
    for (wrong, bytes) in [(key(12), 0), (key(11), 0), (key(20), 0), (key(9), 0)] {
        let refused = writer.put(&wrong, &vec![0; bytes]);
        assert!(matches!(refused, Err(Error::Internal(_))), "{refused:?}");
    }
    let limits = store.limits();
    let large = vec![0; limits.value_bytes + 1];
    let refused = writer.put(&key(13), &large);
    assert!(matches!(refused, Err(Error::ValueTooLarge { .. })), "{refused:?}");
    writer.put(&key(13), b"x").unwrap();
    writer.close().unwrap();
    assert_eq!(load.finish().unwrap(), 2);
    assert_eq!(store.latest().get(&key(13)).unwrap(), Some(b"x".to_vec()));
    // One writer is not closed.
    let load = store.begin_load(&range(), None);
    let _ = load.writer(range());
    assert!(matches!(load.finish(), Err(Error::Internal(_))));
}
