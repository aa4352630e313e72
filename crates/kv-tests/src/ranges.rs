//! Operations on whole ranges: splitting them for parallel scans, and destroying them.

use crate::Factory;
use crate::support::*;
use kv::{KeyRange, Reader, Store};
use std::time::Duration;

fn fill(store: &Store, prefix: &str, rows: u32, value_bytes: u32) {
    let mut random = Random::new(7);
    for chunk in 0..rows.div_ceil(500) {
        let mut txn = begin(store);
        for n in chunk * 500..rows.min((chunk + 1) * 500) {
            let value: Vec<u8> = (0..value_bytes)
                .map(|_| u8::try_from(random.below(256)).unwrap())
                .collect();
            txn.put([prefix.as_bytes(), &n.to_be_bytes()].concat(), value)
                .unwrap();
        }
        commit(txn).unwrap();
    }
    store.flush().unwrap();
}

fn count(store: &Store, range: &KeyRange) -> usize {
    let mut rows = 0;
    store
        .snapshot_now()
        .unwrap()
        .scan(range, false, &mut |_, _| {
            rows += 1;
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

pub fn are_split_without_gaps(new_subject: Factory) {
    let store = open(new_subject);
    for (range, parts) in [
        (KeyRange::all(), 4),
        (KeyRange::new("b", "a"), 4),
        (KeyRange::prefix("x"), 1),
    ] {
        assert_eq!(
            store.latest().split_range(&range, parts).unwrap(),
            [range],
            "nothing to split"
        );
    }
    let rows = 6_000;
    fill(&store, "table", rows, 1_000);
    fill(&store, "unrelated", 100, 10);
    assert!(
        store
            .latest()
            .approximate_bytes(&KeyRange::prefix("table"))
            .unwrap()
            > 4_000_000
    );
    assert!(
        store
            .latest()
            .approximate_bytes(&KeyRange::prefix("nothing"))
            .unwrap()
            < 100_000
    );
    for range in [
        KeyRange::prefix("table"),
        KeyRange::all(),
        KeyRange::new("table", ""),
        KeyRange::new("", "tablf"),
    ] {
        let whole = count(&store, &range);
        for parts in [2, 3, 8] {
            let split = store.latest().split_range(&range, parts).unwrap();
            assert!(
                split.len() > 1 && split.len() <= parts,
                "{parts} parts of {range:?}: {split:?}"
            );
            assert_eq!(split[0].start, range.start);
            assert_eq!(split[split.len() - 1].end, range.end);
            assert!(
                split
                    .windows(2)
                    .all(|pair| pair[0].end == pair[1].start && !pair[0].is_empty())
            );
            let counts: Vec<_> = split.iter().map(|part| count(&store, part)).collect();
            assert_eq!(counts.iter().sum::<usize>(), whole);
            let largest = counts.iter().max().unwrap();
            assert!(
                *largest < whole * 2 / split.len() + whole / 10,
                "uneven: {counts:?}"
            );
        }
    }
}

pub fn are_made_of_regions(new_subject: Factory) {
    let store = open(new_subject);
    fill(&store, "r", 1_000, 20);
    let row = |n: u32| [b"r".as_slice(), &n.to_be_bytes()].concat();
    let points: Vec<Vec<u8>> = [100, 400, 700].map(row).to_vec();
    let before = store.regions(&KeyRange::all(), None).unwrap();
    let report = store.split_at(&points, Duration::from_secs(30), None).unwrap();
    assert!(report.scattered <= report.split && report.split <= points.len());
    let after = store.regions(&KeyRange::all(), None).unwrap();
    assert_eq!(after.len(), before.len() + report.split);
    for range in [
        KeyRange::all(),
        KeyRange::prefix("r"),
        KeyRange::new(row(400), row(401)),
    ] {
        let regions = store.regions(&range, None).unwrap();
        let (first, last) = (&regions[0], &regions[regions.len() - 1]);
        assert!(first.start <= range.start, "{range:?} in {regions:?}");
        assert!(last.end.is_empty() || (!range.end.is_empty() && last.end >= range.end));
        assert!(regions.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
    if report.split > 0 {
        let begins = |key: &Vec<u8>| after.iter().any(|region| region.start == *key);
        assert!(points.iter().all(begins), "{after:?}");
        let again = store.split_at(&points, Duration::ZERO, None).unwrap();
        assert_eq!(again.split, 0, "there is nothing left to split");
    }
    assert_eq!(count(&store, &KeyRange::all()), 1_000);
    assert!(store.regions(&KeyRange::new("b", "a"), None).unwrap().is_empty());
}

pub fn can_be_destroyed(new_subject: Factory) {
    let store = open(new_subject);
    fill(&store, "a", 300, 20);
    fill(&store, "b", 3_000, 1_000);
    fill(&store, "c", 300, 20);
    write(&store, &[("b-late", Some("x"))]);
    store.destroy_range(&KeyRange::new("b", "c")).unwrap();
    assert_eq!(count(&store, &KeyRange::all()), 600);
    assert_eq!(count(&store, &KeyRange::prefix("b")), 0);
    assert_eq!(get(&store.latest(), "b-late"), None);
    // The keys can be used again, without old versions.
    let before = store.snapshot_now().unwrap();
    write(&store, &[("b-late", Some("y"))]);
    assert_eq!(get(&before, "b-late"), None);
    assert_eq!(get(&store.latest(), "b-late").as_deref(), Some("y"));
    store.destroy_range(&KeyRange::new("z", "a")).unwrap();
    assert_eq!(count(&store, &KeyRange::all()), 601, "an empty range is nothing");
    store.set_gc_age(Duration::ZERO);
    drop(before);
    store.run_gc().unwrap();
    assert_eq!(count(&store, &KeyRange::all()), 601);
}

pub fn can_be_destroyed_to_the_end(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("1"))]);
    let mut txn = begin(&store);
    txn.put(vec![0xFF; 100], b"far".to_vec()).unwrap();
    txn.put(vec![0xFF; store.limits().key_bytes], b"farther".to_vec())
        .unwrap();
    commit(txn).unwrap();
    store.destroy_range(&KeyRange::new("b", "")).unwrap();
    assert_eq!(scan_all(&store.latest()), ["a=1"]);
    store.destroy_range(&KeyRange::all()).unwrap();
    assert!(scan_all(&store.latest()).is_empty());
}
