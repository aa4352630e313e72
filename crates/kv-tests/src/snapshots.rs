//! Snapshots see exactly the transactions committed at or before their timestamp; reads, scans and batches
//! alike.

use crate::Factory;
use crate::support::*;
use kv::{Error, Interrupt, KeyRange, PER_MILLISECOND, Reader};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

pub fn sees_exactly_what_was_committed_at_or_before(new_subject: Factory) {
    let store = open(new_subject);
    let before = store.snapshot_now().unwrap();
    let first = write(&store, &[("a", Some("1")), ("b", Some("1"))]);
    let between = store.snapshot_now().unwrap();
    let second = write(&store, &[("a", Some("2")), ("b", None), ("c", Some("2"))]);
    let after = store.snapshot_now().unwrap();
    assert!(before.ts() < first && first < between.ts() && between.ts() < second && second < after.ts());
    assert!(scan_all(&before).is_empty());
    assert_eq!(scan_all(&between), ["a=1", "b=1"]);
    assert_eq!(scan_all(&after), ["a=2", "c=2"]);
    for (ts, expected) in [
        (first - 1, None),
        (first, Some("1")),
        (second - 1, Some("1")),
        (second, Some("2")),
    ] {
        assert_eq!(
            get(&store.snapshot(ts).unwrap(), "a").as_deref(),
            expected,
            "at {ts}"
        );
    }
}

pub fn every_past_timestamp_can_be_read(new_subject: Factory) {
    let store = open(new_subject);
    let mut history = Vec::new();
    for round in 0..30_u32 {
        let key = format!("k{}", round % 3);
        let value = (round % 5 != 4).then(|| round.to_string());
        let ts = write(&store, &[(&key, value.as_deref())]);
        let state = scan_all(&store.latest());
        history.push((ts, state));
    }
    for (ts, state) in &history {
        let snapshot = store.snapshot(*ts).unwrap();
        assert_eq!(scan_all(&snapshot), *state, "at {ts}");
        let mut backwards = scan(&snapshot, &KeyRange::all(), true);
        backwards.reverse();
        assert_eq!(backwards, *state, "backwards at {ts}");
        let found: Vec<_> = snapshot
            .batch_get(&keys(&["k0", "k1", "k2"]))
            .unwrap()
            .into_iter()
            .enumerate()
            .filter_map(|(index, value)| Some(format!("k{index}={}", text(&value?))))
            .collect();
        assert_eq!(found, *state, "batch at {ts}");
    }
}

pub fn future_timestamps_are_refused(new_subject: Factory) {
    let store = open(new_subject);
    let now = store.current_ts().unwrap();
    let future = now + 3_600_000 * PER_MILLISECOND;
    assert_eq!(
        store.snapshot(future).map(|_| ()),
        Err(Error::SnapshotInFuture { ts: future })
    );
    assert!(store.snapshot(now).is_ok());
}

pub fn timestamps_increase(new_subject: Factory) {
    let store = open(new_subject);
    let mut last = store.current_ts().unwrap();
    for _ in 0..200 {
        let read = store.current_ts().unwrap();
        let start = begin(&store).start_ts();
        let committed = write(&store, &[("a", Some("x"))]);
        assert!(last < read && read < start && start < committed);
        last = committed;
    }
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || {
                (0..5_000)
                    .map(|_| store.current_ts().unwrap())
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let mut all = Vec::new();
    for thread in threads {
        let given = thread.join().unwrap();
        assert!(given.is_sorted_by(|a, b| a < b));
        all.extend(given);
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a timestamp was given twice");
}

pub fn latest_sees_each_commit_at_once(new_subject: Factory) {
    let store = open(new_subject);
    let latest = store.latest();
    for value in ["1", "2", "3"] {
        write(&store, &[("a", Some(value))]);
        assert_eq!(get(&latest, "a").as_deref(), Some(value));
        assert_eq!(scan_all(&latest), [format!("a={value}")]);
    }
    write(&store, &[("a", None)]);
    assert_eq!(get(&latest, "a"), None);
    assert!(scan_all(&latest).is_empty());
}

/// A client that has seen a value must not see an older one in its next statement, even if the commit that
/// wrote the value has not been acknowledged yet.
pub fn a_snapshot_sees_what_an_earlier_latest_read_saw(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("n", Some("0"))]);
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                let number = |reader: &dyn Reader| get(reader, "n").unwrap().parse::<u64>().unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let seen = number(&store.latest());
                    let then = number(&store.snapshot_now().unwrap());
                    assert!(then >= seen, "saw {seen}, then {then}");
                }
            })
        })
        .collect();
    for n in 1..500 {
        write(&store, &[("n", Some(&n.to_string()))]);
    }
    stop.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

pub fn scans_go_both_ways(new_subject: Factory) {
    let store = open(new_subject);
    write(
        &store,
        &[
            ("a", Some("1")),
            ("b", Some("2")),
            ("c", Some("3")),
            ("d", Some("4")),
            ("e", Some("5")),
        ],
    );
    let snapshot = store.snapshot_now().unwrap();
    for (range, expected) in [
        (KeyRange::all(), &["a=1", "b=2", "c=3", "d=4", "e=5"][..]),
        (KeyRange::new("b", "d"), &["b=2", "c=3"]),
        (KeyRange::new("b", ""), &["b=2", "c=3", "d=4", "e=5"]),
        (KeyRange::new("", "b"), &["a=1"]),
        (KeyRange::new("bb", "bz"), &[]),
        (KeyRange::new("d", "b"), &[]),
        (KeyRange::new("c", "c"), &[]),
        (KeyRange::key("c"), &["c=3"]),
        (KeyRange::prefix("e"), &["e=5"]),
        (KeyRange::new("x", ""), &[]),
    ] {
        assert_eq!(scan(&snapshot, &range, false), expected, "{range:?}");
        let mut backwards = scan(&snapshot, &range, true);
        backwards.reverse();
        assert_eq!(backwards, expected, "backwards {range:?}");
        assert_eq!(scan(&store.latest(), &range, false), expected, "latest {range:?}");
    }
}

pub fn scans_end_where_the_visitor_says(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    for n in 0..1_000 {
        txn.put(format!("k{n:04}").into_bytes(), b"v".to_vec()).unwrap();
    }
    commit(txn).unwrap();
    let snapshot = store.snapshot_now().unwrap();
    for limit in [1, 2, 255, 256, 257, 999, 1_000, 2_000] {
        let page = snapshot.scan_page(&KeyRange::all(), limit, false).unwrap();
        assert_eq!(page.len(), limit.min(1_000));
        assert_eq!(page[0].0, b"k0000");
        let page = snapshot.scan_page(&KeyRange::all(), limit, true).unwrap();
        assert_eq!(page.len(), limit.min(1_000));
        assert_eq!(page[0].0, b"k0999");
        assert!(page.is_sorted_by(|a, b| a.0 > b.0));
    }
    assert!(snapshot.scan_page(&KeyRange::all(), 0, false).unwrap().is_empty());
    let mut visited = 0;
    snapshot
        .scan(&KeyRange::all(), false, &mut |_, _| {
            visited += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(visited, 1);
}

pub fn batches_answer_in_order(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("2")), ("gone", Some("x"))]);
    write(&store, &[("gone", None)]);
    for reader in [store.snapshot_now().unwrap(), store.latest()] {
        let answers = reader
            .batch_get(&keys(&["b", "missing", "a", "gone", "b"]))
            .unwrap();
        let answers: Vec<_> = answers
            .into_iter()
            .map(|value| value.as_deref().map(text))
            .collect();
        assert_eq!(
            answers,
            [Some("2".into()), None, Some("1".into()), None, Some("2".into())]
        );
        assert!(reader.batch_get(&[]).unwrap().is_empty());
        let mut visits = 0;
        reader
            .batch_get_with(&keys(&["missing"]), &mut |_, value| {
                visits += 1;
                assert_eq!(value, None);
            })
            .unwrap();
        assert_eq!(visits, 1, "each key is visited once");
    }
}

pub fn old_versions_show_in_scans_both_ways(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    for n in 0..600 {
        txn.put(format!("k{n:03}").into_bytes(), b"old".to_vec()).unwrap();
    }
    commit(txn).unwrap();
    let snapshot = store.snapshot_now().unwrap();
    let expected = scan_all(&snapshot);
    let mut txn = begin(&store);
    for n in (0..600).step_by(2) {
        txn.put(format!("k{n:03}").into_bytes(), b"new".to_vec()).unwrap();
        txn.delete(format!("k{:03}", n + 1).into_bytes()).unwrap();
        txn.put(format!("k{n:03}x").into_bytes(), b"inserted".to_vec())
            .unwrap();
    }
    commit(txn).unwrap();
    assert_eq!(scan_all(&snapshot), expected);
    let mut backwards = scan(&snapshot, &KeyRange::all(), true);
    backwards.reverse();
    assert_eq!(backwards, expected);
    let now = scan_all(&store.latest());
    assert_eq!(now.len(), 600);
    assert_eq!(&now[..3], ["k000=new", "k000x=inserted", "k002=new"]);
}

/// Some engines store versions beside keys. A key that extends another key's bytes must not fall among that
/// key's versions.
pub fn keys_with_zeros_do_not_mix(new_subject: Factory) {
    let store = open(new_subject);
    let all: Vec<Vec<u8>> = (0..20)
        .map(|zeros| [&b"k"[..], &vec![0; zeros][..]].concat())
        .chain((0..20).map(|ones| [&b"k"[..], &vec![0xFF; ones + 1][..]].concat()))
        .collect();
    let mut moments = Vec::new();
    for round in 0..4_u8 {
        for (index, key) in all.iter().enumerate() {
            if index % 4 == usize::from(round) {
                let mut txn = begin(&store);
                txn.put(key.clone(), vec![round]).unwrap();
                commit(txn).unwrap();
            } else if round > 0 {
                let mut txn = begin(&store);
                txn.put(key.clone(), vec![100 + round]).unwrap();
                commit(txn).unwrap();
            }
        }
        moments.push(store.snapshot_now().unwrap());
    }
    for (round, snapshot) in moments.iter().enumerate() {
        for (index, key) in all.iter().enumerate() {
            let expected = match (index % 4 == round, round) {
                (true, _) => Some(vec![u8::try_from(round).unwrap()]),
                (false, 0) => None,
                (false, _) => Some(vec![100 + u8::try_from(round).unwrap()]),
            };
            assert_eq!(snapshot.get(key).unwrap(), expected, "{key:?} in round {round}");
        }
    }
}

pub fn a_scan_can_be_interrupted(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    for n in 0..2_000 {
        txn.put(format!("k{n:04}").into_bytes(), b"v".to_vec()).unwrap();
    }
    commit(txn).unwrap();
    let interrupt = Interrupt::new();
    let snapshot = store
        .snapshot_now()
        .unwrap()
        .interruptible(Arc::clone(&interrupt));
    let mut visited = 0;
    let outcome = snapshot.scan(&KeyRange::all(), false, &mut |_, _| {
        visited += 1;
        if visited == 10 {
            interrupt.raise();
        }
        ControlFlow::Continue(())
    });
    assert_eq!(outcome, Err(Error::Interrupted));
    assert!(visited < 2_000);
    interrupt.clear();
    assert_eq!(scan_all(&snapshot).len(), 2_000);
}

pub fn visitors_may_read_and_write(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("2"))]);
    let mut seen = Vec::new();
    let snapshot = store.snapshot_now().unwrap();
    snapshot
        .scan(&KeyRange::all(), false, &mut |key, _| {
            seen.push(get(&snapshot, &text(key)));
            write(&store, &[(&format!("new-{}", text(key)), Some("x"))]);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, [Some("1".into()), Some("2".into())]);
    assert_eq!(scan_all(&store.latest()).len(), 4);
}
