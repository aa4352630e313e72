use super::generation::Generation;
use super::*;

fn history(budget_bytes: u64) -> History {
    History::new(budget_bytes)
}

fn collect(history: &History, safe_point: Timestamp) -> u64 {
    history.collect(safe_point, &ExpiredDeletions::new(0))
}

/// The version of `key` committed at `commit_ts` ends at `superseded_ts`.
fn supersede(
    history: &History,
    key: &str,
    (commit_ts, value): (Timestamp, Option<&str>),
    superseded_ts: Timestamp,
) {
    let mut entries = Vec::new();
    let before = Version {
        ts: commit_ts,
        value: value.map(str::as_bytes),
    };
    history.encode(&mut entries, key.as_bytes(), before, false);
    history.add([entries.as_slice()].into_iter(), superseded_ts);
}

/// When the version that is found was superseded, and its value.
fn find(history: &History, key: &str, ts: Timestamp) -> Option<(Timestamp, Option<String>)> {
    history.with(key.as_bytes(), ts, |version| {
        let value = version
            .value
            .map(|value| String::from_utf8(value.to_vec()).unwrap());
        (version.superseded_ts, value)
    })
}

#[test]
fn each_timestamp_finds_its_version() {
    let history = history(1 << 20);
    for ts in (10..100).step_by(10) {
        let value = ts.to_string();
        supersede(&history, "a", (ts, (ts != 50).then_some(value.as_str())), ts + 10);
        supersede(&history, "b", (ts, Some("b")), ts + 10);
    }
    assert_eq!(find(&history, "a", 9), None);
    assert_eq!(find(&history, "a", 10), Some((20, Some("10".into()))));
    assert_eq!(find(&history, "a", 49), Some((50, Some("40".into()))));
    assert_eq!(find(&history, "a", 55), Some((60, None)));
    assert_eq!(find(&history, "a", 99), Some((100, Some("90".into()))));
    assert_eq!(find(&history, "c", 1_000), None);
    // Versions are dropped together, and later ones do not hold them back.
    assert_eq!(collect(&history, 50), 0);
    assert_eq!(find(&history, "a", 99), Some((100, Some("90".into()))));
    supersede(&history, "a", (100, Some("100")), 110);
    assert_eq!(find(&history, "a", 55), Some((60, None)));
    assert_eq!(find(&history, "a", 105), Some((110, Some("100".into()))));
    assert_eq!(collect(&history, 99), 0);
    assert_eq!(collect(&history, 100), 18);
    assert_eq!(find(&history, "a", 55), None);
    assert_eq!(find(&history, "a", 105), Some((110, Some("100".into()))));
    assert_eq!(collect(&history, Timestamp::MAX), 1);
    assert_eq!(find(&history, "a", 105), None);
    assert_eq!(history.size(), (0, 0, 0));
}

/// A commit that did not see the deletion at 20 records at 30 that there was nothing.
#[test]
fn a_deletion_of_nothing_hides_nothing_older() {
    let history = history(1 << 20);
    supersede(&history, "a", (10, Some("10")), 20);
    let mut entries = Vec::new();
    history.encode(&mut entries, b"a", Version { ts: 0, value: None }, true);
    history.add([entries.as_slice()].into_iter(), 30);
    assert_eq!(find(&history, "a", 15), Some((20, Some("10".into()))));
    assert_eq!(find(&history, "a", 25), None);
}

#[test]
fn entries_are_visited_in_their_order_batch_by_batch() {
    let history = history(64 << 20);
    let large = "x".repeat(3 << 20);
    for ts in 1..=5_000 {
        let value = if ts % 1_500 == 0 { &large } else { &large[..500] };
        supersede(&history, &format!("{ts}"), (ts, Some(value)), ts + 1);
    }
    let newest_ts = history.seal_oldest().unwrap();
    for (count, bytes, shown_max) in [(700, usize::MAX, 700), (700, 5_400, 10), (1, 1, 1)] {
        let mut next = 0;
        let mut visited = Vec::new();
        loop {
            let from = next;
            let before = visited.len();
            next = history.visit_oldest(from, (count, bytes), |version| visited.push(version.commit_ts));
            assert!(visited.len() - before <= shown_max);
            if next == from {
                break;
            }
        }
        assert_eq!(visited, (1..newest_ts).collect::<Vec<_>>());
    }
}

#[test]
fn keys_of_one_hash_are_distinguished() {
    let mut generation = Generation::default();
    for ts in 1..=3 {
        for key in [b"a", b"b"] {
            let mut bytes = Vec::new();
            let value = Some(&key[..]);
            encoding::push(&mut bytes, 7, key, Version { ts, value }, false);
            generation.add(&bytes, ts + 1);
        }
    }
    let commit_ts = |key: &[u8], ts| generation.find(7, key, ts).map(|version| version.commit_ts);
    assert_eq!(commit_ts(b"a", 2), Some(2));
    assert_eq!(commit_ts(b"b", 3), Some(3));
    assert_eq!(commit_ts(b"c", 9), None);
}

#[test]
fn memory_is_given_back_whatever_the_sizes() {
    let history = history(1 << 20);
    let large = "x".repeat(3 << 20);
    for round in 0..3_u64 {
        for n in 0..3_000_u64 {
            let value = match n % 1_000 {
                0 => large.as_str(),
                _ => &large[..1_000],
            };
            supersede(
                &history,
                &format!("{n}"),
                (round * 3_000 + n, Some(value)),
                round * 3_000 + n + 1,
            );
        }
        assert!(history.exceeds_budget(2));
        let last = (round + 1) * 3_000;
        assert_eq!(
            find(&history, "1000", round * 3_000 + 1_000),
            Some((round * 3_000 + 1_001, Some(large.clone())))
        );
        let removed = collect(&history, last - 1);
        assert!((1..3_000).contains(&removed), "{removed}");
        assert_eq!(collect(&history, last), 3_000 - removed);
        assert_eq!(history.size(), (0, 0, 0));
    }
}

#[test]
fn what_is_over_the_budget_is_wanted_away() {
    let history = history(4 << 20);
    let value = "x".repeat(1 << 10);
    let mut ts = 0;
    while !history.exceeds_budget(1) {
        assert_eq!(history.wanted_safe_point(), 0);
        ts += 1;
        supersede(&history, "key", (ts, Some(&value)), ts + 1);
    }
    let wanted = history.wanted_safe_point();
    assert!(wanted > 0 && wanted < ts, "{wanted} of {ts}");
    collect(&history, wanted);
    assert!(!history.exceeds_budget(1));
    assert!(history.size().0 > 2 << 20, "no more than needed");
    assert_eq!(find(&history, "key", ts).unwrap().0, ts + 1);
}

#[test]
fn deletions_are_queued_once_collected() {
    let history = history(1 << 20);
    for (ts, key) in [(5, b"a"), (6, b"b"), (7, b"c")] {
        let mut encoded = Vec::new();
        let before = Version { ts: 4, value: None };
        history.encode(&mut encoded, key, before, true);
        history.add([encoded.as_slice()].into_iter(), ts);
    }
    assert_eq!(history.size().2, 3);
    let expired = ExpiredDeletions::new(0);
    history.collect(7, &expired);
    assert_eq!((history.size(), expired.len()), ((0, 0, 0), 3));
}

#[test]
fn what_is_in_a_destroyed_range_was_never_there() {
    let history = history(1 << 20);
    for key in ["a", "b1", "b2", "c"] {
        supersede(&history, key, (10, Some("1")), 20);
    }
    history.destroy(&KeyRange::new("b", "c"));
    assert_eq!(find(&history, "a", 15), Some((20, Some("1".into()))));
    assert_eq!(find(&history, "b1", 15), None);
    assert_eq!(find(&history, "c", 15).unwrap().0, 20);
    assert_eq!(collect(&history, 20), 4);
}
